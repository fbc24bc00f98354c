//! Pictures of a run: a timeline for trace viewers, a page for browsers, a plot of the latencies.

mod data;
mod html;
mod lines;
mod plot;
mod spans;
#[cfg(test)]
mod tests;
mod timeline;

use crate::fates::{FrameFate, ReplySpan};
use crate::run::Found;
use anyhow::{ensure, Result};
use serde_json::Value;
use spindle::Image;
use spindle_contract::params::Config;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `spindle run` that write pictures; `docs/pictures.md` describes each file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PictureArguments {
    /// Timeline to write in the Trace Event format, for Perfetto and chrome://tracing; compressed if the name ends in .gz.
    #[arg(long, value_name = "FILE.json")]
    pub timeline: Option<PathBuf>,
    /// Report to write as one HTML page with charts and a table of all packets.
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
    /// Plot to write as SVG: histogram and distribution of each stage's latency.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Events for a trace viewer.
    Timeline,
    /// Events for a trace viewer, compressed with gzip.
    CompressedTimeline,
    /// A page for a browser.
    Html,
    /// A plot of the latencies.
    Plot,
}

impl Picture {
    /// The option that requests the picture.
    pub fn option(self) -> &'static str {
        match self {
            Picture::Timeline | Picture::CompressedTimeline => "--timeline",
            Picture::Html => "--html",
            Picture::Plot => "--plot",
        }
    }
}

impl PictureArguments {
    /// Every picture that was requested, with its file.
    pub fn outputs(&self) -> Vec<(Picture, &Path)> {
        let timeline = self.timeline.as_deref().map(|path| {
            let compressed = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("gz"));
            (if compressed { Picture::CompressedTimeline } else { Picture::Timeline }, path)
        });
        let html = self.html.as_deref().map(|path| (Picture::Html, path));
        let plot = self.plot.as_deref().map(|path| (Picture::Plot, path));
        [timeline, html, plot].into_iter().flatten().collect()
    }

    /// Refuses file names that no picture can have; called before the run.
    ///
    /// # Errors
    /// The plot's name ends in anything but `.svg`.
    pub fn check(&self) -> Result<()> {
        if let Some(path) = &self.plot {
            let svg = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("svg"));
            ensure!(svg, "{} cannot be plotted, plots are SVG files; give a name that ends in .svg", path.display());
        }
        Ok(())
    }
}

/// A run as the pictures show it.
pub struct Recording<'a> {
    /// Name of the handler.
    pub handler: &'a str,
    /// Image of the handler.
    pub image: &'a Image,
    /// ELF file of the image.
    pub elf: &'a [u8],
    /// Configuration of the NIC.
    pub config: &'a Config,
    /// Rules of the handler, in the order of `--match`.
    pub rules: &'a [String],
    /// The report, as `--json` writes it.
    pub report: &'a Value,
    /// Fate of each frame that was played in, in the order of arrival.
    pub fates: &'a [FrameFate],
    /// Frames sent whose cause the trace does not report.
    pub unattributed: &'a [ReplySpan],
    /// Cycle of the first beat in, and the last in which the NIC was busy.
    pub span: (u64, u64),
}

impl Recording<'_> {
    /// Nanoseconds from reset to the start of a cycle, rounded down: rounding keeps the order of cycles.
    pub fn nanoseconds(&self, cycle: u64) -> u64 {
        cycle * 1000 / u64::from(self.config.clock_mhz)
    }

    /// Every frame sent, with its cause if the trace reports one.
    pub fn replies(&self) -> impl Iterator<Item = (Option<&FrameFate>, &ReplySpan)> {
        let caused = self.fates.iter().flat_map(|fate| fate.replies.iter().map(move |reply| (Some(fate), reply)));
        caused.chain(self.unattributed.iter().map(|reply| (None, reply)))
    }

    /// Writes one picture.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn draw(&self, picture: Picture, mut output: impl Write) -> Result<()> {
        match picture {
            Picture::Timeline => timeline::write(self, &mut output)?,
            Picture::CompressedTimeline => {
                let mut encoder = flate2::write::GzEncoder::new(&mut output, flate2::Compression::default());
                timeline::write(self, &mut encoder)?;
                encoder.finish()?;
            }
            Picture::Html => html::write(self, &mut output)?,
            Picture::Plot => plot::write(self, &mut output)?,
        }
        output.flush()?;
        Ok(())
    }
}

/// Hands the recording of a run to `draw`.
pub fn record(found: &Found, draw: impl FnOnce(&Recording)) {
    let unattributed: Vec<ReplySpan> = found
        .played
        .replies
        .iter()
        .enumerate()
        .filter(|(_, reply)| reply.cause.is_none())
        .map(|(number, reply)| ReplySpan {
            reply: number,
            first: reply.frame.first,
            last: reply.frame.last,
            bytes: reply.frame.bytes.len(),
        })
        .collect();
    let report = serde_json::to_value(found.summary).expect("the keys of a report are texts");
    draw(&Recording {
        handler: &found.handler.name,
        image: &found.handler.image,
        elf: &found.handler.elf,
        config: &found.session.config,
        rules: found.rules,
        report: &report,
        fates: found.fates,
        unattributed: &unattributed,
        span: found.played.span,
    });
}
