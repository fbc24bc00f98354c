//! Execution contexts: placement of an image, installation, activation.

use crate::access::halves;
use crate::counters::ContextCounters;
use crate::device::Info;
use crate::image::{Image, ImageError, LONGEST_USER_HEADER};
use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::descriptors::overload;
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_contract::params::{BEAT_BYTES, CODE_ALIGN, L1_SCRATCH_BASE, L1_SCRATCH_BYTES, MAX_TAILROOM};
use spindle_contract::registers::{hpu, packet};
use std::ops::Range;

/// Number of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub usize);

/// Options of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextOptions {
    /// Cycle budget of a handler, 1 to [`WATCHDOG_MOST`].
    pub watchdog: u32,
    /// Bytes of context memory; at least what the image's variables take.
    pub state_bytes: usize,
    /// Host memory that the context's handlers may write: address and bytes.
    pub host_region: Option<(u64, u32)>,
    /// Bytes of scratchpad in each cluster, rounded up to a multiple of 64, at most 8 KiB. `None` takes half of what is free,
    /// rounded down to a power of two: 8 KiB for the first context, less for later ones, in the end nothing.
    pub scratch_bytes: Option<usize>,
    /// Share of HPU cycles under load, against the weights of other contexts, 1 to 255.
    pub weight: u8,
    /// Most live messages, at most 511; 0 = no limit.
    pub message_quota: u16,
    /// Most packets inside, at most 2047; 0 = no limit.
    pub packet_quota: u16,
    /// Treatment of packets beyond a limit.
    pub overload: Overload,
    /// HPUs that may run its handlers: bit cluster × hpus + hpu. At least one that exists.
    pub core_mask: u32,
    /// Bytes of user header for which the header handler waits, at most 127; 0 = what the image declares, or none.
    pub user_header: u8,
    /// Bytes of zeros after a packet in its slot, for replies that are longer than their requests; rounded up to a multiple of 64,
    /// at most [`MAX_TAILROOM`]. At least what the image declares.
    pub tailroom: u16,
    /// Process whose event ring gets its events.
    pub process: u8,
}

/// Treatment of packets beyond the limits of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overload {
    /// Dropped and counted; the completion handler sees `flow_control`.
    #[default]
    Drop,
    /// Placed without running a handler.
    Place,
    /// The context accepts nothing until there is room.
    Pause,
}

impl Overload {
    fn code(self) -> u32 {
        u32::from(match self {
            Overload::Drop => overload::DROP,
            Overload::Place => overload::PLACE,
            Overload::Pause => overload::PAUSE,
        })
    }
}

impl Default for ContextOptions {
    /// A budget of 100,000 cycles, the image's own variables, no host memory, a share of the scratchpads; weight 1,
    /// no limits, every HPU, process 0.
    fn default() -> Self {
        ContextOptions {
            watchdog: 100_000,
            state_bytes: 0,
            host_region: None,
            scratch_bytes: None,
            weight: 1,
            message_quota: 0,
            packet_quota: 0,
            overload: Overload::Drop,
            core_mask: u32::MAX,
            user_header: 0,
            tailroom: 0,
            process: 0,
        }
    }
}

impl ContextOptions {
    /// Refuses what the hardware would misunderstand.
    fn check(&self, info: &Info) -> Result<()> {
        let refuse = |sentence: String| Err(Error::Argument(sentence));
        if self.watchdog == 0 {
            return refuse("the watchdog budget is 0; give a handler at least one cycle".into());
        }
        if self.watchdog > WATCHDOG_MOST {
            return refuse(format!(
                "a watchdog budget of {} cycles is too large; at most {WATCHDOG_MOST}",
                self.watchdog
            ));
        }
        if self.weight == 0 {
            return refuse("a context of weight 0 would never run; give it 1 to 255".into());
        }
        if self.message_quota > MOST_MESSAGES {
            return refuse(format!(
                "a quota of {} messages is too large; at most {MOST_MESSAGES}, 0 = no limit",
                self.message_quota
            ));
        }
        if self.packet_quota > MOST_PACKETS {
            return refuse(format!(
                "a quota of {} packets is too large; at most {MOST_PACKETS}, 0 = no limit",
                self.packet_quota
            ));
        }
        if self.user_header > LONGEST_USER_HEADER {
            return refuse(format!(
                "a user header of {} bytes is too long; at most {LONGEST_USER_HEADER}",
                self.user_header
            ));
        }
        if usize::from(self.tailroom) > MAX_TAILROOM {
            return refuse(format!(
                "a tailroom of {} bytes is too large; a packet slot has room for {MAX_TAILROOM}",
                self.tailroom
            ));
        }
        let all = u32::MAX >> (32 - info.total_hpus());
        if self.core_mask & all == 0 {
            return refuse(format!("no HPU is in the core mask {:#x}; the card has HPUs {all:#x}", self.core_mask));
        }
        if usize::from(self.process) >= info.processes {
            return refuse(format!("there is no process {}; the card has {}", self.process, info.processes));
        }
        Ok(())
    }
}

