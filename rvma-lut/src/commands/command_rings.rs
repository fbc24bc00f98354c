//! Command rings: commands that processes leave in host memory (contract, `commands`), fetched in batches.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `ring`, `ring_valid` (held); out `ring_done` (pulse) |
//! | doorbell | in `tail`, `tail_pid`, `tail_write` (pulse) |
//! | DMA reader | out `read`, `read_valid`; in `read_ready`; in `data`, `data_last`, `data_error`, `data_valid` (no ready: there is room) |
//! | ring posts | out `batch`, `batch_error`, `batch_valid`; in `batch_ready`; out `line`; in `line_ready`; in `batch_done` (pulse); in `looked_at`, out `stopped`; in `halt`, `halt_pid`, `halt_at` (pulse) |
//!
//! Rings that have commands are visited in turn, one look per cycle, and each visit fetches the next commands up to a multiple of 16: at most 512 bytes. A
//! batch is offered when all of it is here. 64 commands may be under way, so a host that answers within 400 cycles is hidden. RING_TAIL written → read:
//! 6 cycles and up to 63 of looking. Nothing moves while no ring has commands.
//!
//! A ring whose command failed is **stopped**: what has been fetched behind that command is thrown away, and RING_TAIL begins again with it,
//! when nothing is under way any more (of no ring, which is at most what was fetched). An opened ring begins in the same way with command 0, so
//! what is left of the one before does no harm. Opening and closing is done when no read is under way, so that the memory of a closed
//! ring may be used for something else.

use crate::types::RingCommand;
use spindle_blocks::desc::HostRead;
use spindle_blocks::fifo::BlockFifo;
use spindle_blocks::ram::{LutMemory, SdpMemory};
use spindle_blocks::{Fifo, RamStyle};
use spindle_contract::commands::BYTES;
use spindle_contract::descriptors::client;
use spindle_verilog::prelude::*;

/// Commands of the longest batch, less one.
const BATCH_LAST: u64 = 15;
/// Address bits of the FIFO of lines.
const LINE_BITS: usize = 5;
/// Lines reserved up to which the longest batch fits.
const LINE_LIMIT: u64 = (1 << LINE_BITS) - BATCH_LAST.div_ceil(2);
/// Address bits of the FIFO of batches.
const BATCH_BITS: usize = 3;
/// Address bits within a command.
const COMMAND_BITS: usize = BYTES.trailing_zeros() as usize;

/// What is known of a ring.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CommandRing {
    /// What the process said.
    pub ring: RingCommand,
    /// Commands fetched, modulo 2^16.
    pub fetched: Bits<16>,
}

/// Commands of one process, one behind the other.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Whose.
    pub pid: Bits<6>,
    /// Number of the first.
    pub first: Bits<16>,
    /// How many, less one.
    pub last: Bits<4>,
    /// There are more than the ring holds; none was fetched.
    pub overrun: Bit,
}

/// What the block does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum RingState {
    /// Closes all rings after reset.
    Clear,
    /// Looks for a ring with commands.
    Look,
    /// Its entry is there.
    Read,
    /// How many commands there are.
    Count,
    /// How many of them make a batch.
    Size,
    /// Is there room for them?
    Judge,
    /// They are asked for.
    Fetch,
    /// A ring was opened or closed; reads are waited for.
    Drain,
}

/// The command rings. See the module text.
#[block]
pub struct CommandRings {
    /// Ring to open or close.
    pub ring: PulseSink<RingCommand>,
    /// It is done.
    pub ring_done: Signal<Out, Bit>,
    /// Commands that the host has written.
    pub tail: Signal<In, Bits<16>>,
    /// Into the ring of this process.
    pub tail_pid: Signal<In, Bits<6>>,
    /// It has been told so.
    pub tail_write: Signal<In, Bit>,
    /// Commands wanted.
    pub read: Source<HostRead>,
    /// Two commands.
    pub data: PulseSink<Bits<512>>,
    /// The last of their read.
    pub data_last: Signal<In, Bit>,
    /// With the last: the host answered with an error.
    pub data_error: Signal<In, Bit>,
    /// Commands that are here.
    pub batch: Source<Batch>,
    /// They could not be read.
    pub batch_error: Signal<Out, Bit>,
    /// The next two of the batch.
    pub line: Signal<Out, Bits<512>>,
    /// They have been taken.
    pub line_ready: Signal<In, Bit>,
    /// The last command of a batch has ended.
    pub batch_done: Signal<In, Bit>,
    /// Process whose ring is looked at.
    pub looked_at: Signal<In, Bits<6>>,
    /// It is stopped.
    pub stopped: Signal<Out, Bit>,
    /// Stop a ring.
    pub halt: Signal<In, Bit>,
    /// Of this process.
    pub halt_pid: Signal<In, Bits<6>>,
    /// At this command.
    pub halt_at: Signal<In, Bits<16>>,
    entries: SdpMemory<CommandRing, 6>,
    tails: LutMemory<Bits<16>, 6>,
    /// Where a stopped ring goes on.
    resumes: LutMemory<Bits<16>, 6>,
    batches: Fifo<Batch, BATCH_BITS>,
    lines: BlockFifo<Bits<512>, LINE_BITS>,
    ends: Fifo<Bit, BATCH_BITS>,
    state: Reg<RingState>,
    pid: Reg<Bits<6>>,
    /// Rings whose tail was written, and may have commands.
    pending: Reg<Bits<64>>,
    stops: Reg<Bits<64>>,
    entry: DFF<CommandRing>,
    tail_now: DFF<Bits<16>>,
    first: DFF<Bits<16>>,
    begins_again: DFF<Bit>,
    /// Commands that have not been fetched, less one.
    ahead: DFF<Bits<16>>,
    overrun: DFF<Bit>,
    last: DFF<Bits<4>>,
    /// Lines that are here or under way.
    reserved: Reg<Bits<6>>,
    /// Batches that have not ended, and those that have not arrived.
    open: Reg<Bits<5>>,
    flying: Reg<Bits<4>>,
}

