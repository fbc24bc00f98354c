//! The handler processor: RV32IM, multi-cycle, with hardware handler start, exact protection and a watchdog.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `launch`, `launch_valid` / out `launch_ready`, `launch_page` |
//! | instruction memory | out `fetch_address`; in `fetch_data`, one cycle later |
//! | L1, L2, task page, command port | out `access`, `access_target`, `access_valid`; in `access_ack`, `access_data`, `access_fault` |
//! | cluster | out `ending`, `ending_valid` / in `ending_ready`; out `scrub_valid` / in `scrub_done` |
//! | counters, trace | out `busy`, `retired`, `begins`, `begin_frame`, `ends`, `end_frame` |
//!
//! | instruction | cycles |
//! |---|---|
//! | ALU, jump, branch, counter read | 3: fetch, decode, execute |
//! | store | 5 + latency of the memory: from `access_valid` to `access_ack`, both cycles counted; twice the latency if it crosses a word |
//! | load | 6 + latency, likewise |
//! | load from the code region | 7 |
//! | multiply | 6 |
//! | divide, remainder | 37 |
//! | return | 2, after the jump to the return address |
//!
//! Size by `cargo xtask synth --quick` (yosys 0.70, UltraScale+): 2,187 LUT6, 1,535 flip-flops, 4 DSP48; 12 logic levels, carry cells included.
//!
//! A handler starts in the cycle after the one in which its predecessor's return is resolved, if its launch waits, it is of the same context, and
//! no earlier ending waits. Else it starts as soon as that holds; another context costs a scrub of stack and scratchpad first.
//!
//! The watchdog counts cycles from the first fetch; when the budget is used up and the handler has not returned, it faults. It
//! waits for a memory access under way (bounded by the arbitration of L1 and L2) and for a fetch, but not for the command port.
//!
//! An ending names the instruction: `pc` is its own, `address` that of its access, or its pc again if it has not got as far as an access.

use crate::alu::Alu;
use crate::decode::{immediate, is_legal, major};
use crate::divider::Divider;
use crate::protection::{Protection, Resolved};
use crate::registers_file::RegisterFile;
use crate::types::{Access, Ending, Launch, Target};
use spindle_blocks::fifo::LutFifo;
use spindle_contract::memory_map::{
    CODE, FAULT_BREAK, FAULT_COMMAND, FAULT_FETCH, FAULT_ILLEGAL, FAULT_LOAD, FAULT_MISALIGNED, FAULT_STORE,
    FAULT_WATCHDOG, RETURN_ADDRESS,
};
use spindle_verilog::prelude::*;

/// What the processor does in a cycle.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing to run.
    Idle,
    /// Stack and scratchpad are being zeroed.
    Scrub,
    /// The instruction memory reads; the last result is written.
    Fetch,
    /// The instruction is there; registers are read.
    Decode,
    /// The result is computed, the next pc chosen.
    Execute,
    /// The region of an access is resolved.
    Resolve,
    /// The bound is compared.
    Check,
    /// An access is under way.
    Wait,
    /// The word that was read is cut to size.
    Align,
    /// Partial products are being added.
    Multiply,
    /// The divider runs.
    Divide,
}

