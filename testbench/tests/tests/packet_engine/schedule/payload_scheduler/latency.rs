//! Exact cycle counts of the scheduler, and cases that random traffic does not single out.

use crate::packet_engine::dut::Record;
use crate::packet_engine::schedule::payload_scheduler::bench::{packet, Bench};
use spindle_contract::params::Config;
use spindle_contract::{descriptors::action, descriptors::kind, memory_map as code, reasons};
use spindle_harness::run_with_wave_on_failure;

#[test]
fn fresh_message_takes_five_cycles() {
    run_with_wave_on_failure("fresh_message_takes_five_cycles", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 3);
        let latency = bench.offer("packet", "packet_desc", &packet(5, action::CONTEXT, 2, 9, 100, 100), "task_valid");
        assert_eq!(latency, 5, "packet_valid to task_valid");
        bench.cycles(10);
        let mut done = bench.done(kind::HEADER, 0, 5, code::SPIN_PROCESS_DATA);
        done.0.insert("context", 2);
        let latency = bench.offer("task_done", "task_done", &done, "task_valid");
        assert_eq!(latency, 6, "task_done_valid to the payload task");
    });
}

#[test]
fn whole_mailbox_messages_at_full_rate() {
    run_with_wave_on_failure("whole_mailbox_messages_at_full_rate", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 0);
        bench.dut.set("packet_valid", 1);
        let mut first = None;
        let mut seen = 0;
        for cycle in 0..64u64 {
            bench.dut.put("packet", "packet_desc", &packet(cycle, action::MAILBOX, 0, cycle, 10, 10));
            bench.dut.eval();
            assert!(bench.dut.high("packet_ready"), "a packet waited in cycle {cycle}");
            if bench.dut.high("placement_valid") {
                let desc = bench.dut.record("placement", "placement_desc");
                let first = *first.get_or_insert(cycle);
                assert_eq!(desc.get("pkt"), cycle - first);
                assert_eq!((desc.get("has_slot"), desc.get("from_handler")), (0, 0));
                seen += 1;
            }
            bench.cycle();
        }
        assert_eq!(first, Some(1), "latency");
        assert_eq!(seen, 63, "one per cycle");
        // Their ends come back at one per cycle, too.
        bench.dut.set("packet_valid", 0);
        bench.dut.set("placement_done_valid", 1);
        for pkt in 0..32u64 {
            bench.dut.put("placement_done", "placement_done", &Record::new(&[("pkt", pkt), ("placed", 1)]));
            bench.dut.eval();
            assert!(bench.dut.high("placement_done_ready"), "an ended placement waited");
            bench.cycle();
        }
        bench.dut.set("placement_done_valid", 0);
        bench.cycles(10);
        assert_eq!(bench.freed, (0..32).collect::<Vec<u64>>());
    });
}

#[test]
fn full_table_drops_and_recovers() {
    run_with_wave_on_failure("full_table_drops_and_recovers", |wave| {
        let mut bench = Bench::new(wave, Config { live_messages: 16, ..Config::SIM }, 1);
        for id in 0..17 {
            bench.send(&packet(id, action::CONTEXT, 1, id, 50, 50));
        }
        assert_eq!(bench.freed, [16]);
        assert_eq!(bench.drops, [reasons::NO_MESSAGE_SLOT as u64]);
        assert_eq!(bench.dut.get("counts_messages_open"), 16);
        let done = bench.done(kind::HEADER, 7, 7, code::SPIN_PROCESS_DATA);
        bench.offer("task_done", "task_done", &done, "task_done_ready");
        bench.cycles(10);
        assert_eq!(bench.freed, [16, 7]);
        bench.send(&packet(20, action::CONTEXT, 1, 20, 50, 50));
        assert_eq!(bench.dut.get("counts_messages_open"), 16);
        assert_eq!(bench.drops.len(), 1);
    });
}

#[test]
fn tombstone_stays_until_all_bytes_arrived() {
    run_with_wave_on_failure("tombstone_stays_until_all_bytes_arrived", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 7);
        bench.send(&packet(1, action::CONTEXT, 1, 77, 50, 150));
        let done = bench.done(kind::HEADER, 0, 1, code::SPIN_FAIL);
        bench.offer("task_done", "task_done", &done, "task_done_ready");
        bench.cycles(10);
        assert_eq!(
            (bench.freed.clone(), bench.dut.get("counts_messages_open")),
            (vec![1], 1),
            "a tombstone keeps its slot"
        );
        bench.send(&packet(2, action::CONTEXT, 1, 77, 50, 150));
        assert_eq!(bench.dut.get("counts_messages_open"), 1);
        bench.send(&packet(3, action::CONTEXT, 1, 77, 50, 150));
        assert_eq!((bench.freed.clone(), bench.dut.get("counts_messages_open")), (vec![1, 2, 3], 0));
        assert_eq!(bench.drops, [reasons::HANDLER_FAIL as u64; 3]);
    });
}

