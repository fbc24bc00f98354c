//! What the contexts have used: tasks, faults, cycles and instructions.

use spindle_blocks::{SumBank, TaskDone};
use spindle_verilog::prelude::*;

/// Words of a context in [`ContextCounts`], in the order of their registers.
pub const WORDS: usize = 6;
/// Banks with the low halves of sums of 64 bits; the high half is in the next bank.
const CYCLES: usize = 2;
const INSTRUCTIONS: usize = 4;

/// Adds up the ends of tasks, by context.
///
/// | neighbour | ports |
/// |---|---|
/// | clusters | in `ended`: the end of a task, of all clusters one per cycle |
/// | registers | in `read_context`, `read_word` / out `count`, 2 cycles later, with every end up to 5 cycles before |
///
/// | word | counts |
/// |---|---|
/// | 0, 1 | tasks ended; those of them that faulted |
/// | 2, 3 | their cycles from the first fetch to the end, low and high half |
/// | 4, 5 | their instructions, low and high half: a return is one, an instruction that faulted is none |
///
/// Each word has a bank of its own, so an end is taken in one cycle, and never stalls. A high half counts the wraps of
/// its low half, 3 cycles later. After reset the counts are cleared in 16 cycles; no context can be installed and end a
/// task by then. Counts wrap at the end of their bits.
#[block]
pub struct ContextCounts {
    /// The end of a task.
    pub ended: PulseSink<TaskDone>,
    /// Context to read.
    pub read_context: Signal<In, Bits<4>>,
    /// Which of its words.
    pub read_word: Signal<In, Bits<3>>,
    /// The word.
    pub count: Signal<Out, Bits<32>>,
    ends: Reg<Bit>,
    last_end: DFF<TaskDone>,
    /// Of the bank of each word.
    banks: [SumBank<4>; WORDS],
    word_reg: DFF<Bits<3>>,
    count_reg: DFF<Bits<32>>,
}

#[hdl]
impl ContextCounts {
    fn update(&mut self) {
        self.ends.d.next = self.ended.valid.val();
        self.last_end.d.next = self.ended.val();
        let ends = self.ends.q.val();
        let done = self.last_end.q.val();
        for i in 0..WORDS {
            self.banks[i].read_index.next = self.read_context.val();
            self.banks[i].index.next = done.context;
            self.banks[i].add.next = ends;
            self.banks[i].amount.next = bits::<32>(1);
        }
        self.banks[1].add.next = ends & done.fault;
        self.banks[CYCLES].amount.next = bit_cast::<32, 24>(done.cycles);
        // With the return, which the count of the task does not have.
        self.banks[INSTRUCTIONS].amount.next =
            bit_cast::<32, 24>(done.instructions) + bit_cast::<32, 1>((!done.fault).into());
        self.banks[CYCLES + 1].add.next = self.banks[CYCLES].carry.val();
        self.banks[CYCLES + 1].index.next = self.banks[CYCLES].carry_index.val();
        self.banks[INSTRUCTIONS + 1].add.next = self.banks[INSTRUCTIONS].carry.val();
        self.banks[INSTRUCTIONS + 1].index.next = self.banks[INSTRUCTIONS].carry_index.val();

        self.word_reg.d.next = self.read_word.val();
        let mut count: Bits<32> = bits::<32>(0);
        for i in 0..WORDS {
            if self.word_reg.q.val() == bits::<3>(i) {
                count = self.banks[i].read_sum.val();
            }
        }
        self.count_reg.d.next = count;
        self.count.next = self.count_reg.q.val();
    }
}
