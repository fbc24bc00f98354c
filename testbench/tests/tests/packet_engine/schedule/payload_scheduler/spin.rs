//! The rules of `docs/spin.md`, one at a time.

use crate::packet_engine::intake::set_packet;
use crate::packet_engine::schedule::payload_scheduler::bench::{packet, Bench};
use spindle_blocks::desc::{Command, ContextPolicy, EventDesc, PacketDesc, PlacementDesc};
use spindle_contract::descriptors::{action, kind, overload};
use spindle_contract::events::message as ended;
use spindle_contract::params::Config;
use spindle_contract::{memory_map as code, reasons};
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_verilog::prelude::bits;

const HEADER: u64 = 1;
const PAYLOAD: u64 = 2;
const COMPLETION: u64 = 4;

/// A bench whose contexts have these limits.
fn limited(wave: &WaveContext, mask: u64, policy: ContextPolicy) -> Bench {
    Bench::with_policy(wave, Config::SIM, mask, &policy)
}

/// Packet `pkt` with 50 of the 150 bytes of message `id` of context 1.
fn third(pkt: u64, id: u64) -> PacketDesc {
    packet(pkt, action::CONTEXT, 1, id, 50, 150)
}

/// A packet of `id` that is a message of context 1.
fn whole(pkt: u64, id: u64) -> PacketDesc {
    packet(pkt, action::CONTEXT, 1, id, 50, 50)
}

#[test]
fn one_event_per_cycle_of_one_message() {
    const PACKETS: u64 = 48;
    run_with_wave_on_failure("one_event_per_cycle_of_one_message", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, PAYLOAD);
        bench.dut.packet.valid.set(true);
        for pkt in 0..PACKETS {
            set_packet(&bench.dut, &packet(pkt, action::CONTEXT, 1, 7, 50, 50 * PACKETS));
            bench.dut.eval();
            assert!(bench.dut.packet.ready.is_high(), "packet {pkt} waits");
            bench.cycle();
        }
        bench.dut.packet.valid.set(false);
        bench.cycles(2 * PACKETS as usize);
        let tasks: Vec<(u8, u64)> = (0..PACKETS).map(|pkt| (kind::PAYLOAD, pkt)).collect();
        assert_eq!(bench.asked(), tasks);
        bench.dut.task_done.valid.set(true);
        for pkt in 0..PACKETS {
            let mut done = bench.done(kind::PAYLOAD, bench.tasks[0].msg_slot.to_u64(), pkt, code::SPIN_DROP);
            done.context = bits(1);
            bench.dut.task_done.set(done);
            bench.dut.eval();
            assert!(bench.dut.task_done.ready.is_high(), "the end of task {pkt} waits");
            bench.cycle();
        }
        bench.dut.task_done.valid.set(false);
        bench.cycles(12);
        assert_eq!(bench.freed, (0..PACKETS).collect::<Vec<u64>>());
        assert_eq!(bench.events.len(), 1);
        let event = &bench.events[0];
        assert_eq!((event.code.to_u64(), event.extra.to_u64()), (ended::DONE as u64, 50 * PACKETS));
        assert_eq!(bench.dut.counts.messages_open.number(), 0);
    });
}

