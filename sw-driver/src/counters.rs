//! All counters of a card, by the names that the contract gives them: a counter that the contract gains is here at once.

use crate::access::whole;
use crate::{Bar, ContextId, Device, Error, HostMemory, Result};
use spindle_contract::reasons::{CONTEXT_DROP_COUNT, DROP_COUNT, DROP_REASONS};
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
/// Attempts to read both halves of a counter.
const WIDE_READS: u32 = 8;
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

/// What the handlers of a context have used, and which of its frames were dropped. Of the tasks that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextCounters {
    /// Tasks, faults included; modulo 2^32.
    pub tasks: u32,
    /// Those of them that were ended by a fault or the watchdog; modulo 2^32.
    pub faulted: u32,
    /// Their cycles, from the first fetch to the end.
    pub cycles: u64,
    /// Their instructions.
    pub instructions: u64,
    /// Frames that a rule had given to the context and that were dropped, by reason (the first of `DROP_REASONS`); modulo
    /// 2^32 each.
    pub drops: [u32; CONTEXT_DROP_COUNT],
}

impl ContextCounters {
    /// How much all of them have grown since an earlier reading.
    pub fn since(&self, earlier: &ContextCounters) -> ContextCounters {
        ContextCounters {
            tasks: self.tasks.wrapping_sub(earlier.tasks),
            faulted: self.faulted.wrapping_sub(earlier.faulted),
            cycles: self.cycles.wrapping_sub(earlier.cycles),
            instructions: self.instructions.wrapping_sub(earlier.instructions),
            drops: std::array::from_fn(|reason| self.drops[reason].wrapping_sub(earlier.drops[reason])),
        }
    }

    /// All frames dropped.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().copied().map(u64::from).sum()
    }

    /// Reasons with a count, by name.
    pub fn drop_reasons(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        DROP_REASONS.iter().zip(self.drops).map(|((name, _), count)| (*name, count)).filter(|(_, count)| *count > 0)
    }
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
    /// Of each context number, since the reset of the card, whatever images the context has had.
    pub contexts: Vec<ContextCounters>,
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
        for context in 0..self.info.contexts {
            let counters = self.counters_of(context, &all.drops)?;
            all.contexts.push(counters);
        }
        Ok(all)
    }

    /// What a context has used since it was installed by this device; since the reset of the card, if another program
    /// installed it. The halves of a count are read one after the other, so counts of a context at work are some cycles
    /// apart.
    ///
    /// # Errors
    /// The card has no such context, or does not answer.
    pub fn context_counters(&mut self, context: ContextId) -> Result<ContextCounters> {
        self.check_context(context)?;
        let before = self.contexts.counted[context.0];
        Ok(self.counted(context.0)?.since(&before))
    }

    /// Refuses a context that the card does not have.
    pub(crate) fn check_context(&self, context: ContextId) -> Result<()> {
        if context.0 < self.info.contexts {
            return Ok(());
        }
        let (number, count) = (context.0, self.info.contexts);
        Err(Error::Argument(format!("there is no context {number}; the card has {count}, from 0")))
    }

    /// What the context with this number has counted since the reset of the card.
    pub(crate) fn counted(&mut self, context: usize) -> Result<ContextCounters> {
        let drops = self.words(packet::BASE + packet::DROPS, DROP_COUNT)?;
        self.counters_of(context, &drops)
    }

    /// The same, with the drops of all frames: where there are none, none are of the context.
    fn counters_of(&mut self, context: usize, drops: &[u32]) -> Result<ContextCounters> {
        let place = 4 * context as u32;
        let register = |offset: u32| hpu::BASE + offset + place;
        let mut counters = ContextCounters {
            tasks: self.bar.read32(register(hpu::CONTEXT_TASKS))?,
            faulted: self.bar.read32(register(hpu::CONTEXT_FAULTED))?,
            cycles: self.read_wide(register(hpu::CONTEXT_CYCLES_LO), register(hpu::CONTEXT_CYCLES_HI))?,
            instructions: self.read_wide(register(hpu::CONTEXT_INSTRET_LO), register(hpu::CONTEXT_INSTRET_HI))?,
            drops: [0; CONTEXT_DROP_COUNT],
        };
        let first = packet::BASE + packet::CONTEXT_DROPS + 4 * (context * CONTEXT_DROP_COUNT) as u32;
        for (reason, count) in counters.drops.iter_mut().enumerate().filter(|(reason, _)| drops[*reason] != 0) {
            *count = self.bar.read32(first + 4 * reason as u32)?;
        }
        Ok(counters)
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

    /// A 64-bit counter whose halves are read one after the other: repeated until the high half does not change, which no
    /// counter does twice in a few accesses.
    pub(crate) fn read_wide(&mut self, low: u32, high: u32) -> Result<u64> {
        let mut before = self.bar.read32(high)?;
        for _ in 0..WIDE_READS {
            let value = self.bar.read32(low)?;
            let after = self.bar.read32(high)?;
            if before == after {
                return Ok(whole(value, after));
            }
            before = after;
        }
        Err(Error::Implausible(format!("another high half of the counter at {high:#x} at each of {WIDE_READS} reads")))
    }
}
