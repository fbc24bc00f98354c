//! FIFO between two clocks.

use crate::ram::LutMemory;
use spindle_verilog::prelude::*;

/// FIFO between two unrelated clocks, first word fall through, in LUT RAM; holds `2^A - 1` words and one more in the
/// output register.
///
/// | ports | clock |
/// |---|---|
/// | `write_clock`, `write_reset`, in `write`, `write_valid` / out `write_ready` | source |
/// | `read_clock`, `read_reset`, out `read`, `read_valid` / in `read_ready` | sink |
///
/// Only Gray-coded pointers cross, one bit at a time, through two registers marked `ASYNC_REG`. All outputs come from
/// registers. One word per cycle of the slower clock, sustained for A ≥ 4. Latency: the word is offered 3 to 4 edges of
/// `read_clock` after the edge of `write_clock` that took it; its place is free again 3 to 4 edges of `write_clock`
/// after it was read. Both resets have to be active together for at least 3 edges of the slower clock; each may end on
/// its own.
#[block(domains(write, read), no_default)]
pub struct AsyncFifo<T: Synth, const A: usize> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Oldest word.
    pub read: Source<T>,
    #[domain(write)]
    memory: LutMemory<T, A>,
    #[domain(write)]
    write_count: Reg<Bits<A>>,
    #[domain(write)]
    write_gray: Reg<Bits<A>>,
    #[domain(write)]
    room: Reg<Bit>,
    #[domain(write)]
    read_gray_near: Reg<Bits<A>>,
    #[domain(write)]
    read_gray_seen: Reg<Bits<A>>,
    #[domain(read)]
    head: DFF<T>,
    #[domain(read)]
    read_count: Reg<Bits<A>>,
    #[domain(read)]
    read_gray: Reg<Bits<A>>,
    #[domain(read)]
    head_valid: Reg<Bit>,
    #[domain(read)]
    write_gray_near: Reg<Bits<A>>,
    #[domain(read)]
    write_gray_seen: Reg<Bits<A>>,
}

impl<T: Synth, const A: usize> Default for AsyncFifo<T, A> {
    fn default() -> Self {
        assert!((2..=9).contains(&A), "AsyncFifo: the memory has 2^2 to 2^9 words, not 2^{A}; choose another A");
        let synchroniser = || Reg::new(Bits::default()).attr("ASYNC_REG", "TRUE");
        Self {
            read_gray_near: synchroniser(),
            read_gray_seen: synchroniser(),
            write_gray_near: synchroniser(),
            write_gray_seen: synchroniser(),
            ..Self::blank()
        }
    }
}

#[hdl]
impl<T: Synth, const A: usize> AsyncFifo<T, A> {
    fn update(&mut self) {
        // Write side.
        self.read_gray_near.d.next = self.read_gray.q.val();
        self.read_gray_seen.d.next = self.read_gray_near.q.val();
        let push = self.write.valid.val() & self.room.q.val();
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
        self.write.ready.next = self.room.q.val();

        self.memory.write(push, self.write_count.q.val(), self.write.val());

        // Read side. A word was in the memory long before its pointer is seen here, so the asynchronous read is stable.
        self.write_gray_near.d.next = self.write_gray.q.val();
        self.write_gray_seen.d.next = self.write_gray_near.q.val();
        self.memory.read_address.next = self.read_count.q.val();
        let some = self.read_gray.q.val() != self.write_gray_seen.q.val();
        if self.read.ready.val() | !self.head_valid.q.val() {
            self.head.d.next = self.memory.read_data.val();
            self.head_valid.d.next = some;
            if some {
                let next = self.read_count.q.val() + 1;
                self.read_count.d.next = next;
                self.read_gray.d.next = next ^ (next >> 1);
            }
        }
        self.read.offer(self.head_valid.q.val(), self.head.q.val());
    }
}