#[test]
fn an_event_says_how_a_message_ended() {
    run_with_wave_on_failure("an_event_says_how_a_message_ended", |wave| {
        let mut bench = limited(wave, HEADER | COMPLETION, ContextPolicy { pid: bits(41), ..ContextPolicy::default() });
        for (id, value, completion, expected) in [
            (1, code::SPIN_PROCESS_DATA, Some(code::SPIN_SUCCESS), Some(ended::DONE)),
            (2, code::SPIN_PROCESS_DATA, Some(code::SPIN_FAIL), Some(ended::FAILED)),
            (3, code::SPIN_PROCESS_DATA, Some(code::SPIN_SUCCESS_PENDING), None),
            (4, code::SPIN_PROCESS_DATA_PENDING, Some(code::SPIN_SUCCESS), None),
            (5, code::SPIN_PROCESS_DATA_PENDING, Some(code::SPIN_FAIL), Some(ended::FAILED)),
            (6, code::SPIN_DROP, None, Some(ended::DROPPED)),
            (7, code::SPIN_DROP_PENDING, None, None),
            (8, code::SPIN_FAIL, None, Some(ended::FAILED)),
            (9, 77, None, Some(ended::FAILED)),
        ] {
            let mut word = whole(id, id);
            (word.src_nid, word.addr) = (bits(1000 + id), bits(2000 + id));
            bench.send(&word);
            let slot = bench.tasks.last().expect("a header handler").msg_slot.to_u64();
            bench.ends(kind::HEADER, slot, id, value);
            if let Some(value) = completion {
                bench.ends(kind::COMPLETION, slot, id, value);
            }
            let Some(expected) = expected else {
                assert!(bench.events.is_empty(), "message {id} is pending");
                continue;
            };
            let event = bench.events.pop().unwrap_or_else(|| panic!("no event of message {id}"));
            let dropped = if expected == ended::DROPPED { 50 } else { 0 };
            let wanted = EventDesc {
                pid: bits(41),
                kind: bits(1),
                context: bits(1),
                code: bits(expected),
                flags: bits(0),
                id: bits(id),
                length: bits(50),
                extra: bits(dropped),
                source: bits(1000 + id),
                user: bits(2000 + id),
            };
            assert_eq!(event, wanted);
        }
        assert_eq!(bench.dut.counts.messages_open.number(), 0);
    });
}

#[test]
fn placements_of_a_pending_message_say_so() {
    run_with_wave_on_failure("placements_of_a_pending_message_say_so", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, HEADER);
        for (pkt, value) in [(1, code::SPIN_PROCEED), (2, code::SPIN_PROCEED_PENDING)] {
            bench.send(&whole(pkt, pkt));
            let slot = bench.tasks.last().expect("a header handler").msg_slot.to_u64();
            bench.ends(kind::HEADER, slot, pkt, value);
            let placement = bench.placements.pop().expect("a placement");
            assert_eq!((u64::from(placement.pending), u64::from(placement.from_handler)), (pkt - 1, 1));
            bench.placed(slot, pkt);
        }
        assert_eq!(bench.events.len(), 1, "of the message that is not pending");
    });
}

/// COMPLETE passes to the RVMA engine in order with the end of its message, and later placements are not pending. The end of a
/// message that was pending passes too, however it ended.
#[test]
fn a_pending_message_is_done_once_completed_or_ended() {
    run_with_wave_on_failure("a_pending_message_is_done_once_completed_or_ended", |wave| {
        for completes in [false, true] {
            for (returned, drops) in [(code::SPIN_SUCCESS_PENDING, false), (code::SPIN_FAIL, false), (0, true)] {
                let mut bench = Bench::new(wave, Config::SIM, HEADER | COMPLETION);
                // A message that is not pending before it, in the same slot.
                bench.send(&whole(1, 1));
                let slot = bench.tasks[0].msg_slot.to_u64();
                bench.ends(kind::HEADER, slot, 1, code::SPIN_DROP);
                assert!(bench.pending_ends.is_empty(), "it was not pending");
                bench.tasks.clear();
                bench.send(&third(2, 2));
                let slot = bench.tasks[0].msg_slot.to_u64();
                bench.ends(
                    kind::HEADER,
                    slot,
                    2,
                    if drops { code::SPIN_DROP_PENDING } else { code::SPIN_PROCEED_PENDING },
                );
                bench.send(&third(3, 2));
                let command = Command {
                    version: bits(1),
                    opcode: bits(code::command::COMPLETE),
                    context: bits(1),
                    msg_slot: bits(slot),
                    pkt: bits(3),
                    frame: bits(103),
                    ..Command::default()
                };
                if completes {
                    bench.offer(|dut| &dut.place, &command, |dut| &dut.place.ready);
                    bench.cycles(12);
                    let end = bench.pending_ends.pop().expect("COMPLETE");
                    assert_eq!((end.msg_slot.to_u64(), end.ended), (slot, false));
                }
                bench.send(&third(4, 2));
                let pending: Vec<bool> = bench.placements.iter().map(|placement| placement.pending).collect();
                if !drops {
                    assert_eq!(pending, [true, true, !completes]);
                    (2..5).for_each(|pkt| bench.placed(slot, pkt));
                    assert!(bench.pending_ends.is_empty(), "the completion handler runs");
                    bench.ends(kind::COMPLETION, slot, 4, returned);
                }
                let end = bench.pending_ends.pop().expect("the message ended");
                assert_eq!((end.msg_slot.to_u64(), end.ended), (slot, true));
                assert!(bench.pending_ends.is_empty());
                // The slot is free, and its next message is not pending.
                bench.tasks.clear();
                bench.send(&whole(5, 5));
                let slot = bench.tasks[0].msg_slot.to_u64();
                bench.ends(kind::HEADER, slot, 5, code::SPIN_PROCEED);
                assert!(!bench.placements.last().expect("a placement").pending);
                bench.placed(slot, 5);
                bench.ends(kind::COMPLETION, slot, 5, code::SPIN_SUCCESS);
                assert!(bench.pending_ends.is_empty(), "it was not pending");
            }
        }
    });
}

