//! Reports against a model of their queues and of who has an event ring.

use crate::hpu_core::fields::{bits, field, pack, slice};
use hpu_core::array::reports::Reports;
use rand::Rng;
use spindle_blocks::RamStyle;
use spindle_contract::events;
use spindle_contract::memory_map::command;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// Places of the queues that the registers show.
const FAULTS: usize = 16;
const PRINTS: usize = 64;
/// Cycles until a report is shown.
const SHOWN: u64 = 3;

/// Reports that the registers show, each with the cycle from which it is shown.
type Queue = VecDeque<(u64, [u64; 4])>;

#[test]
fn faults_and_messages_reach_their_process() {
    run_with_wave_on_failure("reports", |wave| {
        let dut = Dut::new(wave, Reports::new(RamStyle::Block), "reports");
        let mut rng = wave.rng();
        let pids: Vec<u64> = (0..16).map(|_| rng.random_range(0..64)).collect();
        for (context, pid) in pids.iter().enumerate() {
            dut.policy.set_bytes(&pack("context_policy", &[("pid", *pid)]));
            dut.policy.index.set(context);
            dut.policy.valid.set(true);
            dut.tick();
        }
        dut.policy.valid.set(false);
        let (mut faults, mut prints) = (Queue::new(), Queue::new());
        let mut reported: VecDeque<Vec<(&str, u64)>> = VecDeque::new();
        let (mut fault, mut message): (Option<[u64; 4]>, Option<[u64; 7]>) = (None, None);
        let (mut lost, mut events_seen, mut open) = ([0; 2], 0, 0u64);
        for cycle in 0..30_000u64 {
            // Rings open and close while nothing is on its way; every context is looked at again within 16 cycles.
            let calm = cycle % 2000 < 40;
            if cycle % 2000 == 20 {
                open = pids.iter().fold(0, |open, pid| open | u64::from(rng.random::<bool>()) << pid);
                dut.processes_open.set_bytes(&bits(&[(open, 64)]));
            }
            if fault.is_none() && !calm && rng.random_range(0..8) == 0 {
                fault = Some(std::array::from_fn(|_| rng.random::<u32>().into()));
            }
            if message.is_none() && !calm && rng.random_range(0..3) == 0 {
                let opcode = [command::PRINT, command::EVENT, command::COMPLETE][rng.random_range(0..3)];
                let mut words: [u64; 7] = std::array::from_fn(|_| rng.random::<u32>().into());
                (words[0], words[2], words[5]) = (opcode.into(), words[2] & 0xFFFF, words[5] & 0xFF);
                words[1] &= 0x03FF_FFFF;
                message = Some(words);
            }
            dut.fault.valid.set(fault.is_some());
            dut.fault.set_bytes(&bits(&fault.unwrap_or_default().map(|word| (word, 32))));
            dut.message.valid.set(message.is_some());
            let [opcode, who, frame, low, high, slot, length] = message.unwrap_or_default();
            dut.message.set_bytes(&bits(&[
                (opcode, 4),
                (who, 32),
                (frame, 16),
                (low, 32),
                (high, 32),
                (slot, 8),
                (length, 32),
            ]));
            // For long times no one reads, so that the queues fill.
            let reads = cycle % 4000 > 2500;
            for pop in [&dut.queued_fault.pop, &dut.queued_print.pop] {
                pop.set(reads && rng.random_range(0..3) == 0);
            }
            dut.record.ready.set(rng.random_range(0..3) > 0);
            dut.eval();
            assert_eq!(
                (dut.queued_fault.count.number(), dut.queued_print.count.number()),
                (faults.len() as u64, prints.len() as u64)
            );
            let shows = |queue: &Queue| queue.front().is_some_and(|(from, _)| *from <= cycle);
            assert_eq!(dut.fault_pending.is_high(), shows(&faults));
            if dut.record.valid.is_high() && dut.record.ready.is_high() {
                let record = dut.record.bytes();
                for (name, value) in reported.pop_front().expect("an event is reported") {
                    assert_eq!(field("event_desc", &record, name), value, "{name}");
                }
                events_seen += 1;
            }
            let has_ring = |who: u64| open >> pids[(who >> 4 & 15) as usize] & 1 == 1;
            let base = |who: u64| ("pid", pids[(who >> 4 & 15) as usize]);
            let (mut fault_lost, mut print_lost) = (false, false);
            let (room_for_fault, room_for_print) = (faults.len() < FAULTS, prints.len() < PRINTS);
            if dut.queued_fault.pop.number() == 1 && shows(&faults) {
                if let Some((_, words)) = faults.pop_front() {
                    let shown = dut.queued_fault.bytes();
                    assert_eq!([0, 32, 64, 96].map(|at| slice(&shown, at, 32)), words);
                }
            }
            if dut.queued_print.pop.number() == 1 && shows(&prints) {
                if let Some((_, [who, frame, low, high])) = prints.pop_front() {
                    let shown = dut.queued_print.bytes();
                    let is = [(0, 32), (32, 16), (48, 32), (80, 32)].map(|(at, width)| slice(&shown, at, width));
                    assert_eq!(is, [who, frame, low, high]);
                }
            }
            if fault.is_some() && dut.fault.ready.is_high() {
                let [who, pc, address, frame] = fault.take().expect("it is offered");
                assert!(dut.faulted.is_high());
                if has_ring(who) {
                    let fields = vec![
                        base(who),
                        ("kind", events::FAULT.into()),
                        ("context", who >> 4 & 15),
                        ("code", who & 15),
                        ("id", pc),
                        ("length", who >> 8),
                        ("extra", address),
                        ("source", frame),
                        ("user", 0),
                    ];
                    reported.push_back(fields);
                } else if room_for_fault {
                    faults.push_back((cycle + SHOWN, [who, pc, address, frame]));
                } else {
                    fault_lost = true;
                }
            } else if message.is_some() && dut.message.ready.is_high() {
                message = None;
                let is_print = opcode == u64::from(command::PRINT);
                if has_ring(who) || !is_print {
                    let kind = match opcode as u8 {
                        command::PRINT => events::PRINT,
                        command::EVENT => events::USER,
                        _ => events::COMPLETE,
                    };
                    let fields = vec![
                        base(who),
                        ("kind", kind.into()),
                        ("context", who >> 4 & 15),
                        ("code", if is_print { who & 15 } else { 0 }),
                        ("id", 0),
                        ("length", if is_print { slot << 16 | who >> 8 & 0xFFFF } else { length }),
                        ("source", frame | (who >> 24 & 3) << 16),
                        ("user", high << 32 | low),
                    ];
                    reported.push_back(fields);
                } else if room_for_print {
                    prints.push_back((cycle + SHOWN, [who, frame, low, high]));
                } else {
                    print_lost = true;
                }
            }
            assert_eq!((dut.fault_lost.is_high(), dut.print_lost.is_high()), (fault_lost, print_lost), "cycle {cycle}");
            lost[0] += usize::from(fault_lost);
            lost[1] += usize::from(print_lost);
            dut.tick();
        }
        assert!(
            reported.len() <= 1 && lost.iter().all(|lost| *lost > 20) && events_seen > 2000,
            "{lost:?} {events_seen}"
        );
    });
}

#[test]
fn a_context_has_the_ring_of_its_process() {
    run_with_wave_on_failure("reports_rings", |wave| {
        let dut = Dut::new(wave, Reports::new(RamStyle::Block), "reports");
        let mut rng = wave.rng();
        for round in 0..500 {
            // Any processes, several contexts of one too.
            let pids: [u64; 16] = std::array::from_fn(|_| rng.random_range(0..64));
            for (context, pid) in pids.iter().enumerate() {
                dut.policy.set_bytes(&pack("context_policy", &[("pid", *pid)]));
                dut.policy.index.set(context);
                dut.policy.valid.set(true);
                dut.tick();
            }
            dut.policy.valid.set(false);
            let open: u64 = rng.random();
            dut.processes_open.set_bytes(&bits(&[(open, 64)]));
            // A change of a ring is seen after so many cycles at most.
            dut.ticks(16);
            let rings = pids.iter().enumerate().fold(0, |rings, (context, pid)| rings | (open >> pid & 1) << context);
            assert_eq!(dut.rings_open.number(), rings, "round {round}");
        }
    });
}
