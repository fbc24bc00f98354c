//! Exact cycle counts of the scheduler, and cases that random traffic does not single out.

use crate::packet_engine::intake::set_packet;
use crate::packet_engine::schedule::payload_scheduler::bench::{packet, Bench};
use spindle_blocks::desc::{Command, PacketDesc, PlacementDone};
use spindle_contract::params::Config;
use spindle_contract::{descriptors::action, descriptors::kind, memory_map as code, reasons};
use spindle_harness::run_with_wave_on_failure;
use spindle_verilog::prelude::bits;

#[test]
fn fresh_message_takes_five_cycles() {
    run_with_wave_on_failure("fresh_message_takes_five_cycles", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 3);
        let word = packet(5, action::CONTEXT, 2, 9, 100, 100);
        set_packet(&bench.dut, &word);
        let latency = bench.offer(|dut| &dut.packet, &word, |dut| &dut.task_valid);
        assert_eq!(latency, 5, "packet_valid to task_valid");
        bench.cycles(10);
        let mut done = bench.done(kind::HEADER, 0, 5, code::SPIN_PROCESS_DATA);
        done.context = bits(2);
        let latency = bench.offer(|dut| &dut.task_done, &done, |dut| &dut.task_valid);
        assert_eq!(latency, 6, "task_done_valid to the payload task");
    });
}

#[test]
fn whole_mailbox_messages_at_full_rate() {
    run_with_wave_on_failure("whole_mailbox_messages_at_full_rate", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 0);
        bench.dut.packet.valid.set(true);
        let mut first = None;
        let mut seen = 0;
        for cycle in 0..64u64 {
            set_packet(&bench.dut, &packet(cycle, action::MAILBOX, 0, cycle, 10, 10));
            bench.dut.eval();
            assert!(bench.dut.packet.ready.is_high(), "a packet waited in cycle {cycle}");
            if bench.dut.placement.valid.is_high() {
                let desc = bench.dut.placement.get();
                let first = *first.get_or_insert(cycle);
                assert_eq!(desc.pkt.to_u64(), cycle - first);
                assert_eq!((u64::from(desc.has_slot), u64::from(desc.from_handler)), (0, 0));
                seen += 1;
            }
            bench.cycle();
        }
        assert_eq!(first, Some(1), "latency");
        assert_eq!(seen, 63, "one per cycle");
        // Their ends come back at one per cycle, too.
        bench.dut.packet.valid.set(false);
        bench.dut.placement_done.valid.set(true);
        for pkt in 0..32u64 {
            bench.dut.placement_done.set(PlacementDone { pkt: bits(pkt), placed: true, ..PlacementDone::default() });
            bench.dut.eval();
            assert!(bench.dut.placement_done.ready.is_high(), "an ended placement waited");
            bench.cycle();
        }
        bench.dut.placement_done.valid.set(false);
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
        assert_eq!(bench.dut.counts.messages_open.number(), 16);
        let done = bench.done(kind::HEADER, 7, 7, code::SPIN_PROCESS_DATA);
        bench.offer(|dut| &dut.task_done, &done, |dut| &dut.task_done.ready);
        bench.cycles(10);
        assert_eq!(bench.freed, [16, 7]);
        bench.send(&packet(20, action::CONTEXT, 1, 20, 50, 50));
        assert_eq!(bench.dut.counts.messages_open.number(), 16);
        assert_eq!(bench.drops.len(), 1);
    });
}

#[test]
fn tombstone_stays_until_all_bytes_arrived() {
    run_with_wave_on_failure("tombstone_stays_until_all_bytes_arrived", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 7);
        bench.send(&packet(1, action::CONTEXT, 1, 77, 50, 150));
        let done = bench.done(kind::HEADER, 0, 1, code::SPIN_FAIL);
        bench.offer(|dut| &dut.task_done, &done, |dut| &dut.task_done.ready);
        bench.cycles(10);
        assert_eq!(
            (bench.freed.clone(), bench.dut.counts.messages_open.number()),
            (vec![1], 1),
            "a tombstone keeps its slot"
        );
        bench.send(&packet(2, action::CONTEXT, 1, 77, 50, 150));
        assert_eq!(bench.dut.counts.messages_open.number(), 1);
        bench.send(&packet(3, action::CONTEXT, 1, 77, 50, 150));
        assert_eq!((bench.freed.clone(), bench.dut.counts.messages_open.number()), (vec![1, 2, 3], 0));
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
        assert_eq!(bench.dut.counts.messages_open.number(), 2);
    });
}

