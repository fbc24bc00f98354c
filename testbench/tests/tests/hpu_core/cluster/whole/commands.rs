//! Commands of handlers: their bytes, their limits, their handles.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task, CLUSTER, HPUS};
use crate::hpu_core::cluster::whole::handlers::{handler, issue, random_bytes, word, ENTRY, PACKET, STATE};
use rand::Rng;
use spindle_contract::memory_map::{self as map, base, command};
use spindle_contract::params::SLOTS;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

#[test]
fn commands_carry_the_right_bytes() {
    run_with_wave_on_failure("cluster_commands", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        let scratch = base(map::SCRATCH);
        // Writes its frame number into the packet and sends the whole packet; fills its 128 bytes of scratchpad, by its
        // frame number, with that number, writes 100 bytes of it to the host at 16 x frame; hands the packet on; waits for
        // all; state[frame] = errors.
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
            op_imm(7, 16, 14, 31),
            op_imm(1, 16, 16, 7),
            add(15, 15, 16),
            addi(17, 15, 0),
            addi(16, 15, 128),
            sw(14, 15, 0),
            addi(15, 15, 4),
            branch(1, 15, 16, -8),
        ]);
        body.extend([
            sw(17, 9, 0),
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
                assert_eq!(word(&bench.l2, 4 * frame), 0, "nothing is under way after WAIT, and nothing failed");
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
        bench.far.answers = true;
        let scratch = base(map::SCRATCH);
        let [send, dma, place, redirect] =
            [command::SEND_PACKET, command::DMA_TO_HOST, command::PLACE, command::REDIRECT].map(u32::from);
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
            (PACKET + 32, 64, 0, send, true),
            (PACKET + 186, 14, 0, send, true),
            (PACKET + 187, 14, 0, send, false),
            (PACKET + 199, 1, 0, dma, true),
            (PACKET + 200, 1, 0, dma, false),
            (PACKET + 0x1_0000, 64, 0, send, false),
            (PACKET - 64, 64, 0, send, false),
            (scratch, 2048, 0, send, true),
            (scratch, 2049, 0, send, false),
            (scratch + 64, 1984, 0, dma, true),
            (scratch + 64, 1985, 0, dma, false),
            (scratch + 63, 1985, 0, dma, true),
            (scratch + 63, 1986, 0, dma, false),
            (scratch, 0, 0, dma, false),
            (scratch, 1, 0, dma, true),
            (scratch, 0x1_0001, 0, dma, false),
            (scratch, 64, host - 64, dma, true),
            (scratch, 64, host - 63, dma, false),
            (scratch, 1, host, dma, false),
            (scratch, 64, u32::MAX - 10, dma, false),
            // The state has 0x4000 bytes.
            (STATE, 64, 0, dma, true),
            (STATE + 0x3800, 2048, 0, send, true),
            (STATE + 0x3840, 1984, 0, dma, true),
            (STATE + 0x3840, 1985, 0, dma, false),
            (STATE + 0x3FC0, 64, 0, send, true),
            (STATE + 0x4000, 14, 0, send, false),
            (STATE + 0x10_0000, 14, 0, send, false),
            (STATE + 33, 14, 0, send, true),
            (STATE + 0x3FFF, 1, 0, dma, true),
            (STATE + 0x3FFF, 2, 0, dma, false),
            (base(map::STACK), 64, 0, send, false),
            (PACKET, 200, 0, 0, false),
            (PACKET, 200, 0, 14, false),
            (PACKET, 200, 0, 0xFF, false),
            (PACKET, 200, 0, place, true),
            // SOURCE means nothing to it, and LENGTH and ADDR need not suit the regions.
            (base(map::STACK) + 1, u32::MAX, u32::MAX, redirect, true),
            // The flag CHECKSUM is one of SEND_PACKET, from each memory; there is no other flag.
            (PACKET, 200, 0, send | map::ISSUE_CHECKSUM, true),
            (PACKET + 1, 14, 0, send | map::ISSUE_CHECKSUM, true),
            (STATE + 33, 14, 0, send | map::ISSUE_CHECKSUM, true),
            (scratch, 2048, 0, send | map::ISSUE_CHECKSUM, true),
            (PACKET, 201, 0, send | map::ISSUE_CHECKSUM, false),
            (PACKET, 200, 0, dma | map::ISSUE_CHECKSUM, false),
            (PACKET, 200, 0, place | map::ISSUE_CHECKSUM, false),
            // A task has a delay below 2^31, or is cancelled.
            (PACKET, map::TASK_CANCEL | 1, 0, redirect | map::ISSUE_TASK, false),
            (PACKET, u32::MAX, 0, redirect | map::ISSUE_TASK, false),
            // Bytes of the packet, as it was received.
            (PACKET, 200, u32::MAX, redirect | map::ISSUE_BYTES, true),
            (PACKET + 199, 1, 0, redirect | map::ISSUE_BYTES, true),
            (PACKET + 199, 2, 0, redirect | map::ISSUE_BYTES, false),
            (PACKET + 200, 1, 0, redirect | map::ISSUE_BYTES, false),
            (PACKET, 0, 0, redirect | map::ISSUE_BYTES, false),
            (PACKET - 1, 2, 0, redirect | map::ISSUE_BYTES, false),
            (PACKET + 1, u32::MAX, 0, redirect | map::ISSUE_BYTES, false),
            (scratch, 64, 0, redirect | map::ISSUE_BYTES, false),
            (STATE, 64, 0, redirect | map::ISSUE_BYTES, false),
            (PACKET, 64, 0, redirect | map::ISSUE_BYTES | map::ISSUE_TASK, false),
            (PACKET, 200, 0, place | map::ISSUE_BYTES, false),
            (PACKET, 200, 0, send | 0x10, false),
            (PACKET, 200, 0, send | 0x200, false),
            (PACKET, 200, 0, send | 0x8000_0000, false),
        ];
        for (source, length, offset, opcode, legal) in cases {
            let words =
                handler(&[issue(source, length, offset, opcode), vec![lw(5, 9, map::CMD_WAIT as i32), RET]].concat());
            let what = format!("opcode {opcode:#x}, {length} bytes from {source:#x} to offset {offset:#x}");
            let cause = bench.cause_of(&words);
            assert_eq!(cause, if legal { 0 } else { map::FAULT_COMMAND }, "{what}");
            let out = bench.egress.len() + bench.transfers.len() + bench.places.len();
            assert_eq!(out, usize::from(legal), "{what}");
            let summed = if legal && opcode & map::ISSUE_CHECKSUM != 0 { vec![7] } else { vec![] };
            assert_eq!(std::mem::take(&mut bench.summed), summed, "{what}");
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
        // Without a packet.
        for opcode in [command::PLACE, command::REDIRECT] {
            bench.program(0, &handler(&[issue(0, 0, 0, opcode), vec![RET]].concat()));
            bench.tasks.push_back(Task { fields: vec![("kind", 2)], ..Task::default() });
            bench.run_until(bench.done.len() + 1);
            assert_eq!(bench.done.last().map(|done| done.cause), Some(map::FAULT_COMMAND));
        }
    });
}