impl CommandRings {
    /// Rings with what is known of them and the lines that have come in memories of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { entries: SdpMemory::new(style, 1), lines: BlockFifo::new(style), ..Self::blank() }
    }
}

#[hdl]
impl CommandRings {
    fn update(&mut self) {
        let state = self.state.q.val();
        let command = self.ring.val();
        let sets = (state == RingState::Look) & self.ring.valid.val();
        let own = bits::<64>(1) << self.pid.q.val();
        let own_stopped = self.stops.q.val().get_bit(self.pid.q.val().index());
        // A ring that was stopped during the visit waits for its tail.
        let again = !own_stopped | self.begins_again.q.val();
        let fetches = state == RingState::Fetch;
        let issue = fetches & (self.overrun.q.val() | self.read.ready.val());
        self.read.valid.next = fetches & !self.overrun.q.val();
        let entry = self.entry.q.val();
        let ahead = self.ahead.q.val();

        // Tails, and where stopped rings go on.
        self.tails.write_enable.next = self.tail_write.val();
        self.tails.write_address.next = self.tail_pid.val();
        self.tails.write_data.next = self.tail.val();
        self.tails.read_address.next = self.pid.q.val();
        self.resumes.write_enable.next = sets | self.halt.val();
        self.resumes.write_address.next = if sets { command.pid } else { self.halt_pid.val() };
        self.resumes.write_data.next = if sets { bits::<16>(0) } else { self.halt_at.val() };
        self.resumes.read_address.next = self.pid.q.val();
        self.stopped.next = self.stops.q.val().get_bit(self.looked_at.val().index());

        // What is under way. A read is answered by at least one line.
        let arrives = self.data.valid.val() & self.data_last.val();
        let reads = issue & !self.overrun.q.val();
        if reads & !arrives {
            self.flying.d.next = self.flying.q.val() + 1;
        } else if arrives & !reads {
            self.flying.d.next = self.flying.q.val() - 1;
        }
        if issue & !self.batch_done.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.batch_done.val() & !issue {
            self.open.d.next = self.open.q.val() - 1;
        }
        let more = bit_cast::<6, 3>(self.last.q.val().get_bits::<3>(1)) + 1;
        let mut reserved: Bits<6> = self.reserved.q.val();
        if reads {
            reserved = reserved + more;
        }
        if self.line_ready.val() {
            reserved = reserved - 1;
        }
        self.reserved.d.next = reserved;

        // Commands that are here.
        self.lines.write.next = self.data.val();
        self.lines.write.valid.next = self.data.valid.val();
        self.lines.read.ready.next = self.line_ready.val();
        self.line.next = self.lines.read.val();
        self.ends.write.next = self.data_error.val();
        self.ends.write.valid.next = arrives;
        let oldest = self.batches.read.val();
        self.ends.read.ready.next = self.batch.ready.val() & !oldest.overrun;
        self.batches.read.ready.next = self.batch.ready.val();
        self.batch.next = oldest;
        self.batch_error.next = self.ends.read.val() & !oldest.overrun;
        // From its first line on the others of a batch come one per cycle.
        let arrived = self.ends.read.valid.val() & self.lines.read.valid.val();
        self.batch.valid.next = self.batches.read.valid.val() & (oldest.overrun | arrived);

        // The next ones.
        let mut forgets: Bit = false;
        let mut remembers: Bit = false;
        let mut set_anew: Bit = false;
        let mut resumed: Bit = false;
        self.ring_done.next = false;
        self.entries.read_address.next = self.pid.q.val();
        self.entries.read_enable.next = false;
        match state {
            RingState::Clear => {
                self.pid.d.next = self.pid.q.val() + 1;
                if self.pid.q.val().all() {
                    self.state.d.next = RingState::Look;
                }
            }
            RingState::Look => {
                if self.ring.valid.val() {
                    set_anew = true;
                    self.state.d.next = RingState::Drain;
                } else if self.pending.q.val().get_bit(self.pid.q.val().index()) {
                    self.entries.read_enable.next = true;
                    self.state.d.next = RingState::Read;
                } else if self.pending.q.val().any() {
                    self.pid.d.next = self.pid.q.val() + 1;
                }
            }
            RingState::Read => {
                self.entry.d.next = self.entries.read_data.val();
                self.tail_now.d.next = self.tails.read_data.val();
                self.begins_again.d.next = own_stopped;
                self.first.d.next = self.resumes.read_data.val();
                self.state.d.next = RingState::Count;
                // Looked at again when the tail is written.
                forgets = true;
            }
            RingState::Count => {
                let first = if self.begins_again.q.val() { self.first.q.val() } else { entry.fetched };
                self.first.d.next = first;
                self.ahead.d.next = self.tail_now.q.val() + !first;
                self.state.d.next = RingState::Size;
            }
            RingState::Size => {
                self.overrun.d.next = ahead > bit_cast::<16, 15>(entry.ring.last);
                // Up to a multiple of 16 commands, or to the end of the ring.
                let to_end = !self.first.q.val().get_bits::<4>(0) & entry.ring.last.get_bits::<4>(0);
                self.last.d.next = if ahead < bit_cast::<16, 4>(to_end) { ahead.get_bits::<4>(0) } else { to_end };
                self.state.d.next = RingState::Judge;
            }
            RingState::Judge => {
                let settles = self.begins_again.q.val() & self.open.q.val().any();
                let room = (self.reserved.q.val() <= LINE_LIMIT) & self.batches.write.ready.val();
                if !entry.ring.open | ahead.all() {
                    self.pid.d.next = self.pid.q.val() + 1;
                    self.state.d.next = RingState::Look;
                } else if room & !settles {
                    self.state.d.next = RingState::Fetch;
                } else if self.ring.valid.val() {
                    // What is waited for may wait for that command.
                    remembers = again;
                    self.state.d.next = RingState::Look;
                }
            }
            RingState::Fetch => {
                if issue {
                    resumed = self.begins_again.q.val();
                    // There may be more; an overrun comes again when the tail is written.
                    remembers = again & !self.overrun.q.val();
                    self.pid.d.next = self.pid.q.val() + 1;
                    self.state.d.next = RingState::Look;
                }
            }
            RingState::Drain => {
                if !self.flying.q.val().any() {
                    self.ring_done.next = true;
                    self.state.d.next = RingState::Look;
                }
            }
            _ => {
                self.state.d.next = RingState::Look;
            }
        }
        let halted = repeat::<64>(self.halt.val()) & (bits::<64>(1) << self.halt_pid.val());
        let written = repeat::<64>(self.tail_write.val()) & (bits::<64>(1) << self.tail_pid.val());
        let kept = (self.pending.q.val() & !(own & repeat::<64>(forgets))) | (own & repeat::<64>(remembers));
        self.pending.d.next = (kept & !halted) | written;
        let closed = repeat::<64>(set_anew) & (bits::<64>(1) << command.pid);
        self.stops.d.next = (self.stops.q.val() & !(own & repeat::<64>(resumed))) | closed | halted;

        let first = self.first.q.val();
        let index = bit_cast::<59, 15>(first.get_bits::<15>(0) & entry.ring.last);
        self.read.next = HostRead {
            client: bits::<2>(client::RING),
            address: (entry.ring.base | index, bits::<COMMAND_BITS>(0)).cat::<64>(),
            length: (bits::<6>(0), bit_cast::<5, 4>(self.last.q.val()) + 1, bits::<COMMAND_BITS>(0)).cat::<16>(),
            ..Default::default()
        };
        self.batches.write.next =
            Batch { pid: self.pid.q.val(), first: first, last: self.last.q.val(), overrun: self.overrun.q.val() };
        if self.overrun.q.val() {
            self.batches.write.next.last = bits::<4>(0);
        }
        self.batches.write.valid.next = issue;
        self.entries.write_enable.next = sets | reads | (state == RingState::Clear);
        self.entries.write_address.next = if sets { command.pid } else { self.pid.q.val() };
        self.entries.write_data.next =
            CommandRing { ring: entry.ring, fetched: first + bit_cast::<16, 4>(self.last.q.val()) + 1 };
        if sets {
            self.entries.write_data.next = CommandRing { ring: command, fetched: bits::<16>(0) };
        } else if state == RingState::Clear {
            self.entries.write_data.next = CommandRing::default();
        }
    }
}
