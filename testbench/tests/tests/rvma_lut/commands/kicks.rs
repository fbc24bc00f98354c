//! Kicks: pointers of rings that the card reads from a line of host memory.

use crate::rvma_lut::completion::event_rings::{open, send};
use crate::rvma_lut::rvma_engine::bench::Bench;
use rand::Rng;
use spindle_contract::commands;
use spindle_contract::events::USER;
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, rvma, PAGE};
use spindle_contract::shadow::{BYTES, WORD_EVENT_HEAD, WORD_RING_TAIL};
use spindle_harness::run_with_wave_on_failure;
use spindle_model::rvma_lut::host_access::Event;

fn line(pid: u16) -> u64 {
    0x7_0000_0000 + 0x1040 * u64::from(pid)
}

fn open_shadow(bench: &mut Bench, pid: u16, line: u64, size: u32) -> u32 {
    bench.stage(pid, doorbell::BUFFER_LO, line as u32);
    bench.stage(pid, doorbell::BUFFER_HI, (line >> 32) as u32);
    bench.stage(pid, doorbell::SIZE, size);
    bench.ring(pid, doorbell_command::OPEN_SHADOW).0
}

/// A ring of commands that do nothing, so that RING_DONE follows RING_TAIL.
fn open_commands(bench: &mut Bench, pid: u16) {
    let base = 0x1_0000_0000 + (u64::from(pid) << 21);
    bench.stage(pid, doorbell::BUFFER_LO, base as u32);
    bench.stage(pid, doorbell::BUFFER_HI, (base >> 32) as u32);
    bench.stage(pid, doorbell::SIZE, 64 * commands::BYTES as u32);
    bench.stage(pid, doorbell::RING_TAIL, 0);
    assert_eq!(bench.ring(pid, doorbell_command::OPEN_COMMANDS).0, doorbell_error::NONE);
}

fn write_line(bench: &mut Bench, pid: u16, tail: u32, head: doorbell::EventHead) {
    bench.host.write(line(pid) + 4 * WORD_RING_TAIL as u64, &tail.to_le_bytes());
    bench.host.write(line(pid) + 4 * WORD_EVENT_HEAD as u64, &head.0.to_le_bytes());
}

fn kick(bench: &mut Bench, pid: u16) {
    bench.stage(pid, doorbell::KICK, 0xDEAD_BEEF);
}

fn done(bench: &mut Bench, pid: u16) -> u32 {
    bench.csr(false, doorbell::BASE + u32::from(pid) * PAGE + doorbell::RING_DONE, 0).0
}

#[test]
fn lines_are_checked() {
    run_with_wave_on_failure("rvma_kicks_checked", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (20, 20));
        for (at, size) in [(line(1) + 32, 64), (line(1), 32), (line(1), 128), (line(1), 0x1_0040)] {
            assert_eq!(open_shadow(&mut bench, 1, at, size), doorbell_error::BAD_ARGUMENT, "{at:#x} {size}");
        }
        bench.trust(!(1 << 1));
        assert_eq!(open_shadow(&mut bench, 1, line(1), BYTES as u32), doorbell_error::OUT_OF_REGION);
        // A kick without a line reads nothing.
        let before = bench.counter(rvma::DMA_READS);
        kick(&mut bench, 1);
        bench.steps(300);
        assert_eq!(bench.counter(rvma::DMA_READS), before);
        bench.trust(u64::MAX);
        assert_eq!(open_shadow(&mut bench, 1, line(1), BYTES as u32), doorbell_error::NONE);
        kick(&mut bench, 1);
        bench.steps(300);
        assert_eq!(bench.counter(rvma::DMA_READS), before + 1);
        // Nor after the line was removed.
        assert_eq!(open_shadow(&mut bench, 1, 0, 0), doorbell_error::NONE);
        kick(&mut bench, 1);
        bench.steps(300);
        assert_eq!(bench.counter(rvma::DMA_READS), before + 1);
    });
}

