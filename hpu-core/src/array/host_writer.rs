//! Host writer: writes bytes read from host memory to the L1 of the cluster that read them, or to L2; and rows read
//! from L2 to the stage of a cluster.
//!
//! | neighbour | ports |
//! |---|---|
//! | off-cluster unit | in `target`: a read begins, and its bytes go to this beat of L1 or L2 |
//! | RVMA engine | in `host_last`, `host_error`, `host_tag`, `host_valid` / out `host_ready` (the data goes straight to the bus) |
//! | clusters | out `write[i]`, `beat`, `keep`, `last`, `issuer`, `error` / in `ready[i]` |
//! | L2 copy | in `copy_cluster`, `copy_beat`, `copy_last`, `copy_tail`, `copy_valid` / out `copy_ready`: a row for L1 |
//! | | out `of_l2_copy`: the bus carries it |
//! | | out `store_valid`, `beat` / in `store_ready`: the host's beat is for L2; out `store_from`, `store_end`: its bytes |
//! | completions | out `done`: of a read whose bytes went to L2 |
//!
//! The host has a bus of 64 bytes to the clusters, each of which has a [queue](crate::cluster::host_arrivals), and reports the end of
//! a read when L1 has its bytes. A transfer
//! needs one cycle before its first beat; the rows of a copy from L2 are one transfer, and host and L2 copy take turns.
//! Bytes for L2 do not use the bus. `keep` covers the requested bytes, which begin in the first beat at the read's
//! `offset`; bytes of a failed read are written as well.

use crate::types::{Issuer, OffClusterDone, COMMAND_BITS};
use spindle_blocks::{replicate, BlockFifo, HostRead, RamStyle};
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_verilog::prelude::*;

/// The host writer. See the module text.
#[block]
pub struct HostWriter {
    /// Where the bytes of a read that begins go: {in L2, first beat}.
    pub target: PulseSink<Bits<15>>,
    /// Last beat of a transfer.
    pub host_last: Signal<In, Bit>,
    /// With the last beat: the host answered with an error.
    pub host_error: Signal<In, Bit>,
    /// The read that the transfer answers.
    pub host_tag: Signal<In, HostRead>,
    /// A beat of the host is offered.
    pub host_valid: Signal<In, Bit>,
    /// The beat is taken.
    pub host_ready: Signal<Out, Bit>,
    /// The beat is for this cluster.
    pub write: Vec<Signal<Out, Bit>>,
    /// Beat of L1 or L2.
    pub beat: Signal<Out, Bits<14>>,
    /// Bytes that are written.
    pub keep: Signal<Out, Bits<64>>,
    /// Last beat of the transfer.
    pub last: Signal<Out, Bit>,
    /// Command whose read it is, unless `of_l2_copy`.
    pub issuer: Signal<Out, Issuer>,
    /// With the last beat: the host answered with an error.
    pub error: Signal<Out, Bit>,
    /// The cluster takes the beat.
    pub ready: Vec<Signal<In, Bit>>,
    /// Cluster of the L2 copy's row.
    pub copy_cluster: Signal<In, Bits<3>>,
    /// Beat of L1.
    pub copy_beat: Signal<In, Bits<10>>,
    /// The row is the last of its copy.
    pub copy_last: Signal<In, Bit>,
    /// Bytes of the row that are written, the lowest ones; 0 = all.
    pub copy_tail: Signal<In, Bits<6>>,
    /// The L2 copy's row is offered.
    pub copy_valid: Signal<In, Bit>,
    /// The beat is taken.
    pub copy_ready: Signal<Out, Bit>,
    /// The bus carries the L2 copy's beat, not the host's.
    pub of_l2_copy: Signal<Out, Bit>,
    /// Bytes of the host's beat are for L2.
    pub store_valid: Signal<Out, Bit>,
    /// Its first byte,
    pub store_from: Signal<Out, Bits<6>>,
    /// and the byte after its last one; 0 = 64.
    pub store_end: Signal<Out, Bits<6>>,
    /// The bytes are in L2.
    pub store_ready: Signal<In, Bit>,
    /// End of a read whose bytes went to L2.
    pub done: Source<OffClusterDone>,
    /// Targets of the reads, which are answered in their order; there is one for each handle at most.
    targets: BlockFifo<Bits<15>, COMMAND_BITS>,
    /// A transfer is in progress.
    active: Reg<Bit>,
    cluster: DFF<Bits<8>>,
    /// The transfer is the L2 copy's.
    is_copy: DFF<Bit>,
    /// The transfer is for L2.
    to_l2: DFF<Bit>,
    write_beat: DFF<Bits<14>>,
    /// Bytes of the next beat before this one keep their value,
    first: DFF<Bits<6>>,
    /// as do those of the last beat from this one on; 0 = none.
    tail: DFF<Bits<6>>,
    on_bus: Reg<Bit>,
    /// The last transfer was the L2 copy's.
    copied_last: Reg<Bit>,
    done_reg: DFF<OffClusterDone>,
    done_reg_valid: Reg<Bit>,
    moves: Signal<Local, Bit>,
    _clusters: usize,
}

