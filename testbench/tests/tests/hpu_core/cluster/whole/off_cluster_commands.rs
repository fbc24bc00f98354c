//! Commands of handlers that are done outside the cluster, and those that speak to the host.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task};
use crate::hpu_core::cluster::whole::handlers::{handler, issue, word, PACKET, STATE};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, command};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

/// Bytes of a script in the packet, after which the packet is room for bytes from the host.
pub(super) const SCRIPT: usize = 1024;
/// Words of the state that each command leaves: error, result, and its handle with the command port's STATUS after the wait.
pub(super) const LEFT: usize = 4;
/// Host offsets from here on belong to atomics.
pub(super) const COUNTERS: u32 = 0x8000;
/// Commands of a script.
pub(super) const STEPS: usize = 8;

/// A command of a script: the words of the port, ISSUE among them; STATUS is 1 if the handler waits for it before it goes
/// on.
pub(super) type Step = [u32; 16];

fn at(offset: u32) -> usize {
    offset as usize / 4
}

/// Issues the commands that its packet lists, and writes down what each left; waits for all and returns.
pub(super) fn interpreter() -> Vec<u32> {
    let arguments = [0, 1, 2, 3, 8, 10, 11, 12, 13, 14];
    // x14 = step, x15 = steps left, x16 = where to write; x17 = handle.
    let mut body = vec![lw(14, TP, map::TASK_FRAME as i32), op_imm(1, 14, 14, 7), add(16, 8, 14)];
    body.extend([addi(14, 3, 0), addi(15, 0, STEPS as i32)]);
    let mut step = vec![];
    for word in arguments {
        step.extend([lw(5, 14, 4 * word), sw(5, 9, 4 * word)]);
    }
    step.extend([lw(5, 14, map::CMD_ISSUE as i32), sw(5, 9, map::CMD_ISSUE as i32)]);
    step.extend([lw(17, 9, map::CMD_ISSUE as i32), lw(5, 14, map::CMD_STATUS as i32)]);
    // Without a wish to wait, nothing is written down.
    step.push(branch(0, 5, 0, 4 * 15));
    step.extend([sw(17, 9, map::CMD_WAIT_HANDLE as i32), lw(5, 9, map::CMD_WAIT as i32)]);
    step.extend([lw(5, 9, map::CMD_ERROR as i32), op((0, 5), 5, 5, 17), op_imm(7, 5, 5, 1), sw(5, 16, 0)]);
    step.extend([lw(5, 9, map::CMD_RESULT_LO as i32), sw(5, 16, 4), lw(5, 9, map::CMD_RESULT_HI as i32), sw(5, 16, 8)]);
    step.extend([lw(5, 9, map::CMD_STATUS as i32), op_imm(1, 5, 5, 8), op((0, 6), 5, 5, 17), sw(5, 16, 12)]);
    step.extend([addi(14, 14, 64), addi(16, 16, 4 * LEFT as i32), addi(15, 15, -1)]);
    let back = -4 * step.len() as i32;
    body.extend(step);
    body.extend([branch(1, 15, 0, back), lw(5, 9, map::CMD_WAIT as i32), addi(A0, 0, 0), RET]);
    handler(&body)
}

pub(super) fn step(opcode: u8, waits: bool, words: &[(u32, u32)]) -> Step {
    let mut step = [0; 16];
    step[at(map::CMD_ISSUE)] = opcode.into();
    step[at(map::CMD_STATUS)] = waits.into();
    words.iter().for_each(|(offset, value)| step[at(*offset)] = *value);
    step
}