#[test]
fn late_command_is_ignored() {
    run_with_wave_on_failure("late_command_is_ignored", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 2);
        bench.send(&packet(1, action::CONTEXT, 1, 5, 50, 50));
        let done = bench.done(kind::PAYLOAD, 0, 1, code::SPIN_SUCCESS);
        bench.offer(|dut| &dut.task_done, &done, |dut| &dut.task_done.ready);
        bench.cycles(10);
        // The cell has a new owner whose handler runs; the command names the old frame.
        let mut reused = packet(1, action::CONTEXT, 1, 6, 50, 50);
        reused.frame = bits(300);
        bench.send(&reused);
        let command = Command {
            version: bits(1),
            opcode: bits(code::command::PLACE),
            pkt: bits(1),
            frame: bits(101),
            ..Command::default()
        };
        bench.offer(|dut| &dut.place, &command, |dut| &dut.place.ready);
        for _ in 0..20 {
            assert!(!bench.dut.placement.valid.is_high(), "a stale command placed the packet of another message");
            bench.cycle();
        }
        let command = Command {
            version: bits(1),
            opcode: bits(code::command::PLACE),
            pkt: bits(1),
            frame: bits(300),
            ..Command::default()
        };
        let latency = bench.offer(|dut| &dut.place, &command, |dut| &dut.placement.valid);
        assert_eq!(latency, 12, "place_valid to placement_valid");
    });
}

/// A packet that finds no buffer in its mailbox comes again if it has a sequence number: its bytes are missing until then. One
/// without a number does not come again, so it has arrived, and the message ends with the others.
#[test]
fn only_a_packet_with_a_number_comes_again() {
    run_with_wave_on_failure("only_a_packet_with_a_number_comes_again", |wave| {
        let mut bench = Bench::new(wave, Config::SIM, 0);
        for (id, sequenced) in [(7, false), (8, true)] {
            let part = |pkt| PacketDesc { sequenced, ..packet(pkt, action::MAILBOX, 0, id, 50, 100) };
            bench.freed.clear();
            bench.send(&part(1));
            let slot = bench.placements.last().expect("a placement").msg_slot.to_u64();
            bench.not_placed(slot, 1, reasons::NO_POSTED_BUFFER);
            bench.send(&part(2));
            bench.placed(slot, 2);
            assert_eq!(bench.dut.counts.messages_open.number(), u64::from(sequenced), "sequenced: {sequenced}");
            if sequenced {
                bench.send(&part(3));
                bench.placed(slot, 3);
            }
            assert_eq!(bench.dut.counts.messages_open.number(), 0, "sequenced: {sequenced}");
            assert_eq!(bench.freed, if sequenced { vec![1, 2, 3] } else { vec![1, 2] });
        }
        assert_eq!(bench.drops, [reasons::NO_POSTED_BUFFER as u64; 2]);
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
                let command = Command {
                    version: bits(1),
                    opcode: bits(opcode),
                    pkt: bits(pkt),
                    frame: bits(pkt + 100),
                    address: bits(pkt),
                    offset: bits(2 * pkt),
                    ..Command::default()
                };
                bench.offer(|dut| &dut.place, &command, |dut| &dut.place.ready);
            }
            while bench.placements.len() < PACKETS as usize {
                bench.cycle();
                assert!(bench.now < start + 1000, "{} placements", bench.placements.len());
            }
            took.push(bench.now - start);
            for (pkt, placement) in (0..).zip(&bench.placements.clone()) {
                let redirected = opcode == code::command::REDIRECT;
                let wanted = if redirected { (pkt, 2 * pkt) } else { (0, 0) };
                assert_eq!((placement.pkt.to_u64(), u64::from(placement.redirected)), (pkt, redirected.into()));
                assert_eq!((placement.addr.to_u64(), placement.buf_off.to_u64()), wanted);
            }
            let slots: Vec<u64> = bench.placements.iter().map(|placement| placement.msg_slot.to_u64()).collect();
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
