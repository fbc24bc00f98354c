//! Pause frames of IEEE 802.3, annex 31B, beside a MAC: option of a shell.
//!
//! | block | part |
//! |---|---|
//! | [`Pause`] | both directions, or wires |
//! | [`PauseReceive`] | takes pause frames out of what is received, watches the level of the receive FIFO |
//! | [`PauseSend`] | holds transmission, sends pause frames |
//!
//! # Latency and stalls
//!
//! Frames from the MAC: 1 cycle more. Frames for the MAC: none more; a pause frame goes between two frames and holds
//! the next one up for one beat. A received pause holds transmission from the sixth cycle after it; a
//! frame that has begun is finished. A FIFO that fills asks for a pause in the fifth cycle after its level reached the mark, and
//! the frame leaves when the frame under way has ended. Both are one cycle later at the most if the clocks differ.
//!
//! # Crossings
//!
//! Two marks of the FIFO, and a bit that changes with each received pause: a level each. The quanta stand still while that bit
//! crosses: pause frames are 10 cycles apart where the clocks differ. A hold is counted in the transmitter's clock, so it ends
//! also if the receiver's clock stops.
//!
//! # Area
//!
//! On UltraScale+ with A = 9 (yosys): 680 LUTs, 668 flip-flops.

mod receive;
mod send;

pub use receive::PauseReceive;
pub use send::{PauseSend, REFRESH};

use spindle_blocks::{AxiStreamSink, AxiStreamSource, RxSink, RxSource};
use spindle_verilog::prelude::*;

/// Destination of a pause frame, bytes as on the wire.
const DESTINATION: [u64; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
/// Type and operation, bytes 12 to 15.
const OPERATION: [u64; 4] = [0x88, 0x08, 0x00, 0x01];
/// Bytes of a pause frame, without the check sequence.
const BYTES: usize = 60;

/// Source of a shell's pause frames, bits 47:40 its first byte; of local administration. The MAC at the other end of the cable takes
/// pause frames out (annex 31B), so no bridge learns the address, and all cards may have the same one.
pub const ADDRESS: u64 = 0x0253_5049_4E00;

/// When pauses are asked for, and how long a quantum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseOptions {
    /// Beats in the receive FIFO from which a pause is asked for.
    pub high: u64,
    /// Beats down to which the FIFO must empty before frames are asked for again.
    pub low: u64,
    /// A quantum (512 bit times) is `cycles.0 / cycles.1` cycles of the MAC's clock.
    pub cycles: (u64, u64),
}

impl PauseOptions {
    /// A CMAC at 322.265625 MHz: a quantum of 5.12 ns is 33 / 20 cycles.
    pub const CMAC: (u64, u64) = (33, 20);
    /// A MAC of 64 bits at its line rate: eight cycles.
    pub const MAC64: (u64, u64) = (8, 1);

    /// Checks the options for a FIFO of `2^bits` beats.
    ///
    /// # Panics
    /// If they fit no such FIFO, or no count.
    fn check(&self, bits: usize) {
        let Self { high, low, cycles: (numerator, denominator) } = self;
        assert!(
            low < high && *high < 1 << bits,
            "Pause: {low} and {high} beats of a FIFO of 2^{bits}; choose low < high < 2^{bits}"
        );
        assert!(
            denominator <= numerator && *numerator < 128,
            "Pause: a quantum of {numerator} / {denominator} cycles; it has to be 1 to 127 cycles, with a numerator below 128"
        );
    }
}

/// Sends pause frames by the level of the receive FIFO, and obeys those that are received.
///
/// | ports | domain | neighbour |
/// |---|---|---|
/// | in `from_mac_*`, out `to_cross_*`: frames without ready, pause frames taken out | `rx` | MAC, [`RxCross`](super::rx_cross::RxCross) |
/// | in `level`: beats in the receive FIFO | `rx` | `RxCross` |
/// | in `from_cross_*` / out `to_mac_*`, with ready | `tx` | [`TxCross`](super::tx_cross::TxCross), the MAC |
/// | out `hold`: begin no frame, a register | `tx` | `TxCross` |
/// | in `address`: of this port, bits 47:40 are its first byte; may change while no pause is asked for | `tx` | |
///
/// A frame is a pause frame if it is one good beat of at least 60 bytes with the destination, type and operation of
/// one. With [`Pause::off`] the block is wires, `hold` is low. Both domains may have one clock.
#[block(domains(rx, tx), no_default)]
pub struct Pause<const A: usize> {
    /// Frames of the MAC.
    pub from_mac: RxSink,
    /// Those that are no pause frames.
    pub to_cross: RxSource,
    /// Frames of the core.
    pub from_cross: AxiStreamSink,
    /// Those, and pause frames.
    pub to_mac: AxiStreamSource,
    /// Beats in the receive FIFO.
    pub level: Signal<In, Bits<A>>,
    /// Address of this port.
    pub address: Signal<In, Bits<48>>,
    /// Begin no frame.
    pub hold: Signal<Out, Bit>,
    #[domain(rx)]
    receive: Vec<PauseReceive<A>>,
    #[domain(tx)]
    send: Vec<PauseSend>,
    _on: bool,
}

impl<const A: usize> Default for Pause<A> {
    fn default() -> Self {
        Self::off()
    }
}

impl<const A: usize> Pause<A> {
    /// Pauses, by `options`.
    pub fn new(options: PauseOptions) -> Self {
        options.check(A);
        let receive = vec![PauseReceive::new(options.high, options.low)];
        Self { receive, send: vec![PauseSend::new(options.cycles)], _on: true, ..Self::blank() }
    }

    /// No pauses: wires.
    pub fn off() -> Self {
        Self { receive: vec![], send: vec![], _on: false, ..Self::blank() }
    }
}

#[hdl]
impl<const A: usize> Pause<A> {
    fn update(&mut self) {
        if self._on {
            self.from_mac.join(&mut self.receive[0].from_mac);
            self.receive[0].to_cross.join(&mut self.to_cross);
            self.receive[0].level.next = self.level.val();
            self.send[0].above.next = self.receive[0].above.val();
            self.send[0].below.next = self.receive[0].below.val();
            self.send[0].turn.next = self.receive[0].turn.val();
            self.send[0].quanta.next = self.receive[0].quanta.val();
            self.from_cross.join(&mut self.send[0].from_cross);
            self.send[0].to_mac.join(&mut self.to_mac);
            self.send[0].address.next = self.address.val();
            self.hold.next = self.send[0].hold.val();
        } else {
            self.to_cross.data.next = self.from_mac.data.val();
            self.to_cross.keep.next = self.from_mac.keep.val();
            self.to_cross.last.next = self.from_mac.last.val();
            self.to_cross.user.next = self.from_mac.user.val();
            self.to_cross.valid.next = self.from_mac.valid.val();
            self.to_mac.data.next = self.from_cross.data.val();
            self.to_mac.keep.next = self.from_cross.keep.val();
            self.to_mac.last.next = self.from_cross.last.val();
            self.to_mac.user.next = self.from_cross.user.val();
            self.to_mac.valid.next = self.from_cross.valid.val();
            self.from_cross.ready.next = self.to_mac.ready.val();
            self.hold.next = false;
        }
    }
}
