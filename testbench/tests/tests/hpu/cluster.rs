//! The cluster: what a handler finds, commands, many tasks at once, faults beside them.

use crate::assembler::*;
use crate::cluster_bench::{Bench, Context, Task, CLUSTER, HPUS};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, command, FAULT_LOAD, FAULT_WATCHDOG};
use spindle_harness::run_with_wave_on_failure;

const PACKET: u32 = base(map::PACKET);
const STATE: u32 = base(map::CONTEXT);
const ENTRY: u32 = base(map::CODE);

fn random_bytes(rng: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    (0..count).map(|_| rng.random()).collect()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// x8 = state, x9 = command port, x3 = packet; then the body.
fn handler(body: &[u32]) -> Vec<u32> {
    [&[lui(8, STATE >> 12), lui(9, base(map::COMMAND) >> 12), lui(3, PACKET >> 12)], body].concat()
}

/// Copies x7 bytes, a multiple of 4, from x5 to x6.
const COPY: fn() -> [u32; 6] =
    || [lw(28, 5, 0), sw(28, 6, 0), addi(5, 5, 4), addi(6, 6, 4), addi(7, 7, -4), branch(1, 7, 0, -20)];

#[test]
fn a_handler_finds_its_packet_and_its_task() {
    run_with_wave_on_failure("cluster_task", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        // Arguments, task page, packet (rounded down to words), into the state.
        let mut body = vec![sw(10, 8, 0), sw(11, 8, 4), sw(12, 8, 8), addi(5, TP, 0), addi(6, 8, 16), addi(7, 0, 0x74)];
        body.extend(COPY());
        body.extend([
            lw(7, TP, map::TASK_PACKET_LEN as i32),
            op_imm(7, 7, 7, -4),
            addi(5, 3, 0),
            addi(6, 8, 0x100),
            branch(0, 7, 0, 28),
        ]);
        body.extend(COPY());
        body.push(RET);
        bench.program(0, &handler(&body));
        for round in 0..60u64 {
            bench.stall = [0, 30, 80][round as usize % 3];
            let kind = round / 3 % 3;
            let length = [14, 60, 63, 64, 65, 128, 1514, 2047, 2048, 2049, 9216][rng.random_range(0..11)];
            let packet = (kind != 2).then(|| random_bytes(&mut rng, length));
            let widths = [
                ("context", 4),
                ("msg_slot", 8),
                ("frame", 16),
                ("stamp", 32),
                ("l3_offset", 6),
                ("payload_offset", 7),
                ("payload_len", 16),
                ("opcode", 8),
                ("src_nid", 32),
                ("src_pid", 16),
                ("dst_pid", 16),
                ("addr", 64),
                ("msg_id", 32),
                ("msg_len", 32),
                ("msg_off", 32),
                ("buf_off", 32),
                ("dropped_bytes", 32),
                ("flow_control", 1),
            ];
            let mut fields: Vec<_> = widths.map(|(name, width)| (name, rng.random::<u64>() >> (64 - width))).to_vec();
            fields.push(("kind", kind));
            let get = |name: &str| fields.iter().find(|f| f.0 == name).expect("it is there").1;
            let context = Context { state_base: 0x4000 * rng.random_range(0..4), ..Context::default() };
            bench.tasks.push_back(Task { fields: fields.clone(), context, packet: packet.clone() });
            let before = bench.done.len();
            bench.run_until(before + 1);
            let done = bench.done[before];
            let code = if kind == 2 { get("dropped_bytes") as u8 } else { base(map::TASK) as u8 };
            assert_eq!((done.frame, done.cause, done.code), (get("frame") as u16, 0, code));
            let state = &bench.l2[context.state_base as usize..];
            let arguments = if kind == 2 {
                [get("dropped_bytes") as u32, get("flow_control") as u32, STATE]
            } else {
                [base(map::TASK), STATE, 0]
            };
            assert_eq!([word(state, 0), word(state, 4), word(state, 8)], arguments);
            let frame_len = packet.as_ref().map_or(0, Vec::len) as u64;
            let in_packet = |offset: u64| if packet.is_some() { u64::from(PACKET) | offset } else { 0 };
            let hpu = bench.begun.last().expect("a handler began").0 as u64;
            let expected = [
                (map::TASK_KIND, kind),
                (map::TASK_PACKET, in_packet(0)),
                (map::TASK_PACKET_LEN, frame_len.min(2048)),
                (map::TASK_FRAME_LEN, frame_len),
                (map::TASK_PAYLOAD, in_packet(get("payload_offset"))),
                (map::TASK_PAYLOAD_LEN, get("payload_len")),
                (map::TASK_L3, in_packet(get("l3_offset"))),
                (map::TASK_OPCODE, get("opcode")),
                (map::TASK_SRC_NID, get("src_nid")),
                (map::TASK_SRC_PID, get("src_pid")),
                (map::TASK_DST_PID, get("dst_pid")),
                (map::TASK_ADDR_LO, get("addr") & 0xFFFF_FFFF),
                (map::TASK_ADDR_HI, get("addr") >> 32),
                (map::TASK_MSG_ID, get("msg_id")),
                (map::TASK_MSG_LEN, get("msg_len")),
                (map::TASK_MSG_OFF, get("msg_off")),
                (map::TASK_BUF_OFF, get("buf_off")),
                (map::TASK_CONTEXT, get("context")),
                (map::TASK_CLUSTER, CLUSTER),
                (map::TASK_HPU, hpu),
                (map::TASK_MSG_SLOT, get("msg_slot")),
                (map::TASK_FRAME, get("frame")),
                (map::TASK_STAMP, get("stamp")),
                (map::TASK_DROPPED, get("dropped_bytes")),
                (map::TASK_FLOW, get("flow_control")),
                (map::TASK_STATE_SIZE, context.state_size.into()),
                (map::TASK_HOST_LO, context.host & 0xFFFF_FFFF),
                (map::TASK_HOST_HI, context.host >> 32),
                (map::TASK_HOST_SIZE, context.host_size.into()),
            ];
            for (offset, value) in expected {
                assert_eq!(
                    u64::from(word(state, 16 + offset as usize)),
                    value,
                    "word {offset:#x} of the task page, kind {kind}"
                );
            }
            if let Some(packet) = packet {
                let words = packet.len().min(2048) & !3;
                assert!(state[0x100..][..words] == packet[..words], "a packet of {length} bytes");
            }
        }
    });
}

