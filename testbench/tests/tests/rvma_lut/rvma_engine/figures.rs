//! Cycle figures, asserted.

use crate::rvma_lut::rvma_engine::bench::Bench;
use crate::rvma_lut::rvma_engine::traffic::message;
use rand::Rng;
use spindle_contract::params::{Config, MAX_OUTSTANDING_WRITES};
use spindle_contract::reasons::{T_DMA_DONE, T_DMA_FIRST, T_LOOKED_UP, T_RECORD};
use spindle_contract::registers::mailbox_mode;
use spindle_contract::wire::flag;
use spindle_harness::run_with_wave_on_failure;
use spindle_model::rvma_lut::Put;

fn idle_bench(context: &spindle_harness::WaveContext, threshold: u32, latency: u64) -> Bench {
    let mut bench = Bench::new(context, &Config::SIM, (latency, latency));
    bench.host.keep_log = true;
    let number = bench.init_window(0, 1, 2, threshold, 0).unwrap();
    bench.post_buffer(0, number, 0x10_0000, 1 << 24, 0x5000).unwrap();
    bench
}

/// Minimum frames of one flow into one mailbox: 16 bytes of payload each, the second beat of two.
fn small(id: u32) -> Put {
    Put {
        opcode: 1,
        addr: 1,
        key: 2,
        message: (1, 1, id),
        msg_len: 16,
        buf_off: id * 64,
        payload: vec![id as u8; 16],
        ..Default::default()
    }
}

#[test]
fn one_minimum_packet_per_two_cycles() {
    run_with_wave_on_failure("rvma_rate", |context| {
        let mut bench = idle_bench(context, 1 << 24, 20);
        for id in 0..900 {
            bench.put(&small(id), 90);
        }
        bench.drain();
        let (first, last) = (bench.done.first().unwrap().cycle, bench.done.last().unwrap().cycle);
        println!("900 packets, first to last done: {} cycles", last - first);
        assert_eq!(last - first, 2 * 899, "one packet per two cycles, without a gap");
    });
}

/// Minimum frames to TAGGED mailboxes: one mailbox whose four buffers take turns, and 48 mailboxes at random.
#[test]
fn one_minimum_packet_per_two_cycles_with_tags() {
    run_with_wave_on_failure("rvma_rate_tagged", |context| {
        for mailboxes in [1, 48] {
            let mut bench = Bench::new(context, &Config::SIM, (20, 20));
            for m in 0..mailboxes {
                let number = bench.init_window(0, m, 2, 1 << 20, mailbox_mode::TAGGED).unwrap();
                for i in 0..4 {
                    bench.post_buffer(0, number, m << 24 | i << 20, 1 << 20, 1 << 32 | m << 8 | i << 4).unwrap();
                }
            }
            let mut rng = context.rng();
            for id in 0..900 {
                let epoch = if mailboxes == 1 { id as u16 % 4 } else { rng.random_range(0..4) };
                let addr = rng.random_range(0..mailboxes);
                bench.put(&Put { addr, epoch, flags: flag::EPOCH_VALID, ..small(id) }, 90);
            }
            bench.drain();
            assert!(bench.done.iter().all(|done| done.placed));
            let (first, last) = (bench.done.first().unwrap().cycle, bench.done.last().unwrap().cycle);
            println!("900 packets with tags to {mailboxes} mailboxes: {} cycles", last - first);
            assert_eq!(last - first, 2 * 899, "one packet per two cycles, without a gap");
        }
    });
}

/// Packets of one line to one stream, in the order of their ordinals.
#[test]
fn one_minimum_packet_per_two_cycles_in_a_stream() {
    run_with_wave_on_failure("rvma_rate_stream", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (20, 20));
        let number = bench.init_window(0, 1, 2, 1, mailbox_mode::STREAM).unwrap();
        bench.post_buffer(0, number, 0x10_0000, 1 << 20, 0x5000).unwrap();
        for id in 0..900 {
            let (flags, payload) = (flag::EPOCH_VALID | flag::MANAGED, vec![id as u8; 64]);
            bench.put(&Put { epoch: id as u16, flags, msg_len: 64, payload, ..small(id) }, 90);
        }
        bench.drain();
        assert!(bench.done.iter().all(|done| done.placed));
        let (first, last) = (bench.done.first().unwrap().cycle, bench.done.last().unwrap().cycle);
        assert_eq!(last - first, 2 * 899, "one packet per two cycles, without a gap");
    });
}

#[test]
fn one_beat_per_cycle() {
    run_with_wave_on_failure("rvma_beats", |context| {
        for (length, steps) in [(1408, 22), (4096, 64), (64, 2)] {
            // A 64-byte packet is one beat, but a packet is bound every two cycles.
            let mut bench = idle_bench(context, 1 << 24, 20);
            let mut rng = context.rng();
            let count = 200;
            for id in 0..count {
                for put in message(&mut rng, 0, 1, 2, id, length, id * 8192, length, 0) {
                    bench.put(&put, 64);
                }
            }
            bench.drain();
            let ends: Vec<u64> = bench.host.log.iter().map(|b| b.data_cycle).collect();
            let cycles = ends.last().unwrap() - ends[0];
            let beats: usize = bench.host.log[1..].iter().map(|b| b.beats).sum();
            println!("{count} packets of {length} bytes: {beats} beats in {cycles} cycles");
            // From the last beat of the first burst to the last beat of all.
            let wanted = u64::from(steps * (count - 1) + length / 64) - bench.host.log[0].beats as u64;
            assert_eq!(cycles, wanted, "no bubble between packets of {length} bytes");
        }
    });
}

#[test]
fn latencies_of_an_idle_engine() {
    run_with_wave_on_failure("rvma_latency", |context| {
        let mut bench = idle_bench(context, 16, 20);
        let frame = bench.put(&small(0), 90);
        bench.drain();
        let at = |point| bench.trace.iter().find(|t| (t.0, t.1) == (point, frame)).expect("every point fires").2;
        let accepted = bench.accepted[0].1;
        let data = &bench.host.log[0];
        let record = &bench.host.log[1];
        println!(
            "accepted 0, looked up {}, request {}, data AWVALID {}, first W beat {}, answer {}, done {}, record AWVALID {}",
            at(T_LOOKED_UP) - accepted,
            bench.requested[0] - accepted,
            data.offered_cycle - accepted,
            at(T_DMA_FIRST) - accepted,
            data.response_cycle - accepted,
            bench.done[0].cycle - accepted,
            record.offered_cycle - accepted
        );
        assert_eq!(at(T_LOOKED_UP) - accepted, 13);
        assert_eq!(bench.requested[0] - accepted, 17);
        assert_eq!(at(T_DMA_DONE), data.response_cycle);
        assert_eq!(at(T_RECORD), record.offered_cycle);
        assert_eq!(record.offered_cycle - data.response_cycle, 7, "last answer to record");
        assert_eq!(bench.trace.len(), 4, "each point once, none for the record");
    });
}

#[test]
fn many_writes_in_flight() {
    run_with_wave_on_failure("rvma_in_flight", |context| {
        let mut bench = idle_bench(context, 1 << 24, 2000);
        for id in 0..700 {
            bench.put(&small(id), 90);
        }
        bench.drain();
        println!("most writes in flight: {}", bench.host.most_in_flight);
        assert!(bench.host.most_in_flight >= MAX_OUTSTANDING_WRITES);
    });
}
