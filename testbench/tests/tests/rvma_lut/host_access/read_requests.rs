//! Reads of host memory.

use crate::rvma_lut::rvma_engine::bench::Bench;
use rand::Rng;
use spindle_contract::params::Config;
use spindle_contract::registers::rvma;
use spindle_harness::{run_with_wave_on_failure, WaveContext};
use spindle_sim::host_memory::Timing;

/// Host memory that the reads look at: a window across 4 GiB.
const BASE: u64 = 0x1_0000_0000 - 0x8000;
const BYTES: usize = 0x1_0000;

fn filled(context: &WaveContext, config: &Config, latency: (u64, u64)) -> Bench {
    let mut bench = Bench::new(context, config, latency);
    let bytes: Vec<u8> = (0..BYTES).map(|_| bench.rng.random()).collect();
    bench.host.write(BASE, &bytes);
    bench.host.keep_log = true;
    bench
}

/// Every answer has the bytes that memory had, in the order of the requests, and an error if a line of it failed.
fn check(bench: &Bench, asked: &[Vec<(u64, u64, usize)>; 2]) {
    for (reader, asked) in bench.agents.readers.iter().zip(asked) {
        assert_eq!(reader.answers.len(), asked.len());
        for (answer, (who, address, length)) in reader.answers.iter().zip(asked) {
            assert_eq!((answer.who, answer.address, answer.data.len()), (*who, *address, *length));
            let (first, end) = (address & !63, (address + *length as u64).next_multiple_of(64));
            let failed = bench.host.failing.iter().any(|range| range.start < end && first < range.end);
            assert_eq!(answer.error, failed, "a read of {length} bytes at {address:#x}");
            assert_eq!(answer.data, bench.host.memory.bytes(*address, *length), "{length} bytes at {address:#x}");
        }
    }
    assert!(bench.agents.readers[1].errors_agree, "a whole transfer says in all its beats whether it failed");
    assert_eq!(bench.agents.readers[1].gaps, 0, "a whole transfer leaves without a gap");
}

fn storm(context: &WaveContext, idle: u32, stalls: [u32; 2], timing: Timing, failing: bool, count: usize) {
    let mut bench = filled(context, &Config::SIM, (1, 1));
    bench.host.timing = timing;
    bench.agents.idle = idle;
    let mut asked = [vec![], vec![]];
    if failing {
        bench.host.failing = (0..6)
            .map(|_| {
                let start = BASE + bench.rng.random_range(0..BYTES as u64);
                start..start + bench.rng.random_range(1..300)
            })
            .collect();
    }
    for (i, asked) in asked.iter_mut().enumerate() {
        bench.agents.readers[i].stall = stalls[i];
        for _ in 0..count {
            let most = match bench.rng.random_range(0..8) {
                0..4 => 64,
                4..6 => 400,
                6 => 1408,
                _ => [20_000, 8192][i],
            };
            let length = bench.rng.random_range(1..=most);
            let address = BASE + bench.rng.random_range(0..(BYTES - length) as u64);
            let who = bench.rng.random_range(0..1024);
            // Handlers write to any byte.
            let to = if i == 0 { bench.rng.random_range(0..64) } else { 0 };
            bench.agents.readers[i].read_to(who, address, length, to);
            asked.push((who, address, length));
        }
    }
    bench.run_until("reads", |b| b.agents.readers.iter().all(|r| r.answers.len() == count));
    bench.drain();
    check(&bench, &asked);
    let bursts = bench.host.read_log.len() as u32;
    assert_eq!(bench.counter(rvma::DMA_READS), bursts);
    // An answer that waits to be taken counts once.
    let fails = |line: u64| bench.host.failing.iter().any(|range| range.start < line + 64 && line < range.end);
    let lines =
        bench.host.read_log.iter().flat_map(|burst| (0..burst.beats as u64).map(|i| (burst.address & !63) + 64 * i));
    let failed = lines.filter(|line| fails(*line)).count() as u32;
    assert_eq!(failed > 0, failing);
    assert_eq!(bench.counter(rvma::READ_ERRORS), failed);
}

#[test]
fn random_reads_at_full_speed() {
    let timing = Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 1, read_stall: 0 };
    run_with_wave_on_failure("rvma_reads_fast", |c| storm(c, 0, [0, 0], timing, false, 150));
}

#[test]
fn random_reads_with_pauses_everywhere() {
    let timing = Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 300, read_stall: 40 };
    run_with_wave_on_failure("rvma_reads_slow", |c| storm(c, 50, [40, 60], timing, false, 80));
}

#[test]
fn random_reads_that_fail() {
    let timing = Timing { aw_stall: 0, w_stall: 0, response_min: 1, response_max: 40, read_stall: 20 };
    run_with_wave_on_failure("rvma_reads_fail", |c| storm(c, 20, [10, 10], timing, true, 100));
}

/// Every offset and many lengths, one after the other.
#[test]
fn every_alignment() {
    run_with_wave_on_failure("rvma_reads_alignment", |context| {
        let mut bench = filled(context, &Config::SIM, (1, 3));
        let mut asked = [vec![], vec![]];
        for offset in 0..64u64 {
            for length in [1, 63, 64, 65, 128, 1000, 1024, 1025] {
                let reader = (offset % 2) as usize;
                let to = if reader == 0 { bench.rng.random_range(0..64) } else { 0 };
                bench.agents.readers[reader].read_to(offset, BASE + 960 + offset, length, to);
                asked[reader].push((offset, BASE + 960 + offset, length));
            }
        }
        bench.run_until("reads", |b| b.agents.readers.iter().map(|r| r.answers.len()).sum::<usize>() == 512);
        check(&bench, &asked);
    });
}

