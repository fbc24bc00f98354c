//! Events of buffers that are complete (mode EVENT).

use crate::rvma_lut::completion::event_rings::{base, open};
use crate::rvma_lut::rvma_engine::bench::{Bench, Pace};
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::Rng;
use spindle_contract::events::{BUFFER, BYTES};
use spindle_contract::params::Config;
use spindle_contract::registers::mailbox_mode;
use spindle_contract::wire::{status, RECORD_BYTES, RECORD_STATUS};
use spindle_harness::run_with_wave_on_failure;
use spindle_model::rvma_lut::host_access::Event;
use spindle_sim::host_memory::Timing;

const SIZE: u32 = 4096;
const BUFFERS: u32 = 40;

fn buffer(window: u32, i: u32) -> u64 {
    0x10_0000 + u64::from(window) * 0x100_0000 + u64::from(i * SIZE)
}

fn record(window: u32, i: u32) -> u64 {
    0x5000_0000 + u64::from(window) * 0x10_0000 + u64::from(i) * 16
}

/// Messages of one packet complete a buffer each, faster than records and events can leave: no record and no event is lost.
#[test]
fn a_rush_of_complete_buffers_is_reported() {
    const BYTES_EACH: u32 = 64;
    const RUSH: u32 = 100;
    run_with_wave_on_failure("rvma_complete_rush", |context| {
        for stall in [0, 40, 80] {
            let mut bench = Bench::new(context, &Config::SIM, (1, 1));
            bench.host.timing =
                Timing { aw_stall: stall, w_stall: stall, response_min: 1, response_max: 50, read_stall: 0 };
            open(&mut bench, 0, 128).unwrap();
            let number = bench.init_window(0, 9, 7, BYTES_EACH, mailbox_mode::EVENT).unwrap();
            for i in 0..RUSH {
                bench.post_buffer(0, number, buffer(0, i), BYTES_EACH, record(0, i)).unwrap();
            }
            let mut rng = context.rng();
            for id in 0..RUSH {
                for put in message(&mut rng, 0, 9, 7, id, BYTES_EACH, 0, BYTES_EACH, 0) {
                    bench.put(&put, 90);
                }
            }
            bench.drain();
            bench.steps(500);
            bench.drain();
            let recorded: Vec<u32> = (0..RUSH)
                .filter(|i| bench.host.memory.bytes(record(0, *i), RECORD_BYTES)[RECORD_STATUS] == status::DONE)
                .collect();
            assert_eq!(recorded, (0..RUSH).collect::<Vec<_>>(), "records, stall {stall}");
            let reported: Vec<u32> = (0..u64::from(RUSH))
                .map(|i| Event::parse(&bench.host.memory.bytes(base(0) + i * BYTES as u64, BYTES)).0.source)
                .collect();
            assert_eq!(reported, recorded, "events, stall {stall}");
        }
    });
}

/// Windows with and without the mode, filled by random messages while the host stalls: each buffer of the first kind has one event, with
/// the facts of its record, and the event leaves after the record. The others have none.
#[test]
fn complete_buffers_are_reported_once() {
    run_with_wave_on_failure("rvma_complete_events", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 1));
        bench.host.timing = Timing { aw_stall: 30, w_stall: 30, response_min: 1, response_max: 200, read_stall: 0 };
        bench.pace = Pace { idle: 20, read_stall: 20, done_stall: 20 };
        bench.host.keep_log = true;
        // Process, mode. Process 4 has no ring: its events are lost.
        let windows = [(0u16, mailbox_mode::EVENT), (1, 0), (2, mailbox_mode::EVENT), (4, mailbox_mode::EVENT)];
        let mut numbers = vec![];
        for (window, (pid, mode)) in windows.iter().enumerate() {
            if *pid != 4 {
                open(&mut bench, *pid, 64).unwrap();
            }
            let number = bench.init_window(*pid, 9, 7, SIZE, *mode).unwrap();
            numbers.push(number);
            for i in 0..BUFFERS {
                bench.post_buffer(*pid, number, buffer(window as u32, i), SIZE, record(window as u32, i)).unwrap();
            }
        }
        let mut rng = context.rng();
        for id in 0..BUFFERS {
            for (pid, _) in windows {
                let segment = rng.random_range(300..1408);
                for put in message(&mut rng, pid, 9, 7, 4 * id + u32::from(pid % 4), SIZE, 0, segment, pid as u8 + 1) {
                    bench.put(&put, 90);
                }
            }
            // A message slot is used again when its message has ended.
            bench.run_until("the messages", |b| b.open_packets() == 0);
        }
        bench.drain();
        bench.steps(500);
        bench.drain();
        for (window, (pid, mode)) in windows.iter().enumerate() {
            let events: Vec<(Event, u32)> = (0..64u64)
                .map(|i| Event::parse(&bench.host.memory.bytes(base(*pid) + i * BYTES as u64, BYTES)))
                .filter(|(_, number)| *number != 0)
                .collect();
            let expected = if *mode == 0 || *pid == 4 { 0 } else { BUFFERS as usize };
            assert_eq!(events.len(), expected, "process {pid}");
            let mut reported = vec![];
            for (event, number) in events {
                assert_eq!((event.kind, event.code), (BUFFER, status::DONE), "{event:?}");
                assert_eq!((event.id, event.length, event.extra), (numbers[window] & 0xFFF, SIZE, SIZE), "{event:?}");
                assert_eq!(event.user, buffer(window as u32, event.source), "{event:?}");
                reported.push(event.source);
                // The event leaves after its record.
                let offered = |address: u64, bytes: usize| {
                    let burst = bench.host.log.iter().find(|b| b.bytes.first().is_some_and(|(a, _)| *a == address));
                    let burst = burst.unwrap_or_else(|| panic!("nothing was written to {address:#x}"));
                    assert_eq!(burst.bytes.len(), bytes);
                    burst.offered_cycle
                };
                let of_record = offered(record(window as u32, event.source), RECORD_BYTES);
                let of_event = offered(base(*pid) + u64::from(number - 1) * BYTES as u64, BYTES);
                assert!(of_event > of_record, "event {number} of process {pid}");
            }
            reported.sort_unstable();
            assert_eq!(reported, (0..expected as u32).collect::<Vec<_>>());
        }
    });
}
