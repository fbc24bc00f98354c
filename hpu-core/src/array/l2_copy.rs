//! L2 copy: moves bytes between context memory (L2) and the wide paths of commands, and bytes of packets to the wire.
//!
//! | neighbour | ports |
//! |---|---|
//! | clusters | in `request[i]`: bytes of L2 for the stage of cluster i, held until / in `staged[i]`: they are in the stage |
//! | | out `lend`: a bit per cluster, the segment `lent_segment` needs the stage, held until / in `lent[i]`: it gets the stage (pulse) |
//! | | out `goes`: a bit, the segment in the stage of this cluster is the next to leave |
//! | initiator | in `segment`: a segment of context memory or of a packet for the egress stream |
//! | packet buffer | out `packet_request`; in `packet_data`: the beats of a packet in which a segment lies |
//! | egress | in `segment_begins`: the first beat of a segment leaves its cluster |
//! | host writer | out `cluster`, `beat`, `last`, `tail`: a row for the stage, on `data` |
//! | | in `store`, `store_beat`, `store_last`: a beat of the host for L2; in `store_from`, `store_end`: its bytes |
//! | L2 | out `row` / in `row_data`, `row_answered`: rows of L2, in the order of the requests |
//! | | out `l2_request`; in `l2_answer`: words that are written; answers are always taken, in the order of the requests |
//!
//! **To a stage**: the rows of 64 bytes in which the bytes lie, one per cycle, as they lie in L2: the read DMA turns them. Row 33,
//! which 2,048 bytes have unless they begin with a row, goes back to the first beat of the stage, whose lowest bytes are free. One
//! request after the other, round robin; the rows of the next one follow those of the one before after a cycle. Eight rows are under
//! way at most. With L2 idle and a bus that takes each row at once: from `request` to the last row 5 cycles and one per row; requests
//! that follow one another, one cycle and one per row. The host writer takes one cycle more before the first row, and the queue of
//! the cluster two until `staged`.
//!
//! **Of a packet**: the beats in which the segment lies come from the packet buffer's second read port, and are taken like rows of L2.
//! They are requested when their copy begins, and the stage is theirs by then: what waits for the port waits for L1 alone, never for the
//! wire. Rows of L2 that have not come yet go first. From `request` to `staged` 9 cycles and one per beat, with an idle port.
//!
//! **From the host**: 1 cycle and one per word for each beat, and 5 at the end. Of the first word and of the last one only the
//! bytes of the transfer are written. The last beat is taken when L2 has answered all of them, so later accesses see them.
//!
//! **A segment** is copied to a stage, as the bytes of a command are, and leaves from there as a frame does: it has to be complete
//! before its first beat goes to the wire. Segments take the stages of the clusters in turn, whoever issued the put, so each
//! cluster has one at most: while one leaves, the next ones are copied. While the stage is lent, cluster i requests the segment's
//! bytes. Segments leave in the order of the requests: the read DMA of the next cluster gets its job in the cycle after the first
//! beat of the segment before has left, not earlier, so that no segment stands in a read DMA while it waits for another cluster.
//! Where a segment of 1,408 bytes leaves in 24 cycles: one per 24 cycles with three clusters or more, per 26 with two, per 52 with
//! one.

use crate::array::rr_arbiter4::RrArbiter4;
use crate::processor::types::{RemoteAnswer, RemoteRequest};
use crate::types::StageRequest;
use spindle_blocks::{replicate, BeatSink, HostRead, LutFifo, ReadRequest};
use spindle_contract::descriptors::array_address;
use spindle_contract::params::{L1_STAGE_BASE, SLOT_BYTES};
use spindle_verilog::prelude::*;

/// The stage is this slot of L1.
const STAGE: u64 = (L1_STAGE_BASE / SLOT_BYTES) as u64;

/// Rows that have not been requested.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Copying {
    /// Cluster that gets the bytes.
    pub cluster: Bits<3>,
    /// Next row of L2.
    pub row: Bits<14>,
    /// Rows.
    pub left: Bits<6>,
    /// Beat of the stage for the next one; 32 = the first one once more.
    pub beat: Bits<6>,
    /// Byte of the first row at which the copy begins.
    pub offset: Bits<6>,
    /// The rows are beats of a packet,
    pub of_packet: Bit,
    /// that of this head cell,
    pub pkt: Bits<10>,
    /// and end before this byte of its frame.
    pub end: Bits<12>,
}

