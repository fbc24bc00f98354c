//! The rules of `docs/spin.md`, one at a time.

use crate::packet_engine::dut::Record;
use crate::packet_engine::schedule::payload_scheduler::bench::{packet, Bench};
use spindle_contract::descriptors::{action, kind, overload};
use spindle_contract::events::message as ended;
use spindle_contract::params::Config;
use spindle_contract::{memory_map as code, reasons};
use spindle_harness::{run_with_wave_on_failure, WaveContext};

const HEADER: u64 = 1;
const PAYLOAD: u64 = 2;
const COMPLETION: u64 = 4;

/// A bench whose contexts have these limits.
fn limited(wave: &WaveContext, mask: u64, fields: &[(&'static str, u64)]) -> Bench {
    Bench::with_policy(wave, Config::SIM, mask, &Record::new(fields))
}

/// Packet `pkt` with 50 of the 150 bytes of message `id` of context 1.
fn third(pkt: u64, id: u64) -> Record {
    packet(pkt, action::CONTEXT, 1, id, 50, 150)
}

/// A packet of `id` that is a message of context 1.
fn whole(pkt: u64, id: u64) -> Record {
    packet(pkt, action::CONTEXT, 1, id, 50, 50)
}

#[test]
fn one_event_per_cycle_of_one_message() {
    const PACKETS: u64 = 48;
    run_with_wave_on_failure("one_event_per_cycle_of_one_message", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, PAYLOAD);
        bench.dut.set("packet_valid", 1);
        for pkt in 0..PACKETS {
            bench.dut.put("packet", "packet_desc", &packet(pkt, action::CONTEXT, 1, 7, 50, 50 * PACKETS));
            bench.dut.eval();
            assert!(bench.dut.high("packet_ready"), "packet {pkt} waits");
            bench.cycle();
        }
        bench.dut.set("packet_valid", 0);
        bench.cycles(2 * PACKETS as usize);
        let tasks: Vec<(u8, u64)> = (0..PACKETS).map(|pkt| (kind::PAYLOAD, pkt)).collect();
        assert_eq!(bench.asked(), tasks);
        bench.dut.set("task_done_valid", 1);
        for pkt in 0..PACKETS {
            let mut done = bench.done(kind::PAYLOAD, bench.tasks[0].get("msg_slot"), pkt, code::SPIN_DROP);
            done.0.insert("context", 1);
            bench.dut.put("task_done", "task_done", &done);
            bench.dut.eval();
            assert!(bench.dut.high("task_done_ready"), "the end of task {pkt} waits");
            bench.cycle();
        }
        bench.dut.set("task_done_valid", 0);
        bench.cycles(12);
        assert_eq!(bench.freed, (0..PACKETS).collect::<Vec<u64>>());
        assert_eq!(bench.events.len(), 1);
        let event = &bench.events[0];
        assert_eq!((event.get("code"), event.get("extra")), (ended::DONE as u64, 50 * PACKETS));
        assert_eq!(bench.dut.get("counts_messages_open"), 0);
    });
}

#[test]
fn an_event_says_how_a_message_ended() {
    run_with_wave_on_failure("an_event_says_how_a_message_ended", |wave| {
        let mut bench = limited(wave, HEADER | COMPLETION, &[("pid", 41)]);
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
            word.0.extend([("src_nid", 1000 + id), ("addr", 2000 + id)]);
            bench.send(&word);
            let slot = bench.tasks.last().expect("a header handler").get("msg_slot");
            bench.ends(kind::HEADER, slot, id, value);
            if let Some(value) = completion {
                bench.ends(kind::COMPLETION, slot, id, value);
            }
            let Some(expected) = expected else {
                assert!(bench.events.is_empty(), "message {id} is pending");
                continue;
            };
            let event = bench.events.pop().unwrap_or_else(|| panic!("no event of message {id}"));
            let names = ["pid", "kind", "context", "code", "flags", "id", "length", "extra", "source", "user"];
            let dropped = if expected == ended::DROPPED { 50 } else { 0 };
            let values = [41, 1, 1, expected.into(), 0, id, 50, dropped, 1000 + id, 2000 + id];
            assert_eq!(names.map(|name| event.get(name)), values);
        }
        assert_eq!(bench.dut.get("counts_messages_open"), 0);
    });
}

