//! Command rings: commands that processes leave in host memory (contract, `commands`), fetched in batches.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `ring` (held while ring posts pauses and is idle); out `ring_done` (pulse) |
//! | doorbell | in `tail` (pulse) |
//! | DMA reader | out `read`; in `data`, `data_last`, `data_error` (no ready: room was reserved) |
//! | ring posts | out `batch` |
//!
//! Rings that have commands are visited in turn, one ring per cycle. Each visit fetches the next commands up to a
//! multiple of 16: at most 1 KiB. A batch is offered when all of its commands have arrived. 64 commands may be
//! under way, which hides a host latency of 400 cycles. RING_TAIL written → read: 6 cycles, plus up to 63 for the
//! search. No register changes while no ring has commands.
//!
//! A ring whose command failed is **stopped**: the commands fetched after that command are discarded. RING_TAIL
//! restarts the ring with the failed command when no batch of any ring is under way. A ring that stops with `halt_again`
//! restarts in the same way without RING_TAIL, after the other rings that have commands. An opened ring starts in the same
//! way with command 0, so commands left from the previous ring do no harm. A ring is opened or closed when no read is
//! under way, so that the process may reuse the memory of a closed ring.

use crate::prelude::*;
use spindle_contract::commands::BYTES;
use spindle_contract::descriptors::client;

/// Commands of the longest batch, less one.
const BATCH_LAST: u64 = 15;
/// Address bits of the FIFO of commands.
const LINE_BITS: usize = 6;
/// Commands reserved up to which the longest batch fits.
const LINE_LIMIT: u64 = (1 << LINE_BITS) - BATCH_LAST - 1;
/// Address bits of the FIFO of batches.
const BATCH_BITS: usize = 3;
/// Address bits within a command.
const COMMAND_BITS: usize = BYTES.trailing_zeros() as usize;

/// State of a ring.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CommandRing {
    /// Address and size, as the process gave them.
    pub ring: RingCommand,
    /// Commands fetched, modulo 2^16.
    pub fetched: Bits<16>,
}

/// Successive commands of one process.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Process.
    pub pid: Bits<6>,
    /// Number of the first command.
    pub first: Bits<16>,
    /// Commands less one.
    pub last: Bits<4>,
    /// The host wrote more commands than the ring holds; no command was fetched.
    pub overrun: Bit,
}

/// Commands of the ring, less one.
#[hdl_fn]
fn last_place(ring: RingCommand) -> Bits<14> {
    ring.last.get_bits::<14>(1)
}

/// States of the sequencer.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum RingState {
    /// Closes all rings after reset.
    Clear,
    /// Searches a ring with commands.
    Look,
    /// The ring's entry has been read.
    Read,
    /// Counts the commands that wait.
    Count,
    /// Computes the size of the batch.
    Size,
    /// Checks the room for the batch.
    Judge,
    /// Issues the read.
    Fetch,
    /// A ring was opened or closed; waits for the end of the reads.
    Drain,
}

/// Visit of a ring.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Visit {
    /// A ring is opened or closed.
    sets: Bit,
    /// Bit of the visited process.
    own: Bits<64>,
    /// Its ring is stopped.
    own_stopped: Bit,
    /// The ring is to be visited again.
    again: Bit,
    /// A batch begins.
    issue: Bit,
    /// Its commands are read.
    reads: Bit,
}

/// The command rings. See the module text.
#[block]
pub struct CommandRings {
    /// Ring to open or close.
    pub ring: PulseSink<RingCommand>,
    /// Ring opened or closed.
    pub ring_done: Signal<Out, Bit>,
    /// Commands that the host has written.
    pub tail: RingPointerSink,
    /// Read of a batch.
    pub read: Source<HostRead>,
    /// A command.
    pub data: PulseSink<Bits<512>>,
    /// Last line of its read.
    pub data_last: Signal<In, Bit>,
    /// With the last line: the host answered with an error.
    pub data_error: Signal<In, Bit>,
    /// Commands that have arrived.
    pub batch: BatchSource,
    entries: SdpMemory<CommandRing, 6>,
    tails: LutMemory<Bits<16>, 6>,
    /// Command with which a stopped ring restarts.
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
    /// Commands present or under way.
    reserved: Reg<Bits<7>>,
    /// Batches whose commands are not complete, and batches that have not arrived.
    open: Reg<Bits<5>>,
    flying: Reg<Bits<4>>,
}

