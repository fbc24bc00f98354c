//! The instruction traces of a run: text, and the format of the pipeline viewer Konata. Both are written while the run goes on.

use super::outputs::{Outputs, Slot};
use super::RunArguments;
use crate::konata::Konata;
use crate::session::Session;
use anyhow::{Context, Result};
use spindle_sim::instructions::{Disassembly, Tracer};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
struct Writers {
    text: Option<Tracer>,
    konata: Option<Konata>,
}

/// Traces that are open.
pub struct InstructionTraces {
    text: Option<(Slot, PathBuf)>,
    konata: Option<(Slot, PathBuf)>,
    writers: Arc<Mutex<Writers>>,
}

impl InstructionTraces {
    /// Opens the traces that the user requested, for an ELF image; a cluster has `hpus` HPUs.
    ///
    /// # Errors
    /// One of them cannot be written, or no disassembler is installed.
    pub fn open(arguments: &RunArguments, elf: &[u8], hpus: usize, outputs: &mut Outputs) -> Result<InstructionTraces> {
        let mut open = |option: &str, path: &Option<PathBuf>| {
            path.as_ref().map(|path| Ok::<_, anyhow::Error>((outputs.open(option, path)?, path.clone()))).transpose()
        };
        let text = open("--trace", &arguments.trace)?;
        let konata = open("--konata", &arguments.konata.konata)?;
        let mut writers = Writers::default();
        let disassembly =
            if text.is_some() || konata.is_some() { Disassembly::of(elf)? } else { Disassembly::default() };
        if let Some((slot, _)) = &text {
            writers.text = Some(Tracer::new(outputs.stream(*slot)?, disassembly.clone(), hpus));
        }
        if let Some((slot, _)) = &konata {
            writers.konata = Some(Konata::new(outputs.stream(*slot)?, disassembly, hpus));
        }
        Ok(InstructionTraces { text, konata, writers: Arc::new(Mutex::new(writers)) })
    }

    /// Writes every instruction that retires from now on.
    pub fn start(&self, session: &Session) {
        if self.text.is_none() && self.konata.is_none() {
            return;
        }
        let sink = self.writers.clone();
        session.card.sim().set_retired(Some(Box::new(move |retired| {
            let writers = &mut *sink.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(text) = &mut writers.text {
                text.retired(retired);
            }
            if let Some(konata) = &mut writers.konata {
                konata.retired(retired);
            }
        })));
    }

    /// Completes the traces. Of a run that fails or is interrupted they are kept, since the search for the cause begins
    /// there; `note` says so in the text trace.
    ///
    /// # Errors
    /// The traces are still in use, which is a defect of the program.
    pub fn finish(self, session: &Session, outputs: &mut Outputs, note: Option<&str>) -> Result<()> {
        session.card.sim().set_retired(None);
        let writers = Arc::into_inner(self.writers).context("the instruction traces are still in use")?;
        let writers = writers.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let (Some((slot, path)), Some(tracer)) = (self.text, writers.text) {
            let mut instructions = 0;
            let written = outputs.write(slot, |_| {
                instructions = tracer.finish(note)?;
                Ok(())
            });
            if written {
                eprintln!("spindle: {instructions} instructions in {}", path.display());
            }
        }
        if let (Some((slot, path)), Some(konata)) = (self.konata, writers.konata) {
            let mut instructions = 0;
            let written = outputs.write(slot, |_| {
                instructions = konata.finish()?;
                Ok(())
            });
            if written {
                eprintln!("spindle: {instructions} instructions for Konata in {}", path.display());
            }
        }
        Ok(())
    }
}
