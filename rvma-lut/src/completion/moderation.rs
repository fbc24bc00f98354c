//! Moderation: decides when the records of an event ring are worth an interrupt (contract, registers IRQ and EVENT_HEAD).
//!
//! | neighbour | ports |
//! |---|---|
//! | doorbell, kicks | in `head` (pulse), `arm`; in `settings` (pulse) |
//! | event rings | in `answered` (pulse), `ring_set` (pulse), `ring_pid`; in `open` |
//! | interrupts of the NIC top | out `irq_fires` (pulse) |
//!
//! A write of EVENT_HEAD with `arm` arms the interrupt of its process for one time. An armed interrupt fires when the
//! process has IRQ.events unread records or more, IRQ.time after its first unread record, and at once if a record is
//! unread when it is armed. A record counts when the host has answered it, so no interrupt overtakes its record.
//!
//! One process is visited per cycle: the one that arms, else the one whose record was answered, else the next in turn.
//! So all are visited within 64 cycles, or 128 while a record is answered in every other cycle; an answer that finds the
//! visit taken is seen then. Never stalls.
//!
//! | cycle | step |
//! |---|---|
//! | 0 | `head`, or `answered` |
//! | 1 | the pointer is written; the visit is chosen |
//! | 2 | settings, pointers and state are read |
//! | 3 | decision; the state is written |
//! | 4 | `irq_fires` |
//!
//! Time is counted in periods of 64 cycles, so IRQ.time ends up to one period early, and is seen up to one round late.
//! After reset all processes are cleared, which takes 64 cycles; no ring is opened earlier.

use crate::prelude::*;

/// Address bits of the tables of processes.
const PID_BITS: usize = 6;
/// Logarithm of the cycles of a unit of time.
const UNIT_BITS: usize = 6;

/// IRQ of a process.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct IrqSettings {
    /// Interrupts are requested.
    pub enable: Bit,
    /// Units of time from the first unread record; 0: no limit.
    pub delay: Bits<15>,
    /// Unread records.
    pub events: Bits<8>,
}

/// State of a process.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct IrqState {
    /// The interrupt is armed.
    pub armed: Bit,
    /// A record was unread at the last visit.
    pub running: Bit,
    /// Time at which the interrupt fires.
    pub due: Bits<16>,
}

/// The moderation. See the module text.
#[block]
pub struct Moderation {
    /// EVENT_HEAD: records that the host has read.
    pub head: RingPointerSink,
    /// With `head`: arm the interrupt.
    pub arm: Signal<In, Bit>,
    /// IRQ.
    pub settings: ProcessWordSink,
    /// Process of a record that the host answered.
    pub answered: PulseSink<Bits<6>>,
    /// The ring of `ring_pid` was opened or closed: it has no record. The host has answered all records before.
    pub ring_set: Signal<In, Bit>,
    /// Process.
    pub ring_pid: Signal<In, Bits<6>>,
    /// Bit p = process p has a ring.
    pub open: Signal<In, Bits<64>>,
    /// Process whose interrupt fires.
    pub irq_fires: Pulse<Bits<6>>,
    irqs: LutMemory<IrqSettings, PID_BITS>,
    heads: LutMemory<Bits<16>, PID_BITS>,
    tails: LutRam<PID_BITS, 16, 2>,
    states: LutMemory<IrqState, PID_BITS>,
    clearing: Reg<Bit>,
    clear_at: Reg<Bits<PID_BITS>>,
    elapsed: Reg<Bits<{ 16 + UNIT_BITS }>>,
    turn: Reg<Bits<PID_BITS>>,
    /// Cycle 1: a process that arms; a record that was answered.
    arming: Reg<Bit>,
    arming_pid: DFF<Bits<PID_BITS>>,
    counting: Reg<Bit>,
    counting_pid: DFF<Bits<PID_BITS>>,
    setting: Reg<Bit>,
    setting_pid: DFF<Bits<PID_BITS>>,
    /// Cycle 2: the process that is visited.
    visited: DFF<Bits<PID_BITS>>,
    visited_arms: Reg<Bit>,
    /// Cycle 3: what is known of that process.
    acting: Reg<Bit>,
    pid: DFF<Bits<PID_BITS>>,
    arms: Reg<Bit>,
    irq: DFF<IrqSettings>,
    state: DFF<IrqState>,
    unread: DFF<Bits<16>>,
    due: DFF<Bits<16>>,
    has_ring: DFF<Bit>,
    fires: Reg<Bit>,
    fires_pid: DFF<Bits<PID_BITS>>,
    state_written: Signal<Local, IrqState>,
}

