//! `Si5324` on the bus.

use super::bus::{Bus, Faults};
use spindle_boards::hdl::si5324::{Si5324, Timing, LOSS_OF_LOCK, LOSS_OF_SIGNAL, REGISTERS};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};

const TIMING: Timing = Timing { quarter: 6, patience: 400, reset: 50, settle: 100, poll: 300, lock: 20_000 };

struct Bench {
    dut: Dut<Si5324>,
    bus: Bus,
    cycles: u64,
    /// Cycles from the calibration to lock; never without.
    locks_after: Option<u64>,
    calibrated: Option<u64>,
    resets: usize,
    in_reset: bool,
    crystal: bool,
}

#[derive(Debug, PartialEq, Clone, Copy)]
struct Status {
    locked: bool,
    written: bool,
    failed: bool,
    stuck: bool,
    errors: u64,
}

impl Bench {
    fn new(wave: &WaveContext, faults: Faults) -> Self {
        let dut = Dut::new(wave, Si5324::new(TIMING), "si5324_fast");
        let mut bus = Bus::new();
        bus.faults = faults;
        Self {
            dut,
            bus,
            cycles: 0,
            locks_after: Some(2000),
            calibrated: None,
            resets: 0,
            in_reset: false,
            crystal: true,
        }
    }

    fn status(&self) -> Status {
        let word = self.dut.status.number();
        let bit = |i: u32| word >> i & 1 == 1;
        Status { locked: bit(0), written: bit(1), failed: bit(2), stuck: bit(3), errors: word >> 4 }
    }

    fn step(&mut self) {
        let (scl_low, sda_low) = (self.dut.scl_low.is_high(), self.dut.sda_low.is_high());
        if self.dut.reset_low.is_high() {
            self.resets += usize::from(!self.in_reset);
            self.bus.reset();
            self.calibrated = None;
        }
        self.in_reset = self.dut.reset_low.is_high();
        // The calibration begins with the bit, which clears itself.
        if self.bus.registers.get(&136) == Some(&0x40) {
            self.bus.registers.insert(136, 0);
            self.calibrated = Some(self.cycles);
        }
        let locked = match (self.calibrated, self.locks_after) {
            (Some(since), Some(after)) => self.cycles - since >= after,
            _ => false,
        };
        self.bus.registers.insert(LOSS_OF_LOCK as u8, 0x10 | u8::from(!locked));
        self.bus.registers.insert(LOSS_OF_SIGNAL as u8, 0x02 | u8::from(!self.crystal));
        self.bus.step(scl_low, sda_low);
        let (scl, sda) = self.bus.lines(scl_low, sda_low);
        self.dut.scl.set(scl);
        self.dut.sda.set(sda);
        self.dut.tick();
        self.dut.eval();
        self.cycles += 1;
    }

    /// Steps until a status; panics after `limit` cycles.
    fn until(&mut self, limit: u64, what: &str, holds: impl Fn(&Status) -> bool) -> u64 {
        let start = self.cycles;
        while !holds(&self.status()) {
            self.step();
            assert!(self.cycles - start < limit, "{what}: not within {limit} cycles: {:?}", self.status());
        }
        self.cycles - start
    }

    fn expect_registers(&self) {
        let expected: Vec<(u8, u8)> = REGISTERS.iter().map(|r| (r.0 as u8, r.1 as u8)).collect();
        assert_eq!(self.bus.written, expected);
    }
}

/// All registers in their order, each once, at the rate that the docs give; then lock.
#[test]
fn registers_are_written_and_lock_is_seen() {
    run_with_wave_on_failure("si5324_plain", |wave| {
        let mut bench = Bench::new(wave, Faults::default());
        let cycles = bench.until(40_000, "written", |s| s.written);
        bench.expect_registers();
        assert_eq!(bench.bus.channels, 0x80);
        // 21 writes of 29 bits, one of 20, 24 cycles a bit, and a few cycles between them.
        let bits = 24 * (21 * 29 + 20);
        let bus = cycles - TIMING.reset - TIMING.settle;
        assert!((bits..bits + 300).contains(&bus), "{bus} cycles for {bits}");
        assert!(!bench.status().locked);
        bench.until(20_000, "lock", |s| s.locked);
        let after = bench.cycles - bench.calibrated.unwrap();
        assert!((2000..2000 + TIMING.poll + 2 * 2 * 39 * 24 + 100).contains(&after), "lock after {after} cycles");
        // And it only looks from now on.
        let stops = bench.bus.stops;
        (0..20_000).for_each(|_| bench.step());
        bench.expect_registers();
        assert!(bench.bus.stops > stops + 10);
        assert_eq!(bench.status(), Status { locked: true, written: true, failed: false, stuck: false, errors: 0 });
        assert!(bench.bus.shortest >= 2 * TIMING.quarter - 1, "half a clock of {} cycles", bench.bus.shortest);
        assert_eq!(bench.resets, 1);
    });
}

