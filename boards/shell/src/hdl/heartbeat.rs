//! Does the other clock run?

use spindle_blocks::Level;
use spindle_verilog::prelude::*;

/// Cycles of the watched clock after which its sign changes.
const PERIOD: u64 = 32;
/// Cycles of the watching clock without a change after which the other clock stands still.
pub const PATIENCE: u64 = 255;

/// Watches the clock of the domain `watched` for the domain `watcher`.
///
/// Out `lost`, of `watcher`: a register; high [`PATIENCE`] + 1 cycles after the last change of the sign that was
/// seen, low 1 cycle after the next one. For clocks of a ratio up to 7 if `watcher` is the faster one, and up to 16
/// if it is the slower one. After a reset it is low.
#[block(domains(watched, watcher))]
pub struct Heartbeat {
    /// The watched clock stands still.
    pub lost: Signal<Out, Bit>,
    #[domain(watched)]
    cycles: Reg<Bits<6>>,
    #[domain(watcher)]
    sign: Level,
    #[domain(watcher)]
    last_sign: Reg<Bit>,
    #[domain(watcher)]
    patience: Reg<Bits<8>>,
    #[domain(watcher)]
    gone: Reg<Bit>,
}

#[hdl]
impl Heartbeat {
    fn update(&mut self) {
        self.cycles.d.next = self.cycles.q.val() + 1;
        self.sign.level.next = self.cycles.q.val().get_bit(5);
        let sign = self.sign.seen.val();
        self.last_sign.d.next = sign;
        let changes = sign != self.last_sign.q.val();
        let out = self.patience.q.val() == PATIENCE;
        if changes {
            self.patience.d.next = bits::<8>(0);
        } else if !out {
            self.patience.d.next = self.patience.q.val() + 1;
        }
        self.gone.d.next = out & !changes;
        self.lost.next = self.gone.q.val();
    }
}

const _: () = assert!(PERIOD == 32, "the sign is bit 5 of a count of 6 bits");
