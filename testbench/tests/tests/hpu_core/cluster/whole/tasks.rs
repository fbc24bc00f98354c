//! The cluster as a whole: many tasks at once, faults beside them, contexts after one another, starting latencies.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task, HPUS};
use crate::hpu_core::cluster::whole::handlers::{handler, issue, random_bytes, word, ENTRY, PACKET};
use rand::Rng;
use spindle_contract::memory_map::{self as map, base, command, FAULT_LOAD, FAULT_WATCHDOG};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

/// Entries of the programs of [`many_tasks_side_by_side`].
const COUNTS: u32 = 0;
const LOOPS: u32 = 0x1000;
const STRAYS: u32 = 0x2000;
const SENDS: u32 = 0x3000;

/// Budget of a handler that loops.
const BUDGET: u32 = 500;

#[test]
fn many_tasks_side_by_side() {
    run_with_wave_on_failure("cluster_many", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        // Sums its packet's words through L1 and L2: x14 = frame; 20 rounds of x = 5 x + word, kept in stack and state in
        // turn.
        let mut counts = vec![
            lw(14, TP, map::TASK_FRAME as i32),
            op_imm(1, 15, 14, 2),
            add(15, 15, 8),
            sw(0, 15, 0),
            addi(16, 0, 20),
        ];
        let turn = [
            lw(17, 15, 0),
            op_imm(1, 5, 17, 2),
            add(17, 17, 5),
            sw(17, SP, -8),
            load(LHU, 5, 3, 0),
            lw(17, SP, -8),
            add(17, 17, 5),
            sw(17, 15, 0),
            addi(3, 3, 2),
            addi(16, 16, -1),
        ];
        counts.extend(turn);
        counts.extend([branch(1, 16, 0, -4 * turn.len() as i32), addi(A0, 14, 0), RET]);
        bench.program(COUNTS, &handler(&counts));
        bench.program(LOOPS, &[jal(0, 0)]);
        let strays = handler(&[addi(6, 0, 4), lw(5, 8, -1), RET]);
        bench.program(STRAYS, &strays);
        // Sends and returns at once: the slot stays in use until the bytes are out.
        let mut sends = issue(PACKET, 100, 0, command::SEND_PACKET);
        sends.extend([addi(A0, 0, 0), RET]);
        bench.program(SENDS, &handler(&sends));
        // Instructions before the one that ends the handler.
        let of_counts = handler(&counts).len() - 1 + 19 * (turn.len() + 1);
        let (of_sends, of_strays) = (handler(&sends).len() - 1, strays.len() - 2);
        let mut expected = vec![];
        for frame in 0..1000u16 {
            let entry = [COUNTS, COUNTS, COUNTS, SENDS, SENDS, STRAYS, LOOPS][rng.random_range(0..7)];
            let length = rng.random_range(100..600);
            let packet = random_bytes(&mut rng, length);
            let context = Context {
                entries: [ENTRY + entry; 3],
                watchdog: if entry == LOOPS { BUDGET } else { 200_000 },
                ..Context::default()
            };
            let number = u64::from(entry >> 12);
            bench.tasks.push_back(Task {
                fields: vec![("frame", frame.into()), ("context", number)],
                context,
                packet: Some(packet.clone()),
            });
            expected.push((entry, packet));
        }
        for (stall, until) in [(0, 300), (40, 600), (80, 1000)] {
            bench.stall = stall;
            bench.run_until(until);
        }
        let mut seen = vec![false; 1000];
        for done in &bench.done {
            let frame = usize::from(done.frame);
            assert!(!std::mem::replace(&mut seen[frame], true), "frame {frame} is done twice");
            let (entry, packet) = &expected[frame];
            let wanted = match *entry {
                LOOPS => (FAULT_WATCHDOG, None),
                STRAYS => (FAULT_LOAD, None),
                SENDS => (0, Some(0)),
                _ => (0, Some(frame as u8)),
            };
            assert_eq!((done.cause, wanted.1.map(|_| done.code)), wanted, "frame {frame}");
            let instructions = match *entry {
                // Each jump takes some cycles, the more of them the more the other thread runs.
                LOOPS => (BUDGET / 8) as usize..BUDGET as usize,
                STRAYS => of_strays..of_strays + 1,
                SENDS => of_sends..of_sends + 1,
                _ => of_counts..of_counts + 1,
            };
            let retired = done.instructions as usize;
            assert!(
                instructions.contains(&retired),
                "frame {frame} at {entry:#x}: {retired}, expected {instructions:?}"
            );
            // An end may have to wait for that of the other thread.
            let spent = (BUDGET + 1..2 * BUDGET).contains(&done.cycles);
            assert!(spent || *entry != LOOPS, "frame {frame} took {} cycles", done.cycles);
            if *entry == COUNTS {
                let value = (0..20).fold(0u32, |x, i| {
                    x.wrapping_mul(5).wrapping_add(u16::from_le_bytes([packet[2 * i], packet[2 * i + 1]]).into())
                });
                assert_eq!(word(&bench.l2, 4 * frame), value, "sum of frame {frame}");
            }
            let sent = bench.egress.iter().filter(|sent| usize::from(sent.0) == frame).collect::<Vec<_>>();
            if *entry == SENDS {
                assert!(
                    sent.len() == 1 && sent[0].1 == packet[..100],
                    "frame {frame} was sent {} times, or wrong",
                    sent.len()
                );
            } else {
                assert!(sent.is_empty());
            }
        }
        let faulty = expected.iter().filter(|e| e.0 == LOOPS || e.0 == STRAYS).count();
        assert_eq!(bench.faults.len(), faulty, "every fault is reported once");
        assert!(
            (0..HPUS).all(|hpu| bench.begun.iter().filter(|begun| begun.0 == hpu).count() > 100),
            "all HPUs take part"
        );
        assert_eq!(bench.room(), (1 << HPUS) - 1, "all room is free again");
    });
}

