//! `Pause`: frames between frames, quanta to the cycle, and wires when it is off.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::pause::{Pause, PauseOptions, REFRESH};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_shell_bench::{frame, into, length, out_of, Frame, Receiver, Sender};

/// Address of the port, first byte highest.
const ADDRESS: u64 = 0x02_11_22_33_44_55;

struct Bench {
    dut: Dut<Pause<9>>,
    rng: ChaCha8Rng,
    from_mac: Sender<512, 64>,
    to_cross: Receiver<512, 64>,
    from_cross: Sender<512, 64>,
    to_mac: Receiver<512, 64>,
    /// Whether transmission was held in each cycle.
    held: Vec<bool>,
}

impl Bench {
    fn new(wave: &WaveContext, block: Pause<9>, name: &str) -> Self {
        let dut = Dut::new(wave, block, name);
        dut.ignore_all();
        dut.address.set(ADDRESS);
        dut.level.set(0);
        let (from_mac, to_cross) = (Sender::new(into!(free dut.from_mac)), Receiver::new(out_of!(free dut.to_cross)));
        let (from_cross, mut to_mac) = (Sender::new(into!(dut.from_cross)), Receiver::new(out_of!(dut.to_mac)));
        // `from_cross` may pause inside a frame here, so a gap is no fault; length and padding are checked below.
        to_mac.mac = false;
        let mut bench = Self { dut, rng: wave.rng(), from_mac, to_cross, from_cross, to_mac, held: vec![] };
        for reset in [true, false] {
            bench.dut.rx_reset.set(reset);
            bench.dut.tx_reset.set(reset);
            (0..8).for_each(|_| bench.idle());
        }
        bench
    }

    /// A cycle without frames whose outputs are not seen: before a reset they mean nothing.
    fn idle(&mut self) {
        self.from_mac.drive(&mut self.rng);
        self.from_cross.drive(&mut self.rng);
        self.to_mac.drive(&mut self.rng);
        self.dut.eval();
        self.tick();
    }

    /// One edge of both clocks.
    fn tick(&self) {
        for high in [true, false] {
            self.dut.rx_clock.set(high);
            self.dut.tx_clock.set(high);
            self.dut.eval();
        }
    }

    fn cycle(&mut self) {
        self.from_mac.drive(&mut self.rng);
        self.from_cross.drive(&mut self.rng);
        self.to_mac.drive(&mut self.rng);
        self.dut.eval();
        self.from_mac.sample();
        self.from_cross.sample();
        self.to_cross.sample();
        self.to_mac.sample();
        self.held.push(self.dut.hold.is_high());
        self.tick();
    }

    fn cycles(&mut self, count: u64) {
        (0..count).for_each(|_| self.cycle());
    }
}

