//! Atomics of L1 and L2: the unit against a model that knows every store, and programs on all HPUs whose outcome some order
//! explains.

use crate::hpu_core::cluster::whole::bench::{Bench, Task};
use crate::hpu_core::cluster::whole::handlers::{handler, word, STATE};
use crate::hpu_core::fields::{bits, slice};
use hpu_core::cluster::l1_atomics::L1Atomics;
use rand::Rng;
use spindle_contract::memory_map::{self as map, base};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_hart::assembler::*;
use std::collections::VecDeque;

/// What an AMO leaves in memory.
pub fn amo_result(operation: u64, old: u32, operand: u32) -> u32 {
    match operation {
        0b00001 => operand,
        0b00000 => old.wrapping_add(operand),
        0b00100 => old ^ operand,
        0b01100 => old & operand,
        0b01000 => old | operand,
        0b10000 => (old as i32).min(operand as i32) as u32,
        0b10100 => (old as i32).max(operand as i32) as u32,
        0b11000 => old.min(operand),
        0b11100 => old.max(operand),
        _ => panic!("no AMO has funct5 = {operation:#07b}"),
    }
}

const HPUS: usize = 4;
/// Words of the memory: two beats of each group.
const WORDS: usize = 64;

/// An atomic on its way through the unit.
#[derive(Clone, Copy, Debug)]
struct Atomic {
    hpu: usize,
    thread: u64,
    operation: u64,
    at: usize,
    operand: u32,
}

/// What it is to do, known from the cycle in which it reads.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    answer: u32,
    written: Option<u32>,
}

/// A write at `at` ends the reservations in its super-bank.
fn lose(reserved: &mut [[Option<usize>; 2]; HPUS], at: usize) {
    let lost = |held: &&mut Option<usize>| held.is_some_and(|held| held % 8 == at % 8);
    reserved.iter_mut().flatten().filter(lost).for_each(|held| *held = None);
}