/// A client that takes nothing holds up no one, and stops when its buffer is full.
#[test]
fn a_client_that_takes_nothing() {
    run_with_wave_on_failure("rvma_reads_blocked", |context| {
        for blocked in [0, 1] {
            let mut bench = filled(context, &Config::SIM, (20, 20));
            bench.agents.readers[blocked].stall = 100;
            let mut asked = [vec![], vec![]];
            for i in 0..60 {
                for (client, asked) in asked.iter_mut().enumerate() {
                    bench.agents.readers[client].read(i, BASE + 64 * i, 640);
                    asked.push((i, BASE + 64 * i, 640));
                }
            }
            bench.run_until("the other client", |b| b.agents.readers[1 - blocked].answers.len() == 60);
            assert!(bench.agents.readers[blocked].answers.is_empty());
            bench.steps(500);
            assert!(bench.host.idle(), "what was asked for fits into the buffer");
            bench.agents.readers[blocked].stall = 0;
            bench.run_until("the blocked client", |b| b.agents.readers[blocked].answers.len() == 60);
            check(&bench, &asked);
        }
    });
}

#[test]
fn latency_of_a_read() {
    run_with_wave_on_failure("rvma_reads_latency", |context| {
        for config in [Config::SIM, Config::ALVEO] {
            let ultra = if config.name == "alveo" { 2 } else { 0 };
            let mut bench = filled(context, &config, (10, 10));
            // Byte in the line, byte in the beat, bytes; cycles from the first line, of which there are two in the last case.
            let cases = [(0, 0, 64, 3), (0, 7, 57, 3), (7, 7, 57, 3), (7, 42, 22, 3), (42, 7, 22, 4), (42, 7, 57, 4)];
            for (i, (from, to, length, cycles)) in cases.into_iter().enumerate() {
                bench.agents.readers[0].read_to(1, BASE + from, length, to);
                bench.run_until("a read", |b| b.agents.readers[0].answers.len() == i + 1);
                let burst = bench.host.read_log[i];
                let asked = bench.agents.readers[0].requests.taken[i];
                let answer = bench.agents.readers[0].answers[i].first;
                println!(
                    "{}, byte {from} to byte {to}: request to ARVALID {}, R to data {}",
                    config.name,
                    burst.offered_cycle - asked,
                    answer - burst.first_cycle
                );
                assert_eq!(burst.offered_cycle - asked, 4);
                assert_eq!(answer - burst.first_cycle, cycles + ultra);
            }
        }
    });
}

#[test]
fn one_beat_per_cycle() {
    run_with_wave_on_failure("rvma_reads_beats", |context| {
        // A beat more for each read of bytes that do not begin with one. If their lanes differ, a line more for each piece that
        // moves to lower lanes: four of 17 lines, the very first of which gives no beat; or pieces of 16 lines, of three times
        // 17, and of one line for which two steps are needed.
        for (from, to, cycles) in [(0, 0, 512), (5, 5, 520), (5, 0, 8 * 4 * 17 - 1), (0, 5, 8 * (16 + 3 * 17 + 2))] {
            let mut bench = filled(context, &Config::SIM, (60, 60));
            for i in 0..8 {
                bench.agents.readers[0].read_to(i, BASE + 4096 * i + from, 4096, to);
            }
            bench.run_until("reads", |b| b.agents.readers[0].answers.len() == 8);
            let answers = &bench.agents.readers[0].answers;
            let taken = answers[7].last - answers[0].first + 1;
            let bursts = bench.host.most_reads_in_flight;
            println!("32 KiB from byte {from} to byte {to} in {taken} cycles, {bursts} bursts in flight");
            assert_eq!(taken, cycles, "from byte {from} of a line to byte {to} of a beat");
            assert!(from != to as u64 || bench.agents.readers[0].gaps == 0);
        }
    });
}

/// Each client keeps as many full bursts in flight as its buffer holds.
#[test]
fn many_reads_in_flight() {
    run_with_wave_on_failure("rvma_reads_in_flight", |context| {
        for (config, most) in [(Config::SIM, 32), (Config::ALVEO, 64)] {
            for clients in [1, 2] {
                let mut bench = filled(context, &config, (900, 900));
                for i in 0..40 {
                    for client in 0..clients {
                        bench.agents.readers[client].read(i, BASE + 1024 * i, 1024);
                    }
                }
                bench.run_until("reads", |b| b.agents.readers[..clients].iter().all(|r| r.answers.len() == 40));
                assert_eq!(bench.host.most_reads_in_flight, most * clients);
            }
        }
    });
}

#[test]
fn one_small_read_per_two_cycles() {
    run_with_wave_on_failure("rvma_reads_small", |context| {
        let mut bench = filled(context, &Config::SIM, (5, 5));
        for i in 0..50 {
            bench.agents.readers[0].read(i, BASE + 64 * i, 64);
        }
        bench.run_until("reads", |b| b.agents.readers[0].answers.len() == 50);
        let answers = &bench.agents.readers[0].answers;
        assert_eq!(answers[49].first - answers[0].first, 98, "a small read per two cycles");
    });
}
