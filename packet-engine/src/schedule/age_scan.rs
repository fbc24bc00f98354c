//! Decides when the age of which message is checked; after reset it gives every slot its first state.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `timeout` | registers: MESSAGE_TIMEOUT, 0 = never |
//! | out `check` | event arbiter |
//!
//! After reset: all slots, one per cycle, with `clear`. Then each slot once per `timeout` × 512 cycles, evenly spread. A message
//! ages at the third check in a row without an event, so `timeout` × 1024 to `timeout` × 1536 cycles after its last event. A check
//! that is not taken in time delays the following ones.

use spindle_verilog::prelude::*;

/// Cycles of a round of looks, per unit of `timeout`: half of the unit.
const ROUND: usize = 512;
/// Bits of the countdown: 16 of `timeout` and those of the largest step, a round of 16 slots.
const COUNT_BITS: usize = 22;

/// A check of a message's age.
#[bundle(mirror = AgeCheckSink)]
pub struct AgeCheckSource {
    /// Slot of the message.
    pub slot: Signal<Out, Bits<8>>,
    /// No check: the slot gets its first state after reset.
    pub clear: Signal<Out, Bit>,
    /// A check is due.
    pub valid: Signal<Out, Bit>,
    /// The check is done.
    pub ready: Signal<In, Bit>,
}

/// See the head of this file.
#[block]
pub struct AgeScan {
    /// Time after which a message ages, in units of 1024 cycles.
    pub timeout: Signal<In, Bits<16>>,
    /// Slot whose message is checked.
    pub check: AgeCheckSource,
    turn: Reg<Bits<8>>,
    cleared: Reg<Bit>,
    waits: Reg<Bit>,
    count: Reg<Bits<COUNT_BITS>>,
    goal: DFF<Bits<COUNT_BITS>>,
    reached: Reg<Bit>,
    runs: Reg<Bit>,
    _last: u64,
    _shift: usize,
}

impl AgeScan {
    /// A scan of `slots` messages: a power of two from 16 to 256.
    pub fn new(slots: usize) -> Self {
        assert!(
            slots.is_power_of_two() && (16..=256).contains(&slots),
            "AgeScan: live_messages must be a power of two from 16 to 256, not {slots}; round it up"
        );
        Self { _last: slots as u64 - 1, _shift: (ROUND / slots).ilog2() as usize, ..Self::blank() }
    }
}

#[hdl]
impl AgeScan {
    fn update(&mut self) {
        let clearing = !self.cleared.q.val();
        let at_last = self.turn.q.val() == self._last;
        if self.check.ready.val() {
            self.turn.d.next = if at_last { bits::<8>(0) } else { self.turn.q.val() + 1 };
            self.cleared.d.next = self.cleared.q.val() | at_last;
        }

        // The comparison takes a cycle, and so does starting again.
        let step = bit_cast::<COUNT_BITS, 16>(self.timeout.val()) << bits::<4>(self._shift);
        self.goal.d.next = step - 2;
        self.runs.d.next = self.timeout.val().any();
        let strikes = self.reached.q.val();
        self.reached.d.next = self.runs.q.val() & !strikes & (self.count.q.val() >= self.goal.q.val());
        self.count.d.next = if strikes | !self.runs.q.val() { bits::<COUNT_BITS>(0) } else { self.count.q.val() + 1 };
        if strikes {
            self.waits.d.next = true;
        } else if self.check.ready.val() {
            self.waits.d.next = false;
        }
        self.check.valid.next = self.waits.q.val() | clearing;
        self.check.slot.next = self.turn.q.val();
        self.check.clear.next = clearing;
    }
}
