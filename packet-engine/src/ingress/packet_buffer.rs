//! Packet buffer: keeps frames as linked cells of 512 bytes until they are freed.
//!
//! | neighbour | ports |
//! |---|---|
//! | parser | in `beat`; no ready: a frame that does not fit is dropped whole |
//! | ingress join | out `written`: one pulse per frame, in order, [`WRITTEN_LATENCY`] cycle after its last beat; no ready |
//! | scheduler, ingress join | in `free` (its `ready` is a register) |
//! | loader | in `load_request`; out `load_data` |
//! | placement | in `place_request`; out `place_data` |
//! | registers | out `cells_free`: free cells, 2 cycles old |
//!
//! Writing takes one beat per cycle for ever, also one-beat frames, each of which needs a cell. A frame overflows when no cell is
//! free for its next 512 bytes, or when it is longer than `MAX_FRAME`; its cells are free again in the next cycle, the rest of it
//! is ignored, and `pkt` and `cells` of `written` mean nothing. Freeing takes one cycle per cell; a freed cell can be written
//! 3 cycles after its turn. Reading: see [`cell_reader`](crate::ingress::cell_reader); first beat [`READ_LATENCY`] cycles after
//! the request, one beat per cycle. `keep` is not stored: readers know the length. A packet may be read from the cycle of its
//! `written_valid` on.
//!
//! The entry of a cell in the link table is written together with the cell's last beat: it names the next cell, or marks the
//! end of the frame.

use crate::{
    bundles::{StoredBeatSink, WrittenSource},
    ingress::{
        cell_list::CellList,
        cell_reader::{self, CellReader},
    },
};
use spindle_blocks::{BeatSource, Ram1w2r, RamStyle, ReadRequest, SdpRam, Skid};
use spindle_contract::params::{CELL_BEATS, CELL_BYTES, MAX_FRAME};
use spindle_verilog::prelude::*;

/// Cycles from a frame's last beat to `written_valid`.
pub const WRITTEN_LATENCY: usize = 1;
/// Cycles from a request to its first beat.
pub const READ_LATENCY: usize = cell_reader::LATENCY;
/// Readers of links: loader, placement, releaser.
const READERS: usize = 3;
/// Cells of the longest frame.
const MAX_CELLS: u64 = (MAX_FRAME / CELL_BYTES) as u64;

/// See the head of this file.
#[block]
pub struct PacketBuffer {
    /// Beat to store.
    pub beat: StoredBeatSink,
    /// Frame that has ended.
    pub written: WrittenSource,
    /// Packet whose cells return.
    pub free: Sink<Bits<10>>,
    /// Packet that the loader reads.
    pub load_request: Sink<ReadRequest>,
    /// Beat for the loader.
    pub load_data: BeatSource,
    /// Packet that is read for a placement.
    pub place_request: Sink<ReadRequest>,
    /// Beat for the placement.
    pub place_data: BeatSource,
    /// Free cells.
    pub cells_free: Signal<Out, Bits<11>>,
    memory: Ram1w2r<13, 512>,
    /// Per cell: the next cell; bit 10: the frame ends. A copy for each reader, and one for the releaser.
    links: [SdpRam<10, 11>; READERS],
    list: CellList,
    load: CellReader,
    place: CellReader,
    returns: Skid<Bits<10>>,
    // Writer. `at_hand` is the cell of the next beat; it is taken before the frame comes.
    at_hand: DFF<Bits<10>>,
    at_hand_valid: Reg<Bit>,
    beat_index: Reg<Bits<3>>,
    in_frame: Reg<Bit>,
    ignoring: Reg<Bit>,
    pkt: DFF<Bits<10>>,
    cells: DFF<Bits<5>>,
    result_pkt: DFF<Bits<10>>,
    result_cells: DFF<Bits<5>>,
    result_overflow: DFF<Bit>,
    result_valid: Reg<Bit>,
    // Releaser.
    walk: Reg<Bit>,
    walk_cell: DFF<Bits<10>>,
    free_count: Reg<Bits<11>>,
}

impl PacketBuffer {
    /// A buffer of `cells` cells (a power of two, 32 to 1024) in memory of the given style.
    pub fn new(cells: usize, style: RamStyle) -> Self {
        Self {
            memory: Ram1w2r::with_depth(style, cell_reader::MEMORY_LATENCY, cells * CELL_BEATS),
            links: std::array::from_fn(|_| SdpRam::with_depth(RamStyle::sparing(cells), 1, cells)),
            list: CellList::new(cells),
            free_count: Reg::new(bits::<11>(cells)),
            ..Self::blank()
        }
    }
}