/// Where a row goes that was requested.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct RowPlace {
    /// Cluster.
    pub cluster: Bits<3>,
    /// Beat of the stage.
    pub beat: Bits<5>,
    /// Bytes from the lowest one on that are written; 0 = all.
    pub tail: Bits<6>,
    /// It is the last one of its copy.
    pub last: Bit,
}

/// The L2 copy. See the module text.
#[block]
pub struct L2Copy {
    /// Bytes for the stage of a cluster.
    pub request: Vec<PulseSink<StageRequest>>,
    /// The bytes are in the stage.
    pub staged: Vec<Signal<In, Bit>>,
    /// Cluster that gets a row.
    pub cluster: Signal<Out, Bits<3>>,
    /// Where in its L1.
    pub beat: Source<Bits<10>>,
    /// The row is the last of its copy.
    pub last: Signal<Out, Bit>,
    /// Bytes of the row that are written; 0 = all.
    pub tail: Signal<Out, Bits<6>>,
    /// The row.
    pub data: Signal<Out, Bits<512>>,
    /// Beat of the host for L2.
    pub store: Sink<Bits<512>>,
    /// Beat of L2.
    pub store_beat: Signal<In, Bits<14>>,
    /// First byte to store,
    pub store_from: Signal<In, Bits<6>>,
    /// and the byte after the last one; 0 = 64.
    pub store_end: Signal<In, Bits<6>>,
    /// The beat is the last of its transfer.
    pub store_last: Signal<In, Bit>,
    /// A segment: its first byte, an `array_address`, and its bytes count.
    pub segment: Sink<HostRead>,
    /// The segment needs the stage of this cluster.
    pub lend: Signal<Out, Bits<8>>,
    /// Its bytes.
    pub lent_segment: Signal<Out, StageRequest>,
    /// The segment gets the stage.
    pub lent: Vec<Signal<In, Bit>>,
    /// Cluster whose segment is the next to leave.
    pub goes: Signal<Out, Bits<8>>,
    /// A segment begins to leave its cluster.
    pub segment_begins: Signal<In, Bit>,
    /// Beats of a packet that a segment needs.
    pub packet_request: Source<ReadRequest>,
    /// A beat.
    pub packet_data: BeatSink,
    /// Row of L2 that is read.
    pub row: Source<Bits<14>>,
    /// The row that was read,
    pub row_data: Signal<In, Bits<512>>,
    /// in this cycle.
    pub row_answered: Signal<In, Bit>,
    /// Word of L2 that is written.
    pub l2_request: Source<RemoteRequest>,
    /// Answer of L2.
    pub l2_answer: PulseSink<RemoteAnswer>,
    arbiter: RrArbiter4,
    active: Reg<Bit>,
    copying: DFF<Copying>,
    /// The beats of the packet have been requested.
    requested: Reg<Bit>,
    /// Rows of L2 that were requested and have not come.
    awaited: Reg<Bits<4>>,
    /// A beat of a packet is taken.
    takes_beat: Signal<Local, Bit>,
    /// Clusters whose request is taken.
    taken: Reg<Bits<8>>,
    /// Rows that were requested and have not left, and those of them that have come.
    places: LutFifo<RowPlace, 3>,
    rows: LutFifo<Bits<512>, 3>,
    /// Next word of the beat for L2, after the first one.
    store_word: Reg<Bits<4>>,
    /// The first one has been sent.
    store_inside: Reg<Bit>,
    /// All words of the beat have been sent.
    store_sent: Reg<Bit>,
    /// Stores that L2 has not answered.
    stores: Reg<Bits<5>>,
    /// Stage that the segment waits for.
    lend_mask: Reg<Bits<8>>,
    waiting: DFF<StageRequest>,
    /// Cluster whose stage the next segment takes; the cluster whose segment leaves next; segments from the one to the other.
    next_stage: Reg<Bits<3>>,
    leaving: Reg<Bits<3>>,
    segments: Reg<Bits<4>>,
    chosen: Signal<Local, StageRequest>,
    store_data: Signal<Local, Bits<32>>,
    _clusters: usize,
    _last_cluster: u64,
}

