//! State of a MAC, and what it counts, in the clock of the core.
//!
//! | ports | clock |
//! |---|---|
//! | in `levels`: up, aligned, local fault, remote fault, high error rate, in this order from bit 0 | MAC |
//! | in `events` (pulses, also one after the other): bit 0 RX overflow, bit 1 RX bad | MAC |
//! | in `failed`: frames that the MAC did not send whole, which an [`EventCount`] of the transmitter's clock counts | core |
//! | in `stopped`: a clock of the MAC stands still, by the watch of the crossings | core |
//! | out `state` | core |
//!
//! Each level crosses by two registers of its own, 2 to 3 cycles of the core; levels that change together may be seen in
//! different cycles. An event is counted modulo 16 in the MAC's clock, in Gray code, and the core adds what has come since
//! the cycle before: an event is in `counts` 4 to 5 cycles of the core after its edge of the MAC's clock. None is lost
//! while the MAC's clock has at most 15 edges in a cycle of the core, and none that comes while the core's clock stands, if there
//! are fewer than 16. A fall of `up` is counted in the core. While `stopped` is high all
//! levels are low: what they were when the clock stopped says nothing of the link. Counts wrap at 2^32.

use spindle_verilog::prelude::*;

/// Kinds of events of a receiver.
pub const EVENTS: usize = 2;

/// State of a MAC, as the page `shell` shows it.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct MacState {
    /// Frames can pass both ways.
    pub up: Bit,
    /// The receiver is aligned.
    pub aligned: Bit,
    /// The receiver reports a local fault.
    pub local_fault: Bit,
    /// The other end reports a fault.
    pub remote_fault: Bit,
    /// The receiver reports many bit errors.
    pub high_errors: Bit,
    /// The clock of the receiver or of the transmitter stands still; the levels above are 0 meanwhile.
    pub clock_stopped: Bit,
    /// Times `up` fell.
    pub losses: Bits<32>,
    /// Frames that were dropped because the receive FIFO was full.
    pub rx_overflow: Bits<32>,
    /// Frames that the MAC marked as bad.
    pub rx_bad: Bits<32>,
    /// Frames that the MAC did not send whole.
    pub tx_failed: Bits<32>,
}

/// Counts events of another clock. Ports and latency: the module text.
#[block(domains(mac, core), no_default)]
pub struct EventCount {
    /// An event.
    pub occurs: Signal<In, Bit>,
    /// Events since reset.
    pub count: Signal<Out, Bits<32>>,
    #[domain(mac)]
    number: Reg<Bits<4>>,
    #[domain(mac)]
    gray: Reg<Bits<4>>,
    #[domain(core)]
    gray_near: Reg<Bits<4>>,
    #[domain(core)]
    gray_seen: Reg<Bits<4>>,
    #[domain(core)]
    last: Reg<Bits<4>>,
    #[domain(core)]
    sum: Reg<Bits<32>>,
}

/// A register of a synchroniser.
fn synchroniser<T: Synth>() -> Reg<T> {
    Reg::new(T::default()).attr("ASYNC_REG", "TRUE")
}

impl Default for EventCount {
    fn default() -> Self {
        Self { gray_near: synchroniser(), gray_seen: synchroniser(), ..Self::blank() }
    }
}

#[hdl]
impl EventCount {
    fn update(&mut self) {
        let next = self.number.q.val() + bit_cast::<4, 1>(self.occurs.val().into());
        self.number.d.next = next;
        self.gray.d.next = next ^ (next >> 1);

        self.gray_near.d.next = self.gray.q.val();
        self.gray_seen.d.next = self.gray_near.q.val();
        let gray = self.gray_seen.q.val();
        let pairs = gray ^ (gray >> 1);
        let seen = pairs ^ (pairs >> 2);
        self.last.d.next = seen;
        self.sum.d.next = self.sum.q.val() + bit_cast::<32, 4>(seen - self.last.q.val());
        self.count.next = self.sum.q.val();
    }
}

/// State of a MAC. See the module text.
#[block(domains(mac, core), no_default)]
pub struct MacLink {
    /// Levels of the MAC.
    pub levels: Signal<In, Bits<5>>,
    /// Events of the MAC's side of the shell.
    pub events: Signal<In, Bits<EVENTS>>,
    /// Frames that the MAC did not send whole.
    pub failed: Signal<In, Bits<32>>,
    /// A clock of the MAC stands still.
    pub stopped: Signal<In, Bit>,
    /// What the page shows.
    pub state: Signal<Out, MacState>,
    #[domain(core)]
    near: Reg<Bits<5>>,
    #[domain(core)]
    seen: Reg<Bits<5>>,
    #[domain(core)]
    was_up: Reg<Bit>,
    #[domain(core)]
    losses: Reg<Bits<32>>,
    counts: [EventCount; EVENTS],
}

impl Default for MacLink {
    fn default() -> Self {
        Self { near: synchroniser(), seen: synchroniser(), ..Self::blank() }
    }
}

#[hdl]
impl MacLink {
    fn update(&mut self) {
        self.near.d.next = self.levels.val();
        self.seen.d.next = self.near.q.val();
        // Of a clock that stands nothing is known, and no frame passes.
        let stopped = self.stopped.val();
        let levels = if stopped { bits::<5>(0) } else { self.seen.q.val() };
        self.was_up.d.next = levels.get_bit(0);
        self.losses.load(self.was_up.q.val() & !levels.get_bit(0), self.losses.q.val() + 1);
        for i in 0..EVENTS {
            self.counts[i].mac_clock.next = self.mac_clock.val();
            self.counts[i].mac_reset.next = self.mac_reset.val();
            self.counts[i].core_clock.next = self.core_clock.val();
            self.counts[i].core_reset.next = self.core_reset.val();
            self.counts[i].occurs.next = self.events.val().get_bit(i);
        }
        self.state.next = MacState {
            up: levels.get_bit(0),
            aligned: levels.get_bit(1),
            local_fault: levels.get_bit(2),
            remote_fault: levels.get_bit(3),
            high_errors: levels.get_bit(4),
            clock_stopped: stopped,
            losses: self.losses.q.val(),
            rx_overflow: self.counts[0].count.val(),
            rx_bad: self.counts[1].count.val(),
            tx_failed: self.failed.val(),
        };
    }
}
