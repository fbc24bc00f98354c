//! What a handler finds: arguments, task page, packet.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task, CLUSTER};
use crate::hpu_core::cluster::whole::handlers::{copy, handler, random_bytes, word, PACKET, STATE};
use rand::Rng;
use spindle_contract::memory_map::{self as map, base};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

/// Cycles from the one in the task page to the first of the handler: fewer than these, and those of the loading of a
/// packet.
const BEFORE: u32 = 64;
const LOADS: u32 = 800;

#[test]
fn a_handler_finds_its_packet_and_its_task() {
    run_with_wave_on_failure("cluster_task", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        // Arguments, task page, packet (rounded down to words), into the state.
        let mut body = vec![sw(10, 8, 0), sw(11, 8, 4), sw(12, 8, 8), addi(5, TP, 0), addi(6, 8, 16), addi(7, 0, 0x80)];
        body.extend(copy());
        body.extend([
            lw(7, TP, map::TASK_PACKET_LEN as i32),
            op_imm(7, 7, 7, -4),
            addi(5, 3, 0),
            addi(6, 8, 0x100),
            branch(0, 7, 0, 28),
        ]);
        body.extend(copy());
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
            let context = Context {
                state_base: 0x4000 * rng.random_range(0..4),
                state_size: rng.random_range(0x4000..0xF_0000),
                host: rng.random(),
                host_size: rng.random(),
                scratch_size: 64 * rng.random_range(0..=64),
                tailroom: [0, 1, rng.random_range(0..32)][rng.random_range(0..3)],
                ..Context::default()
            };
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
            // The page is written just before the handler begins.
            let began = bench.clock.wrapping_add(bench.begun.last().expect("a handler began").1) as u32;
            let before = began.wrapping_sub(word(state, 16 + map::TASK_CYCLE as usize));
            let most = if packet.is_some() { BEFORE + LOADS } else { BEFORE };
            assert!((1..most).contains(&before), "the cycle in the page is {before} before the handler's first");
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
                (map::TASK_SCRATCH_SIZE, context.scratch_size.into()),
                (
                    map::TASK_ROOM,
                    if packet.is_some() {
                        (frame_len.min(2048) + 64 * u64::from(context.tailroom)).min(2048)
                    } else {
                        0
                    },
                ),
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