#[test]
fn placements_of_a_pending_message_say_so() {
    run_with_wave_on_failure("placements_of_a_pending_message_say_so", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, HEADER);
        for (pkt, value) in [(1, code::SPIN_PROCEED), (2, code::SPIN_PROCEED_PENDING)] {
            bench.send(&whole(pkt, pkt));
            let slot = bench.tasks.last().expect("a header handler").get("msg_slot");
            bench.ends(kind::HEADER, slot, pkt, value);
            let placement = bench.placements.pop().expect("a placement");
            assert_eq!((placement.get("pending"), placement.get("from_handler")), (pkt - 1, 1));
            bench.placed(slot, pkt);
        }
        assert_eq!(bench.events.len(), 1, "of the message that is not pending");
    });
}

#[test]
fn no_event_is_lost_while_nobody_takes_them() {
    const MESSAGES: u64 = 100;
    run_with_wave_on_failure("no_event_is_lost_while_nobody_takes_them", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 0);
        bench.dut.set("message_event_ready", 0);
        let mut sent = 0;
        bench.dut.set("packet_valid", 1);
        for _ in 0..400 {
            bench.dut.set("message_event_ready", (bench.now > 200) as u64);
            bench.dut.set("packet_valid", (sent < MESSAGES) as u64);
            bench.dut.put("packet", "packet_desc", &whole(sent, sent));
            bench.dut.eval();
            sent += (sent < MESSAGES && bench.dut.high("packet_ready")) as u64;
            bench.cycle();
            assert!(bench.now > 200 || sent < 40, "messages end although their events find no room");
        }
        let ids: Vec<u64> = bench.events.iter().map(|event| event.get("id")).collect();
        assert_eq!(ids, (0..MESSAGES).collect::<Vec<u64>>());
    });
}

#[test]
fn the_quota_of_messages_is_exact() {
    run_with_wave_on_failure("the_quota_of_messages_is_exact", |wave| {
        for (rule, reason) in [(overload::DROP, reasons::QUOTA), (overload::PAUSE, reasons::PAUSED)] {
            let mut bench = limited(wave, HEADER, &[("messages", 3), ("overload", rule.into())]);
            // Back to back: each must be counted before the next is judged.
            bench.dut.set("packet_valid", 1);
            for pkt in 0..5 {
                bench.dut.put("packet", "packet_desc", &whole(pkt, pkt));
                bench.cycle();
            }
            bench.dut.set("packet_valid", 0);
            bench.cycles(16);
            assert_eq!((bench.tasks.len(), bench.drops.clone()), (3, vec![reason as u64; 2]));
            assert_eq!(bench.freed, [3, 4]);
            bench.dut.set("live_index", 1);
            bench.cycles(2);
            assert_eq!(bench.dut.get("live"), 3);
            // Another context has room, and so has this one when a message has ended.
            bench.send(&packet(6, action::CONTEXT, 2, 6, 50, 50));
            bench.ends(kind::HEADER, bench.tasks[0].get("msg_slot"), 0, code::SPIN_DROP);
            bench.send(&whole(7, 7));
            assert_eq!(bench.tasks.len(), 5);
        }
    });
}

#[test]
fn packets_beyond_the_quota_are_dropped_paused_or_placed() {
    run_with_wave_on_failure("packets_beyond_the_quota_are_dropped_paused_or_placed", |wave| {
        for (rule, reason) in
            [(overload::DROP, Some(reasons::QUOTA)), (overload::PAUSE, Some(reasons::PAUSED)), (overload::PLACE, None)]
        {
            let fields = [("packets", 2), ("overload", rule.into())];
            let mut bench = limited(wave, HEADER | PAYLOAD | COMPLETION, &fields);
            (1..4).for_each(|pkt| bench.send(&third(pkt, 9)));
            let slot = bench.tasks[0].get("msg_slot");
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
            assert_eq!(last.get("kind") as u8, kind::COMPLETION, "rule {rule}");
            assert_eq!((last.get("dropped_bytes"), last.get("flow_control")), (lost, (rule != overload::PAUSE) as u64));
            bench.ends(kind::COMPLETION, slot, last.get("pkt"), code::SPIN_SUCCESS);
            let flags: Vec<u64> = bench.events.iter().map(|event| event.get("flags")).collect();
            assert_eq!(flags, [(rule != overload::PAUSE) as u64]);
            assert_eq!(bench.dut.get("counts_messages_open"), 0);
        }
    });
}

#[test]
fn a_message_beyond_the_quota_is_placed_without_handlers() {
    run_with_wave_on_failure("a_message_beyond_the_quota_is_placed_without_handlers", |wave| {
        let fields = [("messages", 1), ("overload", u64::from(overload::PLACE))];
        let mut bench = limited(wave, HEADER | PAYLOAD | COMPLETION, &fields);
        bench.send(&whole(1, 1));
        bench.send(&whole(2, 2));
        assert_eq!((bench.asked(), bench.placements.len()), (vec![(kind::HEADER, 1)], 1));
        let (slot, from_handler) = (bench.placements[0].get("msg_slot"), bench.placements[0].get("from_handler"));
        assert_eq!(from_handler, 1);
        bench.placed(slot, 2);
        assert_eq!((bench.tasks.len(), bench.events.len()), (1, 1));
        assert_eq!((bench.events[0].get("id"), bench.events[0].get("flags")), (2, u64::from(ended::FLOW_CONTROL)));
    });
}