#[test]
fn the_unit_against_a_memory() {
    run_with_wave_on_failure("l1_atomics", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, L1Atomics::new(HPUS), "l1_atomics");
        let mut memory = [0u32; WORDS];
        let (mut wanted, mut inside): (Option<Atomic>, Option<Atomic>) = (None, None);
        let mut outcome: Option<Outcome> = None;
        let mut reserved = [[None::<usize>; 2]; HPUS];
        let mut words: VecDeque<Option<(usize, u32)>> = VecDeque::from([None, None]);
        let mut stores = 0u64;
        let (mut amos, mut succeeded, mut refused) = (0, 0, 0);
        for cycle in 0..60_000 {
            if wanted.is_none() && rng.random_range(0..3) > 0 {
                let operation = match rng.random_range(0..12) {
                    0 => [0, 1, 4, 8, 12, 16, 20, 24, 28][rng.random_range(0..9)],
                    1..6 => 2,
                    _ => 3,
                };
                let at = [1, 9, 33, 63][rng.random_range(0..4)];
                let (hpu, thread, operand) = (rng.random_range(0..HPUS), rng.random_range(0..2), rng.random());
                wanted = Some(Atomic { hpu, thread, operation, at, operand });
            }
            dut.request.valid.set(wanted.is_some());
            let shown = wanted.unwrap_or(Atomic { hpu: 1, thread: 1, operation: 3, at: 0, operand: 9 });
            dut.hpu.set(shown.hpu);
            let address = 4 * shown.at as u64;
            let fields = [
                (shown.thread, 1),
                (0, 1),
                (0, 1),
                (1, 1),
                (shown.operation, 5),
                (address, 20),
                (3, 2),
                (shown.operand.into(), 32),
            ];
            dut.request.set_bytes(&bits(&fields));
            let answers = rng.random_range(0..3) > 0;
            dut.answer.ready.set(answers);
            dut.shared_write.set(stores);
            let fetched = words.pop_front().expect("two places");
            for half in 0..2 {
                let word = fetched.filter(|(at, _)| at % 2 == half).map_or_else(|| rng.random(), |(_, word)| word);
                dut.words[half].set(word);
            }
            dut.eval();

            let lock = dut.lock.number();
            let mut read = None;
            let access = dut.access.bytes();
            // Offset and size say: the whole word, if it writes.
            let writes = dut.access.valid.is_high() && slice(&access, 51, 1) == 1;
            if dut.access.valid.is_high() {
                let op = inside.expect("one is inside");
                assert_eq!(lock, 1 << (op.at % 8), "cycle {cycle}: the super-bank of the word is locked");
                // Whoever has a reservation there is to hear of a write.
                let says = (slice(&access, 13, 3) as usize, slice(&access, 16, 2), slice(&access, 50, 1));
                let expected = if writes { (4 * (op.at % 2), 3, 1) } else { (0, 0, 0) };
                assert_eq!((slice(&access, 0, 13) as usize, says), (op.at / 2, expected));
            } else {
                // L1 joins it with the stores of others by an OR.
                assert_eq!(slice(&access, 13, 39), 0, "cycle {cycle}: all but the row is zero");
            }
            let reads = dut.access.valid.is_high() && outcome.is_none();
            // The second access: of an LR and of an SC that fails it writes nothing.
            if dut.access.valid.is_high() && !writes {
                assert!(outcome.is_none_or(|outcome| outcome.written.is_none()), "cycle {cycle}: a write is missing");
            }
            if let (true, Some(op)) = (reads, inside) {
                assert!(!writes, "cycle {cycle}: an atomic reads first");
                read = Some((op.at, memory[op.at]));
                let old = memory[op.at];
                let holds = reserved[op.hpu][op.thread as usize] == Some(op.at);
                outcome = Some(match op.operation {
                    2 => Outcome { answer: old, written: None },
                    3 => Outcome { answer: (!holds).into(), written: holds.then_some(op.operand) },
                    amo => Outcome { answer: old, written: Some(amo_result(amo, old, op.operand)) },
                });
                if op.operation & !1 == 2 {
                    reserved[op.hpu][op.thread as usize] = (op.operation == 2).then_some(op.at);
                }
                if outcome.is_some_and(|outcome| outcome.written.is_some()) {
                    lose(&mut reserved, op.at);
                }
                amos += usize::from(op.operation > 3 || op.operation < 2);
                succeeded += usize::from(op.operation == 3 && holds);
                refused += usize::from(op.operation == 3 && !holds);
            }
            words.push_back(read);
            // The unit hears of its own writes as of those of stores.
            let mut heard = 0;
            if writes {
                let (op, value) = (inside.expect("one is inside"), outcome.and_then(|outcome| outcome.written));
                assert_eq!(Some(slice(&access, 18, 32) as u32), value, "cycle {cycle}: {op:?}");
                memory[op.at] = value.expect("it is the same");
                heard = 1 << (op.at % 8);
            }
            if dut.answer.valid.is_high() && answers {
                let (op, outcome) = (inside.take().expect("one is inside"), outcome.take().expect("it has read"));
                let answer = dut.answer.bytes();
                assert_eq!((slice(&answer, 0, 1), slice(&answer, 1, 1)), (op.thread, 0));
                assert_eq!(slice(&answer, 2, 32) as u32, outcome.answer, "cycle {cycle}: {op:?}");
                assert_eq!((dut.answer_hpu.number() as usize, lock), (op.hpu, 0));
            }
            if wanted.is_some() && dut.request.ready.is_high() {
                inside = wanted.take();
            }
            // A store to the scratchpad, granted where nothing is locked; the unit hears of it in the next cycle.
            stores = heard;
            let at = [1, 9, 33, 63, 0, 49, 22, 41][rng.random_range(0..8)];
            if rng.random_range(0..40) == 0 && lock >> (at % 8) & 1 == 0 {
                memory[at] = rng.random();
                stores |= 1 << (at % 8);
                lose(&mut reserved, at);
            }
            dut.tick();
        }
        assert!(amos > 200 && succeeded > 200 && refused > 500, "{amos} AMOs, SC: {succeeded} stored, {refused} not");
    });
}

/// Address of the first word of a memory that the atomics share.
const SHARED: [u32; 2] = [base(map::SCRATCH), STATE];
/// Where the handlers keep what they saw, in the state.
const SEEN: u32 = 0x1000;
const TASKS: usize = 64;
const ROUNDS: usize = 12;

