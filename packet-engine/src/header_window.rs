//! Header window: the first two beats of a frame as one header without VLAN tag.
//!
//! | neighbour | ports |
//! |---|---|
//! | parser (input registers) | in `data`, `valid`, `first`, `second`, `vlan`; no ready |
//! | header check | out `header` 1 cycle after a beat: what is known of the frame up to it |
//!
//! Byte k of the header is byte k of the frame, behind a tag byte k + 4 for k ≥ 12; bytes of a second beat that has not
//! come read as zero. Never stalls.

use spindle_verilog::prelude::*;

/// Bytes of the window: Ethernet, IPv4, UDP and Spindle headers.
pub const HEADER_BYTES: usize = 90;

/// The window. See the module text.
#[derive(LogicBlock, Default)]
pub struct HeaderWindow {
    #[allow(missing_docs)]
    pub clock: Signal<In, Clock>,
    /// Beat.
    pub data: Signal<In, Bits<512>>,
    /// There is one.
    pub valid: Signal<In, Bit>,
    /// It is the first of its frame.
    pub first: Signal<In, Bit>,
    /// It is the second of its frame.
    pub second: Signal<In, Bit>,
    /// The frame has a VLAN tag.
    pub vlan: Signal<In, Bit>,
    /// The header, byte 0 in the lowest bits.
    pub header: Signal<Out, Bits<720>>,
    macs: DFF<Bits<96>>,
    front: DFF<Bits<384>>,
    /// Bytes 60 to 63: of the first beat, or of the second behind a tag.
    seam: DFF<Bits<32>>,
    back: DFF<Bits<208>>,
}

impl Logic for HeaderWindow {
    #[hdl]
    fn update(&mut self) {
        dffs!(self, clock, macs, front, seam, back);
        let data = self.data.val();
        if self.valid.val() & self.first.val() {
            self.macs.d.next = data.get_bits::<96>(0);
            self.front.d.next = if self.vlan.val() { data.get_bits::<384>(128) } else { data.get_bits::<384>(96) };
            self.seam.d.next = data.get_bits::<32>(480) & repeat::<32>(!self.vlan.val());
            self.back.d.next = bits::<208>(0);
        } else if self.valid.val() & self.second.val() {
            if self.vlan.val() {
                self.seam.d.next = data.get_bits::<32>(0);
                self.back.d.next = data.get_bits::<208>(32);
            } else {
                self.back.d.next = data.get_bits::<208>(0);
            }
        }
        self.header.next = (self.back.q.val(), self.seam.q.val(), self.front.q.val(), self.macs.q.val()).cat::<720>();
    }
}
