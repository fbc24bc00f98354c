//! Receive maps: the granules of a posted buffer that have arrived, while the buffer is not complete.
//!
//! | neighbour | ports |
//! |---|---|
//! | binding | in `bound` (observed, never stalled) |
//! | DMA writer | in `finished`, `finished_error` (observed): last answer of the host to a packet |
//! | buffer queue | in `posted` (pulse) |
//! | command unit | in `assign`, `assign_pid`: map of the buffer being posted; in `query` (held) |
//!
//! A map has [`RECEIVE_MAP_BITS`] bits. Bit i is set when a packet whose first byte lies in granule i of the buffer,
//! 2^`granule` bytes, has been written to host memory: three cycles after the last answer of the host, so before the
//! record of a buffer that this packet completes. With a granule no longer than a sender's segments, each segment has
//! its own bit. A packet that the host refused sets no bit, nor does one beyond the last granule.
//!
//! A map follows its buffer until the slot is posted again; then the map stands still, and stays readable until its
//! process gives it back. It can be assigned again when all packets that may still set bits have been answered and the
//! map has been emptied: FREE_MAP waits for that. A word is there one cycle after its query, later
//! while packets end in each cycle. Reset empties the maps, one word per cycle.
//!
//! Answers come in the order of the packets (one AXI id), so a FIFO as deep as the writes in flight assigns each answer
//! to its packet.

use crate::prelude::*;
use spindle_contract::params::{RECEIVE_MAPS, RECEIVE_MAP_BITS};

/// Bits of the number of a map, of a bit and of a word.
pub(crate) const NUMBER: usize = RECEIVE_MAPS.ilog2() as usize;
const INDEX: usize = RECEIVE_MAP_BITS.ilog2() as usize;
pub(crate) const WORD: usize = INDEX - 6;
/// Bits of a granule's number beyond the last granule of a map.
const BEYOND: usize = 32 - INDEX;
/// Address bits of all words.
const ADDRESS: usize = NUMBER + WORD;
/// Address bits of the FIFO of packets under way: a transfer starts while fewer than 384 writes are in flight, and some
/// 50 packets wait before.
const UNDER_WAY_BITS: usize = 9;
/// Cycles from a packet to the FIFO, and one.
const SETTLE: u64 = 4;

/// Owner and buffer of a map.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MapEntry {
    /// Process.
    pub pid: Bits<6>,
    /// Slot of the buffer.
    pub slot: Bits<14>,
    /// Logarithm of the granule.
    pub granule: Bits<5>,
}

/// Bit that a packet under way will set.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// The buffer has a map, and the packet begins in one of its granules.
    pub mapped: Bit,
    /// Map.
    pub number: Bits<NUMBER>,
    /// Bit.
    pub index: Bits<INDEX>,
}

/// Read of a word of a map, or the end of a map.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MapQuery {
    /// Process.
    pub pid: Bits<6>,
    /// Map.
    pub number: Bits<NUMBER>,
    /// Word of 64 bits.
    pub word: Bits<WORD>,
    /// The process gives the map back.
    pub free: Bit,
}

/// States of the block.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum MapState {
    /// Empties words: all, or those of one map.
    Clear,
    /// Waits for a query.
    Idle,
    /// The word has been read.
    Reply,
    /// Waits until packets that saw the map are in the FIFO.
    Drain,
    /// Waits until the packets in the FIFO have been answered.
    Count,
}

