//! The outputs of a run.

use super::outputs::{Outputs, Slot};
use super::RunArguments;
use crate::fate_file;
use crate::fates::FrameFate;
use crate::pictures::Pictures;
use crate::play::Played;
use crate::session::Session;
use crate::summary::Summary;
use anyhow::Result;
use spindle_sdk::Handler;
use spindle_sim::capture::{self, Annotated, Format};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The outputs of a run that this module opens and writes.
pub struct Files {
    out: Option<Slot>,
    json: Option<Slot>,
    host: Option<Slot>,
    fates: Option<Slot>,
    pictures: Pictures,
}

impl Files {
    /// Opens all of them.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn open(arguments: &RunArguments, outputs: &mut Outputs) -> Result<Files> {
        for (option, path) in arguments.inputs() {
            outputs.input(option, &path);
        }
        if let Some(path) = &arguments.waves.vcd {
            outputs.external("--vcd", path)?;
        }
        Ok(Files {
            pictures: arguments.pictures.open(outputs)?,
            out: outputs.open_if("--out", arguments.out.as_ref())?,
            json: outputs.open_if("--json", arguments.json.as_ref())?,
            host: outputs.open_if("--host-out", arguments.host.host_out.as_ref())?,
            fates: outputs.open_if("--fates", arguments.fates.fates.as_ref())?,
        })
    }

    /// Writes what the run found; a failure of one is kept in `outputs` and does not lose the others.
    pub fn write(&self, outputs: &mut Outputs, arguments: &RunArguments, found: &Found) {
        if let (Some(slot), Some(path)) = (self.out, &arguments.out) {
            if outputs.write(slot, |file| found.answers(file, path)) {
                eprintln!("spindle: {} answers in {}", found.played.replies.len(), path.display());
            }
        }
        if let (Some(slot), Some(path)) = (self.host, &arguments.host.host_out) {
            if outputs.write(slot, |file| Ok(file.write_all(found.region)?)) {
                eprintln!("spindle: host region in {}", path.display());
            }
        }
        if let (Some(slot), Some(path)) = (self.fates, &arguments.fates.fates) {
            if outputs.write(slot, |file| fate_file::write(path, file, found.fates)) {
                eprintln!("spindle: fates of {} packets in {}", found.fates.len(), path.display());
            }
        }
        self.pictures.write(outputs, found);
        if let Some(slot) = self.json {
            outputs.write(slot, |file| {
                serde_json::to_writer_pretty(&mut *file, found.summary)?;
                Ok(file.write_all(b"\n")?)
            });
        }
    }
}

/// What a run found, for its outputs.
pub struct Found<'a> {
    /// The NIC.
    pub session: &'a Session,
    /// The handler.
    pub handler: &'a Handler,
    /// What happened.
    pub played: &'a Played,
    /// The fate of each frame.
    pub fates: &'a [FrameFate],
    /// Rules as text, in the order of the card.
    pub rules: &'a [String],
    /// The report.
    pub summary: &'a Summary,
    /// Bytes of the host region.
    pub region: &'a [u8],
}

impl Found<'_> {
    /// Writes the answers with their times since reset.
    fn answers(&self, file: &mut dyn Write, path: &Path) -> Result<()> {
        let format = Format::of(path);
        let packets = self.played.replies.iter().map(|reply| Annotated {
            time: Duration::from_nanos(self.session.nanoseconds(reply.frame.first as f64) as u64),
            bytes: &reply.frame.bytes,
            comment: (format == Format::PcapNg).then(|| self.comment(reply.cause, reply.frame.first).into()),
        });
        let interrupted = self.played.interrupted.then_some("the run was interrupted; answers after that are missing");
        capture::write_to(file, format, interrupted, packets)
    }

    /// `reply to packet 3 (frame number 2): 113 cycles = 452 ns; rule 0: udp`. Packets count from 1, as Wireshark counts them.
    fn comment(&self, cause: Option<usize>, first: u64) -> String {
        let Some(cause) = cause else { return "reply to no packet that is known".into() };
        let latency = first - self.played.arrivals[cause];
        let nanoseconds = self.session.nanoseconds(latency as f64);
        let mut text = format!("reply to packet {} of the input: {latency} cycles = {nanoseconds:.0} ns", cause + 1);
        // A handler ran, so some rule matched: the only one, or the one that the trace names.
        let rule = self.fates[cause].rule.or((self.rules.len() == 1).then_some(0));
        if let Some(rule) = rule.filter(|rule| *rule < self.rules.len()) {
            text.push_str(&format!("; rule {rule}: {}", self.rules[rule]));
        }
        text
    }
}
