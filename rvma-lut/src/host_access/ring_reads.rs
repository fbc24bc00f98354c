//! Ring reads: the command rings and the kicks share one client of the reader.
//!
//! | neighbour | ports |
//! |---|---|
//! | command rings, kicks | in `rings`, `kicks`; out `to_kicks`: whose the present line is |
//! | read requests | out `read` |
//! | read answers | in `line_moves`, `line_last` |
//!
//! Reads of the command rings go first. Answers come in the order of the reads. No cycle is added to a read or to its
//! answer. A read waits while 16 are under way; the command rings have at most nine, the kicks one.

use crate::prelude::*;

/// Address bits of the FIFO of reads under way.
const READ_BITS: usize = 4;

/// The joint. See the module text.
#[block]
pub struct RingReads {
    /// Read of a command ring.
    pub rings: Sink<HostRead>,
    /// Read of a shadow line.
    pub kicks: Sink<HostRead>,
    /// Read for the reader.
    pub read: Source<HostRead>,
    /// A line has arrived.
    pub line_moves: Signal<In, Bit>,
    /// Last line of its read.
    pub line_last: Signal<In, Bit>,
    /// The line answers a read of the kicks.
    pub to_kicks: Signal<Out, Bit>,
    owners: Fifo<Bit, READ_BITS>,
}

#[hdl]
impl RingReads {
    fn update(&mut self) {
        let ring = self.rings.valid.val();
        let room = self.owners.write.ready.val();
        let offers = ring | self.kicks.valid.val();
        self.read.offer(offers & room, if ring { self.rings.val() } else { self.kicks.val() });
        self.rings.ready.next = self.read.ready.val() & room;
        self.kicks.ready.next = self.read.ready.val() & room & !ring;
        self.owners.write.offer(offers & self.read.ready.val(), !ring);
        self.owners.read.ready.next = self.line_moves.val() & self.line_last.val();
        self.to_kicks.next = self.owners.read.val();
    }
}