#[test]
fn duplicate_of_a_complete_message_is_dropped() {
    run_with_wave_on_failure("duplicate_of_a_complete_message_is_dropped", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 2);
        bench.send(&packet(1, action::CONTEXT, 1, 5, 50, 100));
        bench.send(&packet(2, action::CONTEXT, 1, 5, 50, 100));
        bench.send(&packet(3, action::CONTEXT, 1, 5, 50, 100));
        assert_eq!((bench.freed.clone(), bench.drops.clone()), (vec![3], vec![reasons::BAD_TRANSPORT as u64]));
        // The same numbers for another context are another message.
        bench.send(&packet(4, action::CONTEXT, 2, 5, 50, 100));
        assert_eq!(bench.dut.get("counts_messages_open"), 2);
    });
}

#[test]
fn late_command_is_ignored() {
    run_with_wave_on_failure("late_command_is_ignored", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 2);
        bench.send(&packet(1, action::CONTEXT, 1, 5, 50, 50));
        let done = bench.done(kind::PAYLOAD, 0, 1, code::SPIN_SUCCESS);
        bench.offer("task_done", "task_done", &done, "task_done_ready");
        bench.cycles(10);
        // The cell has a new owner whose handler runs; the command names the old frame.
        let mut reused = packet(1, action::CONTEXT, 1, 6, 50, 50);
        reused.0.insert("frame", 300);
        bench.send(&reused);
        let command =
            Record::new(&[("version", 1), ("opcode", code::command::PLACE as u64), ("pkt", 1), ("frame", 101)]);
        bench.offer("place", "command", &command, "place_ready");
        for _ in 0..20 {
            assert!(!bench.dut.high("placement_valid"), "a stale command placed somebody else's packet");
            bench.cycle();
        }
        let command =
            Record::new(&[("version", 1), ("opcode", code::command::PLACE as u64), ("pkt", 1), ("frame", 300)]);
        let latency = bench.offer("place", "command", &command, "placement_valid");
        assert_eq!(latency, 12, "place_valid to placement_valid");
    });
}

/// Packets that their handlers place leave at the same rate, whether the handlers say where or not.
#[test]
fn a_redirection_takes_no_longer_than_a_placement() {
    const PACKETS: u64 = 40;
    run_with_wave_on_failure("a_redirection_takes_no_longer_than_a_placement", |wave| {
        let mut took = vec![];
        let mut bench = Bench::new(wave, Config::SIM, 2);
        for opcode in [code::command::PLACE, code::command::REDIRECT] {
            for pkt in 0..PACKETS {
                bench.send(&packet(pkt, action::CONTEXT, 1, pkt, 50, 50));
            }
            let start = bench.now;
            bench.placements.clear();
            for pkt in 0..PACKETS {
                let fields = [("version", 1), ("opcode", opcode.into()), ("pkt", pkt), ("frame", pkt + 100)];
                let command = Record::new(&[&fields[..], &[("address", pkt), ("offset", 2 * pkt)]].concat());
                bench.offer("place", "command", &command, "place_ready");
            }
            while bench.placements.len() < PACKETS as usize {
                bench.cycle();
                assert!(bench.now < start + 1000, "{} placements", bench.placements.len());
            }
            took.push(bench.now - start);
            for (pkt, placement) in (0..).zip(&bench.placements.clone()) {
                let redirected = opcode == code::command::REDIRECT;
                let wanted = if redirected { (pkt, 2 * pkt) } else { (0, 0) };
                assert_eq!((placement.get("pkt"), placement.get("redirected")), (pkt, redirected.into()));
                assert_eq!((placement.get("addr"), placement.get("buf_off")), wanted);
            }
            let slots: Vec<u64> = bench.placements.iter().map(|placement| placement.get("msg_slot")).collect();
            for (pkt, slot) in (0..).zip(slots) {
                bench.ends(kind::PAYLOAD, slot, pkt, code::SPIN_SUCCESS);
                bench.placed(slot, pkt);
            }
            bench.tasks.clear();
        }
        println!("{PACKETS} placements: {took:?} cycles");
        assert_eq!(took[0], took[1]);
    });
}
