//! What instructions cost, measured on a processor whose surroundings are idle ([`Timing::IDLE`]).
//!
//! A *bubble* is a cycle in which nothing retires though a handler runs. Pieces of program stand between instructions that
//! depend on nothing, and are run twice: the second run finds the branch predictor as the first one left it.

use super::assembler::*;
use super::bench::Hart;
use super::loader::Start;
use super::timing::Timing;
use anyhow::{ensure, Context, Result};
use spindle_contract::memory_map::{self as map, base};
use std::fmt::Write;

// Registers that the pieces use.
const SCRATCH: u32 = 3;
const STATE: u32 = 8;
const PACKET: u32 = 9;
const PORT: u32 = 18;
const CODE: u32 = 19;
const POINTER: u32 = 20;
/// Instructions that depend on nothing.
const APART: usize = 6;
/// Instructions between a result and its use, at most.
const DISTANCES: usize = 4;

/// All that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// Bubbles from a result to its use, with 0, 1, ... other instructions between them.
    pub uses: Vec<(&'static str, [u32; DISTANCES + 1])>,
    /// Bubbles of other pieces, in the first and in the second run.
    pub pieces: Vec<(&'static str, u32, u32)>,
    /// From the cycle in which a return is resolved to the first fetch of the next handler.
    pub start: u32,
    /// From the cycle in which an instruction in M1 has to wait to the first fetch of another handler.
    pub switch: u32,
    /// From that cycle to the first fetch of a handler that has run before.
    pub resume: u32,
    /// Cycles of a handler that only returns.
    pub shortest: u32,
}

/// Words around a piece.
fn handler(piece: &[u32]) -> Vec<u32> {
    let before = [
        lui(SCRATCH, base(map::SCRATCH) >> 12),
        lui(STATE, base(map::CONTEXT) >> 12),
        lui(PACKET, base(map::PACKET) >> 12),
        lui(PORT, base(map::COMMAND) >> 12),
        lui(CODE, base(map::CODE) >> 12),
        addi(POINTER, SCRATCH, -8),
        addi(5, 0, 77),
        addi(6, 0, -3),
    ];
    [&before[..], &[NOP; APART], piece, &[NOP; APART], &[RET]].concat()
}

/// Cycles that were not instructions, in the first and the second run of a handler.
fn idle_cycles(hart: &mut Hart, words: &[u32]) -> Result<[u32; 2]> {
    // A branch that always goes elsewhere makes the predictor forget what stood at these addresses.
    let span = words.len().max(32) + 32;
    hart.program(0, &vec![NOP; span]);
    hart.program(4 * span, &[RET]);
    for _ in 0..3 {
        ensure!(hart.run(Start::default()).cause == 0, "the words that clear the predictor fault");
    }
    hart.program(0, words);
    let mut idle = [0; 2];
    for idle in &mut idle {
        let before = hart.instructions;
        let ending = hart.run(Start::default());
        ensure!(ending.cause == 0, "a piece faults: {ending:x?}");
        *idle = ending.cycles - (hart.instructions - before) as u32;
    }
    Ok(idle)
}

/// Bubbles of a piece in both runs.
fn bubbles(hart: &mut Hart, piece: &[u32]) -> Result<[u32; 2]> {
    let without = idle_cycles(hart, &handler(&[]))?;
    let with = idle_cycles(hart, &handler(piece))?;
    Ok([with[0] - without[0], with[1] - without[1]])
}

const PRODUCERS: &[(&str, u32)] = &[
    ("`add`, `lui`, shift, single bit", 0),
    ("link of `jal`", 1),
    ("`csrr cycle`", 2),
    ("`clz`, `cpop`", 3),
    ("`min`, `maxu`", 4),
    ("`mul`", 5),
    ("`mulhu`", 6),
    ("`div`, `rem`", 7),
    ("`lw`, aligned, L1", 8),
    ("`lw`, aligned, task page", 9),
    ("`lb`, `lhu`, L1", 10),
    ("`lw`, misaligned, L1", 11),
    ("`lw`, misaligned, across 8 bytes, L1", 12),
    ("`lw`, aligned, code", 13),
    ("`lw`, command port", 14),
    ("`lw`, state (L2, 8 cycles)", 15),
    ("`amoadd.w`, L1 (8 cycles)", 16),
    ("`amoadd.w`, state (8 cycles)", 17),
];

/// The instruction that writes x7.
fn producer(number: u32) -> u32 {
    match number {
        0 => add(7, 5, 6),
        1 => jal(7, 4),
        2 => csrr(7, 0xC00),
        3 => op_imm(1, 7, 5, 0x600),
        4 => op((5, 4), 7, 5, 6),
        5 => op((1, 0), 7, 5, 6),
        6 => op((1, 3), 7, 5, 6),
        7 => op((1, 4), 7, 5, 6),
        8 => lw(7, SCRATCH, 4),
        9 => lw(7, TP, 0),
        10 => load(LHU, 7, SCRATCH, 2),
        11 => lw(7, SCRATCH, 1),
        12 => lw(7, SCRATCH, 6),
        13 => lw(7, CODE, 0),
        14 => lw(7, PORT, 0x10),
        15 => lw(7, STATE, 0),
        16 => amo(0, 7, SCRATCH, 5),
        _ => amo(0, 7, STATE, 5),
    }
}

/// Other pieces: what they are, their words.
fn pieces() -> Vec<(&'static str, Vec<u32>)> {
    let link = 28;
    vec![
        ("`add`, its result as address of a load", vec![add(7, SCRATCH, 0), lw(15, 7, 0)]),
        ("`add`, its result compared by a branch that is not taken", vec![add(7, 5, 6), branch(0, 7, 0, 8)]),
        (
            "`lw`, its result as address of a load",
            vec![sw(PACKET, SCRATCH, 0), NOP, NOP, NOP, lw(7, SCRATCH, 0), lw(15, 7, 0)],
        ),
        ("`lw`, its result stored", vec![lw(7, SCRATCH, 0), sw(7, SCRATCH, 16)]),
        ("`lw`, its result compared by a branch that is not taken", vec![lw(7, SCRATCH, 0), branch(0, 7, 5, 8)]),
        ("four loads in a row", vec![lw(7, SCRATCH, 0), lw(7, SCRATCH, 4), lw(7, SCRATCH, 8), lw(7, SCRATCH, 12)]),
        ("four stores in a row", vec![sw(5, SCRATCH, 0), sw(5, SCRATCH, 4), sw(5, SCRATCH, 8), sw(5, SCRATCH, 12)]),
        ("a store, then a load of the same 8 bytes", vec![sw(5, SCRATCH, 0), lw(7, SCRATCH, 0)]),
        ("a store, then a load of other 8 bytes", vec![sw(5, SCRATCH, 0), lw(7, SCRATCH, 8)]),
        ("a load whose base is in another region", vec![lw(7, POINTER, 8)]),
        ("a store across 8 bytes", vec![sw(5, SCRATCH, 6)]),
        ("a store to the state", vec![sw(5, STATE, 0)]),
        ("a write of the command port", vec![sw(5, PORT, 0)]),
        ("a write of ISSUE (answered after 2 cycles)", vec![sw(5, PORT, 0x10)]),
        ("`fence`, nothing under way", vec![FENCE]),
        ("`fence` after a store to L1", vec![sw(5, SCRATCH, 0), FENCE]),
        ("`fence` after a store to the state", vec![sw(5, STATE, 0), FENCE]),
        ("`fence.i`", vec![FENCE_I]),
        ("branch, not taken", vec![branch(0, 5, 6, 8)]),
        ("branch, taken", vec![branch(1, 5, 6, 8), NOP]),
        ("`jal`", vec![jal(0, 8), NOP]),
        ("`jalr` without offset", vec![auipc(7, 0), addi(7, 7, 24), NOP, NOP, jalr(0, 7, 0), NOP]),
        ("`jalr` with an offset", vec![auipc(7, 0), NOP, NOP, NOP, jalr(0, 7, 24), NOP]),
        (
            "call and return, twice from different places",
            vec![jal(link, 12), jal(link, 8), jal(0, 8), jalr(0, link, 0)],
        ),
        ("loop of 2 instructions, 4 rounds", vec![addi(7, 0, 4), addi(7, 7, -1), branch(1, 7, 0, -4)]),
    ]
}

impl Cycles {
    /// Measures everything.
    ///
    /// # Errors
    /// A piece does not run as it should.
    pub fn measure(hart: &mut Hart) -> Result<Cycles> {
        hart.timing = Timing::IDLE;
        let mut uses = vec![];
        for (name, number) in PRODUCERS {
            let mut row = [0; DISTANCES + 1];
            for (distance, bubbles_here) in row.iter_mut().enumerate() {
                let piece = [&[producer(*number)][..], &vec![NOP; distance], &[add(15, 7, 7)]].concat();
                *bubbles_here = bubbles(hart, &piece).with_context(|| format!("{name}, used"))?[1];
            }
            uses.push((*name, row));
        }
        let mut rows = vec![];
        for (name, piece) in pieces() {
            let [first, second] = bubbles(hart, &piece).context(name)?;
            rows.push((name, first, second));
        }
        let shortest = hart.run_program(&[RET]).cycles;
        let start = start(hart)?;
        let (switch, resume) = switch(hart)?;
        Ok(Cycles { uses, pieces: rows, start, switch, resume, shortest })
    }

    /// Bubbles between an instruction and the use of its result right after it.
    ///
    /// # Panics
    /// There is no such row.
    pub fn latency(&self, name: &str) -> u32 {
        self.uses.iter().find(|row| row.0.contains(name)).unwrap_or_else(|| panic!("no row is about {name}")).1[0]
    }

    /// Bubbles of a piece in its first and second run.
    ///
    /// # Panics
    /// There is no such row.
    pub fn piece(&self, name: &str) -> (u32, u32) {
        let row = self.pieces.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("no row is about {name}"));
        (row.1, row.2)
    }

    /// The page of the documentation.
    pub fn markdown(&self) -> String {
        let mut page = String::from(
            "# Stalls of the handler processor\n\n\
             Measured on the emitted Verilog by `testbench/tests/tests/hpu_core/processor/hpu/stalls.rs`, \
             which compares this page with what it measures; \
             `SPINDLE_BLESS=1 cargo test -p spindle-tests hpu::stalls` writes it anew.\n\n\
             A bubble is a cycle in which the running handler retires nothing. No other processor uses L1; L2 answers after 8 cycles.\n\n\
             ## From a result to its use\n\nBubbles, with so many independent instructions between the two:\n\n\
             | result of | 0 | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|---|\n",
        );
        let mut line = |text: String| writeln!(page, "{text}").expect("a string takes everything");
        for (name, row) in &self.uses {
            line(format!("| {name} | {} |", row.map(|bubbles| bubbles.to_string()).join(" | ")));
        }
        line(
            "\nA long operation (division, load from L2, atomic) lets the other thread run meanwhile; \
             these are the figures of a handler that is alone."
                .into(),
        );
        line("\n## Other sequences\n\nThe second run of a handler finds its branches in the predictor.\n".into());
        line("| sequence | bubbles, first run | second run |\n|---|---|---|".into());
        for (name, first, second) in &self.pieces {
            line(format!("| {name} | {first} | {second} |"));
        }
        line("\n## Handlers\n\n| from | to | cycles |\n|---|---|---|".into());
        for (from, to, cycles) in [
            ("return resolved (M1)", "first fetch of the preloaded handler", self.start),
            ("the instruction in M1 has to wait", "first fetch of a handler that starts", self.switch),
            ("the instruction in M1 has to wait", "first fetch of the handler that goes on", self.resume),
            ("first fetch", "return resolved, of a handler that only returns", self.shortest),
        ] {
            line(format!("| {from} | {to} | {cycles} |"));
        }
        page
    }
}

