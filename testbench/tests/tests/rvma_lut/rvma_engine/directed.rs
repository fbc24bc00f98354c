//! Single situations: the known trap, alignments, host errors, posting while packets arrive, contradictions.

use crate::rvma_lut::rvma_engine::bench::{Bench, Pace, FULL};
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::{message, payload, OFFSETS};
use rand::Rng;
use spindle_contract::params::Config;
use spindle_contract::reasons::{HOST_ERROR, NO_POSTED_BUFFER, OUT_OF_BOUNDS};
use spindle_contract::registers::rvma;
use spindle_contract::wire::{flag, opcode, status};
use spindle_harness::run_with_wave_on_failure;
use spindle_model::rvma_lut::Put;
use spindle_sim::host_memory::Timing;

/// All orders of `items` in which the marks of each message may fall.
fn interleavings(a: usize, b: usize) -> Vec<Vec<bool>> {
    match (a, b) {
        (0, 0) => vec![vec![]],
        _ => {
            let mut all = vec![];
            for (first, rest) in [(false, (a.wrapping_sub(1), b)), (true, (a, b.wrapping_sub(1)))] {
                if rest.0 != usize::MAX && rest.1 != usize::MAX {
                    all.extend(interleavings(rest.0, rest.1).into_iter().map(|mut tail| {
                        tail.insert(0, first);
                        tail
                    }));
                }
            }
            all
        }
    }
}

/// Two puts of 512 bytes into a buffer of 1024, each in four packets: one record, after the last byte, whatever the order.
#[test]
fn two_puts_complete_one_buffer_once() {
    run_with_wave_on_failure("rvma_two_puts", |context| {
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
        twin.bench.host.keep_log = true;
        twin.open(1, 0x77, 5, 1024);
        let orders = interleavings(4, 4);
        assert_eq!(orders.len(), 70);
        for (round, order) in orders.iter().enumerate() {
            let (base, record) = (0x10_0000 + 0x1000 * round as u64 + round as u64, 0x90_0000 + 16 * round as u64);
            twin.post(1, 0x77, base, 1024, record);
            let id = 2 * round as u32;
            let mut rng = context.rng();
            let mut parts = [
                message(&mut rng, 1, 0x77, 5, id, 512, 0, 128, 3),
                message(&mut rng, 1, 0x77, 5, id + 1, 512, 512, 128, 9),
            ];
            if round % 2 == 1 {
                parts.iter_mut().for_each(|p| p.reverse());
            }
            for (i, second) in order.iter().enumerate() {
                let put = parts[usize::from(*second)].remove(0);
                twin.put(&put, OFFSETS[i % 2]);
                if i == 6 {
                    let open = |b: &Bench| b.open_packets() == 0 && b.host.idle();
                    twin.bench.run_until("seven packets", open);
                    twin.bench.steps(40);
                    assert_eq!(
                        twin.bench.host.memory.bytes(record, 16),
                        [0; 16],
                        "order {round}: a record before the last packet"
                    );
                }
            }
            twin.bench.drain();
            assert_eq!(twin.model.records.len(), round + 1);
        }
        twin.finish();
    });
}

/// Every alignment of the source against every alignment of the destination, with short and line-crossing lengths.
#[test]
fn every_alignment() {
    run_with_wave_on_failure("rvma_every_alignment", |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 4)));
        twin.bench.host.keep_log = true;
        twin.open(0, 1, 2, 1 << 24);
        // 256 bytes a put; the buffer starts at an odd place below 4 GiB and runs across it.
        twin.post(0, 1, 0xFFF0_0003, 1 << 24, 0x5000);
        let mut at = 0u32;
        for source in 0..64usize {
            for destination in 0..64u32 {
                let length = match rng.random_range(0..4) {
                    0 => rng.random_range(1..4),
                    1 => rng.random_range(60..70),
                    2 => 64 - destination,
                    _ => rng.random_range(1..330),
                };
                let buf_off = at + (destination + 64 - 3) % 64;
                at += 512;
                let data = payload(&mut rng, length as usize);
                let put = Put {
                    opcode: opcode::PUT,
                    addr: 1,
                    key: 2,
                    message: (1, 1, at),
                    msg_len: length,
                    buf_off,
                    payload: data,
                    ..Default::default()
                };
                twin.put(&put, 64 + source);
                if twin.bench.open_packets() > 900 {
                    twin.bench.run_until("room", |b| b.open_packets() < 100);
                }
            }
        }
        let bench = twin.finish();
        assert_eq!(bench.done.iter().filter(|d| d.placed).count(), 64 * 64);
    });
}