#[test]
fn handles_are_few_and_come_back() {
    run_with_wave_on_failure("cluster_handles", |wave| {
        let mut bench = Bench::new(wave);
        // As many commands as handles; their STATUS and the handle of the last; then another one, which waits for a handle.
        let most = map::COMMAND_HANDLES as u32;
        let mut body: Vec<u32> =
            (0..most).flat_map(|i| issue(base(map::SCRATCH), 64, 64 * i, command::DMA_TO_HOST)).collect();
        body.extend([lw(5, 9, 0x14), sw(5, 8, 0), lw(5, 9, 0x10), sw(5, 8, 4)]);
        body.extend(issue(base(map::SCRATCH), 64, 64 * most, command::DMA_TO_HOST));
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
            ((1 << most) - 1, most - 1, 0),
            "as many are under way as there are handles, the next one waits"
        );
        assert_eq!(bench.transfers.len(), most as usize);
        bench.host_answers = true;
        bench.run_until(1);
        assert_eq!(
            (word(&bench.l2, 8), word(&bench.l2, 12), word(&bench.l2, 16)),
            (1, 0, (1 << most) - 1),
            "all have come back, with errors"
        );
        assert_eq!(bench.transfers.len(), most as usize + 1);
        // The next handler sees nothing of it.
        bench.program(0, &handler(&[lw(A0, 9, 0x18), RET]));
        bench.tasks.push_back(Task { fields: vec![("kind", 2)], ..Task::default() });
        bench.run_until(2);
        assert_eq!(bench.done[1].code, 0);
    });
}

