//! Resets the receiver of a transceiver that finds no blocks.
//!
//! A receiver whose line was dead may have locked its clock recovery to noise, and stays there when the line is back: a
//! cable that was pulled, a module that was changed, the other end switched off. Only a reset of its data path ends that.

use spindle_blocks::Level;
use spindle_verilog::prelude::*;

/// Cycles of a reset.
const LENGTH: u64 = 64;
/// Cycles without lock before a reset, on a board: 67 ms at 125 MHz. Clock recovery and all slips together take less.
pub const PATIENCE: u64 = 1 << 23;

/// The watch.
///
/// | ports | neighbour |
/// |---|---|
/// | in `locked`, a register of any clock | PCS: blocks are found |
/// | out `reset_rx`, a register | transceiver: reset of the receiver's data path |
///
/// After `patience` cycles without lock `reset_rx` is high for 64 cycles; then the next wait begins. A lock ends both. The
/// clock of the watch runs always; that of the receiver may stop in its reset.
#[block(no_default)]
pub struct GtyWatch {
    /// Blocks are found.
    pub locked: Signal<In, Bit>,
    /// Resets the data path of the receiver.
    pub reset_rx: Signal<Out, Bit>,
    lock: Level,
    count: Reg<Bits<24>>,
    resets: Reg<Bit>,
    _last: u64,
}

impl GtyWatch {
    /// With a patience of so many cycles.
    ///
    /// # Panics
    /// If there are at most 64 of them, or more than 2^24.
    pub fn new(patience: u64) -> Self {
        assert!(
            (LENGTH + 1..=1 << 24).contains(&patience),
            "GtyWatch: a patience of {patience} cycles is not possible; choose 65 to 16777216"
        );
        Self { _last: patience - 1, ..Self::blank() }
    }
}

impl Default for GtyWatch {
    fn default() -> Self {
        Self::new(PATIENCE)
    }
}

#[hdl]
impl GtyWatch {
    fn update(&mut self) {
        self.lock.level.next = self.locked.val();
        let locked = self.lock.seen.val();
        let count = self.count.q.val();
        let over = count == bits::<24>(self._last);
        let ends = count == bits::<24>(LENGTH - 1);
        self.count.d.next = if locked | over { bits::<24>(0) } else { count + 1 };
        self.resets.d.next = !locked & (over | (self.resets.q.val() & !ends));
        self.reset_rx.next = self.resets.q.val();
    }
}