/// A command, in the body of a handler: source, length, host offset, opcode.
fn issue(source: u32, length: u32, offset: u32, opcode: u8) -> Vec<u32> {
    let mut words = vec![];
    for (value, at) in [
        (source, map::CMD_SOURCE),
        (length, map::CMD_LENGTH),
        (offset, map::CMD_ADDR_LO),
        (opcode.into(), map::CMD_ISSUE),
    ] {
        words.extend(li(5, value));
        words.push(sw(5, 9, at as i32));
    }
    words
}

#[test]
fn commands_carry_the_right_bytes() {
    run_with_wave_on_failure("cluster_commands", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        let scratch = base(map::SCRATCH);
        // Writes its frame number into the packet and sends the whole packet; fills its scratchpad with the frame number, writes 100 bytes of it to
        // the host at 16 x frame; hands the packet on; waits for all; state[frame] = errors.
        let mut body = vec![lw(14, TP, map::TASK_FRAME as i32), store(SH, 14, 3, 0)];
        body.extend(li(5, PACKET));
        body.extend([
            sw(5, 9, 0),
            lw(5, TP, map::TASK_PACKET_LEN as i32),
            sw(5, 9, 4),
            addi(5, 0, command::SEND_PACKET.into()),
            sw(5, 9, 0x10),
        ]);
        body.extend([
            lui(15, scratch >> 12),
            addi(16, 15, 128),
            sw(14, 15, 64),
            addi(15, 15, 4),
            branch(1, 15, 16, -8),
        ]);
        body.extend(li(5, scratch + 64));
        body.extend([
            sw(5, 9, 0),
            addi(5, 0, 100),
            sw(5, 9, 4),
            op_imm(1, 5, 14, 4),
            sw(5, 9, 8),
            addi(5, 0, command::DMA_TO_HOST.into()),
            sw(5, 9, 0x10),
        ]);
        body.extend([addi(5, 0, command::PLACE.into()), sw(5, 9, 0x10), lw(5, 9, map::CMD_WAIT as i32)]);
        body.extend([
            lw(6, 9, map::CMD_STATUS as i32),
            lw(7, 9, map::CMD_ERROR as i32),
            op_imm(1, 5, 14, 2),
            add(5, 5, 8),
        ]);
        body.extend([op_imm(1, 6, 6, 8), op((0, 6), 7, 7, 6), sw(7, 5, 0), addi(A0, 0, 0), RET]);
        bench.program(0, &handler(&body));
        for stall in [0, 50, 90] {
            bench.stall = stall;
            bench.l2.fill(0xAA);
            let mut packets = vec![];
            for frame in 0..40u16 {
                let length = rng.random_range(14..1600);
                let packet = random_bytes(&mut rng, length);
                let fields = vec![
                    ("frame", frame.into()),
                    ("context", u64::from(frame % 2)),
                    ("kind", 1),
                    ("payload_len", packet.len() as u64),
                ];
                bench.tasks.push_back(Task { fields, packet: Some(packet.clone()), ..Task::default() });
                packets.push(packet);
            }
            bench.run_until(bench.done.len() + 40);
            assert!(
                bench.done.iter().all(|done| done.cause == 0),
                "{:?}",
                bench.done.iter().find(|done| done.cause != 0)
            );
            for (frame, mut packet) in packets.into_iter().enumerate() {
                packet[..2].copy_from_slice(&(frame as u16).to_le_bytes());
                let sent: Vec<_> = bench.egress.iter().filter(|sent| usize::from(sent.0) == frame).collect();
                assert!(
                    sent.len() == 1 && sent[0].1 == packet,
                    "frame {frame} was sent {} times, or wrong",
                    sent.len()
                );
                let written: Vec<_> = bench.transfers.iter().filter(|t| usize::from(t.frame) == frame).collect();
                assert_eq!(written.len(), 1, "transfers of frame {frame}");
                assert_eq!(written[0].address, Context::default().host + 16 * frame as u64);
                let data: Vec<u8> = (frame as u32).to_le_bytes().repeat(32)[..100].to_vec();
                assert_eq!(written[0].data[..64], data[..64], "transfer of frame {frame}");
                assert_eq!(written[0].data.len(), 100);
                let placed: Vec<_> = bench.places.iter().filter(|place| usize::from(place.0) == frame).collect();
                let done = bench.done.iter().find(|done| usize::from(done.frame) == frame).expect("it is done");
                assert!(placed.len() == 1 && placed[0].2 < done.cycle, "frame {frame} is placed once, before its end");
                assert_eq!(word(&bench.l2, 4 * frame), 0, "nothing is under way behind WAIT, and nothing failed");
            }
            bench.egress.clear();
            bench.transfers.clear();
            bench.places.clear();
            bench.done.clear();
        }
    });
}

