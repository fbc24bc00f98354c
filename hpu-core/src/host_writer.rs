//! Host writer: brings what was read from host memory to the L1 of the cluster that asked for it.
//!
//! | neighbour | ports |
//! |---|---|
//! | far unit | in `asked`, `tag`, `place`: a read begins, and this is the L1 beat where its bytes go |
//! | rvma | in `host_last`, `host_error`, `host_tag`, `host_valid` / out `host_ready` (the data goes straight to the bus) |
//! | bus of the packets | in `load_valid`; out `owns_bus`: the next cycle's beat is the host's |
//! | clusters | out `write[i]`, `beat`, `keep` / in `ready[i]` |
//! | completions | out `done`, `done_valid` / in `done_ready` |
//!
//! The clusters get packets and host bytes over one bus of 64 bytes. While nobody loads a packet the host has every cycle, else every other one, and so do the packets. One cycle
//! goes by before the first beat of a transfer. `keep` covers the bytes that were asked for; what a failed read brought is written none the less.

use crate::types::{FarDone, Issuer};
use spindle_blocks::desc::HostRead;
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// The host writer. See the module text.
#[derive(LogicBlock)]
pub struct HostWriter {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// A read begins.
    pub asked: Signal<In, Bit>,
    /// Its tag.
    pub tag: Signal<In, HostRead>,
    /// First beat of L1.
    pub place: Signal<In, Bits<10>>,
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
    pub beat: Signal<Out, Bits<10>>,
    /// Bytes that are written.
    pub keep: Signal<Out, Bits<64>>,
    /// The cluster takes it.
    pub ready: Vec<Signal<In, Bit>>,
    /// A transfer is over.
    pub done: Signal<Out, FarDone>,
    /// There is one.
    pub done_valid: Signal<Out, Bit>,
    /// It is taken.
    pub done_ready: Signal<In, Bit>,
    /// By {cluster, HPU, handle}.
    places: LutMemory<Bits<10>, 8>,
    /// The transfer whose beats come.
    known: Reg<Bit>,
    cluster: DFF<Bits<8>>,
    at: DFF<Bits<10>>,
    tail: DFF<Bits<6>>,
    turn: Reg<Bit>,
    over: DFF<FarDone>,
    over_valid: Reg<Bit>,
    moves: Signal<Local, Bit>,
    _clusters: usize,
}

impl HostWriter {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            asked: Default::default(),
            tag: Default::default(),
            place: Default::default(),
            host_last: Default::default(),
            host_error: Default::default(),
            host_tag: Default::default(),
            host_valid: Default::default(),
            host_ready: Default::default(),
            load_valid: Default::default(),
            owns_bus: Default::default(),
            write: (0..clusters).map(|_| Default::default()).collect(),
            beat: Default::default(),
            keep: Default::default(),
            ready: (0..clusters).map(|_| Default::default()).collect(),
            done: Default::default(),
            done_valid: Default::default(),
            done_ready: Default::default(),
            places: Default::default(),
            known: Default::default(),
            cluster: Default::default(),
            at: Default::default(),
            tail: Default::default(),
            turn: Default::default(),
            over: Default::default(),
            over_valid: Default::default(),
            moves: Default::default(),
            _clusters: clusters,
        }
    }
}

impl Logic for HostWriter {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, known, turn, over_valid);
        dffs!(self, clock, cluster, at, tail, over);
        let asked = self.tag.val();
        let tag = self.host_tag.val();
        self.places.clock.next = self.clock.val();
        self.places.write_enable.next = self.asked.val();
        self.places.write_address.next = (asked.cluster, asked.hpu, asked.handle.get_bits::<2>(0)).cat::<8>();
        self.places.write_data.next = self.place.val();
        self.places.read_address.next = (tag.cluster, tag.hpu, tag.handle.get_bits::<2>(0)).cat::<8>();

        // A transfer is looked up before its first beat; the one before must have been told.
        let known = self.known.q.val();
        let turn = self.turn.q.val();
        let over_valid = self.over_valid.q.val();
        let learns = self.host_valid.val() & !known & !over_valid;
        if learns {
            self.cluster.d.next = bits::<8>(1) << tag.cluster;
            self.at.d.next = self.places.read_data.val();
            self.tail.d.next = tag.length.get_bits::<6>(0);
        }
        let offers = known & turn & self.host_valid.val();
        let mut moves: Bit = false;
        for i in 0..self._clusters {
            let mine = self.cluster.q.val().get_bit(i);
            self.write[i].next = offers & mine;
            moves = moves | (offers & mine & self.ready[i].val());
        }
        self.moves.next = moves;
        let ends = self.moves.val() & self.host_last.val();
        self.known.d.next = learns | (known & !ends);
        if self.moves.val() {
            self.at.d.next = self.at.q.val() + 1;
        }
        self.host_ready.next = self.moves.val();
        self.beat.next = self.at.q.val();
        let tail = self.tail.q.val();
        let partial = self.host_last.val() & tail.any();
        self.keep.next = if partial { !(repeat::<64>(true) << tail) } else { repeat::<64>(true) };

        // The bus.
        self.turn.d.next = (learns | (known & !ends)) & !(self.load_valid.val() & turn);
        self.owns_bus.next = turn;

        // The end.
        if ends {
            self.over.d.next = FarDone {
                cluster: tag.cluster,
                issuer: Issuer { hpu: tag.hpu, handle: tag.handle.get_bits::<2>(0) },
                error: self.host_error.val(),
                has_result: false,
                result: bits::<64>(0),
            };
        }
        self.over_valid.d.next = ends | (over_valid & !self.done_ready.val());
        self.done.next = self.over.q.val();
        self.done_valid.next = over_valid;
    }
}
