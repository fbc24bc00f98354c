//! Completions: reports the ends of off-cluster commands to the clusters, one at a time.
//!
//! | neighbour | ports |
//! |---|---|
//! | initiator | in `put_done`: always taken; those of processes are ignored |
//! | RVMA engine | in `atomic_done`: always taken; out `atomic_ended`, to the off-cluster unit |
//! | host writer | in `read_done` |
//! | clusters | out `done` |
//!
//! Puts go before atomics, atomics before reads. Latency 2 cycles, reads 1. A completion without a result is taken at
//! once; one with a result when the command port of its HPU has written the result. The queues have room for a
//! completion of every handle, so none is lost.

use crate::types::{Issuer, OffClusterDone, COMMAND_BITS};
use spindle_blocks::{HostAtomicDone, LutFifo, PutDone};
use spindle_contract::descriptors::put_op;
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_verilog::prelude::*;

/// The completions. See the module text.
#[block]
pub struct Completions {
    /// End of a put or get.
    pub put_done: PulseSink<PutDone>,
    /// End of an atomic.
    pub atomic_done: PulseSink<HostAtomicDone>,
    /// The end of an atomic is reported.
    pub atomic_ended: Signal<Out, Bit>,
    /// End of a read.
    pub read_done: Sink<OffClusterDone>,
    /// End of an off-cluster command.
    pub done: Source<OffClusterDone>,
    puts: LutFifo<PutDone, COMMAND_BITS>,
    atomics: LutFifo<HostAtomicDone, 4>,
    done_reg: DFF<OffClusterDone>,
    done_reg_valid: Reg<Bit>,
}

#[hdl]
impl Completions {
    fn update(&mut self) {
        self.puts.write.next = self.put_done.val();
        self.puts.write.valid.next =
            self.put_done.valid.val() & (self.put_done.val().issuer.handle != bits(put_op::HOST_HANDLE));
        self.atomics.write.offer(self.atomic_done.valid.val(), self.atomic_done.val());
        let free = !self.done_reg_valid.q.val() | self.done.ready.val();
        let put = self.puts.read.val();
        let atomic = self.atomics.read.val();
        let by_put = self.puts.read.valid.val();
        let by_atomic = self.atomics.read.valid.val() & !by_put;
        let by_read = self.read_done.valid.val() & !by_put & !self.atomics.read.valid.val();
        self.puts.read.ready.next = free;
        self.atomics.read.ready.next = free & !by_put;
        self.atomic_ended.next = free & by_atomic;
        self.read_done.ready.next = free & by_read;
        if free {
            self.done_reg_valid.d.next = by_put | by_atomic | by_read;
            self.done_reg.d.next = if by_put {
                OffClusterDone {
                    cluster: put.issuer.cluster,
                    issuer: Issuer { hpu: put.issuer.hpu, handle: put.issuer.handle.get_bits::<HANDLE_BITS>(0) },
                    error: put.error,
                    has_result: false,
                    result: atomic.value,
                }
            } else if by_atomic {
                OffClusterDone {
                    cluster: atomic.issuer.cluster,
                    issuer: Issuer { hpu: atomic.issuer.hpu, handle: atomic.issuer.handle.get_bits::<HANDLE_BITS>(0) },
                    error: atomic.error,
                    has_result: !atomic.error,
                    result: atomic.value,
                }
            } else {
                OffClusterDone {
                    cluster: self.read_done.val().cluster,
                    issuer: self.read_done.val().issuer,
                    error: self.read_done.val().error,
                    has_result: false,
                    result: atomic.value,
                }
            };
        }
        self.done.offer(self.done_reg_valid.q.val(), self.done_reg.q.val());
    }
}