#[test]
fn commands_without_a_right_fault() {
    run_with_wave_on_failure("cluster_refused", |wave| {
        let mut bench = Bench::new(wave);
        let scratch = base(map::SCRATCH);
        let (send, dma) = (command::SEND_PACKET, command::DMA_TO_HOST);
        let host = Context::default().host_size;
        // The packet has 200 bytes. (source, length, host offset, opcode, legal)
        let cases = [
            (PACKET, 200, 0, send, true),
            (PACKET, 201, 0, send, false),
            (PACKET + 64, 136, 0, send, true),
            (PACKET + 64, 137, 0, send, false),
            (PACKET + 192, 14, 0, send, false),
            (PACKET, 13, 0, send, false),
            (PACKET, 14, 0, send, true),
            (PACKET + 32, 64, 0, send, false),
            (PACKET + 0x1_0000, 64, 0, send, false),
            (PACKET - 64, 64, 0, send, false),
            (scratch, 2048, 0, send, true),
            (scratch, 2049, 0, send, false),
            (scratch + 64, 1984, 0, dma, true),
            (scratch + 64, 1985, 0, dma, false),
            (scratch, 0, 0, dma, false),
            (scratch, 1, 0, dma, true),
            (scratch, 0x1_0001, 0, dma, false),
            (scratch, 64, host - 64, dma, true),
            (scratch, 64, host - 63, dma, false),
            (scratch, 1, host, dma, false),
            (scratch, 64, u32::MAX - 10, dma, false),
            (STATE, 64, 0, dma, false),
            (base(map::STACK), 64, 0, send, false),
            (PACKET, 200, 0, 0, false),
            (PACKET, 200, 0, 4, false),
            (PACKET, 200, 0, 0xFF, false),
            (PACKET, 200, 0, command::PLACE, true),
        ];
        for (source, length, offset, opcode, legal) in cases {
            let words =
                handler(&[issue(source, length, offset, opcode), vec![lw(5, 9, map::CMD_WAIT as i32), RET]].concat());
            bench.program(0, &words);
            bench.tasks.push_back(Task {
                fields: vec![("frame", 7), ("context", 3)],
                packet: Some(vec![0x55; 200]),
                ..Task::default()
            });
            bench.run_until(bench.done.len() + 1);
            let what = format!("opcode {opcode}, {length} bytes from {source:#x} to offset {offset:#x}");
            let cause = bench.done.last().expect("it is done").cause;
            assert_eq!(cause, if legal { 0 } else { map::FAULT_COMMAND }, "{what}");
            let out = bench.egress.len() + bench.transfers.len() + bench.places.len();
            assert_eq!(out, usize::from(legal), "{what}");
            if !legal {
                let [who, pc, address, frame] = bench.faults.pop().expect("a fault is reported");
                assert_eq!(who & 0xF0, 0x30, "the context");
                assert_eq!(who >> 16 & 0xFF, CLUSTER as u32);
                assert_eq!(
                    (pc, address),
                    (ENTRY + 4 * (words.len() as u32 - 3), base(map::COMMAND) + map::CMD_ISSUE),
                    "{what}"
                );
                assert_eq!(frame & 0xFFFF, 7);
            }
            bench.egress.clear();
            bench.transfers.clear();
            bench.places.clear();
        }
        // A PLACE without a packet.
        bench.program(0, &handler(&[issue(0, 0, 0, command::PLACE), vec![RET]].concat()));
        bench.tasks.push_back(Task { fields: vec![("kind", 2)], ..Task::default() });
        bench.run_until(bench.done.len() + 1);
        assert_eq!(bench.done.last().map(|done| done.cause), Some(map::FAULT_COMMAND));
    });
}

