//! Set-up of the Si5324 of a KC705: 156.25 MHz for the transceiver of the SFP+ cage.

mod registers;

use super::i2c::{I2cCommand, I2cMaster};
use registers::{COUNT, NUMBERS, VALUES};
pub use registers::{LOSS_OF_LOCK, LOSS_OF_SIGNAL, REGISTERS};
use spindle_verilog::prelude::*;

/// The multiplexer PCA9548 of the board (UG810; the file of the board).
pub const MULTIPLEXER: u64 = 0x74;
/// Its channel of the Si5324.
pub const CHANNEL: u64 = 0x80;
/// The Si5324.
pub const DEVICE: u64 = 0x68;

/// Tries of one transaction before everything is reset.
const TRIES: u64 = 8;

/// Times in cycles.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A quarter of a bit on the bus.
    pub quarter: u64,
    /// How long a line may be held low.
    pub patience: u64,
    /// Both chips are held in reset.
    pub reset: u64,
    /// From the end of the reset to the first transaction.
    pub settle: u64,
    /// Between two looks at the lock, and before a transaction is tried again.
    pub poll: u64,
    /// From calibration to lock.
    pub lock: u64,
}

impl Timing {
    /// 100 kHz on the bus, 25 ms of patience, reset 1 ms, settle 30 ms, poll 10 ms, lock 4 s.
    pub const fn at(hertz: u64) -> Self {
        Self {
            quarter: hertz.div_ceil(400_000),
            patience: hertz / 40,
            reset: hertz / 1000,
            settle: hertz / 1000 * 30,
            poll: hertz / 100,
            lock: hertz * 4,
        }
    }
}

/// What the block has come to.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Si5324Status {
    /// Clock and crystal are good, by the last look.
    pub locked: Bit,
    /// All registers are written.
    pub written: Bit,
    /// Since the last lock, a transaction failed eight times in succession, or no lock came in time; everything was reset
    /// and is tried again.
    pub failed: Bit,
    /// A line of the bus stayed low in the last transaction.
    pub stuck: Bit,
    /// Transactions that failed, at most 255.
    pub errors: Bits<8>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Reset,
    Settle,
    Select,
    Write,
    AskSignal,
    AskLock,
    Rest,
}

/// Programs the Si5324 and watches its lock.
///
/// | ports | neighbour |
/// |---|---|
/// | in `scl`, `sda`, out `scl_low`, `sda_low` | pads of the bus, as of [`I2cMaster`] |
/// | out `reset_low` | reset pins of the multiplexer and of the Si5324: pulled low while 1 |
/// | out `status` | link registers; `locked` also holds the transceiver in reset |
///
/// The sequence: both chips in reset; settle; the channel of the multiplexer; the [`REGISTERS`], the last of which begins the
/// calibration; then, every `poll` cycles, registers 129 and 130 until the crystal is there and the loop has lock, and on.
///
/// **Rate and latency.** 22 writes of 20 or 29 bits: at 100 kHz 6.3 ms. With `Timing::at(125 MHz)` the first look at the lock
/// is 48 ms after reset. A loss of lock is seen within `poll` and two reads.
///
/// **Stalls.** None of the wire or the host: nothing waits for this block but `locked`. A transaction that is refused or finds a
/// line stuck is tried again after `poll` cycles; after eight failures in succession, or `lock` cycles without lock, everything
/// is reset and begins anew, without end. The block writes no register again while it only looks, since a second calibration would
/// interrupt the clock.
#[block(no_default)]
pub struct Si5324 {
    /// The clock line.
    pub scl: Signal<In, Bit>,
    /// The data line.
    pub sda: Signal<In, Bit>,
    /// Pull the clock line low.
    pub scl_low: Signal<Out, Bit>,
    /// Pull the data line low.
    pub sda_low: Signal<Out, Bit>,
    /// Pull the reset pins low.
    pub reset_low: Signal<Out, Bit>,
    /// State.
    pub status: Signal<Out, Si5324Status>,
    bus: I2cMaster,
    step: Reg<Step>,
    /// What to go on with after a rest.
    after: Reg<Step>,
    begun: Reg<Bit>,
    place: Reg<Bits<5>>,
    tries: Reg<Bits<3>>,
    timer: Reg<Bits<32>>,
    until_lock: Reg<Bits<32>>,
    signal: Reg<Bit>,
    known: Reg<Si5324Status>,
    holds: Reg<Bit>,
    _reset: u64,
    _settle: u64,
    _poll: u64,
    _lock: u64,
}

impl Si5324 {
    /// With these times, each below 2^32 cycles.
    pub fn new(timing: Timing) -> Self {
        let all = [timing.reset, timing.settle, timing.poll, timing.lock];
        assert!(
            all.iter().all(|time| (1..1 << 32).contains(time)),
            "Si5324: times have 1 to 2^32 - 1 cycles, not {timing:?}; choose others"
        );
        Self {
            bus: I2cMaster::new(timing.quarter, timing.patience),
            timer: Reg::new(bits::<32>(timing.reset)),
            holds: Reg::new(true),
            _reset: timing.reset,
            _settle: timing.settle,
            _poll: timing.poll,
            _lock: timing.lock,
            ..Self::blank()
        }
    }
}