impl Moderation {
    /// The moderation.
    pub fn new() -> Self {
        Self { clearing: Reg::new(true), ..Self::blank() }
    }
}

#[hdl]
impl Moderation {
    fn update(&mut self) {
        self.elapsed.d.next = self.elapsed.q.val() + 1;
        self.decide();
        self.read();
        self.choose();
        self.write_tables();
    }

    /// Cycle 3.
    fn decide(&mut self) {
        let irq = self.irq.q.val();
        let state = self.state.q.val();
        let unread = self.unread.q.val();
        let now = self.elapsed.q.val().get_bits::<16>(UNIT_BITS);
        let any = unread.any();
        let armed = state.armed | self.arms.q.val();
        let enough = unread.get_bits::<8>(8).any() | (unread.get_bits::<8>(0) >= irq.events);
        let late = state.running & irq.delay.any() & !(now - state.due).get_bit(15);
        let fires = irq.enable & self.has_ring.q.val() & armed & any & (self.arms.q.val() | enough | late);
        self.state_written.next = IrqState {
            armed: armed & !fires,
            running: armed & any & !fires,
            due: if state.running { state.due } else { self.due.q.val() },
        };
        self.fires.d.next = self.acting.q.val() & fires;
        self.fires_pid.d.next = self.pid.q.val();
        self.irq_fires.offer(self.fires.q.val(), self.fires_pid.q.val());
    }

    /// Cycle 2. The process that is decided in this cycle may be the same.
    fn read(&mut self) {
        let pid = self.visited.q.val();
        self.irqs.read_address.next = pid;
        self.heads.read_address.next = pid;
        self.tails.read_address[0].next = pid;
        self.states.read_address.next = pid;
        let irq = self.irqs.read_data.val();
        let same = self.acting.q.val() & (self.pid.q.val() == pid);
        self.acting.d.next = !self.clearing.q.val();
        self.pid.d.next = pid;
        self.arms.d.next = self.visited_arms.q.val();
        self.irq.d.next = irq;
        self.state.d.next = if same { self.state_written.val() } else { self.states.read_data.val() };
        self.unread.d.next = self.tails.read_data[0].val() - self.heads.read_data.val();
        self.due.d.next = self.elapsed.q.val().get_bits::<16>(UNIT_BITS) + bit_cast::<16, 15>(irq.delay);
        self.has_ring.d.next = (self.open.val() >> pid).get_bit(0);
    }

    /// Cycle 1.
    fn choose(&mut self) {
        self.arming.d.next = self.head.valid.val() & self.arm.val();
        self.arming_pid.d.next = self.head.pid.val();
        self.counting.d.next = self.answered.valid.val();
        self.counting_pid.d.next = self.answered.val();
        self.visited_arms.d.next = self.arming.q.val();
        self.visited.d.next = self.turn.q.val();
        if self.arming.q.val() {
            self.visited.d.next = self.arming_pid.q.val();
        } else if self.counting.q.val() {
            self.visited.d.next = self.counting_pid.q.val();
        } else {
            self.turn.d.next = self.turn.q.val() + 1;
        }
    }

    fn write_tables(&mut self) {
        let setting = self.settings.val();
        let written = IrqSettings {
            enable: setting.get_bit(31),
            delay: setting.get_bits::<15>(16),
            events: setting.get_bits::<8>(8),
        };
        self.irqs.write(self.settings.valid.val(), self.settings.pid.val(), written);
        self.heads.write(self.head.valid.val(), self.head.pid.val(), self.head.val());
        self.states.write(self.acting.q.val(), self.pid.q.val(), self.state_written.val());
        let counted = self.counting_pid.q.val();
        self.tails.read_address[1].next = counted;
        self.tails.write(self.counting.q.val(), counted, self.tails.read_data[1].val() + 1);
        self.setting.d.next = self.ring_set.val();
        self.setting_pid.d.next = self.ring_pid.val();
        if self.setting.q.val() {
            self.tails.write(true, self.setting_pid.q.val(), bits::<16>(0));
        }
        if self.clearing.q.val() {
            let at = self.clear_at.q.val();
            self.irqs.write(true, at, IrqSettings::default());
            self.heads.write(true, at, bits::<16>(0));
            self.tails.write(true, at, bits::<16>(0));
            self.states.write(true, at, IrqState::default());
            self.clear_at.d.next = at + 1;
            self.clearing.d.next = !at.all();
        }
    }
}
