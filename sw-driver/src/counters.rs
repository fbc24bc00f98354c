//! All counters of a card, by the names that the contract gives them: a counter that the contract gains is here at once.

use crate::access::whole;
use crate::{Bar, Device, HostMemory, Result};
use spindle_contract::reasons::DROP_REASONS;
use spindle_contract::registers::{hpu, node, packet, rvma, Kind, Page, Register, BLOCKS};

/// Counters of one unit each of several; [`Counters::hpus`] has them.
const PER_UNIT: [(u32, u32); 2] = [(hpu::BASE, hpu::HPU_BUSY), (hpu::BASE, hpu::HPU_TASKS)];
/// Registers that have the present state of the card.
const LEVELS: [(u32, u32); 4] = [
    (packet::BASE, packet::MESSAGES_OPEN),
    (packet::BASE, packet::CELLS_FREE),
    (rvma::BASE, rvma::MAILBOXES),
    (rvma::BASE, rvma::BUFFERS),
];
/// Pages with counters.
const PAGES: [u32; 4] = [packet::BASE, hpu::BASE, rvma::BASE, node::BASE];

/// A counter and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its page.
    pub page: &'static str,
    /// Its name in lower case.
    pub name: String,
    /// Its meaning.
    pub meaning: &'static str,
    /// Its value.
    pub value: u64,
    /// Its bits: it wraps around.
    pub bits: u32,
    /// The value is a state of the card; others only grow.
    pub level: bool,
}

impl Counter {
    /// How much a counter has grown since an earlier value.
    pub fn since(&self, earlier: u64) -> u64 {
        let grown = self.value.wrapping_sub(earlier);
        if self.bits < 64 {
            grown & ((1 << self.bits) - 1)
        } else {
            grown
        }
    }
}

/// What an HPU has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HpuCounters {
    /// Cycles in a handler, modulo 2^32.
    pub busy: u32,
    /// Tasks ended.
    pub tasks: u32,
}

/// The counters of a card at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Cycle of the first of them.
    pub cycle: u64,
    /// In the order of the registers.
    pub counters: Vec<Counter>,
    /// Frames dropped, by reason, in the order of `spindle_contract::reasons::DROP_REASONS`.
    pub drops: Vec<u32>,
    /// By HPU: cluster × hpus + hpu.
    pub hpus: Vec<HpuCounters>,
    /// Live messages of each context.
    pub live: Vec<u32>,
}

impl Counters {
    /// A counter by its page and its name in lower case.
    pub fn get(&self, page: &str, name: &str) -> Option<&Counter> {
        self.counters.iter().find(|counter| (counter.page, counter.name.as_str()) == (page, name))
    }

    /// How much a counter has grown since an earlier reading of the same card; 0 for a counter that there is not.
    pub fn grown(&self, earlier: &Counters, page: &str, name: &str) -> u64 {
        match (self.get(page, name), earlier.get(page, name)) {
            (Some(now), Some(before)) => now.since(before.value),
            _ => 0,
        }
    }

    /// Reasons, with the frames dropped for each.
    pub fn drop_reasons(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        DROP_REASONS.iter().zip(&self.drops).map(|((name, _), count)| (*name, *count))
    }
}

/// The register beside the low half of a counter of 64 bits.
fn high_half<'a>(page: &'a Page, low: &Register) -> Option<&'a Register> {
    let stem = low.name.strip_suffix("_LO")?;
    page.registers.iter().find(|register| register.name.strip_suffix("_HI") == Some(stem))
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Reads all counters, one after another: later ones are some cycles younger.
    pub fn counters(&mut self) -> Result<Counters> {
        let mut all = Counters { cycle: self.cycle()?, ..Counters::default() };
        for page in BLOCKS.iter().filter(|page| PAGES.contains(&page.base)) {
            for register in page.registers.iter().filter(|register| register.count == 1) {
                let level = LEVELS.contains(&(page.base, register.offset));
                if level || (register.kind == Kind::Counter && !register.name.ends_with("_HI")) {
                    all.counters.push(self.counter(page, register, level)?);
                }
            }
        }
        let hpus = self.info.total_hpus();
        let [busy, tasks] = PER_UNIT.map(|(page, offset)| self.words(page + offset, hpus));
        all.hpus = busy?.into_iter().zip(tasks?).map(|(busy, tasks)| HpuCounters { busy, tasks }).collect();
        all.drops = self.words(packet::BASE + packet::DROPS, DROP_REASONS.len())?;
        all.live = self.words(packet::BASE + packet::CONTEXT_LIVE, self.info.contexts)?;
        Ok(all)
    }

    fn counter(&mut self, page: &Page, register: &Register, level: bool) -> Result<Counter> {
        let address = page.base + register.offset;
        let (name, value, bits) = match high_half(page, register) {
            Some(high) => {
                (register.name.trim_end_matches("_LO"), self.read_wide(address, page.base + high.offset)?, 64)
            }
            None => (register.name, self.bar.read32(address)?.into(), 32),
        };
        Ok(Counter { page: page.name, name: name.to_lowercase(), meaning: register.doc, value, bits, level })
    }

    fn words(&mut self, address: u32, count: usize) -> Result<Vec<u32>> {
        (0..count as u32).map(|i| self.bar.read32(address + 4 * i)).collect()
    }

    /// A 64-bit counter whose halves are read one after the other: repeated until the high half does not change.
    pub(crate) fn read_wide(&mut self, low: u32, high: u32) -> Result<u64> {
        let mut before = self.bar.read32(high)?;
        loop {
            let value = self.bar.read32(low)?;
            let after = self.bar.read32(high)?;
            if before == after {
                return Ok(whole(value, after));
            }
            before = after;
        }
    }
}