/// Cycles from an accepted task without a packet to its first fetch.
const FIRST: u64 = 4;

#[test]
fn starts_take_the_documented_cycles() {
    run_with_wave_on_failure("cluster_latency", |wave| {
        let mut bench = Bench::new(wave);
        bench.program(0, &[RET]);
        let task = |packet: Option<usize>| Task {
            fields: vec![("kind", if packet.is_some() { 1 } else { 2 })],
            packet: packet.map(|length| vec![0x11; length]),
            ..Task::default()
        };
        // Every bank has had its stack zeroed for this context.
        bench.tasks.extend((0..64).map(|_| task(None)));
        bench.run_until(64);
        // From the cycle in which the task is accepted to the first fetch. The bench answers a read request in the cycle
        // after it.
        for (packet, cycles) in [(None, FIRST), (Some(64), FIRST + 1), (Some(128), FIRST + 2), (Some(2048), FIRST + 32)]
        {
            bench.tasks.push_back(task(packet));
            let accepted = bench.dut.cycle();
            bench.run_until(bench.done.len() + 1);
            assert_eq!(bench.begun.last().expect("it began").1 - accepted, cycles, "a packet of {packet:?} bytes");
        }
    });
}

#[test]
fn a_context_finds_nothing_of_another() {
    run_with_wave_on_failure("cluster_scrub", |wave| {
        let mut bench = Bench::new(wave);
        const STACK_WORDS: i32 = 256;
        const SCRATCH_WORDS: i32 = 512;
        // Fills stack and scratchpad. The other ORs all their words together and stores the result by its frame number.
        let walk = |region: u32, count: i32, words: &[u32]| {
            let mut walk = vec![lui(5, base(region) >> 12), addi(7, 0, count)];
            walk.extend(words);
            walk.extend([addi(5, 5, 4), addi(7, 7, -1), branch(1, 7, 0, -4 * (words.len() as i32 + 2))]);
            walk
        };
        let both =
            |words: &[u32]| [walk(map::SCRATCH, SCRATCH_WORDS, words), walk(map::STACK, STACK_WORDS, words)].concat();
        let fill = [vec![addi(14, 0, -1)], both(&[sw(14, 5, 0)]), vec![addi(A0, 0, 0), RET]].concat();
        let store = [lw(14, TP, map::TASK_FRAME as i32), op_imm(1, 14, 14, 2), add(14, 14, 8), sw(16, 14, 0), RET];
        let gather = handler(&[both(&[lw(15, 5, 0), op((0, 6), 16, 16, 15)]), store.to_vec()].concat());
        bench.program(0, &fill);
        bench.program(0x1000, &gather);
        let task = |context: u64, frame: u64, entry: u32| Task {
            fields: vec![("kind", 2), ("context", context), ("frame", frame)],
            context: Context {
                entries: [ENTRY + entry; 3],
                scratch_size: 4 * SCRATCH_WORDS as u32,
                ..Context::default()
            },
            packet: None,
        };
        for round in 0..4 {
            bench.stall = 20 * round;
            bench.l2.fill(0xAA);
            // One place for the scratchpads of both: what is left of the first is gone once the second is installed.
            let context = u64::from(2 * round);
            bench.tasks.extend((0..16).map(|frame| task(context, frame, 0)));
            bench.run_until(bench.done.len() + 16);
            bench.installs.push_back(context + 1);
            bench.step();
            bench.tasks.extend((0..16).map(|frame| task(context + 1, frame, 0x1000)));
            bench.run_until(bench.done.len() + 16);
            assert!(bench.done.iter().all(|done| done.cause == 0));
            for frame in 0..16 {
                assert_eq!(word(&bench.l2, 4 * frame), 0, "what handler {frame} found");
            }
        }
        // Handlers of one context are not distinguished: what the first leaves is there, so the test would see it.
        bench.stall = 0;
        bench.tasks.extend((0..16).map(|frame| task(9, frame, 0)));
        bench.run_until(bench.done.len() + 16);
        bench.tasks.extend((0..16).map(|frame| task(9, frame, 0x1000)));
        bench.run_until(bench.done.len() + 16);
        assert!((0..16).all(|frame| word(&bench.l2, 4 * frame) == u32::MAX));
    });
}
