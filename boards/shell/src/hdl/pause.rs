//! Pause frames of IEEE 802.3, annex 31B, in the MAC's clock: option of a shell.
//!
//! # Latency and stalls
//!
//! Frames from the MAC: 1 cycle more. Frames for the MAC: none more; a pause frame goes between two frames and holds
//! the next one up for one beat. A received pause frame holds transmission from the second cycle after it; a frame
//! that has begun is finished. A FIFO that fills asks for a pause in the third cycle after its level reached the
//! mark, and the frame leaves when the frame under way has ended.
//!
//! # Area
//!
//! On UltraScale+ with A = 9 (yosys): 678 LUTs, 627 flip-flops.

use spindle_blocks::{AxiStreamSink, AxiStreamSource, RxSink, RxSource};
use spindle_verilog::prelude::*;

/// Cycles after which a pause is asked for again while the FIFO stays full. The pause that is asked for is 65,535
/// quanta, at the least 108,132 cycles.
pub const REFRESH: u64 = 1 << 15;

/// Destination of a pause frame, bytes as on the wire.
const DESTINATION: [u64; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
/// Type and operation, bytes 12 to 15.
const OPERATION: [u64; 4] = [0x88, 0x08, 0x00, 0x01];
/// Bytes of a pause frame, without the check sequence.
const BYTES: usize = 60;
/// Its mask.
const KEEP: u64 = (1 << BYTES as u64) - 1;

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
}

/// Sends pause frames by the level of the receive FIFO, and obeys those that are received.
///
/// | ports | neighbour |
/// |---|---|
/// | in `from_mac_*`, out `to_cross_*`: frames without ready, pause frames taken out | the MAC, [`RxCross`](super::rx_cross::RxCross) |
/// | in `from_cross_*` / out `to_mac_*`, with ready | [`TxCross`](super::tx_cross::TxCross), the MAC |
/// | in `level`: beats in the receive FIFO | `RxCross` |
/// | out `hold`: begin no frame, a register | `TxCross` |
/// | in `address`: of this port, bits 47:40 are its first byte; may change while no pause is asked for | |
///
/// A frame is a pause frame if it is one good beat of at least 60 bytes with the destination, type and operation of
/// one. With [`Pause::off`] the block is wires, `hold` is low.
#[block(no_default)]
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
    on: Vec<PauseOn<A>>,
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
        Self { on: vec![PauseOn::new(options)], _on: true, ..Self::blank() }
    }

    /// No pauses: wires.
    pub fn off() -> Self {
        Self { on: vec![], _on: false, ..Self::blank() }
    }
}

