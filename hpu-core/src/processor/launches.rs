//! Launches: the one that waits, and the facts about those that run.

use super::stages::Code;
use super::types::Launch;
use spindle_blocks::ram::LutMemory;
use spindle_verilog::prelude::*;

/// Facts about a handler that runs.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Kept {
    code: Code,
    frame: Bits<16>,
}

/// Takes launches, one ahead of the handlers that run, and gives each a bank.
///
/// | neighbour | ports |
/// |---|---|
/// | loader | in `launch`; out `launch_bank` |
/// | threads | out `waiting`; in `start`, `started`, `enter_other`, `current` |
/// | endings | in `freed` |
/// | all stages | out `bank` of the current thread, `bank_of` both |
/// | fetch | out `code` of the current thread, `other_base` of the other |
///
/// A launch that is taken waits from the next cycle on. Facts that a handler needs while it runs are written at once,
/// indexed by its bank, so a start changes the bank alone. The other facts stay readable as `launched` in the cycle
/// after the start.
#[block]
pub struct Launches {
    /// Next handler.
    pub launch: Sink<Launch>,
    /// Bank that it gets.
    pub launch_bank: Signal<Out, Bits<2>>,
    /// Bank whose ending was taken.
    pub freed: PulseSink<Bits<2>>,
    /// A launch waits.
    pub waiting: Signal<Out, Bit>,
    /// The waiting launch, or in the cycle after its start the one that was started.
    pub launched: Signal<Out, Launch>,
    /// The waiting launch starts.
    pub start: Signal<In, Bit>,
    /// It was started in the last cycle, on the current thread.
    pub started: Signal<In, Bit>,
    /// The other thread continues.
    pub enter_other: Signal<In, Bit>,
    /// Thread that is fetched.
    pub current: Signal<In, Bit>,
    /// Its bank.
    pub bank: Signal<Out, Bits<2>>,
    /// Its code.
    pub code: Signal<Out, Code>,
    /// Start of the other thread's code.
    pub other_base: Signal<Out, Bits<9>>,
    /// Frame of the current thread.
    pub frame: Signal<Out, Bits<16>>,
    /// Bank of the launch that was started in the last cycle.
    pub begin_bank: Signal<Out, Bits<2>>,
    /// Banks of both threads, from the second cycle of a handler on.
    pub bank_of: Signal<Out, Bits<4>>,
    next_launch: DFF<Launch>,
    full: Reg<Bit>,
    next_bank: DFF<Bits<2>>,
    /// Banks in use or chosen.
    used: Reg<Bits<4>>,
    /// Next bank, if `chosen`.
    choice: DFF<Bits<2>>,
    chosen: Reg<Bit>,
    /// Facts by bank.
    kept: LutMemory<Kept, 2>,
    /// The same bases once more, for the other thread.
    bases: LutMemory<Bits<9>, 2>,
    banks: [DFF<Bits<2>>; 2],
    current_bank: DFF<Bits<2>>,
}

#[hdl]
impl Launches {
    fn update(&mut self) {
        let accepts = self.launch.valid.val() & self.chosen.q.val() & !self.full.q.val();
        self.launch.ready.next = self.chosen.q.val() & !self.full.q.val();
        self.launch_bank.next = self.choice.q.val();
        self.full.load(self.start.val(), false);
        if accepts {
            self.next_launch.d.next = self.launch.val();
            self.next_bank.d.next = self.choice.q.val();
            self.full.d.next = true;
        }

        // The next bank is chosen as soon as one is free.
        let used = self.used.q.val();
        let mut after: Bits<4> = used;
        if self.chosen.q.val() {
            self.chosen.load(accepts, false);
        } else if !used.all() {
            self.chosen.d.next = true;
            let low = if used.get_bit(0) { bits::<2>(1) } else { bits::<2>(0) };
            let high = if used.get_bit(2) { bits::<2>(3) } else { bits::<2>(2) };
            self.choice.d.next = if used.get_bits::<2>(0).all() { high } else { low };
            // The lowest zero becomes a one.
            let lower_used =
                (used.get_bits::<3>(0).all(), used.get_bits::<2>(0).all(), used.get_bit(0), true).cat::<4>();
            after = used | lower_used;
        }
        let one: Bits<4> = bits::<4>(1);
        let freed = if self.freed.valid.val() { one << self.freed.val() } else { bits::<4>(0) };
        self.used.d.next = after & !freed;

        // What is kept of a launch.
        let offered = self.launch.val();
        let code = Code {
            base: offered.code_base,
            size: offered.code_size,
            completes: offered.completes,
            flow_control: offered.flow_control,
        };
        self.kept.write(accepts, self.choice.q.val(), Kept { code, frame: offered.frame });
        self.bases.write(accepts, self.choice.q.val(), code.base);

        // The banks of the threads.
        for i in 0..2 {
            self.banks[i].load(self.started.val() & (self.current.val() == (i == 1)), self.next_bank.q.val());
        }
        let other_bank = if self.current.val() { self.banks[0].q.val() } else { self.banks[1].q.val() };
        if self.start.val() {
            self.current_bank.d.next = self.next_bank.q.val();
        } else if self.enter_other.val() {
            self.current_bank.d.next = other_bank;
        }
        self.bank.next = self.current_bank.q.val();
        self.kept.read_address.next = self.current_bank.q.val();
        let kept = self.kept.read_data.val();
        self.code.next = kept.code;
        self.frame.next = kept.frame;
        self.bases.read_address.next = other_bank;
        self.other_base.next = self.bases.read_data.val();
        self.begin_bank.next = self.next_bank.q.val();
        self.bank_of.next = (self.banks[1].q.val(), self.banks[0].q.val()).cat::<4>();
        self.waiting.next = self.full.q.val();
        self.launched.next = self.next_launch.q.val();
    }
}