#[hdl]
impl PacketBuffer {
    fn update(&mut self) {
        // Writer: store the beat or ignore it; close the cell; take the next one.
        let first = !self.in_frame.q.val();
        let last = self.beat.last.val();
        let pkt = if first { self.at_hand.q.val() } else { self.pkt.q.val() };
        let cells = if first { bits::<5>(1) } else { self.cells.q.val() };
        let fits = if first { self.at_hand_valid.q.val() } else { !self.ignoring.q.val() };
        let store = self.beat.valid.val() & fits;
        let closes = store & (last | self.beat_index.q.val().all());
        let room = self.list.available.val() & (cells != MAX_CELLS);
        let overflows = closes & !last & !room;
        let advance = (closes & !overflows) | !self.at_hand_valid.q.val();

        if self.beat.valid.val() {
            self.in_frame.d.next = !last;
            self.pkt.d.next = pkt;
            self.cells.d.next = cells;
            self.ignoring.d.next = !last & (!fits | overflows);
        }
        self.beat_index.load(store, if closes { bits::<3>(0) } else { self.beat_index.q.val() + 1 });
        self.cells.load(closes & !last & !overflows, cells + 1);
        if overflows {
            self.at_hand.d.next = pkt;
        } else if advance {
            self.at_hand.d.next = self.list.next_cell.val();
            self.at_hand_valid.d.next = self.list.available.val();
        }
        self.list.take.next = advance & self.list.available.val();
        self.list.rewind.next = overflows;
        self.list.rewind_count.next = cells - 1;
        self.memory.write(store, (self.at_hand.q.val(), self.beat_index.q.val()).cat::<13>(), self.beat.data.val());
        for i in 0..READERS {
            self.links[i].write(closes, self.at_hand.q.val(), (last, self.list.next_cell.val()).cat::<11>());
        }

        self.result_pkt.d.next = pkt;
        self.result_cells.d.next = cells;
        self.result_overflow.d.next = !fits;
        self.result_valid.d.next = self.beat.valid.val() & last;
        self.written.pkt.next = self.result_pkt.q.val();
        self.written.cells.next = self.result_cells.q.val();
        self.written.overflow.next = self.result_overflow.q.val();
        self.written.valid.next = self.result_valid.q.val();

        // Releaser: one cell per cycle, from frame to frame without a pause.
        self.free.join(&mut self.returns.write);
        let link = self.links[2].read_data.val();
        let at_end = !self.walk.q.val() | link.get_bit(10);
        self.returns.read.ready.next = at_end;
        let mut walk_to: Bits<10> = link.get_bits::<10>(0);
        if at_end {
            self.walk.d.next = self.returns.read.valid.val();
            walk_to = self.returns.read.val();
        }
        self.walk_cell.d.next = walk_to;
        self.links[2].read(!at_end | self.returns.read.valid.val(), walk_to);
        self.list.give.next = self.walk.q.val();
        self.list.give_cell.next = self.walk_cell.q.val();

        // The cell at hand is free unless a frame is being written to it.
        let unused = self.at_hand_valid.q.val() & (!self.in_frame.q.val() | self.ignoring.q.val());
        self.free_count.d.next = self.list.count.val() + zext::<11, 1>(repeat::<1>(unused));
        self.cells_free.next = self.free_count.q.val();

        // Readers.
        self.load_request.join(&mut self.load.request);
        self.load_data.next = self.load.data.val();
        self.load_data.last.next = self.load.last.val();
        self.load_data.valid.next = self.load.valid.val();
        self.load.ready.next = self.load_data.ready.val();
        self.links[0].read(self.load.link_read.val(), self.load.link_cell.val());
        self.load.link_next.next = self.links[0].read_data.val().get_bits::<10>(0);
        self.memory.a_enable.next = self.load.fetch.val();
        self.memory.a_address.next = self.load.fetch_address.val();
        self.load.fetched.next = self.memory.a_data.val();

        self.place_request.join(&mut self.place.request);
        self.place_data.next = self.place.data.val();
        self.place_data.last.next = self.place.last.val();
        self.place_data.valid.next = self.place.valid.val();
        self.place.ready.next = self.place_data.ready.val();
        self.links[1].read(self.place.link_read.val(), self.place.link_cell.val());
        self.place.link_next.next = self.links[1].read_data.val().get_bits::<10>(0);
        self.memory.b_enable.next = self.place.fetch.val();
        self.memory.b_address.next = self.place.fetch_address.val();
        self.place.fetched.next = self.memory.b_data.val();
    }
}
