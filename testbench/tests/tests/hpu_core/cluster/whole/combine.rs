//! COMBINE in a whole cluster: its bytes, its order with other commands, its limits.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task};
use crate::hpu_core::cluster::whole::handlers::{handler, random_bytes, PACKET, STATE};
use crate::hpu_core::cluster::whole::off_cluster_commands::{interpreter, step, Step, SCRIPT, STEPS};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, combine as operations, command};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_model::combine::combine;

const SCRATCHPAD: u32 = base(map::SCRATCH);
/// Bytes of the packet after the script, of the scratchpad, and of context memory, that a handler has for itself.
const PIECES: [usize; 3] = [509, 128, 700];
/// Place of a handler's piece of context memory.
const STATES: u32 = 0x8000;

fn piece(memory: usize, frame: u32) -> u32 {
    match memory {
        0 => PACKET + SCRIPT as u32,
        1 => SCRATCHPAD + 128 * frame,
        _ => STATE + STATES + 0x400 * frame,
    }
}

/// An operation, with the size of its elements.
fn operation(rng: &mut ChaCha8Rng) -> (u32, usize) {
    let (_, operation, _) = map::COMBINE_OPERATIONS[rng.random_range(0..map::COMBINE_OPERATIONS.len())];
    let constant = if operation == 0 { rng.random_range(0..256) } else { 0 };
    (operation | constant << operations::CONSTANT_SHIFT, 1 << (operation & 3))
}

fn moves(opcode: u8, waits: bool, source: u32, length: usize, to: u32, high: u32) -> Step {
    let words =
        [(map::CMD_SOURCE, source), (map::CMD_LENGTH, length as u32), (map::CMD_ADDR_LO, to), (map::CMD_ADDR_HI, high)];
    step(opcode, waits, &words)
}

/// What a handler does, and what goes to the host and to the wire, in this order.
#[derive(Default)]
struct Script {
    steps: Vec<Step>,
    to_host: Vec<Vec<u8>>,
    frames: Vec<Vec<u8>>,
}

/// Reads bytes of the host into the scratchpad, combines pieces of all three memories, and sends what there is without
/// waiting for it.
fn script(rng: &mut ChaCha8Rng, frame: u32, host: &[u8], memories: &mut [Vec<u8>; 3]) -> Script {
    let mut script = Script::default();
    let from = rng.random_range(0..0x8000);
    memories[1].copy_from_slice(&host[from..from + PIECES[1]]);
    script.steps.push(moves(command::DMA_FROM_HOST, true, piece(1, frame), PIECES[1], from as u32, 0));
    while script.steps.len() < STEPS - 1 {
        let (source, to) = ([0, 1, 2][rng.random_range(0..3)], rng.random_range(0..2));
        let (operation, size) = operation(rng);
        let most = PIECES[source].min(PIECES[to]);
        let length = size * rng.random_range(1..=most / size);
        let at = rng.random_range(0..=PIECES[to] - length);
        // The same bytes, or bytes of another memory.
        let from = if source == to { at } else { rng.random_range(0..=PIECES[source] - length) };
        let bytes = memories[source][from..from + length].to_vec();
        let result = combine(operation, &memories[to][at..at + length], &bytes).expect("it is legal");
        memories[to][at..at + length].copy_from_slice(&result);
        let addresses = (piece(source, frame) + from as u32, piece(to, frame) + at as u32);
        script.steps.push(moves(command::COMBINE, rng.random(), addresses.0, length, addresses.1, operation));
        if rng.random() && script.steps.len() < STEPS - 1 {
            if rng.random() && PIECES[to] - at >= 14 {
                let length = rng.random_range(14..=PIECES[to] - at);
                script.frames.push(memories[to][at..at + length].to_vec());
                script.steps.push(moves(command::SEND_PACKET, rng.random(), addresses.1, length, 0, 0));
            } else {
                script.to_host.push(memories[to][at..at + length].to_vec());
                script.steps.push(moves(command::DMA_TO_HOST, rng.random(), addresses.1, length, 0, 0));
            }
        }
    }
    script.to_host.push(memories[1].clone());
    script.steps.push(moves(command::DMA_TO_HOST, false, piece(1, frame), PIECES[1], 0, 0));
    script
}