/// Runs a program on all HPUs, which notes what it saw `ROUNDS` times; the words at `x15` start as zeros. x14 = number of
/// the handler's first note, x6 = where its next note goes, x16 = rounds left.
fn run(name: &str, memory: u32, round: &[u32], check: impl Fn(&[u32], u32)) {
    run_with_wave_on_failure(name, |wave| {
        for stall in [0, 40] {
            let mut bench = Bench::new(wave);
            bench.stall = stall;
            bench.installs.push_back(0);
            let mut body = li(15, memory).to_vec();
            body.extend([lw(14, TP, map::TASK_FRAME as i32), addi(16, 0, ROUNDS as i32), op((1, 0), 14, 14, 16)]);
            body.extend(li(6, STATE + SEEN));
            body.extend([op_imm(1, 5, 14, 2), add(6, 6, 5)]);
            let back = -4 * (round.len() as i32 + 3);
            body.extend(round);
            body.extend([sw(5, 6, 0), addi(6, 6, 4), addi(14, 14, 1), addi(16, 16, -1), branch(1, 16, 0, back - 4)]);
            // What the word is in the end.
            body.extend([
                lw(5, 15, 0),
                li(6, STATE + SEEN - 4)[0],
                li(6, STATE + SEEN - 4)[1],
                FENCE,
                sw(5, 6, 0),
                addi(A0, 0, 0),
                RET,
            ]);
            bench.program(0, &handler(&body));
            for frame in 0..TASKS as u64 {
                bench.tasks.push_back(Task { fields: vec![("kind", 2), ("frame", frame)], ..Task::default() });
            }
            bench.run_until(TASKS);
            assert!(
                bench.done.iter().all(|done| done.cause == 0),
                "{:?}",
                bench.done.iter().find(|done| done.cause != 0)
            );
            assert!(
                (0..4).all(|hpu| bench.begun.iter().filter(|begun| begun.0 == hpu).count() > 4),
                "all HPUs take part"
            );
            // One more handler, alone, sees what all of them left.
            bench.program(0, &handler(&[li(15, memory).to_vec(), vec![lw(5, 15, 0), sw(5, 8, 0), RET]].concat()));
            bench.tasks.push_back(Task { fields: vec![("kind", 2)], ..Task::default() });
            let last = if memory == STATE {
                word(&bench.l2, 0)
            } else {
                bench.run_until(TASKS + 1);
                word(&bench.l2, 0)
            };
            let seen: Vec<u32> = (0..TASKS * ROUNDS).map(|i| word(&bench.l2, SEEN as usize + 4 * i)).collect();
            check(&seen, last);
        }
    });
}

/// The notes are 0 to N - 1 in some order.
fn all_different(seen: &[u32], last: u32) {
    let mut sorted = seen.to_vec();
    sorted.sort_unstable();
    assert!(sorted.iter().enumerate().all(|(i, value)| i as u32 == *value), "two saw the same: {sorted:?}");
    assert_eq!(last as usize, seen.len());
}

#[test]
fn every_addition_counts() {
    for (i, memory) in SHARED.into_iter().enumerate() {
        // Beside the AMO a load and a store of the neighbourhood.
        let round = [addi(7, 0, 1), lw(28, 15, 4), amo(0, 5, 15, 7), sw(28, 15, 32)];
        run(["cluster_amo_l1", "cluster_amo_l2"][i], memory, &round, all_different);
    }
}

#[test]
fn swaps_make_one_chain() {
    for (i, memory) in SHARED.into_iter().enumerate() {
        // Every handler leaves numbers of its own, from 1 on.
        let round = [addi(7, 14, 1), amo(1, 5, 15, 7)];
        run(["cluster_swap_l1", "cluster_swap_l2"][i], memory, &round, |seen, last| {
            // seen[n - 1] is what n found: from the last one back to zero, every number once.
            let (mut at, mut length) = (last, 0);
            while at != 0 {
                at = seen[at as usize - 1];
                length += 1;
                assert!(length <= seen.len(), "the chain has a loop");
            }
            assert_eq!(length, seen.len(), "every swap is in the chain");
        });
    }
}

#[test]
fn reservations_lose_no_addition() {
    for (i, memory) in SHARED.into_iter().enumerate() {
        let round = [amo(LR, 5, 15, 0), addi(7, 5, 1), amo(SC, 7, 15, 7), branch(1, 7, 0, -12)];
        run(["cluster_lr_l1", "cluster_lr_l2"][i], memory, &round, all_different);
    }
}