/// Nothing is begun while the RVMA engine does not take the ends of pending messages, and none is lost.
#[test]
fn no_end_of_a_pending_message_is_lost() {
    const MESSAGES: u64 = 100;
    run_with_wave_on_failure("no_end_of_a_pending_message_is_lost", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, HEADER);
        bench.dut.pending_end.ready.set(false);
        let (mut sent, mut ended) = (0, 0);
        for _ in 0..2000 {
            bench.dut.pending_end.ready.set(bench.now > 900);
            bench.dut.packet.valid.set(sent < MESSAGES);
            set_packet(&bench.dut, &whole(sent, sent));
            let task = bench.tasks.get(ended).copied();
            let done = task.map(|task| {
                let mut done =
                    bench.done(kind::HEADER, task.msg_slot.to_u64(), task.pkt.to_u64(), code::SPIN_DROP_PENDING);
                done.context = bits(1);
                done
            });
            bench.dut.task_done.offer(done);
            bench.dut.eval();
            sent += u64::from(sent < MESSAGES && bench.dut.packet.ready.is_high());
            ended += usize::from(bench.dut.task_done.moves());
            bench.cycle();
            assert!(bench.now > 900 || ended < 40, "messages end although this finds no room");
        }
        assert_eq!((sent, ended, bench.pending_ends.len()), (MESSAGES, MESSAGES as usize, MESSAGES as usize));
        assert!(bench.pending_ends.iter().all(|end| end.ended));
    });
}

#[test]
fn no_event_is_lost_while_nobody_takes_them() {
    const MESSAGES: u64 = 100;
    run_with_wave_on_failure("no_event_is_lost_while_nobody_takes_them", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 0);
        bench.dut.message_event.ready.set(false);
        let mut sent = 0;
        bench.dut.packet.valid.set(true);
        for _ in 0..400 {
            bench.dut.message_event.ready.set(bench.now > 200);
            bench.dut.packet.valid.set(sent < MESSAGES);
            set_packet(&bench.dut, &whole(sent, sent));
            bench.dut.eval();
            sent += (sent < MESSAGES && bench.dut.packet.ready.is_high()) as u64;
            bench.cycle();
            assert!(bench.now > 200 || sent < 40, "messages end although their events find no room");
        }
        let ids: Vec<u64> = bench.events.iter().map(|event| event.id.to_u64()).collect();
        assert_eq!(ids, (0..MESSAGES).collect::<Vec<u64>>());
    });
}

