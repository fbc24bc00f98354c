//! I²C: one master on the bus, transactions of one register.

use spindle_verilog::prelude::*;

/// A transaction.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct I2cCommand {
    /// Address of the device.
    pub device: Bits<7>,
    /// A register's number comes before the value; otherwise the value alone is written, as a multiplexer wants it.
    pub has_register: Bit,
    /// The register is read; needs `has_register`.
    pub read: Bit,
    /// The register.
    pub register: Bits<8>,
    /// What is written.
    pub value: Bits<8>,
}

/// How a transaction ended.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct I2cResult {
    /// A device did not acknowledge.
    pub refused: Bit,
    /// A line stayed low.
    pub stuck: Bit,
    /// What was read.
    pub value: Bits<8>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Idle,
    /// The data line is low before a start: clocks until it is released.
    Recover,
    Start,
    Address,
    Register,
    Value,
    Restart,
    AddressRead,
    Read,
    Stop,
    Done,
}

/// Carries transactions out on an open-drain bus.
///
/// | ports | neighbour |
/// |---|---|
/// | in `command` (with ready), out `result` (a pulse) | the block that wants registers |
/// | in `scl`, `sda`, out `scl_low`, `sda_low` | pads: a line is pulled low while its `_low` is 1, else released |
///
/// **Rate.** A bit takes four quarters of `quarter` cycles. A write of a register is 29 bits: start, three bytes with
/// acknowledgement, stop; a read is 39. One transaction at a time; `command_ready` is high while the block is idle.
///
/// **Stalls.** A device may hold `scl` low as long as it likes up to `patience` cycles (stretched clock); then the
/// transaction ends with `stuck`. If `sda` is low before a start, up to nine clocks and a stop free it (a device that was
/// interrupted in a byte); if `sda` is low after that, the transaction ends with `stuck`. A byte that is not acknowledged
/// ends the transaction with a stop and `refused`. Every command has one result.
///
/// Both inputs go through two registers with `ASYNC_REG` (`scl_near`, `scl_seen`, `sda_near`, `sda_seen`).
#[block(no_default)]
pub struct I2cMaster {
    /// Transactions.
    pub command: Sink<I2cCommand>,
    /// The end of each.
    pub result: Pulse<I2cResult>,
    /// The clock line.
    pub scl: Signal<In, Bit>,
    /// The data line.
    pub sda: Signal<In, Bit>,
    /// Pull the clock line low.
    pub scl_low: Signal<Out, Bit>,
    /// Pull the data line low.
    pub sda_low: Signal<Out, Bit>,
    scl_near: Reg<Bit>,
    scl_seen: Reg<Bit>,
    sda_near: Reg<Bit>,
    sda_seen: Reg<Bit>,
    pulls_scl: Reg<Bit>,
    pulls_sda: Reg<Bit>,
    step: Reg<Step>,
    order: Reg<I2cCommand>,
    timer: Reg<Bits<16>>,
    /// Quarter of the bit.
    phase: Reg<Bits<2>>,
    /// Bits of the byte that have gone.
    bits_gone: Reg<Bits<4>>,
    shift: Reg<Bits<8>>,
    patience: Reg<Bits<24>>,
    refused: Reg<Bit>,
    stuck: Reg<Bit>,
    freed: Reg<Bit>,
    recovers: Reg<Bit>,
    _quarter: u64,
    _patience: u64,
}

impl I2cMaster {
    /// `quarter` cycles, 4 to 65,535, are a quarter of a bit; a line may be held low for `patience` cycles, below 2^24.
    pub fn new(quarter: u64, patience: u64) -> Self {
        assert!(
            (4..1 << 16).contains(&quarter) && (1..1 << 24).contains(&patience),
            "I2cMaster: a quarter of a bit has 4 to 65,535 cycles and the patience 1 to 2^24 - 1, not {quarter} and \
             {patience}; choose others"
        );
        let high = || Reg::new(true).attr("ASYNC_REG", "TRUE");
        Self {
            scl_near: high(),
            scl_seen: high(),
            sda_near: high(),
            sda_seen: high(),
            _quarter: quarter - 1,
            _patience: patience,
            ..Self::blank()
        }
    }
}

impl Default for I2cMaster {
    /// 100 kHz and 25 ms of patience at 125 MHz.
    fn default() -> Self {
        Self::new(312, 3_125_000)
    }
}