/// A handler waits for two commands, of which the first one fails; meanwhile the other handler of its HPU takes the handle.
#[test]
fn a_failure_is_its_handlers() {
    run_with_wave_on_failure("cluster_failures", |wave| {
        let mut bench = Bench::new(wave);
        let transfer = issue(base(map::SCRATCH), 64, 0, command::DMA_TO_HOST);
        // state[4 frame] = ERROR; state[4 frame + 1] = handle of the last command, after all have ended.
        let at = [lw(14, TP, map::TASK_FRAME as i32), op_imm(1, 14, 14, 4), add(8, 8, 14)];
        let wait = [lw(5, 9, map::CMD_WAIT as i32), lw(5, 9, map::CMD_ERROR as i32), sw(5, 8, 0)];
        let end = [lw(5, 9, map::CMD_ISSUE as i32), sw(5, 8, 4), addi(A0, 0, 0), RET];
        let twice = [&at[..], &transfer, &transfer, &wait, &end].concat();
        let once = [&at[..], &transfer, &wait, &end].concat();
        bench.program(0, &handler(&twice));
        bench.program(0x1000, &handler(&once));
        let task = |frame: usize, entry| {
            let context = Context { entries: [entry; 3], ..Context::default() };
            Task { fields: vec![("kind", 2), ("frame", frame as u64)], context, ..Task::default() }
        };
        let until = |bench: &mut Bench, transfers: usize| {
            (0..3000).for_each(|_| bench.step());
            assert_eq!(bench.transfers.len(), transfers);
        };
        // On each HPU one that waits, then one that comes meanwhile.
        bench.host_answers = false;
        bench.tasks.extend((0..HPUS).map(|frame| task(frame, ENTRY)));
        until(&mut bench, 2 * HPUS);
        let (first, second): (Vec<_>, Vec<_>) = bench.unanswered.drain(..).partition(|(_, handle)| *handle == 0);
        assert_eq!((first.len(), second.len()), (HPUS, HPUS));
        bench.unanswered.extend(first);
        (bench.host_answers, bench.host_errors) = (true, 100);
        until(&mut bench, 2 * HPUS);
        (bench.host_answers, bench.host_errors) = (false, 0);
        bench.tasks.extend((HPUS..2 * HPUS).map(|frame| task(frame, ENTRY + 0x1000)));
        until(&mut bench, 3 * HPUS);
        assert!(bench.done.is_empty() && bench.unanswered.iter().all(|(_, handle)| *handle == 0));
        bench.unanswered.extend(second);
        bench.host_answers = true;
        bench.run_until(2 * HPUS);
        for frame in 0..2 * HPUS {
            let left = (word(&bench.l2, 16 * frame), word(&bench.l2, 16 * frame + 4));
            assert_eq!(left, if frame < HPUS { (1, 1) } else { (0, 0) }, "ERROR and handle of handler {frame}");
        }
    });
}

#[test]
fn a_packet_stays_until_it_is_sent() {
    run_with_wave_on_failure("cluster_slots", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        // One handler sends and returns at once, the other only returns.
        bench.program(0, &handler(&[issue(PACKET, 1000, 0, command::SEND_PACKET), vec![RET]].concat()));
        bench.program(0x1000, &[RET]);
        for round in 0..5 {
            bench.wire_blocked = true;
            let mut packets = vec![];
            for frame in 0..36 {
                let packet = random_bytes(&mut rng, 1000);
                let entry = if frame < 4 { ENTRY } else { ENTRY + 0x1000 };
                let context = Context { entries: [entry; 3], ..Context::default() };
                bench.tasks.push_back(Task { fields: vec![("frame", frame)], context, packet: Some(packet.clone()) });
                packets.push(packet);
            }
            // All tasks end while the wire takes nothing; the slots of the four go on waiting.
            bench.run_until(36 * (round + 1));
            assert!(bench.egress.is_empty());
            bench.wire_blocked = false;
            (0..400).for_each(|_| bench.step());
            assert_eq!(bench.egress.len(), 4);
            for (frame, bytes) in bench.egress.drain(..) {
                assert!(bytes == packets[usize::from(frame)], "frame {frame} was overwritten before it was sent");
            }
        }
    });
}

