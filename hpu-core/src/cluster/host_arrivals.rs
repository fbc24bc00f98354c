//! Queue of beats from the host and from L2 in front of the L1 of a cluster.
//!
//! | neighbour | ports |
//! |---|---|
//! | host writer | in `arrival`: beats for this cluster; `ready` is a register |
//! | L1 | out `write` |
//! | command ports | out `read_ended`: the last byte of a read of host memory is in L1 |
//! | command unit, L2 copy | out `staged`: the last row of a copy is in the stage |
//!
//! The bus of the host serves all clusters, one after the other. Without a queue a beat waits on it until L1 has a cycle for it, which
//! COMBINE and packets may take, and with it wait the beats of all other clusters. The queue has 32 beats, those of the longest read of
//! a handler but one. A beat takes a cycle at least; a read and a copy end in the cycle after L1 took their last beat, which is
//! therefore in the banks when the handler or the read DMA sees the end.

use crate::bundles::BeatWrite;
use crate::types::Issuer;
use spindle_blocks::LutFifo;
use spindle_verilog::prelude::*;

/// A beat for L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HostArrival {
    /// Its bytes.
    pub data: Bits<512>,
    /// Bytes to write.
    pub keep: Bits<64>,
    /// Beat of L1.
    pub beat: Bits<10>,
    /// Last beat of its transfer.
    pub last: Bit,
    /// Row of a copy from L2, not of host memory.
    pub of_copy: Bit,
    /// Command that read host memory.
    pub issuer: Issuer,
    /// With the last beat: the host answered with an error.
    pub error: Bit,
}

/// End of a read of host memory.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct ReadEnd {
    /// The command.
    pub issuer: Issuer,
    /// The host answered with an error.
    pub error: Bit,
}

/// The queue. See the module text.
#[block]
pub struct HostArrivals {
    /// Beat from the bus.
    pub arrival: Sink<HostArrival>,
    /// Beat for L1.
    pub write: BeatWrite,
    /// A read of host memory is over.
    pub read_ended: Pulse<ReadEnd>,
    /// A copy from L2 is over.
    pub staged: Signal<Out, Bit>,
    queue: LutFifo<HostArrival, 5>,
    ended: DFF<ReadEnd>,
    read_over: Reg<Bit>,
    copy_over: Reg<Bit>,
}

#[hdl]
impl HostArrivals {
    fn update(&mut self) {
        self.arrival.join(&mut self.queue.write);
        let offered = self.queue.read.valid.val();
        let oldest = self.queue.read.val();
        self.write.write.next = offered;
        self.write.beat.next = oldest.beat;
        self.write.data.next = oldest.data;
        self.write.keep.next = oldest.keep;
        self.queue.read.ready.next = self.write.ready.val();
        let ends = offered & self.write.ready.val() & oldest.last;
        self.ended.d.next = ReadEnd { issuer: oldest.issuer, error: oldest.error };
        self.read_over.d.next = ends & !oldest.of_copy;
        self.copy_over.d.next = ends & oldest.of_copy;
        self.read_ended.offer(self.read_over.q.val(), self.ended.q.val());
        self.staged.next = self.copy_over.q.val();
    }
}
