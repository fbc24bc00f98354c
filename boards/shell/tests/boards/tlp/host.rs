//! Host memory: random bursts, latencies, throughput.

use super::bench::Bench;
use super::link::LinkPace;
use super::master::{ReadBurst, WriteBurst};
use rand::Rng;
use spindle_boards::hdl::tlp::TlpBridge;
use spindle_harness::{lint, run_with_wave_on_failure, source_of};

/// Bursts of one run.
const BURSTS: usize = 3000;

#[test]
fn random_bursts_read_and_write_the_bytes_of_host_memory() {
    for batch in 0..6 {
        run_with_wave_on_failure(&format!("tlp_random_bursts_{batch}"), |wave| {
            let mut rng = wave.rng();
            let pace = LinkPace::random(&mut rng);
            let mut bench = Bench::new(wave, pace);
            bench.root.max_payload = [128, 256, 512][rng.random_range(0..3)];
            bench.root.max_read = [128, 256, 512, 4096][rng.random_range(0..4)];
            bench.root.boundary = [64, 128][rng.random_range(0..2)];
            bench.root.id = rng.random();
            bench.root.latency = [0, 50, 400][rng.random_range(0..3)];
            bench.queue = [1, 4, 16][rng.random_range(0..3)];
            bench.configure(true);
            bench.steps(5);
            bench.master.pace = std::array::from_fn(|_| [100, 60, 25][rng.random_range(0..3)]);
            for _ in 0..BURSTS {
                let write = bench.master.random_write();
                bench.master.writes.push_back(write);
                let read = bench.master.random_read();
                bench.master.reads.push_back(read);
            }
            bench.settle(4_000_000);
            assert_eq!(bench.master.answered, [BURSTS as u64; 2]);
            assert_eq!(bench.master.errors, [0; 2]);
            assert!(bench.root.memory == bench.master.memory, "host memory differs from what was written");
            assert_eq!(bench.events, [0; 6]);
            assert!(bench.root.lines.is_empty());
        });
    }
}

/// One line, whole.
fn line_write(line: u64) -> WriteBurst {
    WriteBurst { line, id: 7, lines: vec![([0xA5; 64], u64::MAX)] }
}

#[test]
fn latencies_of_host_memory_are_those_of_the_text() {
    run_with_wave_on_failure("tlp_host_latencies", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.root.latency = 0;
        bench.steps(5);
        for line in [0x1000u64, 0x1000_0000_0000] {
            bench.master.writes.push_back(line_write(line));
            bench.settle(100);
            let latencies = [bench.link.began - bench.master.last_w, bench.master.last_b - bench.link.ended];
            assert_eq!(latencies, [WRITE_TO_PACKET, PACKET_TO_ANSWER], "write of line {line:x}");
            bench.master.reads.push_back(ReadBurst { line, id: 9, lines: 1 });
            bench.settle(100);
            let latencies = [bench.link.began - bench.master.first_offer, bench.master.last_r - bench.link.taken];
            assert_eq!(latencies, [READ_TO_PACKET, COMPLETION_TO_DATA], "read of line {line:x}");
        }
    });
}

/// `wvalid` of the last line → first beat on `s_axis_tx`.
const WRITE_TO_PACKET: u64 = 5;
/// Last beat on `s_axis_tx` → `bvalid`.
const PACKET_TO_ANSWER: u64 = 0;
/// `arvalid` → beat on `s_axis_tx`.
const READ_TO_PACKET: u64 = 3;
/// Last beat of the last completion on `m_axis_rx` → `rvalid`.
const COMPLETION_TO_DATA: u64 = 5;

/// Bytes of payload in 100 cycles of 256-byte bursts: writes, then reads with completions of `boundary` bytes.
fn throughput(wave: &spindle_harness::WaveContext, max_payload: usize, boundary: usize) -> [u64; 2] {
    let mut bench = Bench::new(wave, LinkPace::FULL);
    bench.root.max_payload = max_payload;
    bench.root.boundary = boundary;
    bench.root.latency = 60;
    bench.queue = 16;
    bench.configure(true);
    bench.steps(5);
    let bursts = 1000u64;
    for i in 0..bursts {
        let lines = vec![([i as u8; 64], u64::MAX); 4];
        bench.master.writes.push_back(WriteBurst { line: 4 * i, id: 0, lines });
    }
    let from = bench.dut.cycle();
    bench.settle(1_000_000);
    let writes = 256 * bursts * 100 / (bench.master.last_b - from);
    for i in 0..bursts {
        bench.master.reads.push_back(ReadBurst { line: 4 * i, id: 0, lines: 4 });
    }
    let from = bench.dut.cycle();
    bench.settle(1_000_000);
    let reads = 256 * bursts * 100 / (bench.master.last_r - from);
    println!("maximum payload {max_payload}, completions of {boundary}: {writes}, {reads} bytes in 100 cycles");
    [writes, reads]
}

#[test]
fn bursts_fill_the_link() {
    run_with_wave_on_failure("tlp_throughput", |wave| {
        // 256 bytes are 17 beats with their header, twice 128 bytes are 18: of 1600 bytes, 1505 and 1422 remain.
        let [writes, reads] = throughput(wave, 256, 64);
        assert!((1490..=1506).contains(&writes), "{writes}");
        assert!(reads >= 1400, "{reads}");
        let [writes, reads] = throughput(wave, 128, 128);
        assert!((1410..=1423).contains(&writes), "{writes}");
        assert!(reads >= 1400, "{reads}");
    });
}

#[test]
fn thirty_two_reads_are_under_way_at_once() {
    run_with_wave_on_failure("tlp_outstanding", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.root.least = 500;
        bench.steps(5);
        for i in 0..400 {
            bench.master.reads.push_back(ReadBurst { line: 4 * i, id: i as u8, lines: 4 });
        }
        bench.settle(1_000_000);
        assert_eq!(bench.root.most_reads, 32);
    });
}

#[test]
fn verilator_has_no_warning() {
    let source = source_of(&mut TlpBridge::default(), "tlp_bridge").unwrap_or_else(|error| panic!("{error}"));
    let warnings = lint(&source).unwrap_or_else(|error| panic!("{error:#}"));
    assert!(warnings.is_empty(), "{warnings:?}");
}