/// Two reads from the host into the packet, the scratchpad or context memory, the second one of bytes among those of the first; then
/// all of them out again, or those from any one on.
fn there_and_back(rng: &mut ChaCha8Rng, frame: u32, memory: &[u8], out: &mut Vec<Sent>, steps: &mut Vec<Step>) {
    let (place, most) = match rng.random_range(0..3) {
        0 => (PACKET + SCRIPT as u32, 512),
        1 => (base(map::SCRATCH) + 128 * frame, 128),
        _ => (STATE + 0x8000 + 0x400 * frame, 1024),
    };
    let words = |at: u32, length: u32, offset: u32| {
        [(map::CMD_SOURCE, place + at), (map::CMD_LENGTH, length), (map::CMD_ADDR_LO, offset)]
    };
    let length = [14, 63, 64, 65, most - 1, most][rng.random_range(0..6)];
    let at = [0, 0, rng.random_range(0..=most - length)][rng.random_range(0..3)];
    let from = rng.random_range(0..COUNTERS - 1024);
    let mut bytes = memory[from as usize..][..length as usize].to_vec();
    steps.push(step(command::DMA_FROM_HOST, true, &words(at, length, from)));
    let count = [1, rng.random_range(1..=length), rng.random_range(1..=length.min(8))][rng.random_range(0..3)];
    let inner = rng.random_range(0..=length - count);
    let from = rng.random_range(0..COUNTERS - 1024);
    bytes[inner as usize..][..count as usize].copy_from_slice(&memory[from as usize..][..count as usize]);
    steps.push(step(command::DMA_FROM_HOST, true, &words(at + inner, count, from)));
    let skipped = if rng.random() { rng.random_range(0..length - 13) } else { 0 };
    let way = [command::SEND_PACKET, command::DMA_TO_HOST, command::PUT][rng.random_range(0..3)];
    let words = if way == command::PUT {
        let put = [(map::CMD_NODE, frame & 0xFF | 7 << 16), (map::CMD_KEY, frame), (map::CMD_OFFSET, !frame)];
        [&words(at + skipped, length - skipped, frame)[..], &put].concat()
    } else {
        words(at + skipped, length - skipped, 0).to_vec()
    };
    steps.push(step(way, true, &words));
    out.push((way, bytes.split_off(skipped as usize)));
}

