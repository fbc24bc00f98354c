//! L2 copy: moves bytes between context memory (L2) and the wide paths of commands.
//!
//! | neighbour | ports |
//! |---|---|
//! | command units | in `request[i]`: bytes of L2 for the stage of cluster i, held until / out `staged`: |
//! | | a bit per cluster, the bytes are in the stage |
//! | | out `lend`: a bit per cluster, a segment of `segment_length` bytes needs the stage, held until / in `lent[i]`: it has the stage |
//! | initiator | in `segment`: a segment of context memory for the egress stream |
//! | egress | in `segment_left`: the segment has left its cluster |
//! | host writer | out `cluster`, `beat`: a beat for the stage, on `data` |
//! | | in `store`, `store_beat`, `store_last`: a beat of the host for L2; in `store_from`, `store_end`: its bytes |
//! | L2 | out `l2_request`; in `l2_answer`: always taken, in the order of the requests |
//!
//! One word per cycle for all clusters together, the rate of L2. **To a stage**: one command at a time, round robin;
//! the words of a beat are requested one after the other, those of the next beat when this one has left: with L2 and
//! the bus idle 7 cycles and one per word for each beat, and 2 for the command. **From the host**: 1 cycle and one per
//! word for each beat, and 5 at the end. Of the first word and of the last one only the bytes of the transfer are
//! written. The last beat is taken when L2 has answered all of them, so later accesses see them. If both directions are
//! active, words alternate. A copy that does not begin at a multiple of four bytes requests one word more; in the stage
//! the bytes begin with a beat.
//!
//! **A segment** is copied to the stage of the cluster whose handler issued its put, as the bytes of a command are, and
//! leaves from there as a frame does: it has to be complete before its first beat goes to the wire. One at a time, in
//! the order of the requests. 2 cycles more than for a command. While the stage is lent, cluster i requests the segment's
//! bytes.

use crate::array::rr_arbiter4::RrArbiter4;
use crate::processor::types::{RemoteAnswer, RemoteRequest};
use crate::types::StageRequest;
use spindle_blocks::{replicate, HostRead};
use spindle_contract::params::{L1_STAGE_BASE, SLOT_BYTES};
use spindle_verilog::prelude::*;

/// The stage is this slot of L1.
const STAGE: u64 = (L1_STAGE_BASE / SLOT_BYTES) as u64;

/// A copy from L2.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Copying {
    /// Cluster that gets the bytes.
    pub cluster: Bits<3>,
    /// Next word of L2.
    pub word: Bits<18>,
    /// Words that have not been requested.
    pub left: Bits<10>,
    /// Beat of the stage that is gathered.
    pub beat: Bits<5>,
    /// Byte of the word at which the copy begins.
    pub offset: Bits<2>,
    /// Words of the beat that have been requested; a copy that does not begin with a word starts at -1, for the word before,
    pub requested: Bits<5>,
    /// and that have come.
    pub received: Bits<5>,
}

/// The L2 copy. See the module text.
#[block]
pub struct L2Copy {
    /// Bytes for the stage of a cluster.
    pub request: Vec<PulseSink<StageRequest>>,
    /// Clusters whose bytes are in the stage.
    pub staged: Signal<Out, Bits<8>>,
    /// Cluster that gets a beat.
    pub cluster: Signal<Out, Bits<3>>,
    /// Where in its L1.
    pub beat: Source<Bits<10>>,
    /// The beat.
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
    /// A segment: its cluster, its first byte in L2 and its bytes count.
    pub segment: Sink<HostRead>,
    /// The segment needs the stage of this cluster.
    pub lend: Signal<Out, Bits<8>>,
    /// Bytes of the segment.
    pub segment_length: Signal<Out, Bits<11>>,
    /// The segment has the stage.
    pub lent: Vec<Signal<In, Bit>>,
    /// The segment is on its way to the wire.
    pub segment_left: Signal<In, Bit>,
    /// Access of L2.
    pub l2_request: Source<RemoteRequest>,
    /// Answer of L2.
    pub l2_answer: PulseSink<RemoteAnswer>,
    arbiter: RrArbiter4,
    active: Reg<Bit>,
    copying: DFF<Copying>,
    gathered: [DFF<Bits<32>>; 16],
    /// The word that came last, without its first byte.
    earlier: DFF<Bits<24>>,
    /// The gathered beat is complete.
    beat_complete: Reg<Bit>,
    staged_mask: Reg<Bits<8>>,
    /// Next word of the beat for L2, after the first one.
    store_word: Reg<Bits<4>>,
    /// The first one has been sent.
    store_inside: Reg<Bit>,
    /// All words of the beat have been sent.
    store_sent: Reg<Bit>,
    /// Stores that L2 has not answered.
    stores: Reg<Bits<5>>,
    /// The last word was a store.
    stored: Reg<Bit>,
    /// A segment is in progress.
    segment_reg_valid: Reg<Bit>,
    /// Stage that the segment waits for.
    lend_mask: Reg<Bits<8>>,
    segment_at: DFF<Bits<20>>,
    segment_bytes: DFF<Bits<11>>,
    chosen: Signal<Local, StageRequest>,
    chosen_lent: Signal<Local, Bit>,
    store_data: Signal<Local, Bits<32>>,
    _clusters: usize,
}