#[test]
fn handles_are_few_and_come_back() {
    run_with_wave_on_failure("cluster_handles", |wave| {
        let mut bench = Bench::new(wave);
        // Four commands; their STATUS and the handle of the last; then a fifth, which waits for a handle.
        let mut body: Vec<u32> =
            (0..4).flat_map(|i| issue(base(map::SCRATCH), 64, 64 * i, command::DMA_TO_HOST)).collect();
        body.extend([lw(5, 9, 0x14), sw(5, 8, 0), lw(5, 9, 0x10), sw(5, 8, 4)]);
        body.extend(issue(base(map::SCRATCH), 64, 256, command::DMA_TO_HOST));
        body.extend([
            addi(5, 0, 1),
            sw(5, 8, 8),
            lw(5, 9, map::CMD_WAIT as i32),
            lw(5, 9, 0x14),
            sw(5, 8, 12),
            lw(5, 9, 0x18),
            sw(5, 8, 16),
            RET,
        ]);
        bench.program(0, &handler(&body));
        bench.host_answers = false;
        bench.host_errors = 100;
        bench.tasks.push_back(Task { fields: vec![("kind", 2)], ..Task::default() });
        (0..3000).for_each(|_| bench.step());
        assert_eq!(
            (word(&bench.l2, 0), word(&bench.l2, 4), word(&bench.l2, 8)),
            (0xF, 3, 0),
            "four are under way, the fifth waits"
        );
        assert_eq!(bench.transfers.len(), 4);
        bench.host_answers = true;
        bench.run_until(1);
        assert_eq!(
            (word(&bench.l2, 8), word(&bench.l2, 12), word(&bench.l2, 16)),
            (1, 0, 0xF),
            "all have come back, with errors"
        );
        assert_eq!(bench.transfers.len(), 5);
        // The next handler sees nothing of it.
        bench.program(0, &handler(&[lw(A0, 9, 0x18), RET]));
        bench.tasks.push_back(Task { fields: vec![("kind", 2)], ..Task::default() });
        bench.run_until(2);
        assert_eq!(bench.done[1].code, 0);
    });
}

/// Entries of the programs of [`many_tasks_side_by_side`].
const COUNTS: u32 = 0;
const LOOPS: u32 = 0x1000;
const STRAYS: u32 = 0x2000;
const SENDS: u32 = 0x3000;

