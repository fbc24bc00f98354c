//! Host writer: brings what was read from host memory to the L1 of the cluster that asked for it, or to L2; and what was read from L2 to the stage of a cluster.
//!
//! | neighbour | ports |
//! |---|---|
//! | far unit | in `asked`, `place`: a read begins, and its bytes go to this beat of L1 or L2 |
//! | rvma | in `host_last`, `host_error`, `host_tag`, `host_valid` / out `host_ready` (the data goes straight to the bus) |
//! | bus of the packets | in `load_valid`; out `owns_bus`: the next cycle's beat is the host's |
//! | clusters | out `write[i]`, `beat`, `keep` / in `ready[i]`; out `partial`: `keep` is not all of a beat, which it is whenever this is not said |
//! | L2 copy | in `stage_cluster`, `stage_beat`, `stage_valid` / out `stage_ready`: a beat for L1; out `of_stage`: the bus carries it; out `store_valid`, `beat`, `bytes` / in `store_ready`: the host's beat is for L2, and has so many bytes (0 = 64) |
//! | completions | out `done`, `done_valid` / in `done_ready` |
//!
//! The clusters get packets and host bytes over one bus of 64 bytes. While nobody loads a packet the host has every cycle, else every other one, and so do the packets. One cycle
//! goes by before the first beat of a transfer; each beat of the L2 copy is one. What goes to L2 does not need the bus. `keep` covers the bytes that were asked for; what a failed read brought is written none the less.

use crate::types::{FarDone, Issuer};
use spindle_blocks::desc::HostRead;
use spindle_blocks::fifo::BlockFifo;
use spindle_blocks::RamStyle;
use spindle_verilog::prelude::*;

/// The host writer. See the module text.
#[block]
pub struct HostWriter {
    /// A read begins, one in each cycle.
    pub asked: Signal<In, Bit>,
    /// Where its bytes go: {in L2, first beat}.
    pub place: Signal<In, Bits<15>>,
    /// Last beat of a transfer.
    pub host_last: Signal<In, Bit>,
    /// With it: the host answered with an error.
    pub host_error: Signal<In, Bit>,
    /// Whose transfer it is.
    pub host_tag: Signal<In, HostRead>,
    /// A beat waits.
    pub host_valid: Signal<In, Bit>,
    /// It is taken.
    pub host_ready: Signal<Out, Bit>,
    /// A beat of a packet waits.
    pub load_valid: Signal<In, Bit>,
    /// The bus carries a beat of the host.
    pub owns_bus: Signal<Out, Bit>,
    /// It is for this cluster.
    pub write: Vec<Signal<Out, Bit>>,
    /// Where it goes.
    pub beat: Signal<Out, Bits<14>>,
    /// Bytes that are written.
    pub keep: Signal<Out, Bits<64>>,
    /// Which are not all.
    pub partial: Signal<Out, Bit>,
    /// The cluster takes it.
    pub ready: Vec<Signal<In, Bit>>,
    /// Cluster of the L2 copy's beat.
    pub stage_cluster: Signal<In, Bits<3>>,
    /// Where it goes in L1.
    pub stage_beat: Signal<In, Bits<10>>,
    /// It waits.
    pub stage_valid: Signal<In, Bit>,
    /// It is taken.
    pub stage_ready: Signal<Out, Bit>,
    /// The bus carries the L2 copy's beat, not the host's.
    pub of_stage: Signal<Out, Bit>,
    /// The host's beat is for L2.
    pub store_valid: Signal<Out, Bit>,
    /// Its bytes, 0 = 64.
    pub bytes: Signal<Out, Bits<6>>,
    /// They are there.
    pub store_ready: Signal<In, Bit>,
    /// A transfer is over.
    pub done: Source<FarDone>,
    /// Places of the reads, which are answered in their order; each HPU has four at most.
    places: BlockFifo<Bits<15>, 7>,
    /// The transfer whose beats come.
    known: Reg<Bit>,
    cluster: DFF<Bits<8>>,
    /// It is the L2 copy's; it is for L2.
    staged: DFF<Bit>,
    to_l2: DFF<Bit>,
    at: DFF<Bits<14>>,
    tail: DFF<Bits<6>>,
    turn: Reg<Bit>,
    /// The last transfer was the L2 copy's.
    staged_last: Reg<Bit>,
    over: DFF<FarDone>,
    over_valid: Reg<Bit>,
    moves: Signal<Local, Bit>,
    _clusters: usize,
}