#[test]
fn the_header_handler_waits_for_its_user_header() {
    run_with_wave_on_failure("the_header_handler_waits_for_its_user_header", |wave| {
        let fields = [("user_header", 32), ("packets", 2), ("overload", u64::from(overload::PAUSE))];
        let mut bench = limited(wave, HEADER | PAYLOAD, &fields);
        for (pkt, offset) in [(1, 100), (2, 50)] {
            let mut word = third(pkt, 5);
            word.0.insert("msg_off", offset);
            bench.send(&word);
        }
        assert!(bench.tasks.is_empty(), "the packet with the user header has not come");
        // It is let in although the context has its quota of packets.
        bench.send(&third(3, 5));
        assert_eq!(bench.asked(), [(kind::HEADER, 3)]);
        bench.ends(kind::HEADER, bench.tasks[0].get("msg_slot"), 3, code::SPIN_PROCESS_DATA);
        assert_eq!(bench.asked()[1..], [(kind::PAYLOAD, 3), (kind::PAYLOAD, 1), (kind::PAYLOAD, 2)]);

        // A packet that is too short for it fails its message.
        let mut bench = limited(wave, HEADER, &[("user_header", 64)]);
        bench.send(&whole(1, 1));
        assert_eq!((bench.tasks.len(), bench.drops.clone()), (0, vec![reasons::HANDLER_FAIL as u64]));
        assert_eq!(bench.events[0].get("code"), u64::from(ended::FAILED));
    });
}

#[test]
fn what_makes_no_progress_ages() {
    run_with_wave_on_failure("what_makes_no_progress_ages", |wave| {
        let mut bench = limited(wave, HEADER | PAYLOAD | COMPLETION, &[("user_header", 16)]);
        bench.dut.set("timeout", 1);
        let mut late = third(1, 5);
        late.0.insert("msg_off", 50);
        bench.send(&late);
        let begun = bench.now;
        while bench.events.is_empty() {
            bench.cycle();
            assert!(bench.now < begun + 1600, "it never ages");
        }
        let idle = bench.now - begun;
        assert!((1010..=1550).contains(&idle), "after {idle} cycles");
        let names = ["code", "id", "length"];
        assert_eq!(names.map(|name| bench.events[0].get(name)), [u64::from(ended::AGED), 5, 150]);
        bench.cycles(20);
        assert_eq!((bench.freed.clone(), bench.drops.clone()), (vec![1], vec![reasons::MESSAGE_AGED as u64]));
        assert_eq!((bench.dut.get("counts_messages_open"), bench.tasks.len()), (0, 0));

        // A message whose bytes are all there waits for its handlers as long as they take; a tombstone keeps its first error.
        bench.send(&whole(2, 6));
        bench.send(&third(3, 7));
        bench.ends(kind::HEADER, bench.tasks[1].get("msg_slot"), 3, code::SPIN_FAIL);
        bench.cycles(4000);
        assert_eq!((bench.events.len(), bench.dut.get("counts_messages_open")), (2, 1));
        assert_eq!((bench.events[1].get("id"), bench.events[1].get("code")), (7, u64::from(ended::FAILED)));
        bench.ends(kind::HEADER, bench.tasks[0].get("msg_slot"), 2, code::SPIN_DROP);
        assert_eq!(bench.events[2].get("code"), u64::from(ended::DROPPED));
    });
}

#[test]
fn messages_of_a_field_end_by_the_end_test() {
    run_with_wave_on_failure("messages_of_a_field_end_by_the_end_test", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, COMPLETION);
        // Three messages of one key back to back, of 3, 1 and 2 packets.
        bench.dut.set("packet_valid", 1);
        for (pkt, ends) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 0), (5, 1)] {
            let mut word = packet(pkt, action::CONTEXT, 1, 9, 10 + pkt, 10 + pkt);
            word.0.extend([("is_spindle", 0), ("opcode", 0), ("per_message", 0), ("by_field", 1), ("ends", ends)]);
            bench.dut.put("packet", "packet_desc", &word);
            bench.dut.eval();
            assert!(bench.dut.high("packet_ready"));
            bench.cycle();
        }
        bench.dut.set("packet_valid", 0);
        bench.cycles(30);
        assert_eq!(bench.asked(), [(kind::COMPLETION, 2), (kind::COMPLETION, 3), (kind::COMPLETION, 5)]);
        for task in bench.tasks.clone() {
            bench.ends(kind::COMPLETION, task.get("msg_slot"), task.get("pkt"), code::SPIN_SUCCESS);
        }
        let lengths: Vec<u64> = bench.events.iter().map(|event| event.get("length")).collect();
        assert_eq!(lengths, [10 + 11 + 12, 13, 14 + 15]);
        assert_eq!((bench.drops.len(), bench.dut.get("counts_messages_open")), (0, 0));
    });
}

