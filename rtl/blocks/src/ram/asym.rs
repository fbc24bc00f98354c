//! One memory seen 512 bits wide from one side and 32 bits wide from the other.

use super::TdpRam;
use spindle_verilog::prelude::*;

/// Banks: 32-bit words in a row.
const BANKS: usize = 16;

/// `2^A` rows of 64 bytes; a wide port works on rows, a narrow one on 32-bit words (N = A + 4 address bits).
///
/// | ports | meaning |
/// |---|---|
/// | in `wide_enable`, `wide_strobe[63:0]`, `wide_address`, `wide_write` / out `wide_read` | row access, read latency 1 |
/// | in `narrow_enable`, `narrow_strobe[3:0]`, `narrow_address`, `narrow_write` / out `narrow_read` | word access, read latency 2 |
///
/// A strobe of zero only reads. Neither port ever stalls. Collisions as [`TdpRam`]: a read, also that of a write, gives the
/// old bytes, and the ports must not write the same word in one cycle. A read output is held while its port rests. Byte 0
/// of a row is `wide_read[7:0]`, the lowest byte of its word 0.
#[derive(LogicBlock)]
pub struct AsymRam<const A: usize, const N: usize> {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    /// The wide port works in this cycle.
    pub wide_enable: Signal<In, Bit>,
    /// Bytes to write.
    pub wide_strobe: Signal<In, Bits<64>>,
    /// Row.
    pub wide_address: Signal<In, Bits<A>>,
    /// What to write.
    pub wide_write: Signal<In, Bits<512>>,
    /// The row read.
    pub wide_read: Signal<Out, Bits<512>>,
    /// The narrow port works in this cycle.
    pub narrow_enable: Signal<In, Bit>,
    /// Bytes to write.
    pub narrow_strobe: Signal<In, Bits<4>>,
    /// Word.
    pub narrow_address: Signal<In, Bits<N>>,
    /// What to write.
    pub narrow_write: Signal<In, Bits<32>>,
    /// The word read.
    pub narrow_read: Signal<Out, Bits<32>>,
    banks: [TdpRam<A, 4, 32>; BANKS],
    bank: DFF<Bits<4>>,
    fetched: DFF<Bit>,
    word: DFF<Bits<32>>,
}

impl<const A: usize, const N: usize> Default for AsymRam<A, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const A: usize, const N: usize> AsymRam<A, N> {
    /// `2^A` rows.
    pub fn new() -> Self {
        assert!(N == A + 4, "AsymRam: {A} row address bits are {} word address bits, not {N}; make N = A + 4", A + 4);
        Self {
            clock: Default::default(),
            wide_enable: Default::default(),
            wide_strobe: Default::default(),
            wide_address: Default::default(),
            wide_write: Default::default(),
            wide_read: Default::default(),
            narrow_enable: Default::default(),
            narrow_strobe: Default::default(),
            narrow_address: Default::default(),
            narrow_write: Default::default(),
            narrow_read: Default::default(),
            banks: Default::default(),
            bank: Default::default(),
            fetched: Default::default(),
            word: Default::default(),
        }
    }
}

impl<const A: usize, const N: usize> Logic for AsymRam<A, N> {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, bank, fetched, word);
        let row = self.narrow_address.val().get_bits::<A>(4);
        let bank = self.narrow_address.val().get_bits::<4>(0);
        let mut wide: Bits<512> = bits::<512>(0);
        let mut narrow: Bits<512> = bits::<512>(0);
        for i in 0..BANKS {
            self.banks[i].clock.next = self.clock.val();
            self.banks[i].a_enable.next = self.wide_enable.val();
            self.banks[i].a_strobe.next = self.wide_strobe.val().get_bits::<4>(4 * i);
            self.banks[i].a_address.next = self.wide_address.val();
            self.banks[i].a_write.next = self.wide_write.val().get_bits::<32>(32 * i);
            wide = wide | (bit_cast::<512, 32>(self.banks[i].a_read.val()) << bits::<10>(32 * i as u64));

            self.banks[i].b_enable.next = self.narrow_enable.val() & (bank == bits::<4>(i as u64));
            self.banks[i].b_strobe.next = self.narrow_strobe.val();
            self.banks[i].b_address.next = row;
            self.banks[i].b_write.next = self.narrow_write.val();
            narrow = narrow | (bit_cast::<512, 32>(self.banks[i].b_read.val()) << bits::<10>(32 * i as u64));
        }
        self.wide_read.next = wide;
        self.fetched.d.next = self.narrow_enable.val();
        if self.narrow_enable.val() {
            self.bank.d.next = bank;
        }
        if self.fetched.q.val() {
            self.word.d.next = (narrow >> (self.bank.q.val(), bits::<5>(0)).cat::<9>()).get_bits::<32>(0);
        }
        self.narrow_read.next = self.word.q.val();
    }
}
