//! Exact cycle counts of the scheduler, and cases that random traffic does not single out.

use crate::packet_back::dut::{Dut, Record};
use crate::packet_back::traffic::install;
use packet_engine::payload_scheduler::PayloadScheduler;
use spindle_contract::params::Config;
use spindle_contract::{descriptors::action, descriptors::kind, memory_map as code, reasons, wire::opcode};
use spindle_harness::run_with_wave_on_failure;

/// A packet of message `id` with `len` of `total` bytes.
fn packet(pkt: u64, action: u8, context: u64, id: u64, len: u64, total: u64) -> Record {
    Record::new(&[
        ("version", 1),
        ("frame", pkt + 100),
        ("pkt", pkt),
        ("is_spindle", 1),
        ("opcode", opcode::PUT as u64),
        ("msg_id", id),
        ("payload_len", len),
        ("msg_len", total),
        ("action", action as u64),
        ("context", context),
        ("per_message", 1),
    ])
}

struct Bench {
    dut: Dut,
    freed: Vec<u64>,
    drops: Vec<u64>,
}

impl Bench {
    /// Every context is active and has the handlers that `mask` names (1 header, 2 payload, 4 completion).
    fn new(wave: &spindle_harness::WaveContext, config: Config, mask: u64) -> Self {
        let mut dut = Dut::new(wave, &mut PayloadScheduler::new(&config), "payload_scheduler");
        let contexts = (0..16).fold(0u64, |bits, c| bits | (1 | mask << 1) << (4 * c));
        dut.set_bytes("contexts", &contexts.to_le_bytes());
        for port in ["placement_ready", "free_ready"] {
            dut.set(port, 1);
        }
        dut.set("room_feedback", u64::from(u32::MAX));
        install(&mut dut, &vec![Record::default(); 16]);
        Bench { dut, freed: vec![], drops: vec![] }
    }

    /// One cycle with the inputs as they stand.
    fn cycle(&mut self) {
        self.dut.eval();
        if self.dut.high("free_valid") {
            let pkt = self.dut.get("free_pkt");
            self.freed.push(pkt);
        }
        let outcome = self.dut.get("outcome");
        if outcome >> 2 & 1 == 1 {
            self.drops.push(outcome >> 3);
        }
        self.dut.tick();
    }

    fn cycles(&mut self, count: usize) {
        for _ in 0..count {
            self.cycle();
        }
    }

    /// Offers a word until it is taken; cycles from the first offer to the one in which `watch` is high.
    fn offer(&mut self, port: &str, desc: &str, word: &Record, watch: &str) -> usize {
        self.dut.put(port, desc, word);
        self.dut.set(&format!("{port}_valid"), 1);
        for cycle in 0..40 {
            self.dut.eval();
            let taken = self.dut.high(&format!("{port}_ready"));
            if self.dut.high(watch) {
                self.cycle();
                self.dut.set(&format!("{port}_valid"), 0);
                return cycle;
            }
            self.cycle();
            if taken {
                self.dut.set(&format!("{port}_valid"), 0);
            }
        }
        panic!("{watch} never came");
    }

    fn send(&mut self, word: &Record) {
        self.offer("packet", "packet_desc", word, "packet_ready");
        self.cycles(8);
    }

    fn done(&mut self, kind: u8, slot: u64, pkt: u64, value: u8) -> Record {
        Record::new(&[
            ("version", 1),
            ("kind", kind as u64),
            ("msg_slot", slot),
            ("pkt", pkt),
            ("frame", pkt + 100),
            ("code", value as u64),
        ])
    }
}

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
        assert_eq!(bench.dut.get("messages_open"), 16);
        let done = bench.done(kind::HEADER, 7, 7, code::SPIN_PROCESS_DATA);
        bench.offer("task_done", "task_done", &done, "task_done_ready");
        bench.cycles(10);
        assert_eq!(bench.freed, [16, 7]);
        bench.send(&packet(20, action::CONTEXT, 1, 20, 50, 50));
        assert_eq!(bench.dut.get("messages_open"), 16);
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
        assert_eq!((bench.freed.clone(), bench.dut.get("messages_open")), (vec![1], 1), "a tombstone keeps its slot");
        bench.send(&packet(2, action::CONTEXT, 1, 77, 50, 150));
        assert_eq!(bench.dut.get("messages_open"), 1);
        bench.send(&packet(3, action::CONTEXT, 1, 77, 50, 150));
        assert_eq!((bench.freed.clone(), bench.dut.get("messages_open")), (vec![1, 2, 3], 0));
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
        assert_eq!(bench.dut.get("messages_open"), 2);
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