/// Handler DMA at every alignment and length class, beside packets; the host refuses some of it.
#[test]
fn handler_dma() {
    run_with_wave_on_failure("rvma_handler_dma", |context| {
        let mut rng = context.rng();
        let mut bench = Bench::new(context, &Config::SIM, (1, 60));
        bench.pace = Pace { idle: 30, ..FULL };
        bench.host.keep_log = true;
        bench.host.failing = vec![0xDEAD_0000..0xDEAD_1000];
        let mut expected = vec![];
        let mut twin = Twin::new(bench);
        twin.open(3, 9, 9, 1 << 20);
        twin.post(3, 9, 0x4000_0000, 1 << 20, 0x100);
        for i in 0..400u64 {
            let bad = i % 37 == 5;
            let length = if i % 3 == 0 { rng.random_range(1..130) } else { rng.random_range(1..2049) };
            let address = if bad { 0xDEAD_0800 } else { 0x8000_0000 + i * 4096 + rng.random_range(0..1024) };
            let data = payload(&mut rng, if bad { 64 } else { length });
            twin.bench.dma(i, address, &data);
            expected.push((i, bad));
            if !bad {
                twin.handler_bytes.push((address, data));
            }
            for put in message(&mut rng, 3, 9, 9, i as u32, 700, i as u32 * 1024, 700, 0) {
                twin.put(&put, 90);
            }
        }
        let bench = twin.finish();
        assert_eq!(bench.dma_done, expected, "DMA commands end in their order, each with its own error flag");
    });
}

/// What the host refuses is reported, counted, and ends the buffer as PARTIAL with the bytes that did arrive.
#[test]
fn host_errors_end_a_buffer_as_partial() {
    run_with_wave_on_failure("rvma_host_errors", |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 30)));
        twin.bench.host.keep_log = true;
        twin.open(0, 1, 2, 4096);
        twin.post(0, 1, 0x10_0000, 4096, 0x5000);
        twin.post(0, 1, 0x20_0000, 4096, 0x5010);
        let failing = vec![0x10_0480..0x10_0490];
        twin.bench.host.failing = failing.clone();
        twin.model.failing = failing;
        for id in 0..2 {
            for put in message(&mut rng, 0, 1, 2, id, 4096, 0, 1024, 7) {
                twin.put(&put, 90);
            }
        }
        twin.bench.drain();
        assert_eq!(
            twin.model.records.iter().map(|r| (r.length, r.status)).collect::<Vec<_>>(),
            [(3072, status::PARTIAL), (4096, status::DONE)]
        );
        assert!(twin.expected.values().any(|e| *e == Err(HOST_ERROR)));
        twin.finish();
    });
}

/// Buffers are posted to two mailboxes while packets stream into both; the queues never run empty, so the outcome is fixed.
#[test]
fn posting_while_packets_arrive() {
    run_with_wave_on_failure("rvma_posting_while_packets", |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 20)));
        twin.bench.host.keep_log = true;
        for mailbox in 0..2u64 {
            twin.open(0, mailbox, 2, 300);
        }
        let mut next = 0u64;
        let mut post = |twin: &mut Twin, mailbox: u64| {
            next += 1;
            twin.post(0, mailbox, 0x100_0000 + next * 0x1000, 600, 0x5000 + next * 16);
        };
        for _ in 0..40 {
            post(&mut twin, 0);
            post(&mut twin, 1);
        }
        let mut id = 0;
        for _ in 0..60 {
            for _ in 0..6 {
                id += 1;
                let (length, buf_off) = (rng.random_range(100..250), rng.random_range(0..300));
                for put in message(&mut rng, 0, u64::from(id % 2), 2, id, length, buf_off, 64, (id % 100) as u8) {
                    twin.put(&put, 90);
                }
            }
            // Six messages of at most 250 bytes close at most three heads each.
            for mailbox in [0, 1] {
                post(&mut twin, mailbox);
                post(&mut twin, mailbox);
            }
            twin.bench.run_until("room", |b| b.open_packets() < 600);
        }
        twin.finish();
    });
}