#[test]
fn a_kick_writes_both_pointers() {
    run_with_wave_on_failure("rvma_kicks", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (20, 20));
        let pid = 6;
        open(&mut bench, pid, 2).unwrap();
        open_commands(&mut bench, pid);
        assert_eq!(open_shadow(&mut bench, pid, line(pid), BYTES as u32), doorbell_error::NONE);
        bench.stage(pid, doorbell::IRQ, doorbell::Irq::ZERO.with_events(1).with_enable(true).0);
        // Two records fill the ring, the third event is lost; the kick makes room for its LOST record, and arms.
        for _ in 0..3 {
            send(&mut bench, 0, pid, &Event { kind: USER, ..Event::default() });
        }
        bench.drain();
        assert_eq!(bench.counter(rvma::EVENTS), 2);
        write_line(&mut bench, pid, 5, doorbell::EventHead::ZERO.with_event_head(2).with_arm(true));
        // The write is offered in this cycle.
        let written = bench.dut.cycle();
        kick(&mut bench, pid);
        bench.run_until("the read", |b| b.dut.host.arvalid.is_high());
        let cycles = bench.dut.cycle() - written;
        println!("KICK written to ARVALID: {cycles}");
        assert_eq!(cycles, KICK_TO_ARVALID);
        bench.steps(600);
        assert_eq!(done(&mut bench, pid), 5);
        assert_eq!(bench.counter(rvma::EVENTS), 3);
        assert_eq!(bench.fired.drain(..).map(|(pid, _)| pid).collect::<Vec<_>>(), [pid]);
        // The same line again changes nothing but the arming, and finds the LOST record unread.
        kick(&mut bench, pid);
        bench.steps(600);
        assert_eq!(done(&mut bench, pid), 5);
        assert_eq!(bench.fired.len(), 1);
    });
}

/// Cycles from a write of KICK to ARVALID on an idle engine.
const KICK_TO_ARVALID: u64 = 6;

/// A line that the host does not let the card read changes nothing and holds up no other process; a later kick reads the line again.
#[test]
fn a_refused_line_changes_nothing() {
    run_with_wave_on_failure("rvma_kicks_refused", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (5, 40));
        let (refused, other) = (6, 11);
        for pid in [refused, other] {
            open(&mut bench, pid, 16).unwrap();
            open_commands(&mut bench, pid);
            assert_eq!(open_shadow(&mut bench, pid, line(pid), BYTES as u32), doorbell_error::NONE);
            bench.stage(pid, doorbell::IRQ, doorbell::Irq::ZERO.with_events(1).with_enable(true).0);
            write_line(&mut bench, pid, 3, doorbell::EventHead::ZERO.with_arm(true));
            send(&mut bench, 0, pid, &Event { kind: USER, ..Event::default() });
        }
        bench.drain();
        bench.host.failing = vec![line(refused)..line(refused) + BYTES as u64];
        let reads = bench.counter(rvma::DMA_READS);
        for pid in [refused, other] {
            kick(&mut bench, pid);
        }
        bench.steps(600);
        assert_eq!(bench.counter(rvma::READ_ERRORS), 1);
        // Two lines, and the commands of one ring.
        assert_eq!(bench.counter(rvma::DMA_READS) - reads, 3);
        assert_eq!((done(&mut bench, refused), done(&mut bench, other)), (0, 3));
        assert_eq!(bench.fired.drain(..).map(|(pid, _)| pid).collect::<Vec<_>>(), [other], "armed by its line alone");
        bench.host.failing.clear();
        kick(&mut bench, refused);
        bench.steps(600);
        assert_eq!((done(&mut bench, refused), bench.counter(rvma::READ_ERRORS)), (3, 1));
        assert_eq!(bench.fired.drain(..).map(|(pid, _)| pid).collect::<Vec<_>>(), [refused]);
    });
}

/// Processes that write their lines and kick at random, beside the doorbell writes of others: the last pointers count.
#[test]
fn random_kicks() {
    run_with_wave_on_failure("rvma_kicks_random", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 200));
        const KICKING: [u16; 3] = [0, 8, 15];
        const WRITING: u16 = 3;
        let mut tails = [0u32; 4];
        for pid in KICKING.into_iter().chain([WRITING]) {
            open_commands(&mut bench, pid);
        }
        for pid in KICKING {
            assert_eq!(open_shadow(&mut bench, pid, line(pid), BYTES as u32), doorbell_error::NONE);
        }
        let start = bench.counter(rvma::DMA_READS);
        let mut kicks = 0;
        for _ in 0..400 {
            let i = bench.rng.random_range(0..4);
            let pid = if i == 3 { WRITING } else { KICKING[i] };
            // At most as many commands as the ring holds.
            let left = tails[i].wrapping_sub(done(&mut bench, pid)) & 0xFFFF;
            tails[i] += bench.rng.random_range(0..=(64 - left).min(3));
            if i == 3 {
                bench.stage(pid, doorbell::RING_TAIL, tails[i]);
            } else {
                write_line(&mut bench, pid, tails[i], doorbell::EventHead::ZERO);
                for _ in 0..bench.rng.random_range(1..4) {
                    kick(&mut bench, pid);
                    kicks += 1;
                }
            }
        }
        bench.steps(4000);
        for (i, pid) in KICKING.into_iter().chain([WRITING]).enumerate() {
            assert_eq!(done(&mut bench, pid), tails[i], "process {pid}");
        }
        let reads = bench.counter(rvma::DMA_READS) - start;
        assert!(kicks > 300 && reads > 100, "{kicks} kicks, {reads} reads");
    });
}