#[test]
fn the_quota_of_messages_is_exact() {
    run_with_wave_on_failure("the_quota_of_messages_is_exact", |wave| {
        for (rule, reason) in [(overload::DROP, reasons::QUOTA), (overload::PAUSE, reasons::PAUSED)] {
            let mut bench = limited(
                wave,
                HEADER,
                ContextPolicy { messages: bits(3), overload: bits(rule), ..ContextPolicy::default() },
            );
            // Back to back: each must be counted before the next is judged.
            bench.dut.packet.valid.set(true);
            for pkt in 0..5 {
                set_packet(&bench.dut, &whole(pkt, pkt));
                bench.cycle();
            }
            bench.dut.packet.valid.set(false);
            bench.cycles(16);
            assert_eq!((bench.tasks.len(), bench.drops.clone()), (3, vec![reason as u64; 2]));
            assert_eq!(bench.freed, [3, 4]);
            bench.dut.live_index.set(1);
            bench.cycles(2);
            assert_eq!(bench.dut.live.number(), 3);
            // Another context has room, and so has this one when a message has ended.
            bench.send(&packet(6, action::CONTEXT, 2, 6, 50, 50));
            bench.ends(kind::HEADER, bench.tasks[0].msg_slot.to_u64(), 0, code::SPIN_DROP);
            bench.send(&whole(7, 7));
            assert_eq!(bench.tasks.len(), 5);
            for (context, alive) in [(1, 3), (2, 1), (3, 0)] {
                bench.dut.live_index.set(context);
                bench.cycles(2);
                assert_eq!(bench.dut.live.number(), alive, "context {context}");
            }
        }
    });
}

/// Sums of bytes go on beyond 64 KiB, up and down.
#[test]
fn bytes_of_a_long_message_are_counted() {
    const LENGTH: u64 = 0xC000;
    let part = |pkt| packet(pkt, action::CONTEXT, 1, 9, LENGTH, 3 * LENGTH);
    run_with_wave_on_failure("bytes_of_a_long_message_are_counted", |wave| {
        // Its handlers drop every packet.
        let mut bench = limited(wave, PAYLOAD | COMPLETION, ContextPolicy::default());
        (1..4).for_each(|pkt| bench.send(&part(pkt)));
        let slot = bench.tasks[0].msg_slot.to_u64();
        (1..4).for_each(|pkt| bench.ends(kind::PAYLOAD, slot, pkt, code::SPIN_DROP));
        let last = bench.tasks.last().expect("tasks");
        assert_eq!((last.kind.to_u64() as u8, last.dropped_bytes.to_u64()), (kind::COMPLETION, 3 * LENGTH));

        // The second packet is refused: its bytes are missing again.
        let fields = ContextPolicy { packets: bits(1), overload: bits(overload::PAUSE), ..ContextPolicy::default() };
        let mut bench = limited(wave, PAYLOAD | COMPLETION, fields);
        (1..3).for_each(|pkt| bench.send(&part(pkt)));
        assert_eq!(bench.drops, [reasons::PAUSED as u64]);
        for pkt in [1, 3, 4] {
            if pkt > 1 {
                bench.send(&part(pkt));
            }
            assert_eq!(bench.asked().last(), Some(&(kind::PAYLOAD, pkt)));
            bench.ends(kind::PAYLOAD, slot, pkt, code::SPIN_SUCCESS);
        }
        let kinds: Vec<u8> = bench.asked().into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [kind::PAYLOAD, kind::PAYLOAD, kind::PAYLOAD, kind::COMPLETION]);
    });
}

