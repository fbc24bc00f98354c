//! Gearbox between a core of 512 bits and an XDMA of 256 bits at twice the clock.
//!
//! The two clocks come from one source (`BUFGCE_DIV`), and each edge of `core_clock` is one of `pcie_clock`. So a word
//! crosses as between two registers of one clock, within a period of the faster clock: no synchroniser, no Gray code, and
//! timing is that of the tool. Do not use the blocks between unrelated clocks.
//!
//! | block | crosses |
//! |---|---|
//! | [`RatioFifo`] | one stream, either way |
//! | [`HostGearbox`] | host memory: `engine` (core, 512 bits) → `pcie` (256 bits); bandwidth is the same on both sides |
//! | [`BarGearbox`] | BAR accesses: `pcie` → `core`, 256 bits on both sides |
//!
//! # Bursts
//!
//! A burst of n beats becomes one of 2n. The IP wants strobes that are contiguous over a burst, so a half at its begin or
//! end that writes nothing is not sent: the address moves by 32, the burst is shorter. Thus the address of a write goes
//! out when all its beats are known: bursts have at most [`MOST_BEATS`] beats (the NIC's have 4) and begin at a multiple of
//! 64 bytes. Of a burst without any strobe one half is sent. An answer to a read is an error if one of its halves is.
//!
//! | what | latency |
//! |---|---|
//! | word taken by [`RatioFifo`] → offered | the next edge of the reader's clock |
//! | last beat of a write taken → `pcie.aw` offered | as above |
//! | AR taken → offered, B taken → offered | as above |
//! | second half of a read taken → `engine.r` offered | as above |
//!
//! Sustained: a beat of 512 bits in each cycle of the core clock, each way. Both resets are active together for 3 edges of
//! the slower clock at least.

mod bar;
mod host;

pub use bar::BarGearbox;
pub use host::{HostGearbox, MOST_BEATS};

use spindle_blocks::LutMemory;
use spindle_verilog::prelude::*;

/// FIFO between two clocks with common edges, first word fall through, in LUT RAM: `2^A - 1` words, and one in the output register.
///
/// | ports | clock |
/// |---|---|
/// | `write_clock`, `write_reset`, in `write`, `write_valid` / out `write_ready` | source |
/// | `read_clock`, `read_reset`, out `read`, `read_valid` / in `read_ready` | sink |
///
/// Each side reads the counter of the other. See the module text for the clocks and for the latency.
#[block(domains(write, read))]
pub struct RatioFifo<T: Synth, const A: usize> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Oldest word.
    pub read: Source<T>,
    #[domain(write)]
    memory: LutMemory<T, A>,
    #[domain(write)]
    write_count: Reg<Bits<A>>,
    #[domain(read)]
    read_count: Reg<Bits<A>>,
    #[domain(read)]
    head: DFF<T>,
    #[domain(read)]
    head_valid: Reg<Bit>,
}

#[hdl]
impl<T: Synth, const A: usize> RatioFifo<T, A> {
    fn update(&mut self) {
        let next = self.write_count.q.val() + 1;
        let room = next != self.read_count.q.val();
        let push = self.write.valid.val() & room;
        self.write.ready.next = room;
        self.write_count.load(push, next);
        self.memory.write(push, self.write_count.q.val(), self.write.val());

        self.memory.read_address.next = self.read_count.q.val();
        let some = self.read_count.q.val() != self.write_count.q.val();
        if self.read.ready.val() | !self.head_valid.q.val() {
            self.head.d.next = self.memory.read_data.val();
            self.head_valid.d.next = some;
            self.read_count.load(some, self.read_count.q.val() + 1);
        }
        self.read.offer(self.head_valid.q.val(), self.head.q.val());
    }
}