impl Default for Si5324 {
    /// For a clock of 125 MHz.
    fn default() -> Self {
        Self::new(Timing::at(125_000_000))
    }
}

#[hdl]
impl Si5324 {
    fn update(&mut self) {
        self.bus.scl.next = self.scl.val();
        self.bus.sda.next = self.sda.val();
        self.scl_low.next = self.bus.scl_low.val();
        self.sda_low.next = self.bus.sda_low.val();
        self.reset_low.next = self.holds.q.val();
        self.status.next = self.known.q.val();
        self.command();

        let elapsed = self.timer.q.val() == 0;
        if !elapsed {
            self.timer.d.next = self.timer.q.val() - 1;
        }
        let known = self.known.q.val();
        let late = known.written & !known.locked & (self.until_lock.q.val() == 0);
        if self.until_lock.q.val() != 0 {
            self.until_lock.d.next = self.until_lock.q.val() - 1;
        }
        match self.step.q.val() {
            Step::Reset => {
                self.holds.d.next = true;
                if elapsed {
                    self.holds.d.next = false;
                    self.timer.d.next = bits::<32>(self._settle);
                    self.step.d.next = Step::Settle;
                }
            }
            Step::Settle => {
                self.place.d.next = bits::<5>(0);
                if elapsed {
                    self.step.d.next = Step::Select;
                }
            }
            Step::Rest => {
                if late {
                    self.start_over();
                } else if elapsed {
                    self.step.d.next = self.after.q.val();
                }
            }
            _ => {
                self.transact();
            }
        }
    }

    /// What the bus is to do in this step.
    fn command(&mut self) {
        let step = self.step.q.val();
        let selects = step == Step::Select;
        let writes = step == Step::Write;
        let asks_signal = step == Step::AskSignal;
        let asks_lock = step == Step::AskLock;
        let mut register: Bits<8> = bits::<8>(0);
        let mut value: Bits<8> = bits::<8>(0);
        for i in 0..COUNT {
            if self.place.q.val() == bits::<5>(i as u64) {
                register = bits::<8>(NUMBERS[i]);
                value = bits::<8>(VALUES[i]);
            }
        }
        if asks_signal {
            register = bits::<8>(LOSS_OF_SIGNAL);
        } else if asks_lock {
            register = bits::<8>(LOSS_OF_LOCK);
        }
        let offers = (selects | writes | asks_signal | asks_lock) & !self.begun.q.val();
        self.bus.command.offer(
            offers,
            I2cCommand {
                device: if selects { bits::<7>(MULTIPLEXER) } else { bits::<7>(DEVICE) },
                has_register: !selects,
                read: asks_signal | asks_lock,
                register,
                value: if selects { bits::<8>(CHANNEL) } else { value },
            },
        );
        if offers & self.bus.command.ready.val() {
            self.begun.d.next = true;
        }
    }

    /// The end of a transaction.
    fn transact(&mut self) {
        let result = self.bus.result.val();
        let failed = result.refused | result.stuck;
        let mut known: Si5324Status = self.known.q.val();
        if self.bus.result.valid.val() {
            self.begun.d.next = false;
            known.stuck = result.stuck;
            if failed {
                if !known.errors.all() {
                    known.errors = known.errors + 1;
                }
                self.tries.d.next = self.tries.q.val() + 1;
                self.after.d.next = self.step.q.val();
                self.timer.d.next = bits::<32>(self._poll);
                self.step.d.next = Step::Rest;
                self.known.d.next = known;
                if self.tries.q.val() == (TRIES - 1) {
                    known.failed = true;
                    known.locked = false;
                    known.written = false;
                    self.known.d.next = known;
                    self.timer.d.next = bits::<32>(self._reset);
                    self.step.d.next = Step::Reset;
                }
            } else {
                self.tries.d.next = bits::<3>(0);
                match self.step.q.val() {
                    Step::Select => {
                        self.step.d.next = Step::Write;
                    }
                    Step::Write => {
                        self.place.d.next = self.place.q.val() + 1;
                        if self.place.q.val() == (COUNT as u64 - 1) {
                            known.written = true;
                            self.until_lock.d.next = bits::<32>(self._lock);
                            self.timer.d.next = bits::<32>(self._poll);
                            self.after.d.next = Step::AskSignal;
                            self.step.d.next = Step::Rest;
                        }
                    }
                    Step::AskSignal => {
                        self.signal.d.next = !result.value.get_bit(0);
                        self.step.d.next = Step::AskLock;
                    }
                    _ => {
                        let locked = self.signal.q.val() & !result.value.get_bit(0);
                        if self.known.q.val().locked & !locked {
                            self.until_lock.d.next = bits::<32>(self._lock);
                        }
                        known.locked = locked;
                        if locked {
                            known.failed = false;
                        }
                        self.timer.d.next = bits::<32>(self._poll);
                        self.after.d.next = Step::AskSignal;
                        self.step.d.next = Step::Rest;
                    }
                }
                self.known.d.next = known;
            }
        }
    }

    /// No lock came.
    fn start_over(&mut self) {
        let mut known: Si5324Status = self.known.q.val();
        known.failed = true;
        known.written = false;
        self.known.d.next = known;
        self.timer.d.next = bits::<32>(self._reset);
        self.step.d.next = Step::Reset;
    }
}
