//! Resets: of the core, and of both sides of each crossing to another clock.
//!
//! | block | what it does |
//! |---|---|
//! | [`CoreReset`] | the reset of one clock domain, from signals of any clock |
//! | [`ResetPair`] | both sides of a clock crossing are reset together |
//!
//! # The sequence
//!
//! 1. PERST, or a link that goes down with a reset of the XDMA, pulls `axi_aresetn` low; `axi_aclk` may stop.
//! 2. `axi_aclk` runs again, `axi_aresetn` is still low: [`CoreReset`] holds `reset`, also at power-up, when its registers
//!    are zero.
//! 3. `axi_aresetn` rises: `reset` falls after [`STRETCH`] cycles. NIC and bridges start.
//! 4. Each [`ResetPair`] has reset its MAC side meanwhile, as soon as that clock runs. The core's side of the crossing stays
//!    in reset until the MAC's side is known to have been in reset; the NIC does not wait for it, so a MAC without a
//!    reference clock stops frames, and not the host.
//!
//! A reset of a MAC alone (`usr_rx_reset`, `usr_tx_reset`) is no reset of the crossing: the pointers of an asynchronous FIFO
//! survive a clock that stops, and words that are inside stay whole frames. It is an input of the crossing's MAC side, by a
//! [`CoreReset`] of that clock.

use spindle_verilog::prelude::*;

/// Cycles for which a reset is prolonged.
pub const STRETCH: u64 = 1 << STRETCH_BIT;
/// Its logarithm.
const STRETCH_BIT: usize = 4;

/// A register of a synchroniser.
fn synchroniser() -> Reg<Bit> {
    Reg::new(false).attr("ASYNC_REG", "TRUE")
}

/// The reset of one clock domain.
///
/// | ports | neighbour |
/// |---|---|
/// | `domain_clock`; in `run`: low demands a reset; of any clock | `axi_aresetn`, the inverse of a reset of a MAC |
/// | out `domain_reset` | the domain |
///
/// `run` falls → `domain_reset` rises: 3 cycles. `run` rises → `domain_reset` falls: 2 + 16 cycles. `domain_reset` is the inverse of a
/// register. All registers are zero at power-up, which is reset.
#[block(combinational, no_default)]
pub struct CoreReset {
    /// Clock of the domain.
    pub domain_clock: Signal<In, Clock>,
    /// Low demands a reset.
    pub run: Signal<In, Bit>,
    /// Reset of the domain.
    pub domain_reset: Signal<Out, Bit>,
    near: Reg<Bit>,
    seen: Reg<Bit>,
    /// Cycles without a demand; 16: the domain runs.
    count: Reg<Bits<5>>,
}

impl Default for CoreReset {
    fn default() -> Self {
        Self { near: synchroniser(), seen: synchroniser(), ..Self::blank() }
    }
}

#[hdl]
impl CoreReset {
    fn update(&mut self) {
        self.near.clock.next = self.domain_clock.val();
        self.near.reset.next = false;
        self.seen.clock.next = self.domain_clock.val();
        self.seen.reset.next = false;
        self.count.clock.next = self.domain_clock.val();
        self.near.d.next = self.run.val();
        self.seen.d.next = self.near.q.val();
        self.count.reset.next = !self.seen.q.val();
        let runs = self.count.q.val().get_bit(STRETCH_BIT);
        self.count.d.next = if runs { self.count.q.val() } else { self.count.q.val() + 1 };
        self.domain_reset.next = !runs;
    }
}