/// Bytes of user header: what the image declares; `asked`, if it is not 0, has to agree.
fn user_header(image: &Image, asked: u8) -> Result<u8> {
    match &image.user_header {
        None => Ok(asked),
        Some(declared) if asked == 0 || asked == declared.bytes => Ok(declared.bytes),
        Some(declared) => Err(Error::Argument(format!(
            "the options ask for a user header of {asked} bytes, the image declares `{}` of {} bytes; leave \
             ContextOptions::user_header at 0",
            declared.name, declared.bytes
        ))),
    }
}

/// Looks for a moment in which no put of context memory is under way, and no command waits that may be one.
const LOOKS: u32 = 16;
/// What the fields of CTX_QUOTA and CTX_USER_HEADER can hold.
const MOST_MESSAGES: u16 = (1 << 9) - 1;
const MOST_PACKETS: u16 = (1 << 11) - 1;

/// Which pieces of the card's memories are taken.
pub(crate) struct Contexts {
    pub(crate) slots: Vec<Option<Placement>>,
    pub(crate) active: u32,
    /// What each context had counted when its image was installed.
    pub(crate) counted: Vec<ContextCounters>,
    imem_bytes: usize,
    /// L2 that contexts may take.
    pub(crate) l2_bytes: usize,
}

/// Where a context lies: base and bytes reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) code: (usize, usize),
    pub(crate) state: (usize, usize),
    /// In the L1 of every cluster.
    pub(crate) scratch: (usize, usize),
}

impl Contexts {
    pub(crate) fn new(info: &Info) -> Self {
        Contexts {
            slots: vec![None; info.contexts],
            active: 0,
            counted: vec![ContextCounters::default(); info.contexts],
            imem_bytes: info.imem_bytes,
            l2_bytes: info.l2_bytes,
        }
    }

    /// Whether the card has such places. What another program says of them may be any numbers.
    pub(crate) fn has(&self, placement: &Placement) -> bool {
        let inside = |(start, bytes): (usize, usize), memory: Range<usize>| {
            bytes == 0 || (memory.start <= start && start.checked_add(bytes).is_some_and(|end| end <= memory.end))
        };
        inside(placement.code, 0..self.imem_bytes)
            && inside(placement.state, 0..self.l2_bytes)
            && inside(placement.scratch, SCRATCHPADS)
    }
}

/// Bytes that a piece takes: hardware ORs the base into an address, so a piece is a power of two, aligned to itself.
pub fn reserved(bytes: usize) -> usize {
    if bytes == 0 {
        0
    } else {
        bytes.next_power_of_two().max(64)
    }
}

/// The first place for `bytes` in `memory` in which `taken` is taken.
fn place(
    what: &'static str,
    bytes: usize,
    memory: Range<usize>,
    taken: impl Iterator<Item = (usize, usize)> + Clone,
) -> Result<(usize, usize)> {
    let size = reserved(bytes);
    if size == 0 {
        return Ok((0, 0));
    }
    let free = |base: &usize| taken.clone().all(|(start, length)| base + size <= start || start + length <= *base);
    let bases = (memory.start.next_multiple_of(size)..memory.end).step_by(size);
    bases.filter(|base| base + size <= memory.end).find(free).map(|base| (base, size)).ok_or_else(|| Error::Full {
        what,
        wanted: size,
        free: unused(&memory, taken),
        cure: "remove a context first",
    })
}

/// Bytes of a memory that are not taken.
fn unused(memory: &Range<usize>, taken: impl Iterator<Item = (usize, usize)>) -> usize {
    memory.len().saturating_sub(taken.map(|(_, length)| length).sum())
}

/// The scratchpads in the L1 of a cluster.
const SCRATCHPADS: Range<usize> = L1_SCRATCH_BASE..L1_SCRATCH_BASE + L1_SCRATCH_BYTES;
/// Largest scratchpad of a context: the largest power of two that fits the scratchpads, aligned to itself.
const LARGEST_SCRATCHPAD: usize = 8 << 10;
/// A scratchpad is zeroed in pieces of this size.
const SCRATCH_UNIT: usize = 64;