#[test]
fn all_processors_at_once() {
    run_with_wave_on_failure("cluster_far", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        bench.program(0, &interpreter());
        bench.serve_far();
        bench.rings_open(0xFFFF);
        let mut from_l2 = 0;
        for stall in [0, 50, 85] {
            bench.stall = stall;
            bench.forget();
            let before = bench.far.memory.clone();
            let (mut moved, mut added, mut said, mut asked) = (vec![], vec![], vec![], vec![]);
            for frame in 0..32u32 {
                let mut steps: Vec<Step> = vec![];
                let mut out = vec![];
                while steps.len() < STEPS {
                    match rng.random_range(0..5) {
                        0 if steps.len() + 3 <= STEPS => there_and_back(&mut rng, frame, &before, &mut out, &mut steps),
                        1 => {
                            let wide = rng.random::<bool>();
                            let counter = COUNTERS + 8 * rng.random_range(0..4) + if wide { 0x100 } else { 0 };
                            let operand: u32 = rng.random();
                            let words = [
                                (map::CMD_ADDR_LO, counter),
                                (map::CMD_LENGTH, if wide { 8 } else { 4 }),
                                (map::CMD_KEY, operand),
                            ];
                            added.push((frame, steps.len(), counter, operand));
                            steps.push(step(command::HOST_ADD, true, &words));
                        }
                        2 => {
                            let opcode = [command::EVENT, command::COMPLETE][rng.random_range(0..2)];
                            let user = [rng.random(), rng.random()];
                            let words =
                                [(map::CMD_ADDR_LO, user[0]), (map::CMD_ADDR_HI, user[1]), (map::CMD_LENGTH, frame)];
                            said.push((opcode, frame, user));
                            steps.push(step(opcode, false, &words));
                        }
                        _ => {
                            let get = rng.random::<bool>();
                            let words = [
                                (map::CMD_SOURCE, 0x100 + frame),
                                (map::CMD_LENGTH, 1 + rng.random_range(0..0x8000)),
                                (map::CMD_ADDR_LO, rng.random()),
                                (map::CMD_ADDR_HI, rng.random()),
                                (map::CMD_NODE, rng.random::<u32>() & 0xFFFF_00FF),
                                (map::CMD_KEY, rng.random()),
                                (map::CMD_OTHER_LO, rng.random()),
                                (map::CMD_RESULT_LO, rng.random()),
                            ];
                            let opcode = if get { command::GET } else { command::PUT_HOST };
                            asked.push((opcode, frame, words.map(|word| word.1)));
                            steps.push(step(opcode, rng.random(), &words));
                        }
                    }
                }
                let script: Vec<u8> = steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
                let packet = [script, vec![0; SCRIPT]].concat()[..SCRIPT + 512].to_vec();
                moved.extend(out.into_iter().map(|out| (frame, out)));
                bench.tasks.push_back(Task {
                    fields: vec![("frame", frame.into()), ("context", 3), ("kind", 1)],
                    packet: Some(packet),
                    context: Context { state_size: 0x10000, ..Context::default() },
                });
            }
            bench.run_until(32);
            from_l2 += std::mem::take(&mut bench.far.stagings);
            assert!(bench.done.iter().all(|done| done.cause == 0), "{:?}", bench.done);
            check_moved(&mut bench, &moved);
            check_added(&bench, &before, &added);
            for (opcode, frame, user) in &said {
                let characters = user.map(u32::to_le_bytes).concat();
                let place = bench.messages.iter().position(|said| {
                    (said.opcode, said.frame, said.length) == (*opcode, *frame as u16, *frame)
                        && said.characters == characters
                });
                bench.messages.remove(place.expect("what is said arrives"));
            }
            assert!(bench.messages.is_empty(), "{:?}", bench.messages);
            for (opcode, frame, words) in &asked {
                let [source, length, low, high, node, key, other, reply] = *words;
                let host = Context::default().host + u64::from(source);
                let wanted = if *opcode == command::GET {
                    vec![source, length, low, high, node, key, 0, other, 0, reply]
                } else {
                    vec![host as u32, length, low, high, node, key, 0, (host >> 32) as u32]
                };
                let place = bench.far.puts.iter().position(|put| {
                    (put.opcode, put.frame, put.context) == (*opcode, *frame as u16, 3) && put.words == wanted
                });
                bench.far.puts.remove(place.expect("what is asked arrives"));
            }
            assert!(bench.far.puts.is_empty() && bench.far.ends.is_empty(), "nothing else comes");
        }
        assert!(from_l2 > 15, "{from_l2} commands from L2");
    });
}

/// On which way bytes that a handler read from the host went out again.
type Sent = (u8, Vec<u8>);

/// What came from the host went out as it was, by frame.
fn check_moved(bench: &mut Bench, moved: &[(u32, Sent)]) {
    for (frame, (way, bytes)) in moved {
        let found = match *way {
            command::SEND_PACKET => {
                let place = bench.egress.iter().position(|sent| u32::from(sent.0) == *frame && sent.1 == *bytes);
                place.map(|place| drop(bench.egress.remove(place)))
            }
            command::DMA_TO_HOST => {
                let place = bench.transfers.iter().position(|t| u32::from(t.frame) == *frame && t.data == *bytes);
                place.map(|place| drop(bench.transfers.remove(place)))
            }
            _ => {
                // The payloads come in the order of the puts.
                let order: Vec<_> =
                    (0..bench.far.puts.len()).filter(|i| bench.far.puts[*i].opcode == command::PUT).collect();
                let place = (0..order.len()).find(|i| {
                    let put = &bench.far.puts[order[*i]];
                    let words = [bytes.len() as u32, *frame, 0, frame & 0xFF | 7 << 16, *frame, !*frame];
                    u32::from(put.frame) == *frame && put.words[1..] == words && bench.far.payloads[*i] == *bytes
                });
                place.map(|place| {
                    bench.far.puts.remove(order[place]);
                    bench.far.payloads.remove(place);
                })
            }
        };
        assert!(found.is_some(), "{} bytes of frame {frame} by command {way}", bytes.len());
    }
    assert!(bench.egress.is_empty() && bench.transfers.is_empty() && bench.far.payloads.is_empty());
}