/// Both sides of a clock crossing are reset together.
///
/// | ports | clock |
/// |---|---|
/// | `core_clock`, in `demand`: reset of the core; out `core_reset` | core |
/// | `mac_clock`, out `mac_reset` | MAC |
///
/// `demand` is a register of the core's clock; one cycle is enough. `core_reset` rises in the cycle after it, and `mac_reset` 2 to
/// 3 cycles of the MAC's clock later. When the MAC's side has been in reset for 4 of its cycles, and the core knows (2 to 3 of its
/// own), and `demand` is low, `core_reset` falls, and `mac_reset` 2 to 3 cycles of the MAC's clock later. While the MAC's clock
/// stands, both sides stay in reset. All registers are zero at power-up, which is reset on both sides.
///
/// The core counts its demands modulo 2 in `ask`; the MAC's side copies it to `echo` when it has been in reset. So a demand that
/// follows another at once is not taken for it.
#[block(combinational, no_default)]
pub struct ResetPair {
    /// Clock of the core.
    pub core_clock: Signal<In, Clock>,
    /// Clock of the MAC.
    pub mac_clock: Signal<In, Clock>,
    /// The core is in reset.
    pub demand: Signal<In, Bit>,
    /// Reset of the core's side.
    pub core_reset: Signal<Out, Bit>,
    /// Reset of the MAC's side.
    pub mac_reset: Signal<Out, Bit>,
    run: Reg<Bit>,
    asked: Reg<Bit>,
    ask: Reg<Bit>,
    echo_near: Reg<Bit>,
    echo_seen: Reg<Bit>,
    run_near: Reg<Bit>,
    run_seen: Reg<Bit>,
    ask_near: Reg<Bit>,
    ask_seen: Reg<Bit>,
    held: Reg<Bits<2>>,
    echo: Reg<Bit>,
}

impl Default for ResetPair {
    fn default() -> Self {
        Self {
            echo_near: synchroniser(),
            echo_seen: synchroniser(),
            run_near: synchroniser(),
            run_seen: synchroniser(),
            ask_near: synchroniser(),
            ask_seen: synchroniser(),
            ..Self::blank()
        }
    }
}

#[hdl]
impl ResetPair {
    fn update(&mut self) {
        self.clock_registers();
        // Core.
        self.echo_near.d.next = self.echo.q.val();
        self.echo_seen.d.next = self.echo_near.q.val();
        let asked = self.asked.q.val();
        let begins = self.demand.val() & !asked;
        let ends = asked & !self.demand.val() & (self.echo_seen.q.val() == self.ask.q.val());
        self.asked.d.next = (asked | begins) & !ends;
        self.ask.d.next = self.ask.q.val() ^ begins;
        self.run.d.next = (self.run.q.val() & !begins) | ends;
        self.core_reset.next = !self.run.q.val();

        // MAC.
        self.run_near.d.next = self.run.q.val();
        self.run_seen.d.next = self.run_near.q.val();
        self.ask_near.d.next = self.ask.q.val();
        self.ask_seen.d.next = self.ask_near.q.val();
        let due = (self.ask_seen.q.val() != self.echo.q.val()) & !self.run_seen.q.val();
        self.held.d.next = if due { self.held.q.val() + 1 } else { bits::<2>(0) };
        let over = due & self.held.q.val().all();
        self.echo.d.next = self.echo.q.val() ^ over;
        self.mac_reset.next = !self.run_seen.q.val();
    }

    fn clock_registers(&mut self) {
        self.run.clock.next = self.core_clock.val();
        self.run.reset.next = false;
        self.asked.clock.next = self.core_clock.val();
        self.asked.reset.next = false;
        self.ask.clock.next = self.core_clock.val();
        self.ask.reset.next = false;
        self.echo_near.clock.next = self.core_clock.val();
        self.echo_near.reset.next = false;
        self.echo_seen.clock.next = self.core_clock.val();
        self.echo_seen.reset.next = false;
        self.run_near.clock.next = self.mac_clock.val();
        self.run_near.reset.next = false;
        self.run_seen.clock.next = self.mac_clock.val();
        self.run_seen.reset.next = false;
        self.ask_near.clock.next = self.mac_clock.val();
        self.ask_near.reset.next = false;
        self.ask_seen.clock.next = self.mac_clock.val();
        self.ask_seen.reset.next = false;
        self.held.clock.next = self.mac_clock.val();
        self.held.reset.next = false;
        self.echo.clock.next = self.mac_clock.val();
        self.echo.reset.next = false;
    }
}