#[test]
fn a_rule_can_have_packets_at_the_host_too() {
    run_with_wave_on_failure("a_rule_can_have_packets_at_the_host_too", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, PAYLOAD);
        let mut word = whole(1, 1);
        word.0.insert("to_host", 1);
        bench.send(&word);
        bench.cycles(10);
        assert_eq!((bench.asked(), bench.placements.len()), (vec![(kind::PAYLOAD, 1)], 1));
        assert_eq!(bench.placements[0].get("from_handler"), 0);
        let slot = bench.tasks[0].get("msg_slot");
        bench.placed(slot, 1);
        assert!(bench.freed.is_empty(), "its handler runs");
        bench.ends(kind::PAYLOAD, slot, 1, code::SPIN_SUCCESS);
        assert_eq!((bench.freed.clone(), bench.events.len()), (vec![1], 1));
    });
}

/// The first PLACE or REDIRECT of a packet's handlers counts, unless its rule placed it before; nothing places it again, and its handlers see
/// the header that came.
#[test]
fn a_packet_goes_where_its_handlers_say_first() {
    const PLACE: u8 = code::command::PLACE;
    const REDIRECT: u8 = code::command::REDIRECT;
    const NAMED: [(&str, u64); 5] =
        [("addr", 0x5555_0000_1111), ("buf_off", 70), ("dst_pid", 9), ("key", 77), ("epoch", 3)];
    let process = code::SPIN_PROCESS_DATA;
    run_with_wave_on_failure("a_packet_goes_where_its_handlers_say_first", |wave| {
        let mut bench = limited(wave, HEADER | PAYLOAD, &[("pid", 41)]);
        for (id, commands, answer, to_host, elsewhere) in [
            (1, &[REDIRECT][..], process, false, true),
            (2, &[REDIRECT, PLACE], process, false, true),
            (3, &[PLACE, REDIRECT], process, false, false),
            (4, &[REDIRECT, REDIRECT], process, false, true),
            (5, &[REDIRECT], code::SPIN_PROCEED, false, true),
            (6, &[REDIRECT], process, true, false),
        ] {
            let mut word = whole(id, id);
            word.0.extend(NAMED);
            word.0.insert("to_host", to_host.into());
            bench.tasks.clear();
            bench.placements.clear();
            bench.freed.clear();
            bench.send(&word);
            let slot = bench.tasks[0].get("msg_slot");
            for (i, opcode) in (0..).zip(commands) {
                let command = Record::new(&[
                    ("version", 1),
                    ("opcode", (*opcode).into()),
                    ("context", 1),
                    ("msg_slot", slot),
                    ("pkt", id),
                    ("frame", id + 100),
                    ("address", u64::MAX - i),
                    ("offset", 0x8000_0000 + i),
                ]);
                bench.offer("place", "command", &command, "place_ready");
            }
            bench.cycles(20);
            bench.ends(kind::HEADER, slot, id, answer);
            if answer == process {
                assert_eq!(bench.asked(), [(kind::HEADER, id), (kind::PAYLOAD, id)]);
                assert!(NAMED[..3].iter().all(|(name, value)| bench.tasks[1].get(name) == *value), "message {id}");
                bench.ends(kind::PAYLOAD, slot, id, code::SPIN_SUCCESS);
            }
            assert_eq!(bench.placements.len(), 1, "message {id} is placed once");
            let placement = bench.placements[0].clone();
            let wanted = if elsewhere {
                [("addr", u64::MAX), ("buf_off", 0x8000_0000), ("dst_pid", 41), ("key", 0), ("epoch", 0)]
            } else {
                NAMED
            };
            for (name, value) in wanted.into_iter().chain([("redirected", elsewhere.into()), ("msg_len", 50)]) {
                assert_eq!(placement.get(name), value, "{name} of message {id}");
            }
            assert!(bench.freed.is_empty(), "it is being placed");
            bench.placed(slot, id);
            assert_eq!(bench.freed, [id]);
        }
        assert!(bench.drops.is_empty());
    });
}
