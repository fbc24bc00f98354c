//! Answers that the remote unit still owes to the two threads.

use super::bundles::RemotePushSink;
use super::types::RemoteAnswer;
use spindle_verilog::prelude::*;

/// Posted writes in flight from which on further ones stall. Two more may have been pushed by the time that this is
/// known.
const POSTED: u64 = 5;

/// Counts posted writes and answers in flight.
///
/// | neighbour | ports |
/// |---|---|
/// | M1 | `push`, of the current `thread`; in `squash`: the push of the last cycle was a fault; out `quiet` |
/// | remote unit | in `answer`; out `answered`: the answer is one to a load or atomic |
/// | threads | in `forgets`, `ends`; out `owed` |
/// | store buffer | in `draining` |
/// | endings | out `drains` |
///
/// The stalls of M1 are registers, and are those of a new current thread from the second cycle on: its first
/// instruction reaches M1 later. A write counts from the cycle after its push into the store buffer to its answer. The
/// end of a handler waits for its stores; until they have arrived, posted writes of the next handler of the thread
/// stall, so that the two are never confused. A thread has at most one load or atomic in flight; if its handler ends
/// without the answer, the answer is owed, and dropped when it comes.
#[block]
pub struct RemoteTracker {
    /// The current thread.
    pub thread: Signal<In, Bit>,
    /// Remote accesses that the current thread pushes.
    pub push: RemotePushSink,
    /// The push of the last cycle did not happen.
    pub squash: Signal<In, Bit>,
    /// All its writes have arrived; those in M1 or the store buffer do not count.
    pub quiet: Signal<Out, Bit>,
    /// Answer.
    pub answer: PulseSink<RemoteAnswer>,
    /// The answer is one to a load or atomic.
    pub answered: Signal<Out, Bit>,
    /// Threads that no longer need their answer.
    pub forgets: Signal<In, Bits<2>>,
    /// Threads whose answer is to be dropped.
    pub owed: Signal<Out, Bits<2>>,
    /// The current thread's handler ends.
    pub ends: Signal<In, Bit>,
    /// Threads whose ended handlers have entries in the store buffer.
    pub draining: Signal<In, Bits<2>>,
    /// Threads whose ended handlers have stores in flight.
    pub drains: Signal<Out, Bits<2>>,
    wrote: Reg<Bit>,
    read: Reg<Bit>,
    posted: [Reg<Bits<3>>; 2],
    outstanding: [Reg<Bit>; 2],
    unwanted: [Reg<Bit>; 2],
    old: [Reg<Bit>; 2],
    no_writes: Reg<Bit>,
    no_reads: Reg<Bit>,
}

#[hdl]
impl RemoteTracker {
    fn update(&mut self) {
        let thread = self.thread.val();
        // The thread is the same as in the cycle of the push.
        self.wrote.d.next = self.push.write.val();
        self.read.d.next = self.push.read.val();
        let writes = self.wrote.q.val() & !self.squash.val();
        let reads = self.read.q.val() & !self.squash.val();
        let answer = self.answer.val();
        let answered = self.answer.valid.val() & !answer.write;
        let arrived = self.answer.valid.val() & answer.write;
        let mut full: Bits<2> = bits::<2>(0);
        let mut waits: Bits<2> = bits::<2>(0);
        for i in 0..2 {
            let mine = thread == (i == 1);
            let its = answer.thread == (i == 1);
            let more = writes & mine;
            let fewer = arrived & its;
            if more & !fewer {
                self.posted[i].d.next = self.posted[i].q.val() + 1;
            } else if fewer & !more {
                self.posted[i].d.next = self.posted[i].q.val() - 1;
            }
            full = full.replace_bit(i, self.posted[i].q.val() >= POSTED);
            waits = waits.replace_bit(i, self.outstanding[i].q.val());
            if answered & its {
                self.outstanding[i].d.next = false;
                self.unwanted[i].d.next = false;
            } else if self.forgets.val().get_bit(i) {
                self.unwanted[i].d.next = true;
            }
            self.outstanding[i].load(reads & mine, true);
            if self.ends.val() & mine {
                self.old[i].d.next = true;
            } else if !self.posted[i].q.val().any() & !self.draining.val().get_bit(i) {
                self.old[i].d.next = false;
            }
        }
        let posted = if thread { self.posted[1].q.val() } else { self.posted[0].q.val() };
        let old = if thread { self.old[1].q.val() } else { self.old[0].q.val() };
        // An ended handler's writes are waited for one cycle longer.
        self.no_writes.d.next = old | (if thread { full.get_bit(1) } else { full.get_bit(0) });
        self.no_reads.d.next = if thread { waits.get_bit(1) } else { waits.get_bit(0) };
        self.push.write_stalls.next = self.no_writes.q.val();
        self.push.read_stalls.next = self.no_reads.q.val();
        self.quiet.next = !posted.any();
        self.answered.next = answered;
        self.owed.next = (self.unwanted[1].q.val(), self.unwanted[0].q.val()).cat::<2>();
        self.drains.next = (self.old[1].q.val(), self.old[0].q.val()).cat::<2>();
    }
}
