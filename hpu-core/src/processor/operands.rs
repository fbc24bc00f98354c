//! Stage D: forwarding, hazards.

use super::alu::turn_of;
use super::bundles::{InjectedOperandsSink, ResultsSink};
use super::decode::{second_operand, Decoded};
use super::register_file::RegisterFile;
use super::stages::Producer;
use spindle_contract::memory_map::{base, CONTEXT, STACK, TASK};
use spindle_verilog::prelude::*;

const TASK_PAGE: u64 = base(TASK) as u64;
const STATE: u64 = base(CONTEXT) as u64;

/// The operands of the instruction in D.
///
/// | neighbour | ports |
/// |---|---|
/// | decoder | in `decoded`, `pc`, `link` |
/// | execute | in `counter` |
/// | threads, launches | in `thread`; in `clear`: its handler ends; in `completes`, `flow_control` of its launch; out `ready` |
/// | issue | out `hazard`; in `injected`; in `advance` |
/// | X; M1, M2, M3 | in `executes`; in `results` |
/// | X | out `a`, `b`, registers |
///
/// `a` and `b` are loaded at each edge with `advance`. A result comes from the youngest instruction that writes the
/// register; if that has none yet, or an older one that writes the register has none, there is a `hazard`. The result
/// of X joins in the last multiplexer.
///
/// A register that the handler has not written reads 0, except ra, sp, tp, a1 and a2, which are constants; a0 is
/// written by the start. So `clear` alone prepares a new handler, which sees nothing of an earlier one.
#[block(no_default)]
pub struct Operands {
    /// The instruction.
    pub decoded: Signal<In, Decoded>,
    /// Its address.
    pub pc: Signal<In, Bits<32>>,
    /// Address of the next instruction.
    pub link: Signal<In, Bits<32>>,
    /// The counter that it reads.
    pub counter: Signal<In, Bits<32>>,
    /// Thread in D.
    pub thread: Signal<In, Bit>,
    /// The handler ends.
    pub clear: Signal<In, Bit>,
    /// It is a completion handler.
    pub completes: Signal<In, Bit>,
    /// Its second argument.
    pub flow_control: Signal<In, Bit>,
    /// Operands of an injection.
    pub injected: InjectedOperandsSink,
    /// The operands move to X, whether D holds an instruction or not: so the path is shorter.
    pub advance: Signal<In, Bit>,
    /// Result of X.
    pub executes: Signal<In, Producer>,
    /// Results of M1, M2 and M3; all but that of M3 are of `thread` while D holds an instruction.
    pub results: ResultsSink,
    /// An operand is not available.
    pub hazard: Signal<Out, Bit>,
    /// Handlers may start.
    pub ready: Signal<Out, Bit>,
    /// First operand, in X.
    pub a: Signal<Out, Bits<32>>,
    /// Second operand, in X.
    pub b: Signal<Out, Bits<32>>,
    /// Rotation of the ALU's rotator.
    pub amount: Signal<Out, Bits<7>>,
    registers: RegisterFile,
    operand_a: DFF<Bits<32>>,
    operand_b: DFF<Bits<32>>,
    turn: DFF<Bits<7>>,
    _return_address: usize,
    _stack_top: usize,
}

impl Default for Operands {
    fn default() -> Self {
        Self::new(0xF000_0000, 1024)
    }
}

impl Operands {
    /// `return_address` is what ra holds at the start, `stack_bytes` the size of a stack.
    pub fn new(return_address: u32, stack_bytes: usize) -> Self {
        let stack_top = base(STACK) as usize + stack_bytes;
        Self { _return_address: return_address as usize, _stack_top: stack_top, ..Self::blank() }
    }
}

/// The instruction after D writes the register.
#[hdl_fn]
fn matches(producer: Producer, index: Bits<5>) -> Bit {
    producer.writes & (producer.rd == index)
}

/// Where a register is found: 0 = in the registers, else in M1, M2, M3.
#[hdl_fn]
fn source(index: Bits<5>, first: Producer, second: Producer, third: Producer) -> Bits<2> {
    let in_first = matches(first, index);
    let in_second = matches(second, index);
    let in_third = matches(third, index);
    (!in_first & (in_second | in_third), in_first | (in_third & !in_second)).cat::<2>()
}

