//! Event rings.

use crate::rvma_lut::rvma_engine::bench::{Bench, Pace};
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::Rng;
use spindle_blocks::desc::EventDesc;
use spindle_contract::events::{self, BYTES, LOST, USER};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, rvma, PAGE};
use spindle_harness::run_with_wave_on_failure;
use spindle_model::rvma_lut::host_access::{Event, EventRing};
use spindle_sim::host_memory::Timing;
use spindle_verilog::prelude::bits;

/// Where the ring of a process lies: aligned to 1 MiB, across 4 GiB for some.
pub fn base(pid: u16) -> u64 {
    0xFF80_0000 + (u64::from(pid) << 20)
}

/// Opens the ring of a process with so many records, or closes it.
pub fn open(bench: &mut Bench, pid: u16, records: u32) -> Result<(), u32> {
    open_at(bench, pid, base(pid), records * BYTES as u32)
}

fn open_at(bench: &mut Bench, pid: u16, base: u64, bytes: u32) -> Result<(), u32> {
    bench.host.write(base, &vec![0; bytes.min(1 << 20) as usize]);
    bench.stage(pid, doorbell::BUFFER_LO, base as u32);
    bench.stage(pid, doorbell::BUFFER_HI, (base >> 32) as u32);
    bench.stage(pid, doorbell::SIZE, bytes);
    credit(bench, pid, 0);
    match bench.ring(pid, doorbell_command::OPEN_RING) {
        (doorbell_error::NONE, _) => Ok(()),
        (error, _) => Err(error),
    }
}

pub fn credit(bench: &mut Bench, pid: u16, head: u32) {
    let address = doorbell::BASE + u32::from(pid) * PAGE + doorbell::EVENT_HEAD;
    assert_eq!(bench.csr(true, address, head & 0xFFFF), (0, false));
}

pub fn send(bench: &mut Bench, source: usize, pid: u16, e: &Event) {
    let event = EventDesc {
        pid: bits(pid),
        kind: bits(e.kind),
        context: bits(e.context),
        code: bits(e.code),
        flags: bits(e.flags),
        id: bits(e.id),
        length: bits(e.length),
        extra: bits(e.extra),
        source: bits(e.source),
        user: bits(e.user),
    };
    bench.agents.event(source, event);
}

fn any_event(rng: &mut impl Rng, id: u32) -> Event {
    Event {
        kind: rng.random_range(1..LOST),
        context: rng.random_range(0..16),
        code: rng.random(),
        flags: rng.random(),
        id,
        length: rng.random(),
        extra: rng.random(),
        source: rng.random(),
        user: rng.random(),
    }
}

/// One source, pauses between, so that the model knows the order of everything: memory is the model's, byte by byte.
#[test]
fn rings_are_the_models() {
    run_with_wave_on_failure("rvma_rings_model", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 30));
        let sizes = [(0u16, 2u32), (1, 8), (7, 64), (15, 256)];
        let mut rings: Vec<EventRing> = sizes.iter().map(|(_, records)| EventRing::new(*records)).collect();
        for (pid, records) in sizes {
            open(&mut bench, pid, records).unwrap();
        }
        let mut read = [0u32; 4];
        for id in 0..1000 {
            let i = bench.rng.random_range(0..4);
            if bench.rng.random_range(0..4) == 0 {
                let written = rings[i].written.len() as u32;
                read[i] = bench.rng.random_range(read[i]..=written);
                rings[i].read_up_to(read[i]);
                credit(&mut bench, sizes[i].0, read[i]);
            } else {
                let event = any_event(&mut bench.rng, id);
                rings[i].event(&event);
                let source = bench.rng.random_range(0..2);
                send(&mut bench, source, sizes[i].0, &event);
            }
            // A LOST record is found within a look at all rings.
            bench.steps(2 * 64 + 20);
        }
        bench.drain();
        let mut lost = 0;
        for ((pid, _), ring) in sizes.iter().zip(&rings) {
            assert_eq!(bench.host.memory.bytes(base(*pid), ring.memory().len()), ring.memory(), "process {pid}");
            lost += ring.written.iter().filter(|r| r[0] == LOST).count();
        }
        assert!(lost > 20, "the rings were full {lost} times only");
        assert_eq!(bench.counter(rvma::EVENTS), rings.iter().map(|r| r.written.len() as u32).sum::<u32>());
    });
}

/// What a reader of a ring has seen.
#[derive(Default)]
struct Seen {
    records: u32,
    /// Per source: number of the next event.
    next: [u32; 2],
    /// Events missing since the last one of each source, and events that LOST records informed of.
    missing: u32,
    reported: u32,
}