/// The maps. See the module text.
#[block(no_default)]
pub struct ReceiveMaps {
    /// Packet to write.
    pub bound: PulseSink<BoundPacket>,
    /// Last answer of the host to a packet.
    pub finished: Signal<In, Bit>,
    /// With `finished`: the host refused a part of the packet.
    pub finished_error: Signal<In, Bit>,
    /// Slot of a buffer that is posted.
    pub posted: PulseSink<Bits<14>>,
    /// Map of that buffer.
    pub assign: MapAssignSink,
    /// Process that posts the buffer.
    pub assign_pid: Signal<In, Bits<6>>,
    /// Read or end of a map.
    pub query: MapQuerySink,
    entries: [DFF<MapEntry>; RECEIVE_MAPS],
    /// The map belongs to a process.
    taken: [Reg<Bit>; RECEIVE_MAPS],
    /// The map follows its buffer.
    live: [Reg<Bit>; RECEIVE_MAPS],
    /// Packets, in three steps: map, granule, bit.
    slot_1: DFF<Bits<14>>,
    start_1: DFF<Bits<32>>,
    valid_1: Reg<Bit>,
    hits: DFF<Bits<RECEIVE_MAPS>>,
    start_2: DFF<Bits<32>>,
    valid_2: Reg<Bit>,
    mark_3: DFF<Mark>,
    valid_3: Reg<Bit>,
    under_way: BlockFifo<Mark, UNDER_WAY_BITS>,
    store: SdpRam<ADDRESS, 64>,
    answered: Reg<Bit>,
    answered_ok: DFF<Bit>,
    marking: Reg<Bit>,
    marked: DFF<Mark>,
    /// The word written in the previous cycle, which the RAM does not return yet.
    wrote: Reg<Bit>,
    wrote_at: DFF<Bits<ADDRESS>>,
    wrote_word: DFF<Bits<64>>,
    state: Reg<MapState>,
    at: Reg<Bits<ADDRESS>>,
    all: Reg<Bit>,
    left: Reg<Bits<10>>,
    owned_map: DFF<Bit>,
}

impl ReceiveMaps {
    /// Maps with their words and the FIFO of packets under way in memories of these kinds.
    pub fn new(style: RamStyle, queue: RamStyle) -> Self {
        Self {
            // A mark is readable six cycles after the packet; the first answer may come in that cycle and is used in
            // the next one.
            under_way: BlockFifo::new(queue),
            store: SdpRam::new(style, 1),
            all: Reg::new(true),
            ..Self::blank()
        }
    }
}

impl Default for ReceiveMaps {
    fn default() -> Self {
        Self::new(RamStyle::Distributed, RamStyle::Distributed)
    }
}

#[hdl]
impl ReceiveMaps {
    fn update(&mut self) {
        self.assign_maps();
        self.mark_packets();
        self.access_words();
    }

    /// Posted buffers: the map of the slot's previous buffer stands still, and a new map begins.
    fn assign_maps(&mut self) {
        let mut any: Bit = false;
        let mut next: Bits<NUMBER> = bits::<NUMBER>(0);
        for i in 0..RECEIVE_MAPS {
            if !self.taken[RECEIVE_MAPS - 1 - i].q.val() {
                any = true;
                next = bits::<NUMBER>((RECEIVE_MAPS - 1 - i) as u64);
            }
        }
        self.assign.any.next = any & !self.all.q.val();
        self.assign.next.next = next;
        let frees = self.state.q.val() == MapState::Drain;
        for i in 0..RECEIVE_MAPS {
            let arms = self.posted.valid.val() & self.assign.assign.val() & (next == bits::<NUMBER>(i));
            if arms {
                self.entries[i].d.next = MapEntry {
                    pid: self.assign_pid.val(),
                    slot: self.posted.val(),
                    granule: self.assign.granule.val(),
                };
                self.taken[i].d.next = true;
                self.live[i].d.next = true;
            } else if (self.posted.valid.val() & (self.posted.val() == self.entries[i].q.val().slot))
                | (frees & (self.query.val().number == bits::<NUMBER>(i)))
            {
                self.live[i].d.next = false;
            }
        }
    }

    /// Packets: the map of the buffer, the bit in the map.
    fn mark_packets(&mut self) {
        self.valid_1.d.next = self.bound.valid.val();
        if self.bound.valid.val() {
            self.slot_1.d.next = self.bound.val().slot;
            self.start_1.d.next = self.bound.val().start;
        }
        self.valid_2.d.next = self.valid_1.q.val();
        let mut same: Bits<RECEIVE_MAPS> = bits::<RECEIVE_MAPS>(0);
        for i in 0..RECEIVE_MAPS {
            let follows = self.live[i].q.val() & (self.entries[i].q.val().slot == self.slot_1.q.val());
            same = same.replace_bit(i, follows);
        }
        if self.valid_1.q.val() {
            self.start_2.d.next = self.start_1.q.val();
            self.hits.d.next = same;
        }
        self.valid_3.d.next = self.valid_2.q.val();
        let hits = self.hits.q.val();
        let mut number: Bits<NUMBER> = bits::<NUMBER>(0);
        let mut granule: Bits<5> = bits::<5>(0);
        for i in 0..RECEIVE_MAPS {
            number = number | (bits::<NUMBER>(i) & repeat::<NUMBER>(hits.get_bit(i)));
            granule = granule | (self.entries[i].q.val().granule & repeat::<5>(hits.get_bit(i)));
        }
        if self.valid_2.q.val() {
            let granules = self.start_2.q.val() >> granule;
            self.mark_3.d.next = Mark {
                mapped: hits.any() & !granules.get_bits::<BEYOND>(INDEX).any(),
                number: number,
                index: granules.get_bits::<INDEX>(0),
            };
        }
        self.under_way.write.offer(self.valid_3.q.val(), self.mark_3.q.val());
    }