/// The processor. See the module text.
#[derive(LogicBlock, Default)]
pub struct Hpu {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Number in the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Next handler.
    pub launch: Signal<In, Launch>,
    /// There is one.
    pub launch_valid: Signal<In, Bit>,
    /// It is taken.
    pub launch_ready: Signal<Out, Bit>,
    /// Task page that the next launch will use.
    pub launch_page: Signal<Out, Bit>,
    /// Word of instruction memory.
    pub fetch_address: Signal<Out, Bits<14>>,
    /// Its content, one cycle later.
    pub fetch_data: Signal<In, Bits<32>>,
    /// A word access.
    pub access: Signal<Out, Access>,
    /// Where it goes.
    pub access_target: Signal<Out, Target>,
    /// It is wanted.
    pub access_valid: Signal<Out, Bit>,
    /// It is done.
    pub access_ack: Signal<In, Bit>,
    /// The word read.
    pub access_data: Signal<In, Bits<32>>,
    /// The command port refuses it.
    pub access_fault: Signal<In, Bit>,
    /// How the handler ended.
    pub ending: Signal<Out, Ending>,
    /// It has ended.
    pub ending_valid: Signal<Out, Bit>,
    /// The ending is taken.
    pub ending_ready: Signal<In, Bit>,
    /// Zero stack and scratchpad.
    pub scrub_valid: Signal<Out, Bit>,
    /// They are.
    pub scrub_done: Signal<In, Bit>,
    /// The running handler.
    pub running: Signal<Out, Launch>,
    /// Its task page.
    pub page: Signal<Out, Bit>,
    /// A handler runs.
    pub busy: Signal<Out, Bit>,
    /// An instruction is executed.
    pub retired: Signal<Out, Bit>,
    /// The first instruction of a handler is fetched.
    pub begins: Signal<Out, Bit>,
    /// Its frame.
    pub begin_frame: Signal<Out, Bits<16>>,
    /// A return or a fault is resolved.
    pub ends: Signal<Out, Bit>,
    /// Its frame.
    pub end_frame: Signal<Out, Bits<16>>,
    registers: RegisterFile,
    alu: Alu,
    divider: Divider,
    protection: Protection,
    state: Reg<State>,
    task_page: Reg<Bit>,
    first: Reg<Bit>,
    current: Reg<Launch>,
    /// The next handler, if `waiting`.
    next_launch: DFF<Launch>,
    waiting: Reg<Bit>,
    scrubbed_context: Reg<Bits<5>>,
    pc: DFF<Bits<32>>,
    /// Address of the instruction under way: `pc` moves on in Execute.
    at: DFF<Bits<32>>,
    fetch_bad: DFF<Bit>,
    returning: DFF<Bit>,
    word: DFF<Bits<32>>,
    a: DFF<Bits<32>>,
    b: DFF<Bits<32>>,
    store: DFF<Bits<32>>,
    offset: DFF<Bits<32>>,
    after: DFF<Bits<32>>,
    operation: DFF<Bits<3>>,
    alternate: DFF<Bit>,
    /// What the adder gave: a result or an address. Apart from the other results, so that nothing but it stands behind the adder.
    sum: DFF<Bits<32>>,
    /// The sum is the result.
    takes_sum: DFF<Bit>,
    result: DFF<Bits<32>>,
    write_back: Reg<Bit>,
    resolved: DFF<Resolved>,
    last_in_bound: Signal<Local, Bit>,
    second: DFF<Bit>,
    low_word: DFF<Bits<32>>,
    high_word: DFF<Bits<32>>,
    low_product: DFF<Bits<32>>,
    cross_product: DFF<Bits<32>>,
    other_product: DFF<Bits<32>>,
    high_product: DFF<Bits<32>>,
    excess: DFF<Bits<32>>,
    middle: DFF<Bits<33>>,
    upper: DFF<Bits<32>>,
    lower: DFF<Bits<17>>,
    multiply_step: DFF<Bits<2>>,
    left: DFF<Bits<32>>,
    elapsed: DFF<Bits<32>>,
    retired_total: Reg<Bits<32>>,
    cycle: Reg<Bits<32>>,
    /// Two endings fit, and a handler only starts when none waits: so its own ending always finds room.
    endings: LutFifo<Ending, 1>,
    // Decisions of this cycle.
    fault: Signal<Local, Bit>,
    cause: Signal<Local, Bits<4>>,
    finish: Signal<Local, Bit>,
    start: Signal<Local, Bit>,
    runs: Signal<Local, Bit>,
}