/// Sums are whole, and each handler was given what was there before its own.
fn check_added(bench: &Bench, before: &[u8], added: &[(u32, usize, u32, u32)]) {
    let mut given: Vec<(u64, u64)> = added
        .iter()
        .map(|(frame, index, counter, _)| {
            let left = |i: usize| u64::from(word(&bench.l2, 128 * *frame as usize + 16 * index + 4 * i));
            assert_eq!(left(0), 0, "no error");
            (u64::from(*counter), left(2) << 32 | left(1))
        })
        .collect();
    let mut seen = bench.far.atomics.clone();
    given.sort_unstable();
    seen.sort_unstable();
    assert_eq!(given, seen, "results go to those who asked");
    for counter in (COUNTERS..COUNTERS + 0x200).step_by(8) {
        let wide = counter >= COUNTERS + 0x100;
        let value = |memory: &[u8]| {
            let bytes = memory[counter as usize..][..8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes) & if wide { u64::MAX } else { u32::MAX.into() }
        };
        let sum = added.iter().filter(|a| a.2 == counter).fold(value(before), |sum, a| sum.wrapping_add(a.3.into()));
        assert_eq!(value(&bench.far.memory), if wide { sum } else { sum & 0xFFFF_FFFF }, "counter {counter:#x}");
    }
}

#[test]
fn errors_reach_the_handler() {
    run_with_wave_on_failure("cluster_far_errors", |wave| {
        let mut bench = Bench::new(wave);
        bench.program(0, &interpreter());
        bench.serve_far();
        bench.far.errors = 100;
        let words = [(map::CMD_SOURCE, base(map::SCRATCH)), (map::CMD_LENGTH, 8), (map::CMD_ADDR_LO, COUNTERS)];
        let opcodes = [command::DMA_FROM_HOST, command::HOST_ADD, command::PUT, command::GET];
        let steps: Vec<_> = (0..STEPS).map(|i| step(opcodes[i % 4], true, &words)).collect();
        let packet = steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        bench.tasks.push_back(Task { packet: Some(packet), ..Task::default() });
        bench.run_until(1);
        for index in 0..STEPS {
            assert_eq!(word(&bench.l2, 16 * index), 1, "command {index} failed");
            assert_eq!(word(&bench.l2, 16 * index + 4), 0, "and has no result");
        }
    });
}