/// Both sources at full speed, readers of all speeds: every event is in its ring in its order, or reported as lost.
fn storm(context: &spindle_harness::WaveContext, idle: u32, timing: Timing) {
    let mut bench = Bench::new(context, &Config::SIM, (1, 1));
    bench.host.timing = timing;
    bench.agents.idle = idle;
    // Process, records, percent of the looks in which its reader is awake. Process 9 has no ring.
    let rings = [(0u16, 2u32, 30), (3, 8, 5), (4, 16, 100), (15, 1024, 50)];
    for (pid, records, _) in rings {
        open(&mut bench, pid, records).unwrap();
    }
    let mut sent = [[0u32; 2]; 4];
    let mut closed = 0;
    for _ in 0..1500 {
        let source = bench.rng.random_range(0..2);
        let i = bench.rng.random_range(0..5);
        let event = any_event(&mut bench.rng, 0);
        if i == 4 {
            closed += 1;
            send(&mut bench, source, 9, &event);
        } else {
            let event = Event { source: source as u32, id: sent[i][source], ..event };
            sent[i][source] += 1;
            send(&mut bench, source, rings[i].0, &event);
        }
    }
    let mut seen: [Seen; 4] = Default::default();
    let start = bench.dut.cycle();
    loop {
        for (i, (pid, records, awake)) in rings.into_iter().enumerate() {
            let finished = bench.agents.idle();
            if !finished && bench.rng.random_range(0..100) >= awake {
                continue;
            }
            let seen = &mut seen[i];
            let before = seen.records;
            loop {
                let at = base(pid) + u64::from(seen.records % records) * BYTES as u64;
                let (event, number) = Event::parse(&bench.host.memory.bytes(at, BYTES));
                if number != seen.records + 1 {
                    break;
                }
                seen.records += 1;
                if event.kind == LOST {
                    assert!(event.length > 0);
                    seen.reported += event.length;
                } else {
                    let next = &mut seen.next[event.source as usize];
                    assert!(event.id >= *next, "process {pid}: event {} after {next}", event.id);
                    seen.missing += event.id - *next;
                    *next = event.id + 1;
                }
                // What is missing was reported before what came after it.
                assert!(
                    seen.missing <= seen.reported,
                    "process {pid} misses {}, reported {}",
                    seen.missing,
                    seen.reported
                );
            }
            if seen.records != before {
                let records = seen.records;
                credit(&mut bench, pid, records);
            }
        }
        bench.steps(20);
        let all = (0..4).all(|i| {
            let missing: u32 = (0..2).map(|s| sent[i][s] - seen[i].next[s]).sum();
            seen[i].missing + missing == seen[i].reported
        });
        if all && bench.agents.idle() {
            break;
        }
        assert!(bench.dut.cycle() < start + 400_000, "events are missing that no LOST record counts");
    }
    assert!(seen[0].reported > 0 && seen[1].reported > 0, "slow readers lose events");
    assert_eq!(seen[3].reported, 0, "a ring that is not full loses nothing, whatever the others do");
    let lost = seen.iter().map(|s| s.reported).sum::<u32>() + closed;
    assert_eq!(bench.counter(rvma::EVENTS_LOST), lost);
    bench.drain();
}

#[test]
fn random_events_at_full_speed() {
    run_with_wave_on_failure("rvma_events_fast", |c| {
        storm(c, 0, Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 1, read_stall: 0 })
    });
}

#[test]
fn random_events_and_a_slow_host() {
    run_with_wave_on_failure("rvma_events_slow", |c| {
        storm(c, 50, Timing { aw_stall: 50, w_stall: 50, response_min: 1, response_max: 300, read_stall: 0 })
    });
}

#[test]
fn figures_of_events() {
    run_with_wave_on_failure("rvma_events_figures", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (10, 10));
        bench.host.keep_log = true;
        open(&mut bench, 2, 1024).unwrap();
        let event = Event { kind: USER, user: 0x1122_3344_5566_7788, ..Event::default() };
        send(&mut bench, 1, 2, &event);
        bench.drain();
        let record = bench.host.log[0].clone();
        println!("event to AWVALID {}", record.offered_cycle - bench.agents.events[1].taken[0]);
        assert_eq!(record.offered_cycle - bench.agents.events[1].taken[0], 6);
        assert_eq!(record.bytes.len(), BYTES);
        assert_eq!(bench.host.memory.bytes(base(2), BYTES), event.record(1));

        // 2 cycles per event, be it of one source or of both.
        for sources in [1, 2] {
            bench.host.log.clear();
            for i in 0..100 {
                send(&mut bench, i % sources, 2, &event);
            }
            bench.drain();
            let took = bench.host.log[99].address_cycle - bench.host.log[0].address_cycle;
            assert_eq!(took, 99 * 2, "{sources} sources");
        }
    });
}