    /// Answers of the host: the word is read, the bit is set, and the word is written. Queries read or clear words.
    fn access_words(&mut self) {
        let query = self.query.val();
        self.answered.d.next = self.finished.val();
        self.answered_ok.d.next = !self.finished_error.val();
        self.under_way.read.ready.next = self.answered.q.val();
        let mark = self.under_way.read.val();
        let marks = self.answered.q.val() & self.answered_ok.q.val() & mark.mapped;
        let reads = self.query.valid.val() & (self.state.q.val() == MapState::Idle) & !marks;
        self.marking.d.next = marks;
        self.marked.load(marks, mark);
        self.store.read(marks | reads, (query.number, query.word).cat::<ADDRESS>());
        if marks {
            self.store.read_address.next = (mark.number, mark.index.get_bits::<WORD>(6)).cat::<ADDRESS>();
        }
        let marked = self.marked.q.val();
        let marked_at = (marked.number, marked.index.get_bits::<WORD>(6)).cat::<ADDRESS>();
        let newer = self.wrote.q.val() & (self.wrote_at.q.val() == marked_at);
        let found = if newer { self.wrote_word.q.val() } else { self.store.read_data.val() };
        let joined = found | (bits::<64>(1) << marked.index.get_bits::<6>(0));
        self.wrote.d.next = self.marking.q.val();
        if self.marking.q.val() {
            self.wrote_at.d.next = marked_at;
            self.wrote_word.d.next = joined;
        }
        let clears = (self.state.q.val() == MapState::Clear) & !self.marking.q.val();
        self.store.write_enable.next = self.marking.q.val() | clears;
        self.store.write_address.next = if clears { self.at.q.val() } else { marked_at };
        self.store.write_data.next = if clears { bits::<64>(0) } else { joined };

        // Queries.
        let mut owned_map: Bit = false;
        for i in 0..RECEIVE_MAPS {
            let owned = self.taken[i].q.val() & (self.entries[i].q.val().pid == query.pid);
            owned_map = owned_map | (owned & (query.number == bits::<NUMBER>(i)));
        }
        self.query.done.next = false;
        match self.state.q.val() {
            MapState::Clear => {
                if clears {
                    self.at.d.next = self.at.q.val() + 1;
                    if self.at.q.val().get_bits::<WORD>(0).all() & (!self.all.q.val() | self.at.q.val().all()) {
                        self.all.d.next = false;
                        self.state.d.next = MapState::Idle;
                        self.query.done.next = !self.all.q.val();
                        for i in 0..RECEIVE_MAPS {
                            self.taken[i].load(self.at.q.val().get_bits::<NUMBER>(WORD) == bits::<NUMBER>(i), false);
                        }
                    }
                }
            }
            MapState::Idle => {
                self.owned_map.d.next = owned_map;
                self.left.d.next = bits::<10>(SETTLE);
                if self.query.valid.val() & owned_map & query.free {
                    self.state.d.next = MapState::Drain;
                } else if reads {
                    self.state.d.next = MapState::Reply;
                }
            }
            MapState::Reply => {
                self.query.done.next = true;
                self.state.d.next = MapState::Idle;
            }
            MapState::Drain => {
                self.at.d.next = (query.number, bits::<WORD>(0)).cat::<ADDRESS>();
                self.left.d.next = self.left.q.val() - 1;
                if !self.left.q.val().any() {
                    let level = self.under_way.level.val().get_bits::<10>(0);
                    self.left.d.next = level - bit_cast::<10, 1>(self.answered.q.val().into());
                    self.state.d.next = MapState::Count;
                }
            }
            MapState::Count => {
                if !self.left.q.val().any() {
                    self.state.d.next = MapState::Clear;
                } else if self.answered.q.val() {
                    self.left.d.next = self.left.q.val() - 1;
                }
            }
            _ => self.state.d.next = MapState::Idle,
        }
        self.query.ok.next = self.owned_map.q.val();
        self.query.word.next = self.store.read_data.val();
    }
}