/// Handlers that do little, one after the other.
fn start(hart: &mut Hart) -> Result<u32> {
    const HANDLERS: usize = 12;
    let (begins, ends, endings) = (hart.begins.len(), hart.ends.len(), hart.endings.len());
    hart.program(0, &[&[NOP; 12][..], &[RET]].concat());
    for frame in 0..HANDLERS {
        hart.queue(Start { frame: frame as u16, ..Start::default() });
    }
    hart.run_until(endings + HANDLERS);
    let gaps: Vec<u64> = (1..HANDLERS).map(|i| hart.begins[begins + i].cycle - hart.ends[ends + i - 1].cycle).collect();
    ensure!(gaps.iter().all(|gap| *gap == gaps[0]), "handlers start after different times: {gaps:?}");
    Ok(gaps[0] as u32)
}

/// Two handlers that wait for L2: the second starts when the first waits, and goes on when the first waits again.
fn switch(hart: &mut Hart) -> Result<(u32, u32)> {
    const OTHER: u32 = 0x1000;
    let wait = [&[lui(STATE, base(map::CONTEXT) >> 12)][..], &[NOP; 20], &[lw(7, STATE, 0)]].concat();
    let long = [&[NOP; 30][..], &[lw(7, STATE, 0), RET]].concat();
    hart.program(0, &[&wait[..], &long].concat());
    hart.program(OTHER as usize, &[&wait[..], &long].concat());
    let (begins, endings) = (hart.begins.len(), hart.endings.len());
    hart.retired.clear();
    hart.keep_retired = true;
    hart.fetches = Some(vec![]);
    hart.queue(Start::default());
    hart.queue(Start { entry: base(map::CODE) + OTHER, frame: 1, ..Start::default() });
    hart.run_until(endings + 2);
    // How long after M1 an instruction retires: from the return of the last handler.
    let (end, last) =
        (hart.ends.last().context("no end")?.cycle, hart.retired.last().context("nothing retired")?.cycle);
    let after = last - end;
    let in_m1 = |pc: u32| {
        let before =
            hart.retired.iter().find(|retired| retired.pc == pc - 4).context("the handler did not get there")?;
        anyhow::Ok(before.cycle + 1 - after)
    };
    let load = base(map::CODE) + 4 * (wait.len() as u32 - 1);
    let started = hart.begins[begins + 1].cycle - in_m1(load)?;
    // The first one, the older, goes on as soon as it has its answer, and then waits again: the second goes on.
    let waits = in_m1(base(map::CODE) + 4 * (wait.len() + long.len() - 2) as u32)?;
    let fetches = hart.fetches.take().context("fetches are kept")?;
    let goes_on = |fetch: &&(u64, u32)| fetch.0 >= waits && fetch.1 >= OTHER / 4;
    let resumed = fetches.iter().find(goes_on).context("the second handler does not go on")?;
    // The address is there one cycle before the fetch.
    Ok((started as u32, (resumed.0 + 1 - waits) as u32))
}
