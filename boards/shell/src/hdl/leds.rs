//! Three LEDs of a board.
//!
//! | LED | lit | |
//! |---|---|---|
//! | 0 | the PCIe link is up | |
//! | 1 | frames can pass in both directions | |
//! | 2 | blinks | the core's clock runs |
//!
//! With `identify` all three blink. A period is 2^27 cycles: 0.54 s at 250 MHz. Outputs are registers.

use spindle_verilog::prelude::*;

/// LEDs that a shell has; a board with more has the others dark.
pub const LEDS: usize = 3;
/// Bit of the count that blinks.
const BLINK: u32 = 26;

/// The LEDs. See the module text.
#[block(no_default)]
pub struct Leds {
    /// The PCIe link is up.
    pub link_up: Signal<In, Bit>,
    /// The MAC is up.
    pub mac_up: Signal<In, Bit>,
    /// All LEDs are to blink.
    pub identify: Signal<In, Bit>,
    /// The LEDs, high is lit.
    pub led: Signal<Out, Bits<LEDS>>,
    count: Reg<Bits<27>>,
    lit: Reg<Bits<LEDS>>,
    _blink: u32,
}

impl Default for Leds {
    fn default() -> Self {
        Self::with_blink(BLINK)
    }
}

impl Leds {
    /// LEDs that blink with a bit of a count of cycles: 0 to 26.
    pub fn with_blink(bit: u32) -> Self {
        assert!(bit <= BLINK, "Leds: the count has no bit {bit}; choose 0 to {BLINK}");
        Self { _blink: bit, ..Self::blank() }
    }
}

#[hdl]
impl Leds {
    fn update(&mut self) {
        self.count.d.next = self.count.q.val() + 1;
        let blink = (self.count.q.val() >> self._blink as u64).get_bit(0);
        let identify = self.identify.val();
        let link = if identify { blink } else { self.link_up.val() };
        let mac = if identify { blink } else { self.mac_up.val() };
        self.lit.d.next = (blink, mac, link).cat::<LEDS>();
        self.led.next = self.lit.q.val();
    }
}