impl L2Copy {
    /// For `clusters` clusters, 1 to 8.
    pub fn new(clusters: usize) -> Self {
        Self {
            request: replicate(clusters),
            staged: replicate(clusters),
            lent: replicate(clusters),
            _clusters: clusters,
            _last_cluster: clusters as u64 - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl L2Copy {
    fn update(&mut self) {
        self.take_segment();
        self.release_segment();
        let chosen = self.choose();
        self.request_rows(chosen);
        self.move_row();
        let mut staged: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            staged = staged.replace_bit(i, self.staged[i].val());
        }
        self.taken.d.next = (self.taken.q.val() & !staged) | chosen;
        self.store_words();
    }

    /// Takes a segment, and asks the next cluster for its stage.
    fn take_segment(&mut self) {
        let lend_mask = self.lend_mask.q.val();
        let mut lent: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            lent = lent.replace_bit(i, self.lent[i].val());
        }
        let free = !lend_mask.any() & (self.segments.q.val() != self._clusters as u64);
        let takes = free & self.segment.valid.val();
        self.segment.ready.next = free;
        let next_stage = self.next_stage.q.val();
        self.lend_mask.d.next = lend_mask & !lent;
        if takes {
            let segment = self.segment.val();
            self.waiting.d.next = StageRequest {
                at: segment.address.get_bits::<20>(0),
                length: segment.length.get_bits::<12>(0),
                of_packet: segment.address.get_bit(array_address::OF_PACKET),
                pkt: segment.address.get_bits::<10>(array_address::PACKET),
            };
            self.lend_mask.d.next = bits::<8>(1) << next_stage;
            self.next_stage.d.next = if next_stage == self._last_cluster { bits::<3>(0) } else { next_stage + 1 };
        }
        self.lend.next = lend_mask;
        self.lent_segment.next = self.waiting.q.val();
        let begins = self.segment_begins.val();
        if takes & !begins {
            self.segments.d.next = self.segments.q.val() + 1;
        } else if begins & !takes {
            self.segments.d.next = self.segments.q.val() - 1;
        }
    }

    /// Lets the segments leave one after the other.
    fn release_segment(&mut self) {
        let leaving = self.leaving.q.val();
        self.goes.next = bits::<8>(1) << leaving;
        if self.segment_begins.val() {
            self.leaving.d.next = if leaving == self._last_cluster { bits::<3>(0) } else { leaving + 1 };
        }
    }

    /// Chooses the next request, a bit for its cluster. One that is taken is still offered, up to the cycle after `staged`.
    fn choose(&mut self) -> Bits<8> {
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            request = request.replace_bit(i, self.request[i].valid.val() & !self.taken.q.val().get_bit(i));
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = !self.active.q.val();
        self.chosen.next = StageRequest::default();
        for i in 0..self._clusters {
            if self.arbiter.index.val() == bits::<3>(i) {
                self.chosen.next = self.request[i].val();
            }
        }
        if self.active.q.val() {
            bits::<8>(0)
        } else {
            self.arbiter.grant.val()
        }
    }

    /// Requests the rows of a copy.
    fn request_rows(&mut self, chosen: Bits<8>) {
        let active = self.active.q.val();
        let copy = self.copying.q.val();
        let room = self.places.write.ready.val();
        let of_l2 = active & !copy.of_packet;
        let asks = active & copy.of_packet & !self.requested.q.val();
        self.packet_request.offer(
            asks,
            ReadRequest { pkt: copy.pkt, length: bit_cast::<14, 12>(copy.end), skip: copy.row.get_bits::<8>(0) },
        );
        self.requested.d.next = active & (self.requested.q.val() | (asks & self.packet_request.ready.val()));
        // Rows of L2 come in the order of their places.
        let awaited = self.awaited.q.val();
        let may_take = active & copy.of_packet & self.requested.q.val() & room & !awaited.any();
        self.packet_data.ready.next = may_take;
        self.takes_beat.next = may_take & self.packet_data.valid.val();
        let asks_row = of_l2 & room & self.row.ready.val();
        if asks_row & !self.row_answered.val() {
            self.awaited.d.next = awaited + 1;
        } else if !asks_row & self.row_answered.val() {
            self.awaited.d.next = awaited - 1;
        }
        let goes = asks_row | self.takes_beat.val();
        let last = copy.left == 1;
        self.row.offer(of_l2 & room, copy.row);
        self.places.write.offer(
            goes,
            RowPlace {
                cluster: copy.cluster,
                beat: copy.beat.get_bits::<5>(0),
                tail: copy.offset & repeat::<6>(copy.beat.get_bit(5)),
                last,
            },
        );
        if goes {
            self.copying.d.next.row = copy.row + 1;
            self.copying.d.next.left = copy.left - 1;
            self.copying.d.next.beat = copy.beat + 1;
        }
        self.active.d.next = if active { !(goes & last) } else { chosen.any() };
        if !active {
            let request = self.chosen.val();
            let offset = request.at.get_bits::<6>(0);
            let reach = request.length + bit_cast::<12, 6>(offset) + 63;
            self.copying.d.next = Copying {
                cluster: self.arbiter.index.val(),
                row: request.at.get_bits::<14>(6),
                left: reach.get_bits::<6>(6),
                beat: bits::<6>(0),
                offset,
                of_packet: request.of_packet,
                pkt: request.pkt,
                end: request.at.get_bits::<12>(0) + request.length,
            };
            self.requested.d.next = false;
        }
    }

    /// Moves a row to its stage.
    fn move_row(&mut self) {
        let place = self.places.read.val();
        let of_packet = self.takes_beat.val();
        self.rows.write.offer(
            self.row_answered.val() | of_packet,
            if of_packet { self.packet_data.val() } else { self.row_data.val() },
        );
        let offers = self.rows.read.valid.val();
        let moves = offers & self.beat.ready.val();
        self.rows.read.ready.next = self.beat.ready.val();
        self.places.read.ready.next = moves;
        self.data.next = self.rows.read.val();
        self.cluster.next = place.cluster;
        self.last.next = place.last;
        self.tail.next = place.tail;
        self.beat.offer(offers, (bits::<5>(STAGE), place.beat).cat::<10>());
    }

    /// Writes a beat of the host to L2, word by word.
    fn store_words(&mut self) {
        let opens = !self.store_inside.q.val();
        let from = self.store_from.val();
        let store_word = if opens { from.get_bits::<4>(2) } else { self.store_word.q.val() };
        let first_byte = if opens { from.get_bits::<2>(0) } else { bits::<2>(0) };
        let last = self.store_end.val() - 1;
        let is_last = store_word == last.get_bits::<4>(2);
        let last_byte = if is_last { last.get_bits::<2>(0) } else { bits::<2>(3) };
        let word = self.store.val().get_bits::<32>((store_word, bits::<5>(0)).cat::<9>().index());
        self.store_data.next = word >> (first_byte, bits::<3>(0)).cat::<5>();
        self.l2_request.next = RemoteRequest {
            to_l2: true,
            write: true,
            address: (self.store_beat.val(), store_word, first_byte).cat::<20>(),
            size_less_one: last_byte - first_byte,
            data: self.store_data.val(),
            ..Default::default()
        };
        let wants = self.store.valid.val() & !self.store_sent.q.val();
        self.l2_request.valid.next = wants;

        let stores = self.stores.q.val();
        let goes = wants & self.l2_request.ready.val();
        let ends = self.l2_answer.valid.val();
        if goes & !ends {
            self.stores.d.next = stores + 1;
        } else if !goes & ends {
            self.stores.d.next = stores - 1;
        }
        let taken = self.store_sent.q.val() & !(self.store_last.val() & stores.any());
        self.store.ready.next = taken;
        if goes {
            self.store_word.d.next = store_word + 1;
            self.store_inside.d.next = !is_last;
            self.store_sent.d.next = is_last;
        } else if taken {
            self.store_sent.d.next = false;
        }
    }
}