#[hdl]
impl<const A: usize> Pause<A> {
    fn update(&mut self) {
        if self._on {
            self.from_mac.join(&mut self.on[0].from_mac);
            self.on[0].to_cross.join(&mut self.to_cross);
            self.from_cross.join(&mut self.on[0].from_cross);
            self.on[0].to_mac.join(&mut self.to_mac);
            self.on[0].level.next = self.level.val();
            self.on[0].address.next = self.address.val();
            self.hold.next = self.on[0].hold.val();
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

/// [`Pause`] that is not off.
#[block(no_default)]
pub struct PauseOn<const A: usize> {
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
    data: DFF<Bits<512>>,
    keep: DFF<Bits<64>>,
    last: DFF<Bit>,
    user: DFF<Bit>,
    valid: Reg<Bit>,
    /// The MAC's next beat is the first of a frame.
    first: Reg<Bit>,
    /// The beat in the registers is a pause frame.
    is_pause: Reg<Bit>,
    /// Quanta to hold.
    quanta: Reg<Bits<16>>,
    phase: Reg<Bits<8>>,
    holding: Reg<Bit>,
    above: Reg<Bit>,
    below: Reg<Bit>,
    /// The other end was asked for a pause.
    asked: Reg<Bit>,
    since: Reg<Bits<16>>,
    /// A frame of the core is under way.
    mid_frame: Reg<Bit>,
    sending: Reg<Bit>,
    _high: u64,
    _low: u64,
    _numerator: u64,
    _denominator: u64,
}

impl<const A: usize> PauseOn<A> {
    fn new(options: PauseOptions) -> Self {
        let PauseOptions { high, low, cycles: (numerator, denominator) } = options;
        assert!(
            low < high && high < 1 << A,
            "Pause: {low} and {high} beats of a FIFO of 2^{A}; choose low < high < 2^{A}"
        );
        assert!(
            denominator <= numerator && numerator < 128,
            "Pause: a quantum of {numerator} / {denominator} cycles; it has to be 1 to 127 cycles, with a numerator below 128"
        );
        Self {
            first: Reg::new(true),
            _high: high,
            _low: low,
            _numerator: numerator,
            _denominator: denominator,
            ..Self::blank()
        }
    }
}

#[hdl]
impl<const A: usize> PauseOn<A> {
    fn update(&mut self) {
        self.receive();
        self.send();
    }

    fn receive(&mut self) {
        let valid = self.from_mac.valid.val();
        let data = self.from_mac.data.val();
        let last = self.from_mac.last.val();
        self.first.load(valid, last);
        let mut differs = false;
        for i in 0..6 {
            differs = differs | ne(data.get_bits::<8>(8 * i), bits::<8>(DESTINATION[i]));
        }
        for i in 0..4 {
            differs = differs | ne(data.get_bits::<8>(96 + 8 * i), bits::<8>(OPERATION[i]));
        }
        let whole = self.first.q.val() & last & !self.from_mac.user.val() & self.from_mac.keep.val().get_bit(BYTES - 1);
        self.is_pause.d.next = valid & whole & !differs;
        self.valid.d.next = valid;
        if valid {
            self.data.d.next = data;
            self.keep.d.next = self.from_mac.keep.val();
            self.last.d.next = last;
            self.user.d.next = self.from_mac.user.val();
        }
        let held = self.data.q.val();
        self.to_cross.data.next = held;
        self.to_cross.keep.next = self.keep.q.val();
        self.to_cross.last.next = self.last.q.val();
        self.to_cross.user.next = self.user.q.val();
        self.to_cross.valid.next = self.valid.q.val() & !self.is_pause.q.val();

        // A quantum is the numerator in steps of the denominator.
        let some = self.quanta.q.val().any();
        let phase = self.phase.q.val() + bits::<8>(self._denominator);
        let full = phase >= bits::<8>(self._numerator);
        if self.is_pause.q.val() {
            self.quanta.d.next = (held.get_bits::<8>(128), held.get_bits::<8>(136)).cat::<16>();
            self.phase.d.next = bits::<8>(0);
            self.holding.d.next = held.get_bits::<16>(128).any();
        } else if some {
            self.phase.d.next = if full { phase - bits::<8>(self._numerator) } else { phase };
            if full {
                self.quanta.d.next = self.quanta.q.val() - 1;
                self.holding.d.next = self.quanta.q.val() != 1;
            }
        }
        self.hold.next = self.holding.q.val();
    }

    fn send(&mut self) {
        self.above.d.next = self.level.val() >= bits::<A>(self._high);
        self.below.d.next = self.level.val() <= bits::<A>(self._low);
        let asked = self.asked.q.val();
        let old = self.since.q.val().get_bit(15);
        let wants = if asked { self.below.q.val() | (self.above.q.val() & old) } else { self.above.q.val() };
        let sending = self.sending.q.val();
        let valid = self.from_cross.valid.val();
        let moves = valid & self.to_mac.ready.val() & !sending;
        self.mid_frame.load(moves, !self.from_cross.last.val());
        // No beat is offered in the next cycle that was offered before.
        let between = (moves & self.from_cross.last.val()) | (!self.mid_frame.q.val() & !valid);
        if sending {
            self.sending.d.next = !self.to_mac.ready.val();
        } else if wants & between {
            self.sending.d.next = true;
            self.asked.d.next = !self.below.q.val();
        }
        if sending {
            self.since.d.next = bits::<16>(0);
        } else if !old {
            self.since.d.next = self.since.q.val() + 1;
        }

        let mut pause: Bits<512> = bits(0);
        for i in 0..6 {
            pause = pause | (bits::<512>(DESTINATION[i]) << (8 * i as u64));
        }
        for i in 0..4 {
            pause = pause | (bits::<512>(OPERATION[i]) << (96 + 8 * i as u64));
        }
        let quanta = repeat::<16>(asked);
        let own = byte_swap(self.address.val());
        let frame = pause | (bit_cast::<512, 48>(own) << 48) | (bit_cast::<512, 16>(quanta) << 128);
        self.to_mac.data.next = if sending { frame } else { self.from_cross.data.val() };
        self.to_mac.keep.next = if sending { bits::<64>(KEEP) } else { self.from_cross.keep.val() };
        self.to_mac.last.next = sending | self.from_cross.last.val();
        self.to_mac.user.next = !sending & self.from_cross.user.val();
        self.to_mac.valid.next = sending | valid;
        self.from_cross.ready.next = self.to_mac.ready.val() & !sending;
    }
}
