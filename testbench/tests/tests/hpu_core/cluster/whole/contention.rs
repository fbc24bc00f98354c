//! Words of the scratchpad and of the state that all processors of a cluster change at the same time.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task, HPUS};
use crate::hpu_core::cluster::whole::handlers::{handler, word};
use spindle_contract::memory_map::{self as map, base};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

// Registers: x8 = state and x9 = command port are set by `handler`.
const STATE: u32 = 8;
const SCRATCH: u32 = 18;
const TIMES: i32 = 6;

const ADD: u32 = 0x00;
const SWAP: u32 = 0x01;
const RELEASE: u32 = 1 << 25;
const ACQUIRE: u32 = 1 << 26;

// Words, at the same offsets in the scratchpad and in the state.
const COUNTER: i32 = 0x40;
const LOCK: i32 = 0x80;
const GUARDED: i32 = 0x88;
const TICKET: i32 = 0xC0;
/// One byte for each ticket.
const TAKEN: i32 = 0x200;
const DATA: i32 = 0x100;
const FLAG: i32 = 0x140;

/// `body` TIMES times with x19 = `offset` in the region of `pointer`, then the next region.
fn in_both(offset: i32, body: &[u32]) -> Vec<u32> {
    let mut words = vec![lui(SCRATCH, base(map::SCRATCH) >> 12)];
    for region in [SCRATCH, STATE] {
        words.extend([addi(19, region, offset), addi(20, region, 0), addi(21, 0, TIMES)]);
        words.extend(body);
        words.extend([addi(21, 21, -1), branch(1, 21, 0, -4 * (body.len() as i32 + 1))]);
    }
    words
}

fn ended(words: Vec<u32>) -> Vec<u32> {
    handler(&[&words[..], &[addi(A0, 0, 0), RET]].concat())
}

/// Counts by AMO.
fn adds() -> Vec<u32> {
    ended(in_both(COUNTER, &[addi(5, 0, 1), amo(ADD, 0, 19, 5)]))
}

/// Counts by LR and SC.
fn conditionally_adds() -> Vec<u32> {
    ended(in_both(COUNTER, &[amo(LR, 5, 19, 0), addi(5, 5, 1), amo(SC, 6, 19, 5), branch(1, 6, 0, -12)]))
}

/// Counts in a plain word after a lock.
fn locks() -> Vec<u32> {
    let body = [
        addi(5, 0, 1),
        amo(SWAP, 6, 19, 5) | ACQUIRE,
        branch(1, 6, 0, -4),
        lw(7, 19, GUARDED - LOCK),
        addi(7, 7, 1),
        sw(7, 19, GUARDED - LOCK),
        FENCE,
        amo(SWAP, 0, 19, 0) | RELEASE,
    ];
    ended(in_both(LOCK, &body))
}

/// Draws tickets and counts each one up in a table of bytes: no one else has the same.
fn draws() -> Vec<u32> {
    let body = [
        addi(5, 0, 1),
        amo(ADD, 6, 19, 5),
        add(6, 6, 20),
        load(LBU, 7, 6, TAKEN),
        addi(7, 7, 1),
        store(SB, 7, 6, TAKEN),
    ];
    ended(in_both(TICKET, &body))
}

/// Writes the same number to the data, then to the flag, a fence between.
fn publishes() -> Vec<u32> {
    let body = [lw(5, 19, DATA - FLAG), addi(5, 5, 1), sw(5, 19, DATA - FLAG), FENCE, sw(5, 19, 0)];
    ended(in_both(FLAG, &body))
}

/// Who sees the flag sees the data; returns how often not.
fn subscribes() -> Vec<u32> {
    // x22 = mistakes.
    let body = [lw(5, 19, 0), FENCE, lw(6, 19, DATA - FLAG), op((0, 3), 7, 6, 5), add(22, 22, 7)];
    handler(&[&in_both(FLAG, &body)[..], &[addi(A0, 22, 0), RET]].concat())
}

/// Copies the words of the scratchpad after those of the state.
fn copies() -> Vec<u32> {
    let body = [lw(5, 18, 0), sw(5, 20, 0), addi(18, 18, 4), addi(20, 20, 4), addi(21, 21, -1), branch(1, 21, 0, -20)];
    let mut words = vec![lui(SCRATCH, base(map::SCRATCH) >> 12), lui(20, 1), add(20, 20, STATE), addi(21, 0, 0x100)];
    words.extend(body);
    ended(words)
}

#[test]
fn what_all_processors_change_is_as_if_one_came_after_the_other() {
    const ROUNDS: u32 = 25;
    run_with_wave_on_failure("cluster_contention", |wave| {
        let mut bench = Bench::new(wave);
        let programs = [adds(), conditionally_adds(), locks(), draws(), publishes(), subscribes(), copies()];
        for (i, words) in programs.iter().enumerate() {
            bench.program(0x400 * i as u32, words);
        }
        let task = |frame: u64, program: usize| Task {
            fields: vec![("frame", frame), ("context", 3)],
            context: Context { entries: [base(map::CODE) + 0x400 * program as u32; 3], ..Context::default() },
            packet: None,
        };
        bench.installs.push_back(3);
        bench.step();
        // Only one publisher at a time: its data is a plain word.
        let mut frame = 0;
        for round in 0..ROUNDS {
            bench.stall = [0, 20, 60][round as usize % 3];
            for program in [0, 1, 5, 4, 2, 3, 1, 5, 0, 2, 3, 5] {
                bench.tasks.push_back(task(frame, program));
                frame += 1;
            }
            bench.run_until(frame as usize);
        }
        bench.tasks.push_back(task(frame, 6));
        bench.run_until(frame as usize + 1);
        for done in &bench.done {
            assert_eq!((done.cause, done.code), (0, 0), "{done:?}: a fault, or data that is older than its flag");
        }
        let per_program = ROUNDS * TIMES as u32;
        // The state, and the copy of the scratchpad after it.
        for (name, from) in [("state", 0), ("scratchpad", 0x1000)] {
            let at = |offset: i32| from + offset as usize;
            assert_eq!(word(&bench.l2, at(COUNTER)), 4 * per_program, "the counter in the {name}");
            assert_eq!(word(&bench.l2, at(LOCK)), 0, "the lock in the {name}");
            assert_eq!(word(&bench.l2, at(GUARDED)), 2 * per_program, "what the lock in the {name} guards");
            assert_eq!(word(&bench.l2, at(DATA)), per_program, "the data in the {name}");
            let tickets = 2 * per_program as usize;
            assert_eq!(word(&bench.l2, at(TICKET)) as usize, tickets, "the next ticket in the {name}");
            let taken = &bench.l2[at(TAKEN)..][..tickets + 8];
            let wrong = (0..tickets + 8).find(|i| taken[*i] != u8::from(*i < tickets));
            assert_eq!(wrong, None, "a ticket of the {name} was drawn by none or by two");
        }
        let used = (0..HPUS).filter(|hpu| bench.begun.iter().any(|begun| begun.0 == *hpu)).count();
        assert_eq!(used, HPUS, "processors that took part");
    });
}
