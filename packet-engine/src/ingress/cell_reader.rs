//! Cell reader: one read port of the packet buffer.
//!
//! | neighbour | ports |
//! |---|---|
//! | consumer | in `request` (its `ready` is a register); out `data`, `last`, `valid` / in `ready` |
//! | links of the buffer | out `link_cell`, `link_read` / in `link_next` (1 cycle later, held): the next cell of the packet |
//! | memory of the buffer | out `fetch`, `fetch_address`; in `fetched` [`MEMORY_LATENCY`] cycles later |
//!
//! Requests are served in order. The first beat is `valid` [`LATENCY`] cycles after an idle port takes a request, plus one cycle
//! for each whole cell that `skip` passes over. From then on one beat per cycle while `ready`, without a bubble inside a
//! packet or between packets whose `skip` is below 8. `skip` must be below the number of beats.
//!
//! Up to three beats are ahead of the consumer: one in the memory's own output, two in the [`Skid`] after it. All hold while the
//! consumer stalls. `ready` ends in the skid buffer: it reaches neither the addresses of the memory nor those of the links in
//! the same cycle, since the consumers are far away and their `ready` is late.

use spindle_blocks::desc::ReadRequest;
use spindle_blocks::Skid;
use spindle_verilog::prelude::*;

/// Cycles from an accepted request to the first beat.
pub const LATENCY: usize = 3;
/// Read latency that the memory must have; its output must stay until the next read.
pub const MEMORY_LATENCY: usize = 1;

/// A beat of a request.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CellBeat {
    data: Bits<512>,
    last: Bit,
}

/// A request, as the reader keeps it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Job {
    cell: Bits<10>,
    /// Beat to fetch next, counted from the start of the frame.
    index: Bits<8>,
    /// The last beat to fetch.
    end: Bits<8>,
    /// Cells to pass over first.
    pass: Bits<5>,
}

/// See the head of this file.
#[block]
pub struct CellReader {
    /// Packet to stream.
    pub request: Sink<ReadRequest>,
    /// Beat.
    pub data: Signal<Out, Bits<512>>,
    /// Last beat of the request.
    pub last: Signal<Out, Bit>,
    /// A beat is offered.
    pub valid: Signal<Out, Bit>,
    /// The beat is taken.
    pub ready: Signal<In, Bit>,
    /// Cell whose successor is read.
    pub link_cell: Signal<Out, Bits<10>>,
    /// Read the successor.
    pub link_read: Signal<Out, Bit>,
    /// Successor of the cell that was read last.
    pub link_next: Signal<In, Bits<10>>,
    /// Read the memory.
    pub fetch: Signal<Out, Bit>,
    /// Address of the beat.
    pub fetch_address: Signal<Out, Bits<13>>,
    /// The beat there.
    pub fetched: Signal<In, Bits<512>>,
    job: DFF<Job>,
    active: Reg<Bit>,
    waiting: DFF<Job>,
    waiting_valid: Reg<Bit>,
    /// A beat is in the memory's output.
    fetched_valid: Reg<Bit>,
    /// That beat is the last of its request.
    fetched_last: DFF<Bit>,
    /// Beats for the consumer.
    beats: Skid<CellBeat>,
}

#[hdl]
impl CellReader {
    fn update(&mut self) {
        let room = !self.fetched_valid.q.val() | self.beats.write.ready.val();

        // Fetch a beat, or pass over a cell.
        let job = self.job.q.val();
        let passing = job.pass.any();
        let is_end = job.index == job.end;
        let fetch = self.active.q.val() & !passing & room;
        let finished = fetch & is_end;
        self.fetch.next = fetch;
        self.fetch_address.next = (job.cell, job.index.get_bits::<3>(0)).cat::<13>();
        let leaves = passing | (fetch & job.index.get_bits::<3>(0).all());
        let mut here: Bits<10> = if leaves { self.link_next.val() } else { job.cell };
        if passing {
            self.job.d.next.pass = job.pass - 1;
        } else if fetch {
            self.job.d.next.index = job.index + 1;
        }

        // The next request: the one that waits, else the one that comes in.
        let request = self.request.val();
        let incoming = Job {
            cell: request.pkt,
            index: request.skip,
            end: (request.length - 1).get_bits::<8>(6),
            pass: request.skip.get_bits::<5>(3),
        };
        let taken = self.request.valid.val() & !self.waiting_valid.q.val();
        let begins = !self.active.q.val() | finished;
        if begins {
            self.active.d.next = self.waiting_valid.q.val() | self.request.valid.val();
            self.waiting_valid.d.next = false;
            let next_job = if self.waiting_valid.q.val() { self.waiting.q.val() } else { incoming };
            here = next_job.cell;
            self.job.d.next = next_job;
        } else if taken {
            self.waiting_valid.d.next = true;
        }
        self.waiting.load(taken, incoming);
        self.request.ready.next = !self.waiting_valid.q.val();

        // The link of the cell at hand is read as the cell comes to hand.
        self.job.d.next.cell = here;
        self.link_cell.next = here;
        self.link_read.next = begins | leaves;

        // Beats between the memory and the consumer.
        self.fetched_valid.load(room, fetch);
        self.fetched_last.load(fetch, is_end);
        let fetched = CellBeat { data: self.fetched.val(), last: self.fetched_last.q.val() };
        self.beats.write.offer(self.fetched_valid.q.val(), fetched);
        self.data.next = self.beats.read.val().data;
        self.last.next = self.beats.read.val().last;
        self.valid.next = self.beats.read.valid.val();
        self.beats.read.ready.next = self.ready.val();
    }
}