#[test]
fn packets_beyond_the_quota_are_dropped_paused_or_placed() {
    run_with_wave_on_failure("packets_beyond_the_quota_are_dropped_paused_or_placed", |wave| {
        for (rule, reason) in
            [(overload::DROP, Some(reasons::QUOTA)), (overload::PAUSE, Some(reasons::PAUSED)), (overload::PLACE, None)]
        {
            let fields = ContextPolicy { packets: bits(2), overload: bits(rule), ..ContextPolicy::default() };
            let mut bench = limited(wave, HEADER | PAYLOAD | COMPLETION, fields);
            (1..4).for_each(|pkt| bench.send(&third(pkt, 9)));
            let slot = bench.tasks[0].msg_slot.to_u64();
            assert_eq!(bench.drops, reason.map(|r| r as u64).into_iter().collect::<Vec<u64>>());
            bench.ends(kind::HEADER, slot, 1, code::SPIN_PROCESS_DATA);
            bench.ends(kind::PAYLOAD, slot, 1, code::SPIN_SUCCESS);
            bench.ends(kind::PAYLOAD, slot, 2, code::SPIN_SUCCESS);
            match rule {
                overload::PLACE => {
                    assert_eq!(bench.placements.len(), 1);
                    bench.placed(slot, 3);
                }
                // Its bytes have not arrived: the source sends the packet again.
                overload::PAUSE => {
                    assert_eq!(bench.asked().last(), Some(&(kind::PAYLOAD, 2)));
                    bench.send(&third(4, 9));
                    bench.ends(kind::PAYLOAD, slot, 4, code::SPIN_SUCCESS);
                }
                _ => {}
            }
            let last = bench.tasks.last().expect("tasks");
            let lost = if rule == overload::DROP { 50 } else { 0 };
            assert_eq!(last.kind.to_u64() as u8, kind::COMPLETION, "rule {rule}");
            assert_eq!(
                (last.dropped_bytes.to_u64(), u64::from(last.flow_control)),
                (lost, (rule != overload::PAUSE) as u64)
            );
            bench.ends(kind::COMPLETION, slot, last.pkt.to_u64(), code::SPIN_SUCCESS);
            let flags: Vec<u64> = bench.events.iter().map(|event| event.flags.to_u64()).collect();
            assert_eq!(flags, [(rule != overload::PAUSE) as u64]);
            assert_eq!(bench.dut.counts.messages_open.number(), 0);
        }
    });
}

#[test]
fn a_message_beyond_the_quota_is_placed_without_handlers() {
    run_with_wave_on_failure("a_message_beyond_the_quota_is_placed_without_handlers", |wave| {
        let fields = ContextPolicy { messages: bits(1), overload: bits(overload::PLACE), ..ContextPolicy::default() };
        let mut bench = limited(wave, HEADER | PAYLOAD | COMPLETION, fields);
        bench.send(&whole(1, 1));
        bench.send(&whole(2, 2));
        assert_eq!((bench.asked(), bench.placements.len()), (vec![(kind::HEADER, 1)], 1));
        let (slot, from_handler) = (bench.placements[0].msg_slot.to_u64(), u64::from(bench.placements[0].from_handler));
        assert_eq!(from_handler, 1);
        bench.placed(slot, 2);
        assert_eq!((bench.tasks.len(), bench.events.len()), (1, 1));
        assert_eq!((bench.events[0].id.to_u64(), bench.events[0].flags.to_u64()), (2, u64::from(ended::FLOW_CONTROL)));
    });
}

#[test]
fn the_header_handler_waits_for_its_user_header() {
    run_with_wave_on_failure("the_header_handler_waits_for_its_user_header", |wave| {
        let fields = ContextPolicy {
            user_header: bits(32),
            packets: bits(2),
            overload: bits(overload::PAUSE),
            ..ContextPolicy::default()
        };
        let mut bench = limited(wave, HEADER | PAYLOAD, fields);
        for (pkt, offset) in [(1, 100), (2, 50)] {
            let mut word = third(pkt, 5);
            word.msg_off = bits(offset);
            bench.send(&word);
        }
        assert!(bench.tasks.is_empty(), "the packet with the user header has not come");
        // It is let in although the context has its quota of packets.
        bench.send(&third(3, 5));
        assert_eq!(bench.asked(), [(kind::HEADER, 3)]);
        bench.ends(kind::HEADER, bench.tasks[0].msg_slot.to_u64(), 3, code::SPIN_PROCESS_DATA);
        assert_eq!(bench.asked()[1..], [(kind::PAYLOAD, 3), (kind::PAYLOAD, 1), (kind::PAYLOAD, 2)]);

        // A packet that is too short for it fails its message.
        let mut bench = limited(wave, HEADER, ContextPolicy { user_header: bits(64), ..ContextPolicy::default() });
        bench.send(&whole(1, 1));
        assert_eq!((bench.tasks.len(), bench.drops.clone()), (0, vec![reasons::HANDLER_FAIL as u64]));
        assert_eq!(bench.events[0].code.to_u64(), u64::from(ended::FAILED));
    });
}