#[test]
fn many_tasks_side_by_side() {
    run_with_wave_on_failure("cluster_many", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        // Sums its packet's words through L1 and L2: x14 = frame; 20 rounds of x = 5 x + word, kept in stack and state in turn.
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
        bench.program(STRAYS, &handler(&[addi(6, 0, 4), lw(5, 8, -1), RET]));
        // Sends and returns at once: the slot stays in use until the bytes are out.
        let mut sends = issue(PACKET, 100, 0, command::SEND_PACKET);
        sends.extend([addi(A0, 0, 0), RET]);
        bench.program(SENDS, &handler(&sends));
        let mut expected = vec![];
        for frame in 0..1000u16 {
            let entry = [COUNTS, COUNTS, COUNTS, SENDS, SENDS, STRAYS, LOOPS][rng.random_range(0..7)];
            let length = rng.random_range(100..600);
            let packet = random_bytes(&mut rng, length);
            let context = Context {
                entries: [ENTRY + entry; 3],
                watchdog: if entry == LOOPS { 500 } else { 200_000 },
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
        assert_eq!(bench.free_hpus(), 2 * HPUS as u64, "all room is free again");
    });
}

/// Cycles from an accepted task without a packet to its first fetch.
const FIRST: u64 = 3;

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
        // Every HPU has scrubbed its memory for this context.
        bench.tasks.extend((0..8).map(|_| task(None)));
        bench.run_until(8);
        // From the cycle in which the task is accepted to the first fetch. The bench answers a read request in the cycle after it.
        for (packet, cycles) in [(None, FIRST), (Some(64), FIRST + 2), (Some(128), FIRST + 3), (Some(2048), FIRST + 33)]
        {
            bench.tasks.push_back(task(packet));
            let accepted = bench.model.cycle();
            bench.run_until(bench.done.len() + 1);
            assert_eq!(bench.begun.last().expect("it began").1 - accepted, cycles, "a packet of {packet:?} bytes");
        }
    });
}

#[test]
fn a_context_finds_nothing_of_another() {
    run_with_wave_on_failure("cluster_scrub", |wave| {
        let mut bench = Bench::new(wave);
        // Fills stack and scratchpad. The other ORs all their words together and stores the result by its frame number.
        let regions =
            [lui(5, base(map::SCRATCH) >> 12), lui(6, base(map::STACK) >> 12), addi(7, 0, 512), addi(14, 0, -1)];
        let walk = |words: [u32; 2]| {
            let step = [addi(5, 5, 4), addi(6, 6, 4), addi(7, 7, -1), branch(1, 7, 0, -20)];
            [&words[..], &step].concat()
        };
        let fill = [&regions[..], &walk([sw(14, 5, 0), sw(14, 6, 0)]), &[RET]].concat();
        let gather = |region: u32| [lw(15, region, 0), op((0, 6), 16, 16, 15)];
        let regions = |words: [u32; 2]| [&regions[..], &walk(words)].concat();
        let store = [lw(14, TP, map::TASK_FRAME as i32), op_imm(1, 14, 14, 2), add(14, 14, 8), sw(16, 14, 0), RET];
        bench.program(0, &fill);
        bench.program(0x1000, &handler(&[regions(gather(5)), regions(gather(6)), store.to_vec()].concat()));
        let task = |context: u64, frame: u64, entry: u32| Task {
            fields: vec![("kind", 2), ("context", context), ("frame", frame)],
            context: Context { entries: [ENTRY + entry; 3], ..Context::default() },
            packet: None,
        };
        for round in 0..4 {
            bench.stall = 20 * round;
            bench.l2.fill(0xAA);
            let context = u64::from(2 * round);
            bench.tasks.extend((0..8).map(|frame| task(context, frame, 0)));
            bench.run_until(bench.done.len() + 8);
            bench.tasks.extend((0..8).map(|frame| task(context + 1, frame, 0x1000)));
            bench.run_until(bench.done.len() + 8);
            assert!(bench.done.iter().all(|done| done.cause == 0));
            for frame in 0..8 {
                assert_eq!(word(&bench.l2, 4 * frame), 0, "what handler {frame} found");
            }
        }
        // Handlers of one context are not told apart: what the first leaves is there, so the test would see it.
        bench.stall = 0;
        bench.tasks.extend((0..8).map(|frame| task(9, frame, 0)));
        bench.run_until(bench.done.len() + 8);
        bench.tasks.extend((0..8).map(|frame| task(9, frame, 0x1000)));
        bench.run_until(bench.done.len() + 8);
        assert!((0..8).all(|frame| word(&bench.l2, 4 * frame) == u32::MAX));
    });
}