/// Base and size of the next scratchpad; its place takes `reserved` bytes.
fn place_scratch(wanted: Option<usize>, taken: impl Iterator<Item = (usize, usize)> + Clone) -> Result<(usize, usize)> {
    const WHAT: &str = "the context's scratchpad";
    if let Some(bytes) = wanted {
        if bytes > LARGEST_SCRATCHPAD {
            return Err(Error::Argument(format!(
                "a scratchpad of {bytes} bytes is too large; a context can have {LARGEST_SCRATCHPAD} bytes"
            )));
        }
        let size = bytes.next_multiple_of(SCRATCH_UNIT);
        return Ok((place(WHAT, size, SCRATCHPADS, taken)?.0, size));
    }
    let mut size = prev_power_of_two(unused(&SCRATCHPADS, taken.clone()) / 2).min(LARGEST_SCRATCHPAD);
    // What is free may lie in pieces, so smaller sizes are tried as well.
    while size >= SCRATCH_UNIT {
        if let Ok(found) = place(WHAT, size, SCRATCHPADS, taken.clone()) {
            return Ok(found);
        }
        size /= 2;
    }
    Ok((0, 0))
}

/// The largest power of two that is not above `n`, 0 for 0.
fn prev_power_of_two(n: usize) -> usize {
    n.checked_ilog2().map_or(0, |log| 1 << log)
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Writes an image and everything else a context needs into a free context, which stays inactive.
    pub fn install(&mut self, image: &Image, options: &ContextOptions) -> Result<ContextId> {
        let slot = self.contexts.slots.iter().position(Option::is_none).ok_or(Error::Full {
            what: "an execution context",
            wanted: 1,
            free: 0,
            cure: "remove a context first",
        })?;
        options.check(&self.info)?;
        let user_header = user_header(image, options.user_header)?;
        let tailroom = usize::from(image.tailroom.max(options.tailroom)).next_multiple_of(BEAT_BYTES);
        let state_bytes = image.state.len().max(options.state_bytes).next_multiple_of(4);
        for (what, bytes, limit) in
            [("code", image.code.len(), self.contexts.imem_bytes), ("state", state_bytes, self.contexts.l2_bytes)]
        {
            if bytes > limit {
                return Err(ImageError::TooLarge { what, bytes, limit }.into());
            }
        }
        let taken = self.contexts.slots.iter().flatten();
        let code_room = 0..self.contexts.imem_bytes;
        let code =
            place("the handlers' code", image.code.len().max(CODE_ALIGN), code_room, taken.clone().map(|p| p.code))?;
        let state_room = 0..self.contexts.l2_bytes;
        let state = place("the handlers' state", state_bytes, state_room, taken.clone().map(|p| p.state))?;
        let scratch = place_scratch(options.scratch_bytes, taken.map(|p| (p.scratch.0, reserved(p.scratch.1))))?;
        self.load(hpu::IMEM_ADDR, hpu::IMEM_DATA, code.0, &image.code)?;
        let mut initial = image.state.clone();
        initial.resize(state_bytes, 0);
        self.load(hpu::L2_ADDR, hpu::L2_DATA, state.0, &initial)?;

        let (host, host_bytes) = options.host_region.unwrap_or((0, 0));
        let [host_lo, host_hi] = halves(host);
        let quota =
            hpu::CtxQuota::ZERO.with_messages(options.message_quota.into()).with_packets(options.packet_quota.into());
        let [header, payload, completion, task] = image.entries.map(|entry| entry.unwrap_or(0));
        let staging = [
            (hpu::CTX_HEADER, header),
            (hpu::CTX_PAYLOAD, payload),
            (hpu::CTX_COMPLETION, completion),
            (hpu::CTX_TASK, task),
            (hpu::CTX_CODE_BASE, code.0 as u32),
            (hpu::CTX_CODE_SIZE, image.code.len() as u32),
            (hpu::CTX_STATE_BASE, state.0 as u32),
            (hpu::CTX_STATE_SIZE, state_bytes as u32),
            (hpu::CTX_HOST_LO, host_lo),
            (hpu::CTX_HOST_HI, host_hi),
            (hpu::CTX_HOST_SIZE, host_bytes),
            (hpu::CTX_WATCHDOG, options.watchdog),
            (hpu::CTX_SCRATCH_BASE, scratch.0 as u32),
            (hpu::CTX_SCRATCH_SIZE, scratch.1 as u32),
            (hpu::CTX_WEIGHT, options.weight.into()),
            (hpu::CTX_QUOTA, quota.0),
            (hpu::CTX_OVERLOAD, options.overload.code()),
            (hpu::CTX_CORE_MASK, options.core_mask),
            (hpu::CTX_USER_HEADER, user_header.into()),
            (hpu::CTX_TAILROOM, tailroom as u32),
            (hpu::CTX_PROCESS, options.process.into()),
            (hpu::CTX_INSTALL, slot as u32),
        ];
        for (register, value) in staging {
            self.bar.write32(hpu::BASE + register, value)?;
        }
        self.contexts.slots[slot] = Some(Placement { code, state, scratch });
        self.contexts.counted[slot] = self.counted(slot)?;
        Ok(ContextId(slot))
    }

    pub(crate) fn load(&mut self, address: u32, data: u32, base: usize, bytes: &[u8]) -> Result<()> {
        self.bar.write32(hpu::BASE + address, base as u32)?;
        for word in bytes.chunks(4) {
            let mut padded = [0; 4];
            padded[..word.len()].copy_from_slice(word);
            self.bar.write32(hpu::BASE + data, u32::from_le_bytes(padded))?;
        }
        Ok(())
    }

    /// Lets the context accept packets.
    pub fn activate(&mut self, context: ContextId) -> Result<()> {
        self.set_active(context, true)
    }

    /// Stops the context from accepting packets; what it has accepted is still handled.
    pub fn deactivate(&mut self, context: ContextId) -> Result<()> {
        self.set_active(context, false)
    }

    fn set_active(&mut self, context: ContextId, on: bool) -> Result<()> {
        if self.contexts.slots.get(context.0).is_none_or(Option::is_none) {
            return Err(Error::Argument(format!("context {} is not installed; install an image first", context.0)));
        }
        let bit = 1 << context.0;
        let active = if on { self.contexts.active | bit } else { self.contexts.active & !bit };
        self.bar.write32(hpu::BASE + hpu::CTX_ACTIVE, active)?;
        self.contexts.active = active;
        Ok(())
    }

    pub(crate) fn deactivate_all(&mut self) -> Result<()> {
        self.contexts.active = 0;
        self.bar.write32(hpu::BASE + hpu::CTX_ACTIVE, 0)
    }

    /// Messages of the context that are alive; none of an inactive context means that it has drained.
    ///
    /// # Errors
    /// The card has no such context, or does not answer.
    pub fn live_messages(&mut self, context: ContextId) -> Result<u32> {
        self.check_context(context)?;
        self.bar.read32(packet::BASE + packet::CONTEXT_LIVE + 4 * context.0 as u32)
    }

    /// Deactivates a context and gives its memory back.
    ///
    /// # Errors
    /// Messages of the context are still alive: let them end, or age, and try again. Or puts of context memory are under way,
    /// of this context or of another: the card would read their bytes again from there, whoever has the memory by
    /// then.
    pub fn remove(&mut self, context: ContextId) -> Result<()> {
        self.deactivate(context)?;
        let live = self.live_messages(context)?;
        if live > 0 {
            return Err(Error::Argument(format!(
                "context {} still has {live} live messages; wait until they have ended, then remove it",
                context.0
            )));
        }
        let mut puts = hpu::ContextPuts::ZERO;
        for _ in 0..LOOKS {
            puts = self.bar.read()?;
            if puts == hpu::ContextPuts::ZERO {
                self.contexts.slots[context.0] = None;
                return Ok(());
            }
        }
        Err(Error::Argument(format!(
            "puts of context memory are under way ({} now); wait until they have ended, then remove context {}",
            puts.under_way(),
            context.0
        )))
    }

    /// Where bytes of the context's memory lie in the card's.
    fn state_address(&self, context: ContextId, offset: usize, bytes: usize) -> Result<usize> {
        let Some(Some(placement)) = self.contexts.slots.get(context.0) else {
            return Err(Error::Argument(format!("context {} is not installed", context.0)));
        };
        let (base, size) = placement.state;
        // The sum of what a program names may be more than a number holds.
        if !offset.is_multiple_of(4) || offset.checked_add(bytes).is_none_or(|end| end > size) {
            return Err(Error::Argument(format!(
                "{bytes} bytes from {offset} on are not in the {size} bytes of the context's memory, or not aligned to 4"
            )));
        }
        Ok(base + offset)
    }

    /// Writes bytes of the context's memory while its handlers may run: word by word, the last one padded with zeros.
    pub fn write_state(&mut self, context: ContextId, offset: usize, bytes: &[u8]) -> Result<()> {
        let address = self.state_address(context, offset, bytes.len().next_multiple_of(4))?;
        self.load(hpu::L2_ADDR, hpu::L2_DATA, address, bytes)
    }

    /// Bytes of the context's memory, as handlers have left them.
    pub fn read_state(&mut self, context: ContextId, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let address = self.state_address(context, offset, bytes.len())?;
        self.bar.write32(hpu::BASE + hpu::L2_ADDR, address as u32)?;
        for word in bytes.chunks_mut(4) {
            let value = self.bar.read32(hpu::BASE + hpu::L2_DATA)?.to_le_bytes();
            word.copy_from_slice(&value[..word.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_to_their_size_and_do_not_overlap() {
        let mut taken = Vec::new();
        for bytes in [276, 404, 100, 1000, 64, 3000] {
            let (base, size) = place("code", bytes, 0..32 << 10, taken.iter().copied()).unwrap();
            assert!(size >= bytes && base % size == 0 && base + size <= 32 << 10);
            assert!(taken.iter().all(|(start, length)| base + size <= *start || start + length <= base));
            taken.push((base, size));
        }
        let full = place("code", 20 << 10, 0..32 << 10, taken.iter().copied()).unwrap_err().to_string();
        assert!(full.contains("no room") && full.contains("32768 wanted"), "{full}");
        assert_eq!(place("state", 0, 0..0, std::iter::empty()).unwrap(), (0, 0));
    }

    #[test]
    fn scratchpads_are_shared_out() {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut next = |wanted| {
            let found = place_scratch(wanted, taken.iter().map(|(base, size)| (*base, reserved(*size))))?;
            let (base, size) = found;
            assert!(base % size.next_power_of_two() == 0 && SCRATCHPADS.contains(&base), "{found:x?}");
            assert!(base + size <= SCRATCHPADS.end, "{found:x?}");
            assert!(taken.iter().all(|(start, length)| base + size <= *start || start + length <= base), "{found:x?}");
            taken.push(found);
            Ok::<usize, Error>(size)
        };
        let sizes: Vec<usize> = (0..9).map(|_| next(None).unwrap()).collect();
        assert_eq!(sizes, [8192, 4096, 2048, 2048, 1024, 512, 256, 128, 64]);
        let full = next(Some(512)).unwrap_err().to_string();
        assert!(full.contains("scratchpad: 512 wanted, 64 free"), "{full}");
        taken.clear();
        let mut next = |wanted| {
            let found = place_scratch(wanted, taken.iter().map(|(base, size)| (*base, reserved(*size))))?;
            taken.push(found);
            Ok::<_, Error>(found)
        };
        assert!(next(Some(8200)).unwrap_err().to_string().contains("8200 bytes is too large"));
        assert_eq!(next(Some(8192)).unwrap(), (0xA000, 8192));
        assert_eq!(next(Some(100)).unwrap().1, 128);
        assert_eq!(next(Some(0)).unwrap(), (0, 0));
    }

    fn info() -> Info {
        Info {
            clusters: 2,
            hpus: 4,
            contexts: 4,
            match_rules: 64,
            mailboxes: 64,
            posted_buffers: 64,
            imem_bytes: 4096,
            l2_bytes: 8192,
            packet_buffer_bytes: 16 << 10,
            clock_mhz: 250,
            live_messages: 16,
            processes: 4,
        }
    }

    #[test]
    fn a_placement_lies_whole_in_the_memories_of_the_card() {
        let contexts = Contexts::new(&info());
        let all = Placement { code: (0, 4096), state: (0, 8192), scratch: (L1_SCRATCH_BASE, L1_SCRATCH_BYTES) };
        let end = L1_SCRATCH_BASE + L1_SCRATCH_BYTES;
        for good in [
            all,
            Placement { code: (4095, 1), state: (8191, 1), scratch: (end - 1, 1) },
            // Of a piece of no bytes the place does not matter.
            Placement { code: (usize::MAX, 0), state: (usize::MAX, 0), scratch: (0, 0) },
        ] {
            assert!(contexts.has(&good), "{good:?}");
        }
        for bad in [
            Placement { code: (1, 4096), ..all },
            Placement { code: (4096, 1), ..all },
            Placement { code: (1, usize::MAX), ..all },
            Placement { state: (0, 8193), ..all },
            Placement { state: (8192, 1), ..all },
            Placement { scratch: (L1_SCRATCH_BASE - 1, 1), ..all },
            Placement { scratch: (end, 1), ..all },
            Placement { scratch: (end - 63, 64), ..all },
            Placement { scratch: (0, 64), ..all },
        ] {
            assert!(!contexts.has(&bad), "{bad:?}");
        }
    }

    #[test]
    fn pieces_are_powers_of_two_from_64_on() {
        for (bytes, size) in [(0, 0), (1, 64), (64, 64), (65, 128), (128, 128), (129, 256), (4097, 8192)] {
            assert_eq!(reserved(bytes), size);
        }
        for (n, below) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 4), (255, 128), (256, 256), (257, 256)] {
            assert_eq!(prev_power_of_two(n), below);
        }
    }

    #[test]
    fn the_first_free_place_is_taken() {
        let find = |bytes: usize, memory: Range<usize>, taken: &[(usize, usize)]| {
            place("memory", bytes, memory, taken.iter().copied()).map(|place| place.0)
        };
        assert_eq!(find(64, 0..64, &[]).unwrap(), 0);
        assert_eq!(find(64, 100..300, &[]).unwrap(), 128, "aligned to its size");
        assert_eq!(find(64, 128..320, &[(128, 64), (192, 64)]).unwrap(), 256);
        assert_eq!(find(64, 0..256, &[(0, 64), (128, 64)]).unwrap(), 64, "between two");
        assert_eq!(find(128, 0..512, &[(0, 64), (256, 64)]).unwrap(), 128);
        assert_eq!(find(128, 0..512, &[(0, 64), (192, 64), (256, 64)]).unwrap(), 384);
        for (bytes, memory, taken, wanted, free) in [
            (64, 0..63, &[][..], 64, 63),
            (65, 0..192, &[(0, 64)][..], 128, 128),
            (64, 0..128, &[(0, 64), (64, 64)][..], 64, 0),
            // What is taken may be more than the memory has.
            (64, 0..64, &[(0, 64), (0, 64)][..], 64, 0),
        ] {
            match find(bytes, memory, taken).unwrap_err() {
                Error::Full { what: "memory", wanted: w, free: f, .. } => assert_eq!((w, f), (wanted, free)),
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn a_share_of_the_scratchpads_fits_between_others() {
        let share =
            |wanted: Option<usize>, taken: &[(usize, usize)]| place_scratch(wanted, taken.iter().copied()).unwrap();
        let base = L1_SCRATCH_BASE;
        assert_eq!(share(None, &[]), (base, 8192));
        // Half of what is free is 4 KiB and more, and lies nowhere in one piece.
        let halves = [(base + 2048, 2048), (base + 6144, 2048), (base + 10_240, 2048), (base + 14_336, 4096)];
        assert_eq!(share(None, &halves), (base, 2048));
        assert_eq!(share(None, &[(base, L1_SCRATCH_BYTES - 64)]), (0, 0), "half of 64 is too little");
        assert_eq!(share(None, &[(base, L1_SCRATCH_BYTES - 128)]), (base + L1_SCRATCH_BYTES - 128, 64));
        assert_eq!(share(Some(1), &[]), (base, 64));
        assert_eq!(share(Some(64), &[]), (base, 64));
        assert_eq!(share(Some(65), &[]), (base, 128));
        assert_eq!(share(Some(129), &[]), (base, 192), "its place takes 256");
        assert_eq!(share(Some(129), &[(base, 64)]), (base + 256, 192));
        assert_eq!(share(Some(8192), &[]), (base, 8192));
    }

    #[test]
    fn a_user_header_is_the_one_of_the_image() {
        let image = |bytes: Option<u8>| {
            let header = |bytes| crate::image::UserHeader { name: "struct request".into(), bytes };
            Image { user_header: bytes.map(header), ..Image::default() }
        };
        for (declared, asked, found) in [(None, 0, 0), (None, 9, 9), (Some(12), 0, 12), (Some(12), 12, 12)] {
            assert_eq!(user_header(&image(declared), asked).unwrap(), found);
        }
        for asked in [1, 11, 13] {
            assert_eq!(
                user_header(&image(Some(12)), asked).unwrap_err().to_string(),
                format!(
                    "the options ask for a user header of {asked} bytes, the image declares `struct request` of 12 \
                     bytes; leave ContextOptions::user_header at 0"
                )
            );
        }
    }
}