#[test]
fn what_makes_no_progress_ages() {
    run_with_wave_on_failure("what_makes_no_progress_ages", |wave| {
        let mut bench = limited(
            wave,
            HEADER | PAYLOAD | COMPLETION,
            ContextPolicy { user_header: bits(16), ..ContextPolicy::default() },
        );
        bench.dut.timeout.set(1);
        let mut late = third(1, 5);
        late.msg_off = bits(50);
        bench.send(&late);
        let begun = bench.now;
        while bench.events.is_empty() {
            bench.cycle();
            assert!(bench.now < begun + 1600, "it never ages");
        }
        let idle = bench.now - begun;
        assert!((1010..=1550).contains(&idle), "after {idle} cycles");
        let event = bench.events[0];
        let reported = [event.code.to_u64(), event.id.to_u64(), event.length.to_u64()];
        assert_eq!(reported, [u64::from(ended::AGED), 5, 150]);
        bench.cycles(20);
        assert_eq!((bench.freed.clone(), bench.drops.clone()), (vec![1], vec![reasons::MESSAGE_AGED as u64]));
        assert_eq!((bench.dut.counts.messages_open.number(), bench.tasks.len()), (0, 0));

        // A message whose bytes are all there waits for its handlers as long as they take; a tombstone keeps its first
        // error.
        bench.send(&whole(2, 6));
        bench.send(&third(3, 7));
        bench.ends(kind::HEADER, bench.tasks[1].msg_slot.to_u64(), 3, code::SPIN_FAIL);
        bench.cycles(4000);
        assert_eq!((bench.events.len(), bench.dut.counts.messages_open.number()), (2, 1));
        assert_eq!((bench.events[1].id.to_u64(), bench.events[1].code.to_u64()), (7, u64::from(ended::FAILED)));
        bench.ends(kind::HEADER, bench.tasks[0].msg_slot.to_u64(), 2, code::SPIN_DROP);
        assert_eq!(bench.events[2].code.to_u64(), u64::from(ended::DROPPED));
    });
}

#[test]
fn messages_of_a_field_end_by_the_end_test() {
    run_with_wave_on_failure("messages_of_a_field_end_by_the_end_test", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, COMPLETION);
        // Three messages of one key back to back, of 3, 1 and 2 packets.
        bench.dut.packet.valid.set(true);
        for (pkt, ends) in [(0, false), (1, false), (2, true), (3, true), (4, false), (5, true)] {
            let mut word = packet(pkt, action::CONTEXT, 1, 9, 10 + pkt, 10 + pkt);
            (word.is_spindle, word.opcode, word.per_message) = (false, bits(0), false);
            (word.by_field, word.ends) = (true, ends);
            set_packet(&bench.dut, &word);
            bench.dut.eval();
            assert!(bench.dut.packet.ready.is_high());
            bench.cycle();
        }
        bench.dut.packet.valid.set(false);
        bench.cycles(30);
        assert_eq!(bench.asked(), [(kind::COMPLETION, 2), (kind::COMPLETION, 3), (kind::COMPLETION, 5)]);
        for task in bench.tasks.clone() {
            bench.ends(kind::COMPLETION, task.msg_slot.to_u64(), task.pkt.to_u64(), code::SPIN_SUCCESS);
        }
        let lengths: Vec<u64> = bench.events.iter().map(|event| event.length.to_u64()).collect();
        assert_eq!(lengths, [10 + 11 + 12, 13, 14 + 15]);
        assert_eq!((bench.drops.len(), bench.dut.counts.messages_open.number()), (0, 0));
    });
}

