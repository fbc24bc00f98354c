//! Opening a card: identity, configuration, block list.

use crate::access::whole;
use crate::context::Contexts;
use crate::regions::RegionTable;
use crate::resident::Residents;
use crate::rule_table::RuleTable;
use crate::{Bar, Error, HostMemory, Registers, Result};
use spindle_contract::params::MAX_CONTEXTS;
use spindle_contract::registers::{self, global, packet, Page, BLOCKS};

/// Cycles of a unit of MESSAGE_TIMEOUT, and how many units it can hold.
const TIMEOUT_UNIT: u64 = 1024;
/// Processes that the masks of the card's registers have bits for.
const MOST_PROCESSES: usize = 64;
const MOST_TIMEOUT_UNITS: u64 = u16::MAX as u64;

/// A card, opened. The context, rule, RVMA and counter calls are in the modules of their names.
pub struct Device<B: Bar, M: HostMemory> {
    /// The card's registers.
    pub bar: B,
    /// Memory that the card reaches.
    pub memory: M,
    pub(crate) info: Info,
    pub(crate) contexts: Contexts,
    pub(crate) rules: RuleTable,
    pub(crate) regions: RegionTable,
    pub(crate) residents: Residents,
}

/// Configuration of the card, as its registers give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Clusters.
    pub clusters: usize,
    /// HPUs of a cluster.
    pub hpus: usize,
    /// Execution contexts.
    pub contexts: usize,
    /// Match rules.
    pub match_rules: usize,
    /// Mailboxes.
    pub mailboxes: usize,
    /// Posted buffers.
    pub posted_buffers: usize,
    /// Bytes of instruction memory.
    pub imem_bytes: usize,
    /// Bytes of context memory.
    pub l2_bytes: usize,
    /// Bytes of packet buffer.
    pub packet_buffer_bytes: usize,
    /// Nominal clock.
    pub clock_mhz: u32,
    /// Slots of the message table.
    pub live_messages: usize,
    /// Doorbell pages.
    pub processes: usize,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Opens the card: checks that it is one, that it speaks our version, and that all its register blocks are where this library
    /// expects them. Rules and contexts that an earlier owner left are switched off.
    pub fn open(bar: B, memory: M) -> Result<Self> {
        let mut device = Self::share(bar, memory)?;
        device.bar.write(packet::Control::ZERO)?;
        device.deactivate_all()?;
        device.forget_residents()?;
        device.clear_rules()?;
        device.write_unchecked()?;
        Ok(device)
    }

    /// Opens the card as [`Device::open`] does, but changes nothing: reception, contexts, rules and regions stay as
    /// they are. Contexts and rules that other programs loaded as [residents](crate::resident) are known to the device.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn attach(bar: B, memory: M) -> Result<Self> {
        let mut device = Self::share(bar, memory)?;
        device.read_unchecked()?;
        device.read_residents()?;
        Ok(device)
    }

    /// Opens the share that a process has of a card ([`Card::process`](crate::Card::process)): looks at the global page, and changes
    /// nothing. Calls about this process work: windows, buffers, puts, rings. The owner of the card registers what the share maps.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn share(mut bar: B, memory: M) -> Result<Self> {
        let info = identify(&mut bar)?;
        Ok(Device {
            contexts: Contexts::new(&info),
            rules: RuleTable::new(info.match_rules),
            regions: RegionTable::new(info.processes),
            residents: Residents::default(),
            bar,
            memory,
            info,
        })
    }

    /// Configuration of the card, as its registers give it.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Resets the whole card, by one register: engines, tables, rings, counters, interrupts. Transactions of host memory that are under way
    /// end first. Afterwards the device is as [`Device::open`] leaves it: windows, rings, contexts and rules of before are gone.
    ///
    /// Returns whether the card was quiet; if not, the host or the wire did not answer for 65,536 cycles, and a link that still owes
    /// answers should be reset as well.
    ///
    /// # Errors
    /// The card does not end the reset within 4,000,000 polls, or does not answer.
    pub fn reset(&mut self) -> Result<bool> {
        const POLLS: u32 = 4_000_000;
        self.bar.write(global::Reset::ZERO.with_busy(true))?;
        let mut state: global::Reset = self.bar.read()?;
        let mut polls = 0;
        while state.busy() {
            polls += 1;
            if polls > POLLS {
                return Err(Error::Timeout { what: "the reset of the card".into(), cycles: POLLS.into() });
            }
            state = self.bar.read()?;
        }
        self.contexts = Contexts::new(&self.info);
        self.rules = RuleTable::new(self.info.match_rules);
        self.regions = RegionTable::new(self.info.processes);
        self.residents = Residents::default();
        self.write_unchecked()?;
        Ok(!state.forced())
    }

    /// Cycles since reset.
    pub fn cycle(&mut self) -> Result<u64> {
        let low = self.bar.read32(global::BASE + global::CYCLE_LO)?;
        let high = self.bar.read32(global::BASE + global::CYCLE_HI)?;
        Ok(whole(low, high))
    }

    /// Whether frames are received.
    pub fn receives(&mut self) -> Result<bool> {
        Ok(self.bar.read::<packet::Control>()?.receive())
    }

    /// Switches reception on or off; off after reset.
    pub fn set_receive(&mut self, on: bool) -> Result<()> {
        let control: packet::Control = self.bar.read()?;
        self.bar.write(control.with_receive(on))
    }

    /// Ends messages that lack bytes and have had no packet and no handler for so many cycles, and at most half as many more. Rounded up to
    /// a multiple of 1024; 0 = such messages wait for ever, as after reset.
    ///
    /// # Errors
    /// More than the card can count: 67,107,840 cycles.
    pub fn set_message_timeout(&mut self, cycles: u64) -> Result<()> {
        let units = cycles.div_ceil(TIMEOUT_UNIT);
        if units > MOST_TIMEOUT_UNITS {
            return Err(Error::Argument(format!(
                "a message cannot wait for {cycles} cycles; at most {}, 0 = for ever",
                MOST_TIMEOUT_UNITS * TIMEOUT_UNIT
            )));
        }
        self.bar.write(packet::MessageTimeout::ZERO.with_message_timeout(units as u32))
    }
}