#[test]
fn all_processors_combine_at_once() {
    run_with_wave_on_failure("cluster_combine", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        bench.program(0, &interpreter());
        bench.serve_far();
        for stall in [0, 50, 85] {
            bench.stall = stall;
            bench.forget();
            let mut scripts = vec![];
            for frame in 0..32u32 {
                let state = (STATES + 0x400 * frame) as usize;
                let mut memories = PIECES.map(|bytes| random_bytes(&mut rng, bytes));
                bench.l2[state..state + PIECES[2]].copy_from_slice(&memories[2]);
                let data = memories[0].clone();
                let script = script(&mut rng, frame, &bench.far.memory, &mut memories);
                let mut packet: Vec<u8> = script.steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
                packet.resize(SCRIPT, 0);
                packet.extend(data);
                scripts.push(script);
                bench.tasks.push_back(Task {
                    fields: vec![("frame", frame.into()), ("context", 3), ("kind", 1)],
                    packet: Some(packet),
                    context: Context { state_size: 0x10000, ..Context::default() },
                });
            }
            bench.run_until(32);
            assert!(bench.done.iter().all(|done| done.cause == 0), "{:?}", bench.done);
            for (frame, script) in scripts.into_iter().enumerate() {
                let to_host: Vec<_> = bench.transfers.iter().filter(|t| usize::from(t.frame) == frame).collect();
                let frames: Vec<_> = bench.egress.iter().filter(|sent| usize::from(sent.0) == frame).collect();
                assert_eq!((to_host.len(), frames.len()), (script.to_host.len(), script.frames.len()), "frame {frame}");
                let same = to_host.iter().zip(&script.to_host).position(|(found, wanted)| found.data != *wanted);
                assert_eq!(same, None, "the first wrong transfer of frame {frame}");
                let same = frames.iter().zip(&script.frames).position(|(found, wanted)| found.1 != *wanted);
                assert_eq!(same, None, "the first wrong frame of the handler of frame {frame}");
            }
        }
    });
}

/// All handlers add to the same words of the scratchpad, which begin inside a word: no sum is lost.
#[test]
fn sums_of_all_processors_are_whole() {
    run_with_wave_on_failure("cluster_combine_shared", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        const WORDS: usize = 100;
        let (to, add) = (SCRATCHPAD + 0x123, operations::operation(operations::ADD, 2));
        let mut body = vec![];
        for (offset, value) in [
            (map::CMD_SOURCE, PACKET + 94),
            (map::CMD_LENGTH, 4 * WORDS as u32),
            (map::CMD_ADDR_LO, to),
            (map::CMD_ADDR_HI, add),
            (map::CMD_ISSUE, command::COMBINE.into()),
            (map::CMD_ISSUE, command::COMBINE.into()),
        ] {
            body.extend(li(5, value));
            body.push(sw(5, 9, offset as i32));
        }
        // The handler returns while both are under way.
        bench.program(0, &handler(&[&body[..], &[addi(A0, 0, 0), RET]].concat()));
        let mut last = vec![];
        for (offset, value) in [
            (map::CMD_SOURCE, SCRATCHPAD + 0x100),
            (map::CMD_LENGTH, 0x200),
            (map::CMD_ISSUE, command::DMA_TO_HOST.into()),
        ] {
            last.extend(li(5, value));
            last.push(sw(5, 9, offset as i32));
        }
        bench.program(0x1000, &handler(&[&last[..], &[lw(5, 9, map::CMD_WAIT as i32), RET]].concat()));
        bench.installs.push_back(3);
        bench.step();
        let mut sums = vec![0u32; WORDS];
        for frame in 0..40u64 {
            bench.stall = [0, 30][frame as usize % 2];
            let packet = random_bytes(&mut rng, 94 + 4 * WORDS);
            for (sum, word) in sums.iter_mut().zip(packet[94..].chunks(4)) {
                *sum = sum.wrapping_add(u32::from_le_bytes(word.try_into().expect("four")).wrapping_mul(2));
            }
            bench.tasks.push_back(Task {
                fields: vec![("frame", frame), ("context", 3)],
                packet: Some(packet),
                context: Context::default(),
            });
        }
        bench.run_until(40);
        let context = Context { entries: [base(map::CODE) + 0x1000; 3], ..Context::default() };
        bench.tasks.push_back(Task { fields: vec![("frame", 40), ("context", 3)], packet: None, context });
        bench.run_until(41);
        assert!(bench.done.iter().all(|done| done.cause == 0), "{:?}", bench.done);
        let mut wanted = vec![0; 0x200];
        wanted[0x23..0x23 + 4 * WORDS]
            .copy_from_slice(&sums.iter().flat_map(|sum| sum.to_le_bytes()).collect::<Vec<_>>());
        let found = &bench.transfers.last().expect("the scratchpad").data;
        let wrong = (0..0x200).find(|at| found[*at] != wanted[*at]);
        assert_eq!(wrong, None, "the first byte that is no sum");
    });
}