/// One byte refused, at every place of the sequence: the transaction is tried again, and each register is right.
#[test]
fn a_refused_byte_is_sent_again() {
    run_with_wave_on_failure("si5324_refused", |wave| {
        for place in 0..70u64 {
            let mut bench = Bench::new(wave, Faults::default());
            for _ in 0..TIMING.reset + TIMING.settle + place * 9 * 24 {
                bench.step();
            }
            bench.bus.faults.refuse = 1;
            bench.until(60_000, "lock", |s| s.locked);
            if bench.bus.faults.refuse == 0 {
                assert_eq!(bench.status().errors, 1, "place {place}");
            }
            for (register, value) in REGISTERS.iter().take(20) {
                assert_eq!(bench.bus.registers.get(&(*register as u8)), Some(&(*value as u8)));
            }
            let calibrations = bench.bus.written.iter().filter(|w| w.0 == 136).count();
            assert!(calibrations == 1 && bench.bus.written.last() == Some(&(136, 0x40)), "place {place}");
            assert_eq!(bench.resets, 1);
        }
    });
}

/// Eight refusals in succession reset both chips; everything is written again.
#[test]
fn a_silent_device_is_reset() {
    run_with_wave_on_failure("si5324_silent", |wave| {
        let mut bench = Bench::new(wave, Faults { refuse: 11, ..Faults::default() });
        bench.until(60_000, "failed", |s| s.failed);
        assert_eq!(bench.status(), Status { locked: false, written: false, failed: true, stuck: false, errors: 8 });
        bench.until(60_000, "lock", |s| s.locked);
        assert_eq!((bench.status().errors, bench.status().failed, bench.resets), (11, false, 2));
        bench.expect_registers();
    });
}

/// A device that stretches each byte, up to nearly the patience.
#[test]
fn a_stretched_clock_is_waited_for() {
    run_with_wave_on_failure("si5324_stretched", |wave| {
        for stretch in [1, 5, 20, 390] {
            let mut bench = Bench::new(wave, Faults { stretch, ..Faults::default() });
            bench.until(120_000, "lock", |s| s.locked);
            bench.expect_registers();
            assert_eq!((bench.status().errors, bench.resets), (0, 1), "stretched by {stretch}");
        }
    });
}

/// A data line that a device holds since it was interrupted in a byte: clocks free it.
#[test]
fn a_held_data_line_is_freed() {
    run_with_wave_on_failure("si5324_held", |wave| {
        for hold_data in 1..=9 {
            let mut bench = Bench::new(wave, Faults { hold_data, ..Faults::default() });
            bench.until(60_000, "lock", |s| s.locked);
            bench.expect_registers();
            assert_eq!((bench.status().errors, bench.status().stuck), (0, false), "held for {hold_data} clocks");
        }
    });
}

/// Lines that stay low are reported and do not hang the block; when they are free again, the set-up goes on.
#[test]
fn a_stuck_bus_is_told() {
    run_with_wave_on_failure("si5324_stuck", |wave| {
        for faults in
            [Faults { stuck_data: true, ..Faults::default() }, Faults { stuck_clock: true, ..Faults::default() }]
        {
            for from in [0, 300, 1000, 5000] {
                let mut bench = Bench::new(wave, Faults::default());
                (0..from).for_each(|_| bench.step());
                bench.bus.faults = faults;
                bench.until(20_000, "stuck", |s| s.stuck);
                bench.until(60_000, "failed", |s| s.failed);
                assert!(bench.status().errors >= 8 && bench.resets >= 1);
                bench.bus.faults = Faults::default();
                bench.until(120_000, "lock", |s| s.locked);
                let status = bench.status();
                assert!(status.written && !status.failed && !status.stuck);
                for (register, value) in REGISTERS.iter().take(20) {
                    assert_eq!(bench.bus.registers.get(&(*register as u8)), Some(&(*value as u8)));
                }
            }
        }
    });
}

/// No lock in time: everything is reset and tried again. A lost crystal and a lost lock are seen.
#[test]
fn lock_comes_late_and_goes() {
    run_with_wave_on_failure("si5324_lock", |wave| {
        let mut bench = Bench::new(wave, Faults::default());
        bench.locks_after = None;
        bench.until(80_000, "failed", |s| s.failed);
        bench.locks_after = Some(5000);
        bench.until(80_000, "lock", |s| s.locked);
        assert_eq!((bench.resets, bench.status().failed), (2, false));
        bench.crystal = false;
        bench.until(4000, "loss of the crystal", |s| !s.locked);
        bench.crystal = true;
        bench.until(4000, "lock again", |s| s.locked);
        assert_eq!(bench.resets, 2, "a loss alone resets nothing");
        bench.locks_after = None;
        bench.until(4000, "loss of lock", |s| !s.locked);
        bench.until(40_000, "a new start", |s| s.failed);
        bench.locks_after = Some(10);
        bench.until(80_000, "lock at last", |s| s.locked);
        assert_eq!((bench.resets, bench.status().errors), (3, 0));
    });
}
