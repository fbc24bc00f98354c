//! Bytes of loads and stores: any size at any address.
//!
//! Memory is read and written through two lanes, words with address bit 2 = 0 (even) and = 1 (odd). An access that
//! begins in the odd word and ends in the even one means the even word of the next row.

use spindle_verilog::prelude::*;

/// Extends the bytes of a load: combinational.
///
/// | ports | meaning |
/// |---|---|
/// | in `word` | its bytes, each in the lane of its address |
/// | in `offset` | address bits 1:0 |
/// | in `funct3` | of the load |
/// | out `value` | value of the register |
#[block(combinational)]
pub struct LoadLanes {
    /// Bytes by address bits 1:0.
    pub word: Signal<In, Bits<32>>,
    /// Lane of the first one.
    pub offset: Signal<In, Bits<2>>,
    /// Size and sign.
    pub funct3: Signal<In, Bits<3>>,
    /// Value of the register.
    pub value: Signal<Out, Bits<32>>,
}

/// Lanes with bytes of the next word, of an access that begins at address bits 1:0 = `offset`.
#[hdl_fn]
pub fn next_word_lanes(offset: Bits<2>) -> Bits<4> {
    (false, offset == 3, offset.get_bit(1), offset.any()).cat::<4>()
}

/// Rotates right by 0 to 3 bytes.
#[hdl_fn]
pub fn rotate_bytes(x: Bits<32>, by: Bits<2>) -> Bits<32> {
    let by_one = (x.get_bits::<8>(0), x.get_bits::<24>(8)).cat::<32>();
    let by_two = (x.get_bits::<16>(0), x.get_bits::<16>(16)).cat::<32>();
    let by_three = (x.get_bits::<24>(0), x.get_bits::<8>(24)).cat::<32>();
    select(by, [x, by_one, by_two, by_three])
}

#[hdl]
impl LoadLanes {
    fn update(&mut self) {
        let bytes = rotate_bytes(self.word.val(), self.offset.val());
        let size = self.funct3.val().get_bits::<2>(0);
        let sign = !self.funct3.val().get_bit(2) & (if size.any() { bytes.get_bit(15) } else { bytes.get_bit(7) });
        self.value.next = (
            if size.get_bit(1) { bytes.get_bits::<16>(16) } else { repeat::<16>(sign) },
            if size.any() { bytes.get_bits::<8>(8) } else { repeat::<8>(sign) },
            bytes.get_bits::<8>(0),
        )
            .cat::<32>();
    }
}

/// Places the bytes of a store: combinational.
///
/// | ports | meaning |
/// |---|---|
/// | in `data` | the register |
/// | in `offset` | address bits 2:0 |
/// | in `size_less_one` | bytes less one: 0, 1, 3 |
/// | out `rotated` | goes to both lanes |
/// | out `even_strobe`, `odd_strobe` | bytes that are written |
#[block(combinational)]
pub struct StoreLanes {
    /// The register.
    pub data: Signal<In, Bits<32>>,
    /// Address bits 2:0.
    pub offset: Signal<In, Bits<3>>,
    /// Byte, half word, word: 0, 1, 3.
    pub size_less_one: Signal<In, Bits<2>>,
    /// For both lanes.
    pub rotated: Signal<Out, Bits<32>>,
    /// Bytes of the even lane.
    pub even_strobe: Signal<Out, Bits<4>>,
    /// Bytes of the odd lane.
    pub odd_strobe: Signal<Out, Bits<4>>,
}

#[hdl]
impl StoreLanes {
    fn update(&mut self) {
        // To the left: by one is by three to the right.
        let data = self.data.val();
        let by_one = (data.get_bits::<24>(0), data.get_bits::<8>(24)).cat::<32>();
        let by_two = (data.get_bits::<16>(0), data.get_bits::<16>(16)).cat::<32>();
        let by_three = (data.get_bits::<8>(0), data.get_bits::<24>(8)).cat::<32>();
        self.rotated.next = select(self.offset.val().get_bits::<2>(0), [data, by_one, by_two, by_three]);
        let size = self.size_less_one.val();
        let bytes = (repeat::<2>(size.get_bit(1)), size.get_bit(0), true).cat::<4>();
        let strobes = bit_cast::<11, 4>(bytes) << self.offset.val();
        // After the odd word comes the next row's even one.
        self.even_strobe.next = strobes.get_bits::<4>(0) | bit_cast::<4, 3>(strobes.get_bits::<3>(8));
        self.odd_strobe.next = strobes.get_bits::<4>(4);
    }
}