#[hdl]
impl I2cMaster {
    fn update(&mut self) {
        self.scl_near.d.next = self.scl.val();
        self.scl_seen.d.next = self.scl_near.q.val();
        self.sda_near.d.next = self.sda.val();
        self.sda_seen.d.next = self.sda_near.q.val();
        let idle = self.step.q.val() == Step::Idle;
        let done = self.step.q.val() == Step::Done;
        self.command.ready.next = idle;
        self.result.offer(
            done,
            I2cResult { refused: self.refused.q.val(), stuck: self.stuck.q.val(), value: self.shift.q.val() },
        );
        if done {
            self.step.d.next = Step::Idle;
        } else if idle {
            self.timer.d.next = bits::<16>(self._quarter);
            self.phase.d.next = bits::<2>(0);
            self.bits_gone.d.next = bits::<4>(0);
            self.refused.d.next = false;
            self.stuck.d.next = false;
            self.freed.d.next = false;
            self.recovers.d.next = false;
            self.patience.d.next = bits::<24>(self._patience);
            if self.command.valid.val() {
                self.order.d.next = self.command.val();
                self.step.d.next = if self.sda_seen.q.val() { Step::Start } else { Step::Recover };
            }
        } else {
            self.quarter();
        }
        self.scl_low.next = self.pulls_scl.q.val();
        self.sda_low.next = self.pulls_sda.q.val();
    }

    /// One quarter of a bit after the other. The data line moves in the first one, the clock line is high in the second and
    /// third, and what a device says is looked at between them.
    fn quarter(&mut self) {
        let phase = self.phase.q.val();
        let held = (phase == 1) & !self.scl_seen.q.val();
        let step = self.step.q.val();
        let starts = (step == Step::Start) | (step == Step::Restart);
        let stops = step == Step::Stop;
        // The master releases the line where a device speaks, and does not acknowledge the only byte that it reads.
        let listens = (self.bits_gone.q.val() == 8) | (step == Step::Read) | (step == Step::Recover);
        if phase == 0 {
            self.pulls_sda.d.next = stops | !(starts | listens | self.shift.q.val().get_bit(7));
        }
        if self.timer.q.val() != 0 {
            self.timer.d.next = self.timer.q.val() - 1;
        } else if held {
            self.patience.d.next = self.patience.q.val() - 1;
            if self.patience.q.val() == 0 {
                self.stuck.d.next = true;
                self.pulls_sda.d.next = false;
                self.step.d.next = Step::Done;
            }
        } else {
            self.timer.d.next = bits::<16>(self._quarter);
            self.patience.d.next = bits::<24>(self._patience);
            self.phase.d.next = phase + 1;
            if phase == 0 {
                self.pulls_scl.d.next = false;
            } else if phase == 1 {
                if starts {
                    self.pulls_sda.d.next = true;
                } else if stops {
                    self.pulls_sda.d.next = false;
                } else {
                    self.listen();
                }
            } else if phase == 2 {
                self.pulls_scl.d.next = !stops;
            } else {
                self.go_on();
            }
        }
    }

    /// A bit from the bus.
    fn listen(&mut self) {
        let sda = self.sda_seen.q.val();
        let step = self.step.q.val();
        if step == Step::Read {
            if self.bits_gone.q.val() != 8 {
                self.shift.d.next = (self.shift.q.val().get_bits::<7>(0), sda).cat::<8>();
            }
        } else if step == Step::Recover {
            self.freed.d.next = sda;
        } else if self.bits_gone.q.val() == 8 {
            self.refused.d.next = sda;
        }
    }

    /// What follows a bit.
    fn go_on(&mut self) {
        let order = self.order.q.val();
        let gone = self.bits_gone.q.val();
        let byte_ends = gone == 8;
        self.bits_gone.d.next = if byte_ends { bits::<4>(0) } else { gone + 1 };
        // What was read stays through the stop.
        if (self.step.q.val() != Step::Read) & (self.step.q.val() != Step::Stop) {
            self.shift.d.next = (self.shift.q.val().get_bits::<7>(0), false).cat::<8>();
        }
        let mut step: Step = self.step.q.val();
        match self.step.q.val() {
            Step::Start | Step::Restart => {
                let again = self.step.q.val() == Step::Restart;
                self.bits_gone.d.next = bits::<4>(0);
                self.shift.d.next = (order.device, again).cat::<8>();
                step = if again { Step::AddressRead } else { Step::Address };
            }
            Step::Recover => {
                if self.freed.q.val() | byte_ends {
                    self.recovers.d.next = true;
                    step = Step::Stop;
                }
            }
            Step::Stop => {
                self.bits_gone.d.next = bits::<4>(0);
                if self.recovers.q.val() & self.sda_seen.q.val() {
                    self.recovers.d.next = false;
                    step = Step::Start;
                } else {
                    self.stuck.d.next = !self.sda_seen.q.val();
                    step = Step::Done;
                }
            }
            Step::Address => {
                if byte_ends {
                    self.shift.d.next = if order.has_register { order.register } else { order.value };
                    step = if order.has_register { Step::Register } else { Step::Value };
                }
            }
            Step::Register => {
                if byte_ends {
                    self.shift.d.next = order.value;
                    step = if order.read { Step::Restart } else { Step::Value };
                }
            }
            Step::AddressRead => {
                if byte_ends {
                    step = Step::Read;
                }
            }
            Step::Value | Step::Read => {
                if byte_ends {
                    step = Step::Stop;
                }
            }
            _ => {}
        }
        // A refusal ends a transaction after the byte.
        if byte_ends & self.refused.q.val() {
            step = Step::Stop;
        }
        self.step.d.next = step;
    }
}