/// A pause frame by the standard.
fn pause(source: u64, quanta: u16) -> Frame {
    let mut bytes = vec![0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
    bytes.extend(&source.to_be_bytes()[2..]);
    bytes.extend([0x88, 0x08, 0x00, 0x01]);
    bytes.extend(quanta.to_be_bytes());
    bytes.resize(60, 0);
    Frame { bytes, bad: false }
}

fn options(cycles: (u64, u64)) -> PauseOptions {
    PauseOptions { high: 300, low: 100, cycles }
}

/// Held for exactly so many quanta; the frame does not go on; what only looks like one does.
#[test]
fn a_received_pause_holds_for_its_quanta() {
    run_with_wave_on_failure("boards_pause_rx", |wave| {
        for (cycles, name) in [(PauseOptions::CMAC, "pause_cmac"), (PauseOptions::MAC64, "pause_mac64")] {
            let mut bench = Bench::new(wave, Pause::new(options(cycles)), name);
            for quanta in [0, 1, 2, 19, 20, 21, 1000] {
                bench.held.clear();
                bench.from_mac.frames.push_back(pause(0xAABBCCDDEEFF, quanta));
                bench.cycles(40 + u64::from(quanta) * 9);
                let time = (u64::from(quanta) * cycles.0).div_ceil(cycles.1) as usize;
                // In cycle 0 the frame comes.
                let expected: Vec<bool> = (0..bench.held.len()).map(|i| (6..6 + time).contains(&i)).collect();
                assert!(bench.held == expected, "{name}: {quanta} quanta");
            }
            // A second frame counts anew, one of zero quanta ends the pause.
            bench.from_mac.frames.extend([pause(1, 5000), pause(1, 0)]);
            bench.cycles(10);
            assert!(!bench.dut.hold.is_high());
            assert!(bench.to_cross.frames.is_empty(), "a pause frame went on");

            let mut others = vec![];
            for bit in [0, 5, 47, 96, 103, 111, 127] {
                let mut other = pause(2, 100);
                other.bytes[bit / 8] ^= 1 << (bit % 8);
                others.push(other);
            }
            others.push(Frame { bad: true, ..pause(3, 100) });
            others.push(Frame { bytes: pause(3, 100).bytes[..59].to_vec(), bad: false });
            // A pause frame inside a longer frame, at its start and as its second beat.
            others.push(Frame { bytes: [pause(4, 9).bytes, vec![0; 40]].concat(), bad: false });
            others.push(Frame { bytes: [vec![7; 64], pause(4, 9).bytes].concat(), bad: false });
            bench.from_mac.frames.extend(others.clone());
            bench.held.clear();
            bench.cycles(40);
            assert!(bench.held.iter().all(|held| !held));
            assert_eq!(Vec::from(std::mem::take(&mut bench.to_cross.frames)), others);
        }
    });
}

/// XOFF once above the mark, again while it stays there, XON below the other mark; always between two frames.
#[test]
fn a_full_fifo_asks_for_a_pause() {
    run_with_wave_on_failure("boards_pause_tx", |wave| {
        let mut bench = Bench::new(wave, Pause::new(options(PauseOptions::CMAC)), "pause_cmac");
        let (off, on) = (pause(ADDRESS, 0xFFFF), pause(ADDRESS, 0));
        // Idle: cycle by cycle.
        bench.dut.level.set(299);
        bench.cycles(10);
        assert!(bench.to_mac.frames.is_empty());
        bench.dut.level.set(300);
        bench.cycles(4);
        assert!(bench.to_mac.frames.is_empty());
        bench.cycle();
        assert_eq!(bench.to_mac.frames.pop_front(), Some(off.clone()));
        bench.cycles(REFRESH - 10);
        assert!(bench.to_mac.frames.is_empty());
        bench.cycles(20);
        assert_eq!(bench.to_mac.frames.pop_front(), Some(off.clone()));
        for level in [200, 101, 299] {
            bench.dut.level.set(level);
            bench.cycles(REFRESH + 10);
            assert!(bench.to_mac.frames.is_empty(), "between the marks");
        }
        bench.dut.level.set(100);
        bench.cycles(10);
        assert_eq!(Vec::from(std::mem::take(&mut bench.to_mac.frames)), std::slice::from_ref(&on));

        // In traffic, with a MAC that stalls.
        let mut sent = vec![];
        for number in 0..400 {
            let length = length(&mut bench.rng, 1518).max(60);
            sent.push(frame(&mut bench.rng, number, length));
        }
        bench.from_cross.frames.extend(sent.clone());
        (bench.from_cross.pace, bench.to_mac.pace) = (80, 70);
        let mut marks = vec![];
        while !bench.from_cross.frames.is_empty() {
            if bench.rng.random_bool(0.02) {
                let level = [0, 511, bench.rng.random_range(0..512)][bench.rng.random_range(0..3)];
                bench.dut.level.set(level);
                marks.push(level);
            }
            bench.cycle();
        }
        bench.dut.level.set(0);
        bench.to_mac.pace = 100;
        bench.cycles(50);
        let all = Vec::from(std::mem::take(&mut bench.to_mac.frames));
        let (pauses, frames): (Vec<Frame>, Vec<Frame>) = all.into_iter().partition(|f| *f == off || *f == on);
        assert_eq!(frames, sent);
        assert!(pauses.len() > 10, "{} pause frames for {marks:?}", pauses.len());
        assert!(pauses.iter().enumerate().all(|(i, frame)| (*frame == off) == (i % 2 == 0)), "XOFF and XON in turn");
    });
}

/// Off: wires, in the same cycle.
#[test]
fn off_is_wires() {
    run_with_wave_on_failure("boards_pause_off", |wave| {
        let mut bench = Bench::new(wave, Pause::off(), "pause_off");
        bench.dut.level.set(511);
        bench.from_mac.frames.push_back(pause(5, 100));
        bench.from_cross.frames.push_back(pause(6, 100));
        bench.cycle();
        assert_eq!(bench.to_cross.frames.pop_front(), Some(pause(5, 100)));
        assert_eq!(bench.to_mac.frames.pop_front(), Some(pause(6, 100)));
        bench.cycles(20);
        assert!(bench.to_mac.frames.is_empty() && bench.held.iter().all(|held| !held));
    });
}
