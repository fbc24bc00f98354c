//! FIFO between two clocks.

use crate::ram::LutMemory;
use spindle_verilog::prelude::*;

/// FIFO between two unrelated clocks, first word fall through, in LUT RAM; holds `2^A - 1` words and one more in the output
/// register.
///
/// | ports | clock |
/// |---|---|
/// | `write_clock`, `write_reset`, in `write`, `write_valid` / out `write_ready` | source |
/// | `read_clock`, `read_reset`, out `read`, `read_valid` / in `read_ready` | sink |
///
/// Only Gray-coded pointers cross, one bit at a time, through two registers marked `ASYNC_REG`. All outputs come from
/// registers. One word per cycle of the slower clock, sustained for A ≥ 4. Latency: the word is offered 3 to 4 edges of
/// `read_clock` after the edge of `write_clock` that took it; its place is free again 3 to 4 edges of `write_clock` after
/// it was read. Both resets have to be active together for at least 3 edges of the slower clock; each may end on its own.
#[derive(LogicBlock)]
pub struct AsyncFifo<T: Synth, const A: usize> {
    /// Clock of the source.
    pub write_clock: Signal<In, Clock>,
    /// Reset in that clock.
    pub write_reset: Signal<In, Bit>,
    /// Clock of the sink.
    pub read_clock: Signal<In, Clock>,
    /// Reset in that clock.
    pub read_reset: Signal<In, Bit>,
    /// Word from the source.
    pub write: Signal<In, T>,
    /// The source offers a word.
    pub write_valid: Signal<In, Bit>,
    /// The word is taken.
    pub write_ready: Signal<Out, Bit>,
    /// Oldest word.
    pub read: Signal<Out, T>,
    /// There is one.
    pub read_valid: Signal<Out, Bit>,
    /// The sink takes it.
    pub read_ready: Signal<In, Bit>,
    memory: LutMemory<T, A>,
    head: DFF<T>,
    write_count: Reg<Bits<A>>,
    write_gray: Reg<Bits<A>>,
    room: Reg<Bit>,
    read_gray_near: Reg<Bits<A>>,
    read_gray_seen: Reg<Bits<A>>,
    read_count: Reg<Bits<A>>,
    read_gray: Reg<Bits<A>>,
    head_valid: Reg<Bit>,
    write_gray_near: Reg<Bits<A>>,
    write_gray_seen: Reg<Bits<A>>,
}

impl<T: Synth, const A: usize> Default for AsyncFifo<T, A> {
    fn default() -> Self {
        assert!((2..=9).contains(&A), "AsyncFifo: the memory has 2^2 to 2^9 words, not 2^{A}; choose another A");
        let synchroniser = || Reg::new(Bits::default()).attr("ASYNC_REG", "TRUE");
        Self {
            write_clock: Default::default(),
            write_reset: Default::default(),
            read_clock: Default::default(),
            read_reset: Default::default(),
            write: Default::default(),
            write_valid: Default::default(),
            write_ready: Default::default(),
            read: Default::default(),
            read_valid: Default::default(),
            read_ready: Default::default(),
            memory: Default::default(),
            head: Default::default(),
            write_count: Default::default(),
            write_gray: Default::default(),
            room: Default::default(),
            read_gray_near: synchroniser(),
            read_gray_seen: synchroniser(),
            read_count: Default::default(),
            read_gray: Default::default(),
            head_valid: Default::default(),
            write_gray_near: synchroniser(),
            write_gray_seen: synchroniser(),
        }
    }
}

impl<T: Synth, const A: usize> Logic for AsyncFifo<T, A> {
    #[hdl]
    fn update(&mut self) {
        // Write side.
        regs!(self, write_clock, write_reset, write_count, write_gray, room, read_gray_near, read_gray_seen);
        self.read_gray_near.d.next = self.read_gray.q.val();
        self.read_gray_seen.d.next = self.read_gray_near.q.val();
        let push = self.write_valid.val() & self.room.q.val();
        let one_more = self.write_count.q.val() + 1;
        let two_more = self.write_count.q.val() + 2;
        let mut count = self.write_count.q.val();
        let mut after = one_more;
        if push {
            count = one_more;
            after = two_more;
        }
        self.write_count.d.next = count;
        self.write_gray.d.next = count ^ (count >> 1);
        // Full when one more word would make the pointers equal. What is seen of the reader is old, which errs to full.
        self.room.d.next = (after ^ (after >> 1)) != self.read_gray_seen.q.val();
        self.write_ready.next = self.room.q.val();

        self.memory.clock.next = self.write_clock.val();
        self.memory.write_enable.next = push;
        self.memory.write_address.next = self.write_count.q.val();
        self.memory.write_data.next = self.write.val();

        // Read side. A word was in the memory long before its pointer is seen here, so the asynchronous read is stable.
        dffs!(self, read_clock, head);
        regs!(self, read_clock, read_reset, read_count, read_gray, head_valid, write_gray_near, write_gray_seen);
        self.write_gray_near.d.next = self.write_gray.q.val();
        self.write_gray_seen.d.next = self.write_gray_near.q.val();
        self.memory.read_address.next = self.read_count.q.val();
        let some = self.read_gray.q.val() != self.write_gray_seen.q.val();
        if self.read_ready.val() | !self.head_valid.q.val() {
            self.head.d.next = self.memory.read_data.val();
            self.head_valid.d.next = some;
            if some {
                let next = self.read_count.q.val() + 1;
                self.read_count.d.next = next;
                self.read_gray.d.next = next ^ (next >> 1);
            }
        }
        self.read.next = self.head.q.val();
        self.read_valid.next = self.head_valid.q.val();
    }
}