/// What a register holds at the start of a handler.
#[hdl_fn]
fn first_value(index: Bits<5>, ra: Bits<32>, sp: Bits<32>, a1: Bits<32>, a2: Bits<32>) -> Bits<32> {
    match index.index() {
        1 => ra,
        2 => sp,
        4 => bits::<32>(TASK_PAGE),
        11 => a1,
        12 => a2,
        _ => bits::<32>(0),
    }
}

/// Whether an operand has to be waited for.
#[hdl_fn]
fn waits(index: Bits<5>, executes: Producer, first: Producer, second: Producer) -> Bit {
    (matches(executes, index) & !executes.ready)
        | (matches(first, index) & !first.ready)
        | (matches(second, index) & !second.ready)
}

#[hdl]
impl Operands {
    fn update(&mut self) {
        let decoded = self.decoded.val();
        let thread = self.thread.val();
        let executes = self.executes.val();
        let first = self.results.first.val();
        let second = self.results.second.val();
        let third = self.results.third.val();

        // Registers.
        self.registers.thread.next = thread;
        self.registers.clear.next = self.clear.val();
        self.registers.read_a.next = decoded.find_a;
        self.registers.read_b.next = decoded.find_b;
        self.registers.write.next = third.writes;
        self.registers.write_thread.next = self.results.third_thread.val();
        self.registers.write_index.next = third.rd;
        self.registers.write_data.next = third.value;
        self.ready.next = self.registers.ready.val();

        // What a register holds that was not written.
        let second_argument =
            if self.completes.val() { (bits::<31>(0), self.flow_control.val()).cat::<32>() } else { bits::<32>(STATE) };
        let third_argument = if self.completes.val() { bits::<32>(STATE) } else { bits::<32>(0) };
        let return_address = bits::<32>(self._return_address);
        let stack_top = bits::<32>(self._stack_top);
        let first_a = first_value(decoded.find_a, return_address, stack_top, second_argument, third_argument);
        let first_b = first_value(decoded.find_b, return_address, stack_top, second_argument, third_argument);

        let register_a = if self.registers.known_a.val() { self.registers.data_a.val() } else { first_a };
        let register_b = if self.registers.known_b.val() { self.registers.data_b.val() } else { first_b };

        // From M1, M2, M3 or the registers: the youngest that writes it.
        let third_here = Producer { writes: third.writes & (self.results.third_thread.val() == thread), ..third };
        let from_a = source(decoded.find_a, first, second, third_here);
        let from_b = source(decoded.find_b, first, second, third_here);
        let early_a = select(from_a, [register_a, first.value, second.value, third.value]);
        let early_b = select(from_b, [register_b, first.value, second.value, third.value]);

        // The result of X, which comes late, what is injected and what is no register's: of each operand one of four.
        let injects = self.injected.valid.val();
        let in_x_a = matches(executes, decoded.find_a);
        let in_x_b = decoded.reads_b & matches(executes, decoded.find_b);
        let choice_a = (injects | decoded.a_is_pc, !injects & (decoded.a_is_pc | in_x_a)).cat::<2>();
        let chosen_a = select(choice_a, [early_a, executes.value, self.injected.a.val(), self.pc.val()]);
        let choice_b = (injects | !decoded.reads_b, injects | in_x_b).cat::<2>();
        let other = second_operand(decoded, self.link.val(), self.counter.val());
        let chosen_b = select(choice_b, [early_b, executes.value, other, repeat::<32>(self.injected.b.val())]);

        if self.advance.val() {
            self.operand_a.d.next = chosen_a;
            self.operand_b.d.next = chosen_b;
            // A register of its own: the rotator's selects are not to be made in X.
            self.turn.d.next = turn_of(chosen_b.get_bits::<5>(0), !decoded.funct3.get_bit(2), decoded.reverses);
        }
        self.hazard.next = (decoded.reads_a & waits(decoded.find_a, executes, first, second))
            | (decoded.reads_b & waits(decoded.find_b, executes, first, second));
        self.a.next = self.operand_a.q.val();
        self.b.next = self.operand_b.q.val();
        self.amount.next = self.turn.q.val();
    }
}