#[test]
fn a_rule_can_have_packets_at_the_host_too() {
    run_with_wave_on_failure("a_rule_can_have_packets_at_the_host_too", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, PAYLOAD);
        let mut word = whole(1, 1);
        word.to_host = true;
        bench.send(&word);
        bench.cycles(10);
        assert_eq!((bench.asked(), bench.placements.len()), (vec![(kind::PAYLOAD, 1)], 1));
        assert_eq!(u64::from(bench.placements[0].from_handler), 0);
        let slot = bench.tasks[0].msg_slot.to_u64();
        bench.placed(slot, 1);
        assert!(bench.freed.is_empty(), "its handler runs");
        bench.ends(kind::PAYLOAD, slot, 1, code::SPIN_SUCCESS);
        assert_eq!((bench.freed.clone(), bench.events.len()), (vec![1], 1));
    });
}

/// The first PLACE or REDIRECT of a packet's handlers counts, unless its rule placed it before; nothing places it again, and
/// its handlers see the header that came.
#[test]
fn a_packet_goes_where_its_handlers_say_first() {
    const PLACE: u8 = code::command::PLACE;
    const REDIRECT: u8 = code::command::REDIRECT;
    // Address, offset, process, key, epoch.
    const NAMED: [u64; 5] = [0x5555_0000_1111, 70, 9, 77, 3];
    let process = code::SPIN_PROCESS_DATA;
    run_with_wave_on_failure("a_packet_goes_where_its_handlers_say_first", |wave| {
        let mut bench = limited(wave, HEADER | PAYLOAD, ContextPolicy { pid: bits(41), ..ContextPolicy::default() });
        for (id, commands, answer, to_host, elsewhere) in [
            (1, &[REDIRECT][..], process, false, true),
            (2, &[REDIRECT, PLACE], process, false, true),
            (3, &[PLACE, REDIRECT], process, false, false),
            (4, &[REDIRECT, REDIRECT], process, false, true),
            (5, &[REDIRECT], code::SPIN_PROCEED, false, true),
            (6, &[REDIRECT], process, true, false),
        ] {
            let mut word = whole(id, id);
            (word.addr, word.buf_off, word.dst_pid) = (bits(NAMED[0]), bits(NAMED[1]), bits(NAMED[2]));
            (word.key, word.epoch) = (bits(NAMED[3]), bits(NAMED[4]));
            word.to_host = to_host;
            bench.tasks.clear();
            bench.placements.clear();
            bench.freed.clear();
            bench.send(&word);
            let slot = bench.tasks[0].msg_slot.to_u64();
            for (i, opcode) in (0..).zip(commands) {
                let command = Command {
                    version: bits(1),
                    opcode: bits(*opcode),
                    context: bits(1),
                    msg_slot: bits(slot),
                    pkt: bits(id),
                    frame: bits(id + 100),
                    address: bits(u64::MAX - i),
                    offset: bits(0x8000_0000 + i),
                    ..Command::default()
                };
                bench.offer(|dut| &dut.place, &command, |dut| &dut.place.ready);
            }
            bench.cycles(20);
            bench.ends(kind::HEADER, slot, id, answer);
            if answer == process {
                assert_eq!(bench.asked(), [(kind::HEADER, id), (kind::PAYLOAD, id)]);
                let task = bench.tasks[1];
                let shown = [task.addr.to_u64(), task.buf_off.to_u64(), task.dst_pid.to_u64()];
                assert_eq!(shown, NAMED[..3], "message {id}");
                bench.ends(kind::PAYLOAD, slot, id, code::SPIN_SUCCESS);
            }
            assert_eq!(bench.placements.len(), 1, "message {id} is placed once");
            let placement = bench.placements[0];
            let wanted = if elsewhere { [u64::MAX, 0x8000_0000, 41, 0, 0] } else { NAMED };
            let PlacementDesc { addr, buf_off, dst_pid, key, epoch, .. } = placement;
            let shown = [addr.to_u64(), buf_off.to_u64(), dst_pid.to_u64(), key.to_u64(), epoch.to_u64()];
            assert_eq!(shown, wanted, "message {id}");
            assert_eq!((placement.redirected, placement.msg_len.to_u64()), (elsewhere, 50), "message {id}");
            assert!(bench.freed.is_empty(), "it is being placed");
            bench.placed(slot, id);
            assert_eq!(bench.freed, [id]);
        }
        assert!(bench.drops.is_empty());
    });
}