/// More buffers than slots pass through one mailbox: slots are used again, and running out of them is said.
#[test]
fn slots_are_used_again() {
    run_with_wave_on_failure("rvma_slots_again", |context| {
        let config = Config { posted_buffers: 64, mailboxes: 64, ..Config::SIM };
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &config, (1, 5)));
        twin.bench.host.keep_log = true;
        twin.open(0, 1, 2, 10);
        let mut next = 0u64;
        for round in 0..4u32 {
            let free = 64 - (twin.buffers.len() - twin.model.records.len());
            for _ in 0..free {
                next += 1;
                twin.post(0, 1, 0x10_0000 + next * 64, 10, 0x5000 + next * 16);
            }
            let number = twin.numbers[&(0, 1)];
            assert_eq!(
                twin.bench.post_buffer(0, number, 0x1, 10, 0x10),
                Err(spindle_contract::registers::doorbell_error::NO_SLOT)
            );
            for i in 0..if round == 3 { 64 } else { rng.random_range(1..60) } {
                for put in message(&mut rng, 0, 1, 2, round * 100 + i, 10, 0, 10, 0) {
                    twin.put(&put, 90);
                }
            }
            twin.bench.drain();
        }
        assert_eq!(twin.model.records.len(), twin.buffers.len());
        twin.finish();
    });
}

/// Senders that contradict themselves reach nothing outside the buffer, and a message's decision is decided once.
#[test]
fn contradictions_are_refused() {
    run_with_wave_on_failure("rvma_contradictions", |context| {
        let mut rng = context.rng();
        let mut twin = Twin::new(Bench::new(context, &Config::SIM, (1, 5)));
        twin.bench.host.keep_log = true;
        twin.open(0, 1, 2, 1000);
        let mut early = message(&mut rng, 0, 1, 2, 1, 200, 0, 100, 1);
        early.iter_mut().for_each(|p| p.flags = flag::UNSEQ);
        twin.put(&early[0], 90);
        twin.bench.drain();
        twin.post(0, 1, 0x10_0000, 1000, 0x5000);
        let refused = twin.put(&early[1], 90);
        assert_eq!(twin.expected[&refused], Err(NO_POSTED_BUFFER));

        let good = message(&mut rng, 0, 1, 2, 2, 400, 600, 100, 1);
        let mut tries = vec![good[0].clone()];
        // Later packets that move the message, stretch it, leave it, repeat too many bytes, or show another key.
        for change in 0..5 {
            let mut bad = good[1].clone();
            match change {
                0 => bad.buf_off = 601,
                1 => bad.msg_len = 401,
                2 => bad.msg_off = 301,
                // Inside the message, but more than is left of it.
                3 => {
                    bad.msg_off = 0;
                    bad.payload = payload(&mut rng, 350);
                }
                _ => bad.key = 3,
            }
            tries.push(bad);
        }
        tries.extend_from_slice(&good[1..]);
        for put in &tries {
            twin.put(put, 90);
        }
        // A packet without state that is not its whole message.
        let mut part = message(&mut rng, 0, 1, 2, 3, 50, 0, 50, 0).remove(0);
        part.msg_len = 60;
        let frame = twin.put(&part, 90);
        assert_eq!(twin.expected[&frame], Err(OUT_OF_BOUNDS));
        // Another message in the slot of one that was never finished.
        let open = message(&mut rng, 0, 1, 2, 4, 300, 0, 100, 5);
        twin.put(&open[0], 90);
        for put in message(&mut rng, 0, 1, 2, 5, 300, 300, 100, 5) {
            twin.put(&put, 90);
        }
        twin.finish();
    });
}