impl CommandRings {
    /// Rings with their entries and lines in memories of this kind.
    pub fn new(style: RamStyle) -> Self {
        Self { entries: SdpMemory::new(style, 1), lines: BlockFifo::new(style), ..Self::blank() }
    }
}

#[hdl]
impl CommandRings {
    fn update(&mut self) {
        let visit = self.visit();
        self.access_tails(visit);
        self.count(visit);
        self.offer();
        self.step(visit);
        self.fetch(visit);
    }

    /// The ring that is visited.
    fn visit(&mut self) -> Visit {
        let state = self.state.q.val();
        let sets = (state == RingState::Look) & self.ring.valid.val();
        let own = bits::<64>(1) << self.pid.q.val();
        let own_stopped = self.stops.q.val().get_bit(self.pid.q.val().index());
        // A ring that was stopped during the visit waits for its tail.
        let again = !own_stopped | self.begins_again.q.val();
        let fetches = state == RingState::Fetch;
        let issue = fetches & (self.overrun.q.val() | self.read.ready.val());
        let reads = issue & !self.overrun.q.val();
        self.read.valid.next = fetches & !self.overrun.q.val();
        Visit { sets, own, own_stopped, again, issue, reads }
    }

    /// Tails, and the commands with which stopped rings restart.
    fn access_tails(&mut self, visit: Visit) {
        self.tails.write(self.tail.valid.val(), self.tail.pid.val(), self.tail.val());
        self.tails.read_address.next = self.pid.q.val();
        self.resumes.write_enable.next = visit.sets | self.batch.halt.val();
        self.resumes.write_address.next = if visit.sets { self.ring.val().pid } else { self.batch.halt_pid.val() };
        self.resumes.write_data.next = if visit.sets { bits::<16>(0) } else { self.batch.halt_at.val() };
        self.resumes.read_address.next = self.pid.q.val();
        self.batch.stopped.next = self.stops.q.val().get_bit(self.batch.current_pid.val().index());
    }

    /// Counts reads, batches and lines under way. A read is answered by at least one line.
    fn count(&mut self, visit: Visit) {
        let arrives = self.data.valid.val() & self.data_last.val();
        self.ends.write.offer(arrives, self.data_error.val());
        if visit.reads & !arrives {
            self.flying.d.next = self.flying.q.val() + 1;
        } else if arrives & !visit.reads {
            self.flying.d.next = self.flying.q.val() - 1;
        }
        if visit.issue & !self.batch.done.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.batch.done.val() & !visit.issue {
            self.open.d.next = self.open.q.val() - 1;
        }
        let more = bit_cast::<7, 4>(self.last.q.val()) + 1;
        let mut reserved: Bits<7> = self.reserved.q.val();
        if visit.reads {
            reserved = reserved + more;
        }
        if self.batch.line_ready.val() {
            reserved = reserved - 1;
        }
        self.reserved.d.next = reserved;
    }

    /// Offers the oldest batch. When its first line is present, the others follow one per cycle.
    fn offer(&mut self) {
        self.lines.write.offer(self.data.valid.val(), self.data.val());
        self.lines.read.ready.next = self.batch.line_ready.val();
        self.batch.line.next = self.lines.read.val();
        let oldest = self.batches.read.val();
        self.ends.read.ready.next = self.batch.ready.val() & !oldest.overrun;
        self.batches.read.ready.next = self.batch.ready.val();
        self.batch.next = oldest;
        self.batch.error.next = self.ends.read.val() & !oldest.overrun;
        let arrived = self.ends.read.valid.val() & self.lines.read.valid.val();
        self.batch.valid.next = self.batches.read.valid.val() & (oldest.overrun | arrived);
    }