impl HostWriter {
    /// For `clusters` clusters, with the places in a memory of this kind.
    pub fn new(clusters: usize, style: RamStyle) -> Self {
        Self {
            write: replicate(clusters),
            ready: replicate(clusters),
            targets: BlockFifo::new(style),
            _clusters: clusters,
            ..Self::blank()
        }
    }
}

#[hdl]
impl HostWriter {
    fn update(&mut self) {
        let tag = self.host_tag.val();
        self.targets.write.offer(self.target.valid.val(), self.target.val());
        let target = self.targets.read.val();

        // A transfer begins a cycle before its first beat, after the end of the one before was reported. Host and L2
        // copy take turns.
        let active = self.active.q.val();
        let on_bus = self.on_bus.q.val();
        let done_reg_valid = self.done_reg_valid.q.val();
        let is_copy = self.is_copy.q.val();
        let to_l2 = self.to_l2.q.val();
        let by_host = self.host_valid.val() & self.targets.read.valid.val() & !done_reg_valid;
        let by_copy = self.copy_valid.val() & !(by_host & self.copied_last.q.val());
        let begins = !active & (by_copy | by_host);
        if begins & by_copy {
            self.cluster.d.next = bits::<8>(1) << self.copy_cluster.val();
            self.to_l2.d.next = false;
            self.first.d.next = bits::<6>(0);
        } else if begins {
            self.cluster.d.next = bits::<8>(1) << tag.issuer.cluster;
            self.write_beat.d.next = target.get_bits::<14>(0);
            self.to_l2.d.next = target.get_bit(14);
            self.first.d.next = tag.offset;
            self.tail.d.next = tag.length.get_bits::<6>(0) + tag.offset;
        }
        self.targets.read.ready.next = begins & !by_copy;
        if begins {
            self.is_copy.d.next = by_copy;
            self.copied_last.d.next = by_copy;
        }

        // A beat goes over the bus to a cluster, or word by word to L2. `takes` does not depend on whether a beat is
        // offered, so that no path leads from the offer back to its source.
        let offered = active & (if is_copy { self.copy_valid.val() } else { self.host_valid.val() });
        let offers = offered & on_bus;
        let mut room: Bit = false;
        for i in 0..self._clusters {
            let mine = self.cluster.q.val().get_bit(i);
            self.write[i].next = offers & mine;
            room = room | (mine & self.ready[i].val());
        }
        let takes = active & ((on_bus & room) | (to_l2 & self.store_ready.val()));
        self.moves.next = offered & takes;
        let last = if is_copy { self.copy_last.val() } else { self.host_last.val() };
        let ends = self.moves.val() & last;
        self.active.d.next = begins | (active & !ends);
        if self.moves.val() {
            self.write_beat.d.next = self.write_beat.q.val() + 1;
            self.first.d.next = bits::<6>(0);
        }
        self.host_ready.next = takes & !is_copy;
        self.copy_ready.next = self.moves.val() & is_copy;
        self.store_valid.next = offered & to_l2;
        self.of_l2_copy.next = is_copy;
        self.beat.next = if is_copy { bit_cast::<14, 10>(self.copy_beat.val()) } else { self.write_beat.q.val() };
        let first = self.first.q.val();
        let tail = self.tail.q.val();
        let cut = self.host_last.val() & tail.any();
        self.store_from.next = first;
        self.store_end.next = if cut { tail } else { bits::<6>(0) };
        let from = repeat::<64>(true) << first;
        let kept = if is_copy { self.copy_tail.val() } else { tail & repeat::<6>(cut) };
        let upto = if kept.any() { !(repeat::<64>(true) << kept) } else { repeat::<64>(true) };
        self.keep.next = from & upto;

        // The bus.
        self.on_bus.d.next = if active { !ends & !to_l2 } else { begins & (by_copy | !target.get_bit(14)) };

        // The end: a cluster reports that of its bytes itself.
        let issuer = Issuer { hpu: tag.issuer.hpu, handle: tag.issuer.handle.get_bits::<HANDLE_BITS>(0) };
        self.last.next = last;
        self.issuer.next = issuer;
        self.error.next = self.host_error.val();
        let stored = ends & to_l2;
        if stored {
            self.done_reg.d.next = OffClusterDone {
                cluster: tag.issuer.cluster,
                issuer,
                error: self.host_error.val(),
                has_result: false,
                result: bits::<64>(0),
            };
        }
        self.done_reg_valid.d.next = stored | (done_reg_valid & !self.done.ready.val());
        self.done.offer(done_reg_valid, self.done_reg.q.val());
    }
}