/// Every packet completes a buffer, and the host takes no address or beat before earlier answers are taken: nothing may wait
/// in a circle.
#[test]
fn a_host_that_takes_one_write_at_a_time() {
    run_with_wave_on_failure("rvma_one_write", |context| {
        for (posted, most_open, latency, count) in
            [(0, 1, 1, 150), (0, 3, 60, 60), (1, 1, 1, 150), (1, 2, 60, 60), (0, 1000, 1500, 200), (1, 1000, 1500, 200)]
        {
            let mut rng = context.rng();
            let mut twin = Twin::new(Bench::new(context, &Config::SIM, (latency, latency)));
            twin.bench.csr(true, rvma::BASE + rvma::CONTROL, posted);
            twin.open(0, 1, 2, 16);
            for i in 0..u64::from(count) {
                twin.post(0, 1, 0x10_0000 + i * 64, 16, 0x5000 + i * 16);
            }
            twin.bench.host.most_open = most_open;
            for id in 0..count {
                for put in message(&mut rng, 0, 1, 2, id, 16, 0, 16, 0) {
                    twin.put(&put, 90);
                }
                twin.bench.dma(u64::from(id), 0x80_0000 + u64::from(id) * 4096, &[id as u8; 1200]);
                twin.handler_bytes.push((0x80_0000 + u64::from(id) * 4096, vec![id as u8; 1200]));
            }
            twin.finish_unlogged();
        }
    });
}

/// POSTED records do not wait for answers; WAIT_B records do. The mode may change while packets are under way.
#[test]
fn completion_order() {
    run_with_wave_on_failure("rvma_completion_order", |context| {
        let mut rng = context.rng();
        let mut bench = Bench::new(context, &Config::SIM, (500, 500));
        bench.host.keep_log = true;
        let number = bench.init_window(0, 1, 2, 1000, 0).unwrap();
        for (round, posted) in [false, true, false, true].into_iter().enumerate() {
            assert_eq!(bench.csr(true, rvma::BASE + rvma::CONTROL, posted.into()), (0, false));
            assert_eq!(bench.counter(rvma::CONTROL), u32::from(posted));
            bench.post_buffer(0, number, 0x1_0000, 1000, 0x5000).unwrap();
            for put in message(&mut rng, 0, 1, 2, round as u32, 1000, 0, 300, 7) {
                bench.put(&put, 90);
            }
            bench.drain();
            let record = bench.host.log.last().expect("a record").clone();
            assert_eq!((record.address, record.bytes.len()), (0x5000, 16));
            let data = &bench.host.log[..bench.host.log.len() - 1];
            let (beat, answer) = (
                data.iter().map(|b| b.data_cycle).max().unwrap(),
                data.iter().map(|b| b.response_cycle).max().unwrap(),
            );
            let from = if posted { beat } else { answer };
            assert!(
                record.offered_cycle > from && record.offered_cycle <= from + 8,
                "round {round}: record in cycle {}, beat {beat}, answer {answer}",
                record.offered_cycle
            );
            bench.host.log.clear();
        }
        // Switched with answers outstanding: every buffer still completes exactly once.
        bench.host.timing = Timing { aw_stall: 20, w_stall: 20, response_min: 100, response_max: 400, read_stall: 0 };
        for round in 0..20u32 {
            bench
                .post_buffer(0, number, 0x10_0000 + 0x1000 * u64::from(round), 1000, 0x6000 + 16 * u64::from(round))
                .unwrap();
            for put in message(&mut rng, 0, 1, 2, 100 + round, 1000, 0, 300, round as u8) {
                bench.put(&put, 90);
            }
            bench.steps(rng.random_range(0..60));
            bench.csr(true, rvma::BASE + rvma::CONTROL, round % 2);
        }
        bench.drain();
        assert_eq!(bench.counter(rvma::COMPLETIONS), 24);
        assert_eq!(bench.counter(rvma::BUFFERS), 0);
        let records = bench.host.log.iter().filter(|b| (0x6000..0x6140).contains(&b.address));
        let mut lanes: Vec<u64> = records.map(|b| b.bytes[0].0).collect();
        lanes.sort_unstable();
        assert_eq!(lanes, (0..20).map(|i| 0x6000 + 16 * i).collect::<Vec<u64>>());
    });
}