    /// The sequencer.
    fn step(&mut self, visit: Visit) {
        let entry = self.entry.q.val();
        let ahead = self.ahead.q.val();
        let mut forgets: Bit = false;
        let mut remembers: Bit = false;
        let mut set_anew: Bit = false;
        let mut resumed: Bit = false;
        let pends = self.pending.q.val().get_bit(self.pid.q.val().index());
        self.ring_done.next = false;
        self.entries.read(false, self.pid.q.val());
        match self.state.q.val() {
            RingState::Clear => {
                self.pid.d.next = self.pid.q.val() + 1;
                self.state.load(self.pid.q.val().all(), RingState::Look);
            }
            RingState::Look => {
                if self.ring.valid.val() {
                    set_anew = true;
                    self.state.d.next = RingState::Drain;
                } else if pends {
                    self.entries.read_enable.next = true;
                    self.state.d.next = RingState::Read;
                } else if self.pending.q.val().any() {
                    self.pid.d.next = self.pid.q.val() + 1;
                }
            }
            RingState::Read => {
                self.entry.d.next = self.entries.read_data.val();
                self.tail_now.d.next = self.tails.read_data.val();
                self.begins_again.d.next = visit.own_stopped;
                self.first.d.next = self.resumes.read_data.val();
                // A ring that was stopped in the cycle before waits for its tail.
                self.state.d.next = if pends { RingState::Count } else { RingState::Look };
                // The next write of the tail marks the ring again.
                forgets = true;
            }
            RingState::Count => {
                let first = if self.begins_again.q.val() { self.first.q.val() } else { entry.fetched };
                self.first.d.next = first;
                self.ahead.d.next = self.tail_now.q.val() + !first;
                self.state.d.next = RingState::Size;
            }
            RingState::Size => {
                self.overrun.d.next = ahead > bit_cast::<16, 14>(last_place(entry.ring));
                // Up to a multiple of 16 commands, or to the end of the ring.
                let to_end = !self.first.q.val().get_bits::<4>(0) & last_place(entry.ring).get_bits::<4>(0);
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
                    // The commands under way may wait for that command.
                    remembers = visit.again;
                    self.state.d.next = RingState::Look;
                }
            }
            RingState::Fetch => {
                if visit.issue {
                    resumed = self.begins_again.q.val();
                    // The ring may have more commands; after an overrun, the next write of the tail marks it again.
                    remembers = visit.again & !self.overrun.q.val();
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
            _ => self.state.d.next = RingState::Look,
        }

        // Rings that may have commands, and rings that are stopped.
        let own = visit.own;
        let halted = repeat::<64>(self.batch.halt.val()) & (bits::<64>(1) << self.batch.halt_pid.val());
        let written = repeat::<64>(self.tail.valid.val()) & (bits::<64>(1) << self.tail.pid.val());
        let kept = (self.pending.q.val() & !(own & repeat::<64>(forgets))) | (own & repeat::<64>(remembers));
        let begins_again = halted & repeat::<64>(self.batch.halt_again.val());
        self.pending.d.next = (kept & !halted) | begins_again | written;
        let closed = repeat::<64>(set_anew) & (bits::<64>(1) << self.ring.val().pid);
        self.stops.d.next = (self.stops.q.val() & !(own & repeat::<64>(resumed))) | closed | halted;
    }

    /// The read of the batch, and the ring's entry after the read.
    fn fetch(&mut self, visit: Visit) {
        let entry = self.entry.q.val();
        let first = self.first.q.val();
        let index = bit_cast::<58, 14>(first.get_bits::<14>(0) & last_place(entry.ring));
        self.read.next = HostRead {
            client: bits::<2>(client::RING),
            address: (entry.ring.base.get_bits::<58>(1) | index, bits::<COMMAND_BITS>(0)).cat::<64>(),
            length: (bits::<5>(0), bit_cast::<5, 4>(self.last.q.val()) + 1, bits::<COMMAND_BITS>(0)).cat::<16>(),
            ..HostRead::default()
        };
        self.batches.write.next =
            Batch { pid: self.pid.q.val(), first: first, last: self.last.q.val(), overrun: self.overrun.q.val() };
        if self.overrun.q.val() {
            self.batches.write.next.last = bits::<4>(0);
        }
        self.batches.write.valid.next = visit.issue;
        self.entries.write_enable.next = visit.sets | visit.reads | (self.state.q.val() == RingState::Clear);
        self.entries.write_address.next = if visit.sets { self.ring.val().pid } else { self.pid.q.val() };
        self.entries.write_data.next =
            CommandRing { ring: entry.ring, fetched: first + bit_cast::<16, 4>(self.last.q.val()) + 1 };
        if visit.sets {
            self.entries.write_data.next = CommandRing { ring: self.ring.val(), fetched: bits::<16>(0) };
        } else if self.state.q.val() == RingState::Clear {
            self.entries.write_data.next = CommandRing::default();
        }
    }
}