impl L2Copy {
    /// For `clusters` clusters, 1 to 8.
    pub fn new(clusters: usize) -> Self {
        Self { request: replicate(clusters), lent: replicate(clusters), _clusters: clusters, ..Self::blank() }
    }
}

/// The word of L2 that is accessed in this cycle.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WordAccess {
    /// A load for the copy is pending.
    pub load_wanted: Bit,
    /// The access is a store,
    pub is_store: Bit,
    /// of this word of the host's beat,
    pub store_word: Bits<4>,
    /// which is the last one.
    pub is_last: Bit,
}

#[hdl]
impl L2Copy {
    fn update(&mut self) {
        self.take_segment();
        self.choose();
        let access = self.access_word();
        self.move_host_beat(access);
        self.gather_beat(access);
    }

    /// Takes a segment, for which a stage is needed first.
    fn take_segment(&mut self) {
        // The segment in progress: first it needs a stage.
        let segment_reg_valid = self.segment_reg_valid.q.val();
        let mut lent: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            lent = lent.replace_bit(i, self.lent[i].val());
        }
        self.segment.ready.next = !segment_reg_valid;
        if !segment_reg_valid {
            let segment = self.segment.val();
            self.segment_at.d.next = segment.address.get_bits::<20>(0);
            self.segment_bytes.d.next = segment.length.get_bits::<11>(0);
            self.segment_reg_valid.d.next = self.segment.valid.val();
            self.lend_mask.load(self.segment.valid.val(), bits::<8>(1) << segment.issuer.cluster);
        } else {
            self.segment_reg_valid.d.next = !self.segment_left.val();
            self.lend_mask.d.next = self.lend_mask.q.val() & !lent;
        }
        self.lend.next = self.lend_mask.q.val();
        self.segment_length.next = self.segment_bytes.q.val();
    }

    /// Chooses the next command. A request that was staged in the last cycle is still offered in this one.
    fn choose(&mut self) {
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            request = request.replace_bit(i, self.request[i].valid.val() & !self.staged_mask.q.val().get_bit(i));
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = !self.active.q.val();
        self.chosen.next = StageRequest::default();
        self.chosen_lent.next = false;
        for i in 0..self._clusters {
            if self.arbiter.index.val() == bits::<3>(i) {
                self.chosen.next = self.request[i].val();
                self.chosen_lent.next = self.lent[i].val();
            }
        }
    }

    /// Accesses the next word: of the copy, or of the host's beat.
    fn access_word(&mut self) -> WordAccess {
        // The next word: of the copy, or of the host's beat.
        let copy = self.copying.q.val();
        let beat_complete = self.beat_complete.q.val();
        let load_wanted = self.active.q.val()
            & !beat_complete
            & copy.left.any()
            & !(copy.requested.get_bit(4) & !copy.requested.get_bit(3));
        let opens = !self.store_inside.q.val();
        let from = self.store_from.val();
        let store_word = if opens { from.get_bits::<4>(2) } else { self.store_word.q.val() };
        let first_byte = if opens { from.get_bits::<2>(0) } else { bits::<2>(0) };
        let wants_store = self.store.valid.val() & !self.store_sent.q.val();
        let is_store = wants_store & !(load_wanted & self.stored.q.val());
        let last = self.store_end.val() - 1;
        let is_last = store_word == last.get_bits::<4>(2);
        let last_byte = if is_last { last.get_bits::<2>(0) } else { bits::<2>(3) };
        let word = self.store.val().get_bits::<32>((store_word, bits::<5>(0)).cat::<9>().index());
        self.store_data.next = word >> (first_byte, bits::<3>(0)).cat::<5>();
        self.l2_request.next = RemoteRequest {
            to_l2: true,
            write: is_store,
            address: if is_store {
                (self.store_beat.val(), store_word, first_byte).cat::<20>()
            } else {
                (copy.word, bits::<2>(0)).cat::<20>()
            },
            size_less_one: if is_store { last_byte - first_byte } else { bits::<2>(3) },
            data: self.store_data.val(),
            ..Default::default()
        };
        self.l2_request.valid.next = load_wanted | wants_store;
        self.stored.load(self.l2_request.ready.val() & (load_wanted | wants_store), is_store);
        WordAccess { load_wanted, is_store, store_word, is_last }
    }

    /// Moves a beat of the host to L2.
    fn move_host_beat(&mut self, access: WordAccess) {
        let stores = self.stores.q.val();
        let store_goes = access.is_store & self.l2_request.ready.val();
        let store_ends = self.l2_answer.valid.val() & self.l2_answer.val().write;
        if store_goes & !store_ends {
            self.stores.d.next = stores + 1;
        } else if !store_goes & store_ends {
            self.stores.d.next = stores - 1;
        }
        let taken = self.store_sent.q.val() & !(self.store_last.val() & stores.any());
        self.store.ready.next = taken;
        if store_goes {
            self.store_word.d.next = access.store_word + 1;
            self.store_inside.d.next = !access.is_last;
            self.store_sent.d.next = access.is_last;
        } else if taken {
            self.store_sent.d.next = false;
        }
    }

    /// Gathers the beats of a copy for a stage.
    fn gather_beat(&mut self, access: WordAccess) {
        let active = self.active.q.val();
        let copy = self.copying.q.val();
        let beat_complete = self.beat_complete.q.val();
        let received_now = self.l2_answer.valid.val() & !self.l2_answer.val().write;
        // The first bytes of a word that does not begin at a multiple of four are in the word before. The word in front
        // of the first one goes to the last place, and is overwritten or not sent.
        let data = self.l2_answer.val().data;
        let earlier = self.earlier.q.val();
        let word = match copy.offset.index() {
            0 => data,
            1 => (data.get_bits::<8>(0), earlier).cat::<32>(),
            2 => (data.get_bits::<16>(0), earlier.get_bits::<16>(8)).cat::<32>(),
            _ => (data.get_bits::<24>(0), earlier.get_bits::<8>(16)).cat::<32>(),
        };
        self.earlier.load(received_now, data.get_bits::<24>(8));
        for i in 0..16 {
            if received_now & (copy.received.get_bits::<4>(0) == bits::<4>(i)) {
                self.gathered[i].d.next = word;
            }
        }
        if access.load_wanted & self.l2_request.ready.val() & !access.is_store {
            self.copying.d.next.word = copy.word + 1;
            self.copying.d.next.left = copy.left - 1;
            self.copying.d.next.requested = copy.requested + 1;
        }
        if received_now {
            self.copying.d.next.received = copy.received + 1;
        }
        let complete = !access.load_wanted & (copy.received == copy.requested);
        let leaves = beat_complete & self.beat.ready.val();
        let ends = leaves & !copy.left.any();
        self.beat_complete.d.next = (active & !beat_complete & complete) | (beat_complete & !leaves);
        if leaves {
            self.copying.d.next.requested = bits::<5>(0);
            self.copying.d.next.received = bits::<5>(0);
            self.copying.d.next.beat = copy.beat + 1;
        }
        self.active.d.next = if active { !ends } else { self.arbiter.any.val() };
        if !active {
            let stage_request = self.chosen.val();
            let by_lent = self.chosen_lent.val();
            let at = if by_lent { self.segment_at.q.val() } else { stage_request.at };
            let offset = at.get_bits::<2>(0);
            let length = if by_lent { bit_cast::<12, 11>(self.segment_bytes.q.val()) } else { stage_request.length };
            self.copying.d.next = Copying {
                cluster: self.arbiter.index.val(),
                word: at.get_bits::<18>(2),
                left: (length + 3 + bit_cast::<12, 3>((offset.any(), bits::<2>(0)).cat::<3>())).get_bits::<10>(2),
                beat: bits::<5>(0),
                offset,
                requested: repeat::<5>(offset.any()),
                received: repeat::<5>(offset.any()),
            };
        }
        self.staged_mask.d.next = if ends { bits::<8>(1) << copy.cluster } else { bits::<8>(0) };
        self.staged.next = self.staged_mask.q.val();
        self.cluster.next = copy.cluster;
        self.beat.next = (bits::<5>(STAGE), copy.beat).cat::<10>();
        self.data.next = (
            self.gathered[15].q.val(),
            self.gathered[14].q.val(),
            self.gathered[13].q.val(),
            self.gathered[12].q.val(),
            self.gathered[11].q.val(),
            self.gathered[10].q.val(),
            self.gathered[9].q.val(),
            self.gathered[8].q.val(),
            self.gathered[7].q.val(),
            self.gathered[6].q.val(),
            self.gathered[5].q.val(),
            self.gathered[4].q.val(),
            self.gathered[3].q.val(),
            self.gathered[2].q.val(),
            self.gathered[1].q.val(),
            self.gathered[0].q.val(),
        )
            .cat::<512>();
        self.beat.valid.next = beat_complete;
    }
}