impl HostWriter {
    /// For `clusters` clusters, with the places in a memory of this kind.
    pub fn new(clusters: usize, style: RamStyle) -> Self {
        Self {
            write: (0..clusters).map(|_| Default::default()).collect(),
            ready: (0..clusters).map(|_| Default::default()).collect(),
            places: BlockFifo::new(style),
            _clusters: clusters,
            ..Self::blank()
        }
    }
}

#[hdl]
impl HostWriter {
    fn update(&mut self) {
        let tag = self.host_tag.val();
        self.places.write.next = self.place.val();
        self.places.write.valid.next = self.asked.val();
        let place = self.places.read.val();

        // A transfer is looked up before its first beat; the one before must have been told. Host and L2 copy take turns if both have something.
        let known = self.known.q.val();
        let turn = self.turn.q.val();
        let over_valid = self.over_valid.q.val();
        let staged = self.staged.q.val();
        let to_l2 = self.to_l2.q.val();
        let by_host = self.host_valid.val() & self.places.read.valid.val() & !over_valid;
        let by_stage = self.stage_valid.val() & !(by_host & self.staged_last.q.val());
        let learns = !known & (by_stage | by_host);
        if learns & by_stage {
            self.cluster.d.next = bits::<8>(1) << self.stage_cluster.val();
            self.at.d.next = bit_cast::<14, 10>(self.stage_beat.val());
            self.to_l2.d.next = false;
        } else if learns {
            self.cluster.d.next = bits::<8>(1) << tag.cluster;
            self.at.d.next = place.get_bits::<14>(0);
            self.to_l2.d.next = place.get_bit(14);
            self.tail.d.next = tag.length.get_bits::<6>(0);
        }
        self.places.read.ready.next = learns & !by_stage;
        if learns {
            self.staged.d.next = by_stage;
            self.staged_last.d.next = by_stage;
        }

        // A beat goes over the bus to a cluster, or word by word to L2. Whether one would be taken does not ask whether there is one: no path leads
        // from the offer back to whoever makes it.
        let stands = known & (if staged { self.stage_valid.val() } else { self.host_valid.val() });
        let offers = stands & turn;
        let mut room: Bit = false;
        for i in 0..self._clusters {
            let mine = self.cluster.q.val().get_bit(i);
            self.write[i].next = offers & mine;
            room = room | (mine & self.ready[i].val());
        }
        let takes = known & ((turn & room) | (to_l2 & self.store_ready.val()));
        self.moves.next = stands & takes;
        let ends = self.moves.val() & (staged | self.host_last.val());
        self.known.d.next = learns | (known & !ends);
        if self.moves.val() {
            self.at.d.next = self.at.q.val() + 1;
        }
        self.host_ready.next = takes & !staged;
        self.stage_ready.next = self.moves.val() & staged;
        self.store_valid.next = stands & to_l2;
        self.of_stage.next = staged;
        self.beat.next = self.at.q.val();
        let tail = self.tail.q.val();
        let partial = !staged & self.host_last.val() & tail.any();
        self.bytes.next = if partial { tail } else { bits::<6>(0) };
        self.partial.next = offers & partial;
        self.keep.next = if offers & partial { !(repeat::<64>(true) << tail) } else { repeat::<64>(true) };

        // The bus.
        let goes_on = if known { !ends & !to_l2 } else { learns & (by_stage | !place.get_bit(14)) };
        self.turn.d.next = goes_on & !(self.load_valid.val() & turn);
        self.owns_bus.next = turn;

        // The end.
        if ends & !staged {
            self.over.d.next = FarDone {
                cluster: tag.cluster,
                issuer: Issuer { hpu: tag.hpu, handle: tag.handle.get_bits::<2>(0) },
                error: self.host_error.val(),
                has_result: false,
                result: bits::<64>(0),
            };
        }
        self.over_valid.d.next = (ends & !staged) | (over_valid & !self.done.ready.val());
        self.done.next = self.over.q.val();
        self.done.valid.next = over_valid;
    }
}