#[test]
fn a_combine_without_a_right_faults() {
    run_with_wave_on_failure("cluster_combine_refused", |wave| {
        let mut bench = Bench::new(wave);
        let scratch = SCRATCHPAD;
        let operation = |kind, size| operations::operation(kind, size);
        let (xor, add) = (1 << operations::CONSTANT_SHIFT, operation(operations::ADD, 2));
        let half = operation(operations::MAXU, 1);
        // The packet has 200 bytes, the scratchpad 2048, the state 0x4000. (source, length, destination, ADDR_HI, legal)
        let cases = [
            (PACKET, 200, scratch, xor, true),
            (PACKET, 201, scratch, xor, false),
            (PACKET + 199, 1, scratch + 2047, xor, true),
            (PACKET + 199, 2, scratch, xor, false),
            (PACKET, 2, scratch + 2047, xor, false),
            (PACKET, 1, scratch + 2048, xor, false),
            (PACKET, 0, scratch, xor, false),
            (scratch, 200, PACKET, xor, true),
            (scratch, 201, PACKET, xor, false),
            (scratch, 106, PACKET + 94, xor, true),
            (scratch, 107, PACKET + 94, xor, false),
            (scratch, 2048, scratch, xor, true),
            (scratch, 2049, scratch, xor, false),
            (scratch, 2047, scratch + 1, xor, true),
            (scratch, 2048, scratch + 1, xor, false),
            (STATE, 64, scratch, xor, true),
            (STATE + 0x3FFF, 1, scratch, xor, true),
            (STATE + 0x3FFF, 2, scratch, xor, false),
            (PACKET, 64, STATE, xor, false),
            (PACKET, 64, base(map::STACK), xor, false),
            (PACKET, 64, base(map::TASK), xor, false),
            (PACKET, 64, base(map::CODE), xor, false),
            (PACKET, 64, 0, xor, false),
            (PACKET, 64, scratch | 1 << 20, xor, false),
            (PACKET, 64, scratch | 1 << 27, xor, false),
            (PACKET, 64, scratch - 1, xor, false),
            (base(map::STACK), 64, scratch, xor, false),
            (base(map::CODE), 64, scratch, xor, false),
            // Whole elements at any byte.
            (PACKET + 1, 4, scratch + 3, add, true),
            (PACKET + 1, 8, scratch + 3, add, true),
            (PACKET, 1, scratch, add, false),
            (PACKET, 2, scratch, add, false),
            (PACKET, 3, scratch, add, false),
            (PACKET, 66, scratch, add, false),
            (PACKET, 66, scratch, half, true),
            (PACKET, 65, scratch, half, false),
            // Constants belong to products, which have elements of one byte; the other bits are zero.
            (PACKET, 64, scratch, operation(operations::GF, 0), true),
            (PACKET, 64, scratch, 0xFF << 8, true),
            (PACKET, 64, scratch, operation(operations::GF, 1) | xor, false),
            (PACKET, 64, scratch, operation(operations::GF, 2) | xor, false),
            (PACKET, 64, scratch, add | xor, false),
            (PACKET, 64, scratch, operation(operations::MIN, 3), false),
            (PACKET, 64, scratch, operation(operations::GF, 3), false),
            (PACKET, 64, scratch, xor | 1 << 5, false),
            (PACKET, 64, scratch, xor | 1 << 7, false),
            (PACKET, 64, scratch, xor | 1 << 16, false),
            (PACKET, 64, scratch, xor | 1 << 31, false),
        ];
        for (source, length, to, high, legal) in cases {
            let mut body = vec![];
            for (offset, value) in [
                (map::CMD_SOURCE, source),
                (map::CMD_LENGTH, length),
                (map::CMD_ADDR_LO, to),
                (map::CMD_ADDR_HI, high),
                (map::CMD_ISSUE, command::COMBINE.into()),
            ] {
                body.extend(li(5, value));
                body.push(sw(5, 9, offset as i32));
            }
            let words = handler(&[&body[..], &[lw(5, 9, map::CMD_WAIT as i32), addi(A0, 0, 0), RET]].concat());
            let what = format!("operation {high:#x}, {length} bytes from {source:#x} to {to:#x}");
            let cause = bench.cause_of(&words);
            assert_eq!(cause, if legal { 0 } else { map::FAULT_COMMAND }, "{what}");
            if !legal {
                let [_, _, address, _] = bench.faults.pop().expect("a fault is reported");
                assert_eq!(address, base(map::COMMAND) + map::CMD_ISSUE, "{what}");
            }
        }
    });
}