#[test]
fn a_packet_is_handed_on_before_its_handler_is_done() {
    run_with_wave_on_failure("cluster_place", |wave| {
        let mut bench = Bench::new(wave);
        // The scheduler may free the packet when the handler is done, so PLACE comes first even if no one waits for it.
        bench.program(0, &handler(&[issue(0, 0, 0, command::PLACE), vec![RET]].concat()));
        for stall in [0, 50, 95] {
            bench.stall = stall;
            bench.done.clear();
            bench.places.clear();
            for frame in 0..60 {
                let fields = vec![("frame", frame), ("context", frame % 2)];
                bench.tasks.push_back(Task { fields, packet: Some(vec![0x33; 64]), ..Task::default() });
            }
            bench.run_until(60);
            assert_eq!(bench.places.len(), 60);
            for (frame, _, cycle) in &bench.places {
                let done = bench.done.iter().find(|done| done.frame == *frame).expect("every task is done");
                assert!(*cycle < done.cycle, "frame {frame} is placed in cycle {cycle}, done in {}", done.cycle);
            }
        }
    });
}

#[test]
fn every_slot_comes_back() {
    run_with_wave_on_failure("cluster_leak", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        bench.program(0, &handler(&[issue(PACKET, 64, 0, command::DMA_TO_HOST), vec![RET]].concat()));
        // This one faults with a command under way, so its slot is held by the command alone.
        bench.program(0x1000, &handler(&[issue(PACKET, 64, 0, command::DMA_TO_HOST), vec![EBREAK]].concat()));
        for round in 0..20 {
            bench.host_answers = false;
            bench.loaded = 0;
            bench.done.clear();
            for frame in 0..16 {
                let context = Context { entries: [ENTRY + 0x1000 * rng.random_range(0..2); 3], ..Context::default() };
                bench.tasks.push_back(Task { fields: vec![("frame", frame)], context, packet: Some(vec![0x44; 64]) });
            }
            // While the host does not answer, as many tasks are loaded as there are slots.
            (0..1500).for_each(|_| bench.step());
            assert_eq!(bench.loaded, SLOTS, "round {round}");
            bench.host_answers = true;
            bench.run_until(16);
        }
    });
}

#[test]
fn prints_come_out_in_order() {
    run_with_wave_on_failure("cluster_print", |wave| {
        let mut bench = Bench::new(wave);
        // Prints its frame number in 0 (nothing), 1 to 8 and 9 (eight) characters while it has a command under way; then
        // waits for that and returns.
        let mut body = issue(base(map::SCRATCH), 64, 0, command::DMA_TO_HOST);
        body.extend([lw(14, TP, map::TASK_FRAME as i32), sw(14, 9, map::CMD_ADDR_LO as i32)]);
        body.extend([
            sw(14, 9, map::CMD_ADDR_HI as i32),
            addi(15, 0, 0),
            addi(16, 0, 10),
            addi(5, 0, command::PRINT.into()),
        ]);
        body.extend([
            sw(15, 9, map::CMD_LENGTH as i32),
            sw(5, 9, map::CMD_ISSUE as i32),
            addi(15, 15, 1),
            branch(1, 15, 16, -12),
            lw(5, 9, map::CMD_WAIT as i32),
            addi(A0, 0, 0),
            RET,
        ]);
        bench.program(0, &handler(&body));
        for stall in [0, 97] {
            bench.stall = stall;
            bench.messages.clear();
            bench.done.clear();
            for frame in 0..40u64 {
                bench.tasks.push_back(Task {
                    fields: vec![("frame", 300 + frame), ("context", frame % 16)],
                    ..Task::default()
                });
            }
            bench.run_until(40);
            assert!(bench.done.iter().all(|done| done.cause == 0));
            assert_eq!(bench.messages.len(), 40 * 9, "what is printed arrives");
            for frame in 0..40u16 {
                let mine: Vec<_> = bench.messages.iter().filter(|print| print.frame == 300 + frame).collect();
                let word = u32::from(300 + frame).to_le_bytes();
                let characters = [word, word].concat();
                assert!(mine.iter().all(|print| {
                    print.context == u64::from(frame % 16)
                        && print.opcode == command::PRINT
                        && print.characters == characters
                }));
                let counts: Vec<_> = mine.iter().map(|print| print.count).collect();
                assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8, 8], "in order");
            }
        }
    });
}