/// Bad rings are refused, the registers of one process do not touch another's ring, and a closed ring is written no more.
#[test]
fn opening_and_closing() {
    run_with_wave_on_failure("rvma_rings_open", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (200, 200));
        for (base, bytes) in [
            (0x1000, 32),
            (0x1000, 96),
            (0x1000, 65),
            (0x1020, 64),
            (0x1010, 64),
            (0x10_0000, 1 << 21),
            (0x8_0000, 1 << 20),
            (0x1000, 0x8000_0040),
            (0x1000, 0x1_0040),
        ] {
            assert_eq!(open_at(&mut bench, 1, base, bytes), Err(doorbell_error::BAD_ARGUMENT), "{base:#x} {bytes}");
        }
        assert_eq!(bench.dut.rings_open.number(), 0);
        open_at(&mut bench, 1, 0x10_0000, 1 << 20).unwrap();
        open(&mut bench, 5, 2).unwrap();
        assert_eq!(bench.dut.rings_open.number(), 1 << 1 | 1 << 5);
        let event = Event { kind: USER, id: 9, ..Event::default() };
        for _ in 0..5 {
            send(&mut bench, 0, 5, &event);
        }
        bench.run_until("events", |b| b.agents.idle());
        // The result of closing comes after the last write.
        open_at(&mut bench, 5, 0x40, 0).unwrap();
        assert!(bench.host.idle(), "records are still under way");
        assert_eq!(bench.host.memory.bytes(base(5), BYTES), event.record(1));
        assert_eq!(bench.dut.rings_open.number(), 1 << 1);
        send(&mut bench, 0, 5, &event);
        bench.steps(400);
        assert_eq!(bench.counter(rvma::EVENTS), 2);
        assert_eq!(bench.counter(rvma::EVENTS_LOST), 4);
        // A ring that is opened again starts anew.
        open(&mut bench, 5, 4).unwrap();
        send(&mut bench, 1, 5, &event);
        bench.drain();
        assert_eq!(bench.host.memory.bytes(base(5), 2 * BYTES), [event.record(1), [0; BYTES]].concat());
    });
}

/// An event that is offered when its message's placements are done is written after the message's data have been answered.
#[test]
fn events_follow_their_data() {
    run_with_wave_on_failure("rvma_events_order", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 1));
        bench.host.timing = Timing { aw_stall: 30, w_stall: 30, response_min: 1, response_max: 200, read_stall: 0 };
        bench.pace = Pace { idle: 0, read_stall: 30, done_stall: 0 };
        bench.host.keep_log = true;
        open(&mut bench, 0, 64).unwrap();
        let number = bench.init_window(0, 1, 2, 1 << 20, 0).unwrap();
        bench.post_buffer(0, number, 0x10_0000, 1 << 20, 0x5000).unwrap();
        let mut rng = context.rng();
        for id in 0..30u32 {
            let packets = message(&mut rng, 0, 1, 2, id, 3000, id * 4096, 700, 3);
            let count = bench.done.len() + packets.len();
            for put in &packets {
                bench.put(put, 90);
            }
            bench.run_until("the message", |b| b.done.len() == count);
            let event = Event { kind: events::MESSAGE, id, length: 3000, ..Event::default() };
            send(&mut bench, 0, 0, &event);
            let ring = base(0) + u64::from(id) * BYTES as u64;
            bench.run_until("the event", |b| b.host.memory.bytes(ring, BYTES)[28] != 0);
            let sent: Vec<u8> = packets.iter().flat_map(|p| p.payload.clone()).collect();
            assert_eq!(bench.host.memory.bytes(0x10_0000 + u64::from(id) * 4096, 3000), sent);
        }
        bench.drain();
        // Not only when the host looked: no record's address went out before the last answer of its message.
        let of = |start: u64| start..start + 4096;
        for id in 0..30u64 {
            let data = bench.host.log.iter().filter(|b| of(0x10_0000 + id * 4096).contains(&b.address));
            let last = data.map(|b| b.response_cycle).max().expect("data");
            let line = base(0) + id * BYTES as u64;
            let record = bench.host.log.iter().find(|b| b.bytes.iter().any(|x| x.0 == line)).expect("a record");
            assert!(record.offered_cycle > last, "message {id}");
        }
    });
}

/// The scheduler may take no placement's end before an event has left, and the host no address before an answer was taken:
/// nothing may wait in a circle.
#[test]
fn events_never_wait_for_placements() {
    run_with_wave_on_failure("rvma_events_circle", |context| {
        for most_open in [1, 4] {
            let mut bench = Bench::new(context, &Config::SIM, (20, 20));
            open(&mut bench, 0, 64).unwrap();
            let number = bench.init_window(0, 1, 2, 1 << 20, 0).unwrap();
            bench.post_buffer(0, number, 0x10_0000, 1 << 20, 0x5000).unwrap();
            bench.host.most_open = most_open;
            // No end of a placement is taken.
            bench.pace = Pace { idle: 0, read_stall: 0, done_stall: 100 };
            let mut rng = context.rng();
            for id in 0..200u32 {
                for put in message(&mut rng, 0, 1, 2, id, 64, id * 64, 64, 3) {
                    bench.put(&put, 90);
                }
            }
            bench.steps(3000);
            let event = Event { kind: USER, id: 1, ..Event::default() };
            for _ in 0..40 {
                send(&mut bench, 0, 0, &event);
            }
            let last = base(0) + 39 * BYTES as u64;
            bench.run_until("events", |b| b.host.memory.bytes(last, BYTES)[28] != 0);
            assert!(bench.done.is_empty());
            bench.pace.done_stall = 0;
            bench.drain();
            assert_eq!(bench.done.len(), 200);
        }
    });
}