#[test]
fn without_a_right_they_fault() {
    run_with_wave_on_failure("cluster_far_refused", |wave| {
        let mut bench = Bench::new(wave);
        bench.serve_far();
        let scratch = base(map::SCRATCH);
        let host = Context::default().host_size;
        let (read, add, swap) = (command::DMA_FROM_HOST, command::HOST_ADD, command::HOST_CAS);
        // The packet has 200 bytes, the scratchpad 2048. (source, length, host offset, opcode, legal)
        let cases = [
            (PACKET, 200, 0, read, true),
            (PACKET, 201, 0, read, false),
            (PACKET + 8, 192, 0, read, true),
            (PACKET + 8, 193, 0, read, false),
            (PACKET + 199, 1, 0, read, true),
            (PACKET + 199, 2, 0, read, false),
            (PACKET + 200, 1, 0, read, false),
            (PACKET - 1, 2, 0, read, false),
            (scratch + 1984, 64, host - 64, read, true),
            (scratch + 1984, 65, 0, read, false),
            (scratch + 1, 2047, 1, read, true),
            (scratch + 1, 2048, 1, read, false),
            (scratch + 2047, 1, host - 1, read, true),
            (scratch + 2047, 2, 0, read, false),
            (scratch + 2048, 1, 0, read, false),
            (scratch - 1, 2, 0, read, false),
            (scratch + 3, 64, host - 63, read, false),
            (scratch + 3, 1, host, read, false),
            (scratch + 3, 2, u32::MAX, read, false),
            (scratch, 64, host - 63, read, false),
            (scratch, 0, 0, read, false),
            (base(map::STACK), 64, 0, read, false),
            (base(map::STACK) + 5, 1, 0, read, false),
            (STATE + 0x3FC0, 64, 0, read, true),
            (STATE + 0x3FC0, 65, 0, read, false),
            (STATE + 0x3FC1, 63, 0, read, true),
            (STATE + 0x3FC1, 64, 0, read, false),
            (STATE + 0x3FFF, 1, 0, read, true),
            (STATE + 0x3FFF, 2, 0, read, false),
            (STATE + 0x4000, 1, 0, read, false),
            (STATE - 1, 2, 0, read, false),
            (STATE + 0x3FC0, 64, 0, command::PUT, true),
            (STATE + 0x3FC0, 65, 0, command::PUT, false),
            (STATE + 8, 64, 0, read, true),
            (base(map::CODE), 64, 0, read, false),
            (0, 8, host - 8, add, true),
            (0, 8, host - 4, add, false),
            (0, 4, host - 4, swap, true),
            (0, 4, host, swap, false),
            (0, 4, 2, add, false),
            (0, 8, 4, swap, false),
            (0, 2, 0, add, false),
            (host - 1, 1, 0, command::PUT_HOST, true),
            (host - 1, 2, 0, command::PUT_HOST, false),
            (0, host, 0, command::PUT_HOST, true),
            (0, host + 1, 0, command::PUT_HOST, false),
            (1, u32::MAX, 0, command::PUT_HOST, false),
            (0, 0, 0, command::PUT_HOST, false),
            (STATE + 4, 64, 0, command::PUT_CONTEXT, true),
            (STATE + 3, 64, 0, command::PUT_CONTEXT, true),
            (STATE + 0x3FFF, 1, 0, command::PUT_CONTEXT, true),
            (STATE + 0x3FFF, 2, 0, command::PUT_CONTEXT, false),
            (STATE + 0x3FFC, 4, 0, command::PUT_CONTEXT, true),
            (STATE + 0x3FFC, 5, 0, command::PUT_CONTEXT, false),
            (STATE, 0x4000, 0, command::PUT_CONTEXT, true),
            (STATE, 0x4001, 0, command::PUT_CONTEXT, false),
            (STATE, u32::MAX, 0, command::PUT_CONTEXT, false),
            (STATE, 0, 0, command::PUT_CONTEXT, false),
            (STATE | 0x10_0000, 4, 0, command::PUT_CONTEXT, false),
            (STATE | 0x800_0000, 4, 0, command::PUT_CONTEXT, false),
            (scratch, 64, 0, command::PUT_CONTEXT, false),
            (PACKET, 64, 0, command::PUT_CONTEXT, false),
            (0, 4, 0, command::PUT_CONTEXT, false),
            (0, 0, 0, command::GET, false),
            (0, u32::MAX, 0, command::GET, true),
            (scratch + 1984, 64, 0, command::PUT, true),
            (scratch + 1984, 65, 0, command::PUT, false),
            (0, 0, 0, command::EVENT, false),
            (0, 0, 0, command::COMPLETE, false),
        ];
        for (source, length, offset, opcode, legal) in cases {
            let words =
                handler(&[issue(source, length, offset, opcode), vec![lw(5, 9, map::CMD_WAIT as i32), RET]].concat());
            let counts = |bench: &Bench| (bench.far.puts.len(), bench.far.atomics.len(), bench.far.reads);
            let before = counts(&bench);
            let what = format!("opcode {opcode}, {length} bytes, source {source:#x}, offset {offset:#x}");
            let cause = bench.cause_of(&words);
            assert_eq!(cause, if legal { 0 } else { map::FAULT_COMMAND }, "{what}");
            assert!(legal || before == counts(&bench), "{what}");
        }
    });
}