impl Logic for Hpu {
    #[hdl]
    fn update(&mut self) {
        regs!(
            self,
            clock,
            reset,
            state,
            task_page,
            first,
            current,
            waiting,
            scrubbed_context,
            write_back,
            retired_total,
            cycle
        );
        dffs!(
            self,
            clock,
            pc,
            at,
            fetch_bad,
            returning,
            word,
            a,
            b,
            store,
            offset,
            after,
            operation,
            alternate,
            sum,
            takes_sum,
            result,
            resolved,
            second,
            low_word,
            high_word,
            low_product,
            cross_product,
            other_product,
            high_product,
            excess,
            middle,
            upper,
            lower,
            multiply_step,
            left,
            elapsed,
            next_launch
        );
        clocks!(self, clock, reset, registers, divider, endings);

        let state = self.state.q.val();
        let launch = self.current.q.val();
        let word = self.word.q.val();
        let opcode = word.get_bits::<5>(2);
        let funct3 = word.get_bits::<3>(12);
        let is_load = opcode == major::LOAD;
        let is_store = opcode == major::STORE;
        let is_op = opcode == major::OP;
        let is_muldiv = is_op & word.get_bit(25);
        let address = self.sum.q.val();
        let in_fetch = state == State::Fetch;
        let in_decode = state == State::Decode;
        let in_execute = state == State::Execute;
        let in_check = state == State::Check;
        let in_wait = state == State::Wait;
        self.runs.next = (state != State::Idle) & (state != State::Scrub);

        // Fetch. Loads from the code region use the same port while they wait.
        let fetch_from = if in_wait | in_check {
            self.resolved.q.val().address.get_bits::<16>(0)
        } else {
            self.pc.q.val().get_bits::<16>(0) | launch.code_base
        };
        self.fetch_address.next = fetch_from.get_bits::<14>(2);
        if in_fetch {
            self.at.d.next = self.pc.q.val();
            // The last sum is being written back; from here to Execute this register is what an ending reports as the address.
            self.sum.d.next = self.pc.q.val();
            let in_code = (self.pc.q.val().get_bits::<4>(28) == bits::<4>(CODE as u64))
                & (self.pc.q.val().get_bits::<28>(0) < bit_cast::<28, 17>(launch.code_size));
            self.fetch_bad.d.next = !in_code | self.pc.q.val().get_bits::<2>(0).any();
            self.returning.d.next = self.pc.q.val() == bits::<32>(RETURN_ADDRESS as u64);
        }

        // Decode: on a return, a0 is read instead of the operands. AUIPC adds to the pc, LUI to 0, a counter is read here and gets 0 added.
        let fetched = self.fetch_data.val();
        let fetched_opcode = fetched.get_bits::<5>(2);
        let counted = if fetched.get_bit(27) {
            bits::<32>(0)
        } else if fetched.get_bit(21) {
            self.retired_total.q.val()
        } else {
            self.cycle.q.val()
        };
        self.registers.read_a.next = if self.returning.q.val() { bits::<5>(10) } else { fetched.get_bits::<5>(15) };
        self.registers.read_b.next = fetched.get_bits::<5>(20);
        if in_decode {
            let uses_b = (fetched_opcode == major::OP) | (fetched_opcode == major::BRANCH);
            let is_immediate = fetched_opcode == major::OP_IMM;
            let computes = is_immediate | (fetched_opcode == major::OP) | (fetched_opcode == major::BRANCH);
            self.word.d.next = fetched;
            self.a.d.next = if fetched_opcode == major::AUIPC {
                self.pc.q.val()
            } else if fetched_opcode == major::LUI {
                bits::<32>(0)
            } else if fetched_opcode == major::SYSTEM {
                counted
            } else {
                self.registers.data_a.val()
            };
            let second = if uses_b {
                self.registers.data_b.val()
            } else if fetched_opcode == major::SYSTEM {
                bits::<32>(0)
            } else {
                immediate(fetched)
            };
            let alternate = fetched.get_bit(30)
                & ((fetched_opcode == major::OP) | (is_immediate & (fetched.get_bits::<3>(12) == 5)));
            self.b.d.next = second;
            self.store.d.next = self.registers.data_b.val();
            self.offset.d.next = immediate(fetched);
            self.after.d.next = self.pc.q.val() + 4;
            self.operation.d.next = if computes { fetched.get_bits::<3>(12) } else { bits::<3>(0) };
            self.alternate.d.next = alternate;
        }

        // Execute.
        self.alu.a.next = self.a.q.val();
        self.alu.b.next = self.b.q.val();
        self.alu.funct.next = self.operation.q.val();
        self.alu.alternate.next = self.alternate.q.val();
        let relative = self.pc.q.val() + self.offset.q.val();
        let compared = if funct3.get_bit(2) {
            if funct3.get_bit(1) {
                self.alu.less_unsigned.val()
            } else {
                self.alu.less.val()
            }
        } else {
            self.alu.equal.val()
        };
        let taken = (opcode == major::BRANCH) & (compared ^ funct3.get_bit(0));
        let links = (opcode == major::JAL) | (opcode == major::JALR);
        if in_execute {
            self.sum.d.next = self.alu.sum.val();
            self.takes_sum.d.next = !self.operation.q.val().any() & !links & !is_load & !is_muldiv;
            self.result.d.next = if links { self.after.q.val() } else { self.alu.result.val() };
            self.second.d.next = false;
            self.multiply_step.d.next = bits::<2>(0);
            self.pc.d.next = if taken | (opcode == major::JAL) {
                relative
            } else if opcode == major::JALR {
                self.alu.sum.val() & bits::<32>(0xFFFF_FFFE)
            } else {
                self.after.q.val()
            };
        }

        // Accesses.
        let size_less_one = if funct3.get_bit(1) { bits::<2>(3) } else { (bits::<1>(0), funct3.get_bit(0)).cat::<2>() };
        self.protection.launch.next = launch;
        self.protection.hpu.next = self.number.val();
        self.protection.page.next = self.task_page.q.val();
        self.protection.address.next = address;
        self.protection.size_less_one.next = size_less_one;
        if state == State::Resolve {
            self.resolved.d.next = self.protection.resolved.val();
        }
        let resolved = self.resolved.q.val();
        self.last_in_bound.next = resolved.last < bit_cast::<29, 21>(resolved.bound);
        let shift = address.get_bits::<2>(0);
        let crosses = (bit_cast::<3, 2>(shift) + bit_cast::<3, 2>(size_less_one)).get_bit(2);
        let splits = (resolved.target == Target::L1) | (resolved.target == Target::L2);
        let allowed = self.last_in_bound.val() & ((is_store & resolved.writable) | (is_load & resolved.readable));
        let is_aligned = !(shift & size_less_one).any();
        let byte_mask = if size_less_one.get_bit(1) {
            bits::<8>(0xF)
        } else if size_less_one.get_bit(0) {
            bits::<8>(0x3)
        } else {
            bits::<8>(0x1)
        };
        let strobes = byte_mask << shift;
        let spread = bit_cast::<64, 32>(self.store.q.val()) << (shift, bits::<3>(0)).cat::<5>();
        let row = resolved.address & bits::<20>(0xF_FFFC);
        let next_row = row + 4;
        self.access.next = Access {
            address: if self.second.q.val() { next_row } else { row },
            write: is_store,
            strobe: if self.second.q.val() { strobes.get_bits::<4>(4) } else { strobes.get_bits::<4>(0) },
            data: if self.second.q.val() { spread.get_bits::<32>(32) } else { spread.get_bits::<32>(0) },
        };
        self.access_target.next = resolved.target;
        let from_code = resolved.target == Target::Code;
        self.access_valid.next = in_wait & !from_code;
        // The instruction memory was given the address in Check, so its word is there in the first cycle of Wait.
        let answered = self.access_ack.val() | from_code;
        if in_wait & answered {
            if self.second.q.val() {
                self.high_word.d.next = self.access_data.val();
            } else {
                self.low_word.d.next = if from_code { fetched } else { self.access_data.val() };
            }
            self.second.d.next = crosses;
        }
        let aligned = ((self.high_word.q.val(), self.low_word.q.val()).cat::<64>() >> (shift, bits::<3>(0)).cat::<5>())
            .get_bits::<32>(0);
        if state == State::Align {
            self.result.d.next = match funct3.index() {
                0 => sext::<32, 8>(aligned.get_bits::<8>(0)),
                1 => sext::<32, 16>(aligned.get_bits::<16>(0)),
                4 => bit_cast::<32, 8>(aligned.get_bits::<8>(0)),
                5 => bit_cast::<32, 16>(aligned.get_bits::<16>(0)),
                _ => aligned,
            };
        }

        // Multiply: four products of halves, registered in Execute beside what signed operands take from the high half:
        // b if a is negative, a if b is. Then three additions, none wider than 33 bits.
        let left_low = self.a.q.val().get_bits::<16>(0);
        let left_high = self.a.q.val().get_bits::<16>(16);
        let right_low = self.b.q.val().get_bits::<16>(0);
        let right_high = self.b.q.val().get_bits::<16>(16);
        let a_negative = ((funct3 == 1) | (funct3 == 2)) & self.a.q.val().get_bit(31);
        let b_negative = (funct3 == 1) & self.b.q.val().get_bit(31);
        self.low_product.d.next = mul::<32, 16, 16>(left_low, right_low);
        self.cross_product.d.next = mul::<32, 16, 16>(left_low, right_high);
        self.other_product.d.next = mul::<32, 16, 16>(left_high, right_low);
        self.high_product.d.next = mul::<32, 16, 16>(left_high, right_high);
        self.excess.d.next = (self.b.q.val() & repeat::<32>(a_negative)) + (self.a.q.val() & repeat::<32>(b_negative));
        self.middle.d.next =
            bit_cast::<33, 32>(self.cross_product.q.val()) + bit_cast::<33, 32>(self.other_product.q.val());
        self.upper.d.next = self.high_product.q.val() - self.excess.q.val();
        self.lower.d.next = bit_cast::<17, 16>(self.low_product.q.val().get_bits::<16>(16))
            + bit_cast::<17, 16>(self.middle.q.val().get_bits::<16>(0));
        if state == State::Multiply {
            self.multiply_step.d.next = self.multiply_step.q.val() + 1;
            // The carry out of the lower half comes in one bit below the sum.
            let sum = (self.upper.q.val(), bits::<1>(1)).cat::<33>()
                + bit_cast::<33, 18>(
                    (self.middle.q.val().get_bits::<17>(16), self.lower.q.val().get_bit(16)).cat::<18>(),
                );
            self.result.d.next = if funct3 == 0 {
                (self.lower.q.val().get_bits::<16>(0), self.low_product.q.val().get_bits::<16>(0)).cat::<32>()
            } else {
                sum.get_bits::<32>(1)
            };
        }

        // Divide.
        self.divider.start.next = in_execute & is_muldiv & funct3.get_bit(2);
        self.divider.a.next = self.a.q.val();
        self.divider.b.next = self.b.q.val();
        self.divider.signed_operands.next = !funct3.get_bit(0);
        self.divider.want_remainder.next = funct3.get_bit(1);
        if (state == State::Divide) & self.divider.done.val() {
            self.result.d.next = self.divider.result.val();
        }

        // Faults, in the order in which an instruction can meet them.
        let expired = !self.left.q.val().any();
        let may_stop = !in_fetch & (!in_wait | (resolved.target == Target::Command));
        self.finish.next = in_decode & self.returning.q.val() & !expired;
        self.fault.next = false;
        self.cause.next = bits::<4>(0);
        if self.runs.val() & expired & may_stop {
            self.fault.next = true;
            self.cause.next = bits::<4>(FAULT_WATCHDOG as u64);
        } else if in_decode & !self.returning.q.val() & self.fetch_bad.q.val() {
            self.fault.next = true;
            self.cause.next = bits::<4>(FAULT_FETCH as u64);
        } else if in_decode & !self.returning.q.val() & !is_legal(fetched) {
            self.fault.next = true;
            self.cause.next = bits::<4>(FAULT_ILLEGAL as u64);
            if (fetched == 0x73) | (fetched == 0x0010_0073) {
                self.cause.next = bits::<4>(FAULT_BREAK as u64);
            }
        } else if in_check & !allowed {
            self.fault.next = true;
            self.cause.next = if is_store { bits::<4>(FAULT_STORE as u64) } else { bits::<4>(FAULT_LOAD as u64) };
        } else if in_check & !splits & !is_aligned {
            self.fault.next = true;
            self.cause.next = bits::<4>(FAULT_MISALIGNED as u64);
        } else if in_wait & self.access_ack.val() & self.access_fault.val() {
            self.fault.next = true;
            self.cause.next = bits::<4>(FAULT_COMMAND as u64);
        }

        // Next state.
        let writes_register =
            !is_store & (opcode != major::BRANCH) & (opcode != major::MISC_MEM) & word.get_bits::<5>(7).any();
        let ended = self.finish.val() | self.fault.val();
        self.write_back.d.next = false;
        if in_fetch {
            self.state.d.next = State::Decode;
        } else if in_decode {
            self.state.d.next = State::Execute;
        } else if in_execute {
            if is_load | is_store {
                self.state.d.next = State::Resolve;
            } else if is_muldiv & funct3.get_bit(2) {
                self.state.d.next = State::Divide;
            } else if is_muldiv {
                self.state.d.next = State::Multiply;
            } else {
                self.state.d.next = State::Fetch;
                self.write_back.d.next = writes_register;
            }
        } else if state == State::Resolve {
            self.state.d.next = State::Check;
        } else if in_check {
            self.state.d.next = State::Wait;
        } else if in_wait {
            if answered & (!crosses | self.second.q.val()) {
                self.state.d.next = if is_store { State::Fetch } else { State::Align };
            }
        } else if state == State::Align {
            self.state.d.next = State::Fetch;
            self.write_back.d.next = writes_register;
        } else if state == State::Multiply {
            if self.multiply_step.q.val() == 2 {
                self.state.d.next = State::Fetch;
                self.write_back.d.next = writes_register;
            }
        } else if state == State::Divide {
            if self.divider.done.val() {
                self.state.d.next = State::Fetch;
                self.write_back.d.next = writes_register;
            }
        }
        self.registers.launch.next = launch;
        self.registers.write_enable.next = self.write_back.q.val();
        self.registers.write_index.next = word.get_bits::<5>(7);
        self.registers.write_data.next = if self.takes_sum.q.val() { self.sum.q.val() } else { self.result.q.val() };

        // Start: the waiting launch, when nothing runs or the running handler ends in this cycle.
        let next = self.next_launch.q.val();
        let same_context = self.scrubbed_context.q.val() == (bits::<1>(1), next.context).cat::<5>();
        let vacant = (state == State::Idle) | ended;
        self.start.next = self.waiting.q.val() & vacant & !self.endings.level.val().any();
        self.registers.clear.next = self.start.val();
        self.launch_ready.next = !self.waiting.q.val();
        self.launch_page.next = !self.task_page.q.val();
        if self.launch_valid.val() & !self.waiting.q.val() {
            self.next_launch.d.next = self.launch.val();
            self.waiting.d.next = true;
        }
        if ended {
            self.state.d.next = State::Idle;
            self.write_back.d.next = false;
        }
        if self.start.val() {
            self.waiting.d.next = false;
            self.current.d.next = next;
            self.task_page.d.next = !self.task_page.q.val();
            self.pc.d.next = next.entry;
            self.first.d.next = true;
            self.state.d.next = if same_context { State::Fetch } else { State::Scrub };
            self.scrubbed_context.d.next = (bits::<1>(1), next.context).cat::<5>();
        }
        self.scrub_valid.next = state == State::Scrub;
        if (state == State::Scrub) & self.scrub_done.val() {
            self.state.d.next = State::Fetch;
        }
        if in_fetch {
            self.first.d.next = false;
        }

        // Clocks of the handler.
        self.cycle.d.next = self.cycle.q.val() + 1;
        if self.runs.val() {
            // It stays used up while an access is waited for.
            if !expired {
                self.left.d.next = self.left.q.val() - 1;
            }
            self.elapsed.d.next = self.elapsed.q.val() + 1;
        }
        if self.start.val() | (state == State::Scrub) {
            // The first fetch counts as the first cycle.
            self.left.d.next = if self.start.val() { next.watchdog } else { launch.watchdog };
            self.elapsed.d.next = bits::<32>(1);
        }
        if in_execute {
            self.retired_total.d.next = self.retired_total.q.val() + 1;
        }

        // Ending.
        self.endings.write_valid.next = ended;
        self.endings.write.next = Ending {
            code: self.registers.data_a.val().get_bits::<8>(0),
            fault: self.fault.val(),
            cause: self.cause.val(),
            pc: self.at.q.val(),
            address: address,
            cycles: self.elapsed.q.val(),
        };
        self.ending.next = self.endings.read.val();
        self.ending_valid.next = self.endings.read_valid.val();
        self.endings.read_ready.next = self.ending_ready.val();
        self.running.next = launch;
        self.page.next = self.task_page.q.val();
        self.busy.next = self.runs.val();
        self.retired.next = in_execute;
        self.begins.next = in_fetch & self.first.q.val();
        self.begin_frame.next = launch.frame;
        self.ends.next = ended;
        self.end_frame.next = launch.frame;
    }
}
