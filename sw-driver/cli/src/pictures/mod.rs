//! Pictures of a run: a timeline for trace viewers, a page for browsers, a plot of the latencies.

mod data;
mod html;
mod plot;
mod spans;
#[cfg(test)]
mod tests;
mod timeline;
mod tracks;

use crate::fates::{FrameFate, ReplySpan};
use crate::run::outputs::{Outputs, Slot};
use crate::run::Found;
use anyhow::{anyhow, ensure, Result};
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
    fn noun(self) -> &'static str {
        match self {
            Picture::Timeline | Picture::CompressedTimeline => "timeline",
            Picture::Html => "page",
            Picture::Plot => "plot",
        }
    }
}

impl PictureArguments {
    /// Opens every picture that was requested; called before the run.
    ///
    /// # Errors
    /// A file cannot be written, or the plot's name ends in anything but `.svg`.
    pub fn open(&self, outputs: &mut Outputs) -> Result<Pictures> {
        let ends_in = |path: &Path, suffix: &str| path.extension().is_some_and(|end| end.eq_ignore_ascii_case(suffix));
        let mut pictures = Vec::new();
        if let Some(path) = &self.timeline {
            let picture = if ends_in(path, "gz") { Picture::CompressedTimeline } else { Picture::Timeline };
            pictures.push((picture, outputs.open("--timeline", path)?, path.clone()));
        }
        if let Some(path) = &self.html {
            pictures.push((Picture::Html, outputs.open("--html", path)?, path.clone()));
        }
        if let Some(path) = &self.plot {
            let svg = ends_in(path, "svg") || path.as_os_str() == "-";
            ensure!(svg, "{} cannot be plotted, plots are SVG files; give a name that ends in .svg", path.display());
            pictures.push((Picture::Plot, outputs.open("--plot", path)?, path.clone()));
        }
        Ok(Pictures(pictures))
    }
}

/// The pictures of a run, opened.
pub struct Pictures(Vec<(Picture, Slot, PathBuf)>);

impl Pictures {
    /// Writes every picture; a failure of one is kept in `outputs` and does not lose the others.
    pub fn write(&self, outputs: &mut Outputs, found: &Found) {
        if self.0.is_empty() {
            return;
        }
        let unattributed = found.played.replies.iter().enumerate().filter(|(_, reply)| reply.cause.is_none());
        let unattributed: Vec<ReplySpan> = unattributed
            .map(|(number, reply)| ReplySpan {
                reply: number,
                first: reply.frame.first,
                last: reply.frame.last,
                bytes: reply.frame.bytes.len(),
            })
            .collect();
        let report = serde_json::to_value(found.summary);
        for (picture, slot, path) in &self.0 {
            let written = outputs.write(*slot, |file| {
                let report = report.as_ref().map_err(|error| anyhow!("the report has no JSON form: {error}"))?;
                let recording = Recording {
                    handler: &found.handler.name,
                    image: &found.handler.image,
                    elf: &found.handler.elf,
                    config: &found.session.config,
                    rules: found.rules,
                    report,
                    fates: found.fates,
                    unattributed: &unattributed,
                    span: found.played.span,
                };
                recording.draw(*picture, file)
            });
            if written && path.as_os_str() != "-" {
                eprintln!("spindle: {} in {}", picture.noun(), path.display());
            }
        }
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
