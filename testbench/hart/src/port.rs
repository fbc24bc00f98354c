//! The command port.

use super::timing::Timing;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::CMD_ISSUE;
use spindle_sim::fields::Reader;

/// What becomes of a write of ISSUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is a command.
    Done,
    /// It is refused.
    Refused,
    /// There is no handle.
    Full,
}

/// A write that reached the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortWrite {
    /// Cycle of the bench.
    pub cycle: u64,
    /// Hardware thread.
    pub thread: usize,
    /// Its bank.
    pub bank: usize,
    /// Byte offset of the word.
    pub offset: u32,
    /// Data.
    pub data: u32,
}

/// The command port's other side.
#[derive(Default)]
pub struct CommandPort {
    /// What loads read, by word.
    pub words: [u32; 16],
    /// Opcodes that are refused.
    pub refused: Vec<u32>,
    /// No handle is free until this cycle.
    pub full_until: u64,
    /// Everything written.
    pub writes: Vec<PortWrite>,
    /// A write of ISSUE that has not been answered, and when it is.
    verdict: Option<(u64, Verdict)>,
    /// Per thread, when its commands will all have ended.
    ends: [u64; 2],
}

impl CommandPort {
    /// The pulse of this cycle.
    pub(super) fn pulse(&mut self, now: u64) -> Option<Verdict> {
        self.verdict.take_if(|verdict| verdict.0 <= now).map(|verdict| verdict.1)
    }

    /// No handle is free.
    pub(super) fn is_full(&self, now: u64) -> bool {
        now < self.full_until
    }

    /// Per thread: commands are under way.
    pub(super) fn pending(&self, now: u64) -> u64 {
        (0..2).map(|thread| u64::from(now < self.ends[thread]) << thread).sum()
    }

    /// A handler begins: its predecessor's commands are not its own.
    pub(super) fn begin(&mut self, thread: usize) {
        self.ends[thread] = 0;
    }

    /// An access; gives the word that it reads.
    pub(super) fn access(&mut self, bytes: &[u8], write: bool, now: u64, timing: &Timing, rng: &mut ChaCha8Rng) -> u32 {
        let mut port = Reader::new(bytes);
        let (thread, bank) = (port.field(1) as usize, port.field(2) as usize);
        let (word, data) = (port.field(4) as usize, port.word());
        let offset = word as u32 * 4;
        if write {
            self.writes.push(PortWrite { cycle: now, thread, bank, offset, data });
            if offset == CMD_ISSUE {
                assert!(self.verdict.is_none(), "ISSUE is written before the last one was answered");
                let verdict = if self.refused.contains(&data) {
                    Verdict::Refused
                } else if self.is_full(now) {
                    Verdict::Full
                } else {
                    Verdict::Done
                };
                let at = now + Timing::delay(rng, timing.issue).max(1);
                if verdict == Verdict::Done {
                    self.ends[thread] = self.ends[thread].max(at + Timing::delay(rng, timing.command));
                }
                self.verdict = Some((at, verdict));
            }
        }
        self.words[word]
    }
}