/// Checks that this is a card of our version with all register blocks in their places; its configuration.
fn identify<B: Bar>(bar: &mut B) -> Result<Info> {
    let magic = bar.read32(global::BASE + global::MAGIC)?;
    if magic != registers::MAGIC {
        return Err(Error::NotSpindle(magic));
    }
    let card = bar.read32(global::BASE + global::VERSION)?;
    if card != spindle_contract::VERSION {
        return Err(Error::Version { card, library: spindle_contract::VERSION });
    }
    let listed = block_list(bar)?;
    for block in BLOCKS {
        if !listed.iter().any(|entry| (entry.id, entry.base) == (block.id, block.base)) {
            return Err(Error::NoBlock(block.name));
        }
    }
    Info::read(bar)
}

/// An entry of the card's block list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedBlock {
    /// Id of the block.
    pub id: u32,
    /// Its version.
    pub version: u32,
    /// Its address in the BAR.
    pub base: u32,
    /// Its size in bytes.
    pub size: u32,
}

impl ListedBlock {
    /// The page of this library with the id of the block.
    pub fn known(&self) -> Option<&'static Page> {
        BLOCKS.iter().find(|block| block.id == self.id)
    }
}

/// Walks the card's block list.
pub fn block_list<B: Bar>(bar: &mut B) -> Result<Vec<ListedBlock>> {
    let room = BLOCKS[0].registers.iter().find(|r| r.offset == global::BLOCK_LIST).map_or(0, |r| r.count / 4);
    let count = bar.read32(global::BASE + global::BLOCKS)?;
    (0..count.min(room.max(BLOCKS.len() as u32)))
        .map(|entry| {
            let mut word = |i: u32| bar.read32(global::BASE + global::BLOCK_LIST + 16 * entry + 4 * i);
            Ok(ListedBlock { id: word(0)?, version: word(1)?, base: word(2)?, size: word(3)? })
        })
        .collect()
}

impl Info {
    fn read<B: Bar>(bar: &mut B) -> Result<Info> {
        let hpus: global::Hpus = bar.read()?;
        let tables: global::Tables = bar.read()?;
        let memories: global::Memories = bar.read()?;
        let mut word = |offset: u32| bar.read32(global::BASE + offset);
        let info = Info {
            clusters: hpus.clusters() as usize,
            hpus: hpus.hpus() as usize,
            contexts: hpus.contexts() as usize,
            match_rules: hpus.match_rules() as usize,
            mailboxes: tables.mailboxes() as usize,
            posted_buffers: tables.posted_buffers() as usize,
            imem_bytes: (memories.imem_kib() as usize) << 10,
            l2_bytes: (memories.l2_kib() as usize) << 10,
            packet_buffer_bytes: (memories.packet_buffer_kib() as usize) << 10,
            clock_mhz: word(global::CLOCK_MHZ)?,
            live_messages: word(global::LIVE_MESSAGES)? as usize,
            processes: word(global::PROCESSES)? as usize,
        };
        info.check()?;
        Ok(info)
    }

    /// Refuses sizes beyond what registers, masks and tables of any card are made for.
    fn check(&self) -> Result<()> {
        let core_mask = u32::BITS as usize;
        let limits = [
            ("HPUs", self.total_hpus(), 1..=core_mask),
            ("execution contexts", self.contexts, 1..=MAX_CONTEXTS),
            ("doorbell pages", self.processes, 1..=MOST_PROCESSES),
            ("bytes of context memory", self.l2_bytes, 1024..=usize::MAX),
        ];
        for (what, count, limit) in limits {
            if !limit.contains(&count) {
                return Err(Error::Implausible(format!(
                    "{count} {what}, where {} to {} can be",
                    limit.start(),
                    limit.end()
                )));
            }
        }
        Ok(())
    }

    /// All HPUs.
    pub fn total_hpus(&self) -> usize {
        self.clusters * self.hpus
    }
}
