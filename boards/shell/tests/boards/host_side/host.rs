//! The host bridge between a NIC that sends random bursts and an XDMA that is checked for its limits; the link comes and goes.

use super::xdma::Xdma;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::host::HostBridge;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

const SLVERR: u64 = 2;
const DECERR: u64 = 3;

/// A burst that the NIC waits for.
#[derive(Clone, Debug)]
struct Open {
    id: u64,
    address: u64,
    beats: u64,
    /// Data of a write; those of a read are a function of the address.
    data: Vec<(Vec<u8>, u64)>,
    /// The beats that have moved: of data of a write, of answers to a read.
    moved: u64,
    /// The link was down at some time while it was open.
    touched: bool,
}

impl Open {
    fn far(&self) -> bool {
        self.address >> 48 != 0
    }
}

/// NIC, XDMA and link around the bridge.
struct Bench {
    dut: Dut<HostBridge>,
    rng: ChaCha8Rng,
    xdma: Xdma,
    /// Percent of the cycles in which a side of the NIC moves.
    pace: u32,
    up: bool,
    /// The NIC makes bursts, some of them to addresses that are refused.
    begins: bool,
    strays: bool,
    writes: VecDeque<Open>,
    reads: VecDeque<Open>,
    /// What is offered and not taken.
    write: Option<Open>,
    read: Option<Open>,
    data_offered: bool,
    held_answer: Option<(u64, u64)>,
    held_beat: Option<(u64, u64, bool, Vec<u8>)>,
    /// Bursts answered: well, refused, abandoned; by the bench and by the pulses of the bridge.
    done: [u64; 3],
    pulses: [u64; 2],
    /// Beats of writes that were answered well, in the order of the answers: what the XDMA must have got.
    good_beats: u64,
}

impl Bench {
    fn new(wave: &WaveContext, outstanding: usize) -> Self {
        let name = format!("host_bridge_{outstanding}");
        let dut = Dut::new(wave, HostBridge::new(outstanding, 48), &name);
        dut.reset();
        Self {
            dut,
            rng: wave.rng(),
            xdma: Xdma::new(64, outstanding),
            pace: 70,
            up: true,
            begins: true,
            strays: true,
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            write: None,
            read: None,
            data_offered: false,
            held_answer: None,
            held_beat: None,
            done: [0; 3],
            pulses: [0; 2],
            good_beats: 0,
        }
    }

    fn chance(&mut self) -> bool {
        self.rng.random_range(0..100) < self.pace
    }

    fn burst(&mut self, write: bool) -> Open {
        let beats = self.rng.random_range(1..5u64);
        let mut address = self.rng.random_range(0..1u64 << 36) * 256 + 64 * self.rng.random_range(0..=4 - beats);
        if self.strays && self.rng.random_range(0..12) == 0 {
            address |= 1 << self.rng.random_range(48..64);
        }
        let data = if write {
            let strobes = |rng: &mut ChaCha8Rng, i| if i == 0 { u64::MAX << rng.random_range(0..64) } else { u64::MAX };
            (0..beats).map(|i| ((0..64).map(|_| self.rng.random()).collect(), strobes(&mut self.rng, i))).collect()
        } else {
            vec![]
        };
        Open { id: self.rng.random_range(0..256), address, beats, data, moved: 0, touched: !self.up }
    }

    /// The write whose beats are due: the oldest that lacks some, or the one whose address is offered.
    fn writing(&mut self) -> Option<&mut Open> {
        self.writes.iter_mut().find(|open| open.moved < open.beats).or(self.write.as_mut())
    }

    fn step(&mut self) {
        let new = [self.chance(), self.chance(), self.chance()];
        if self.begins && new[0] && self.write.is_none() {
            self.write = Some(self.burst(true));
        }
        if self.begins && new[1] && self.read.is_none() {
            self.read = Some(self.burst(false));
        }
        let due = self.writing().filter(|open| open.moved < open.beats).map(|open| open.clone());
        self.data_offered = due.is_some() && (self.data_offered || new[2]);
        let ready = [self.chance(), self.chance()];
        let engine = &self.dut.engine;
        engine.awvalid.set(self.write.is_some());
        if let Some(open) = &self.write {
            engine.awid.set(open.id);
            engine.awaddr.set(open.address);
            engine.awlen.set(open.beats - 1);
            engine.awsize.set(6);
            engine.awburst.set(1);
        }
        engine.wvalid.set(self.data_offered);
        if let Some(open) = &due {
            let (data, strobes) = &open.data[open.moved as usize];
            engine.wdata.set(data);
            engine.wstrb.set(*strobes);
            engine.wlast.set(open.moved + 1 == open.beats);
        }
        engine.arvalid.set(self.read.is_some());
        if let Some(open) = &self.read {
            engine.arid.set(open.id);
            engine.araddr.set(open.address);
            engine.arlen.set(open.beats - 1);
            engine.arsize.set(6);
            engine.arburst.set(1);
        }
        engine.bready.set(ready[0]);
        engine.rready.set(ready[1]);
        self.dut.link_up.set(self.up);
        self.xdma.drive(&self.dut.pcie, &mut self.rng, self.up);
        self.dut.eval();
        self.sample(ready);
        self.xdma.sample(&self.dut.pcie, &mut self.rng);
        for (count, pulse) in [&self.dut.refused, &self.dut.abandoned].into_iter().enumerate() {
            self.pulses[count] += u64::from(pulse.number().count_ones());
        }
        self.dut.tick();
    }

    fn sample(&mut self, ready: [bool; 2]) {
        let engine = &self.dut.engine;
        let (aw, w, ar) = (engine.awready.is_high(), engine.wready.is_high(), engine.arready.is_high());
        let answer = engine.bvalid.is_high().then(|| (engine.bid.number(), engine.bresp.number()));
        let beat = engine
            .rvalid
            .is_high()
            .then(|| (engine.rid.number(), engine.rresp.number(), engine.rlast.is_high(), engine.rdata.bytes()));
        // Beats before the address moves belong to the burst that is offered.
        if self.data_offered && w {
            self.data_offered = false;
            self.writing().expect("a beat was offered").moved += 1;
        }
        if self.write.is_some() && aw {
            self.writes.extend(self.write.take());
        }
        if self.read.is_some() && ar {
            self.reads.extend(self.read.take());
        }
        let cycle = self.dut.cycle();
        assert!(self.held_answer.is_none() || self.held_answer == answer, "cycle {cycle}: B changed");
        assert!(self.held_beat.is_none() || self.held_beat == beat, "cycle {cycle}: R changed");
        self.held_answer = answer.filter(|_| !ready[0]);
        self.held_beat = beat.clone().filter(|_| !ready[1]);
        if let (Some((id, response)), true) = (answer, ready[0]) {
            let open = self.writes.pop_front().expect("an answer to a write");
            assert_eq!((id, open.moved), (open.id, open.beats), "cycle {cycle}: the answer of the oldest write");
            self.ends(&open, response);
            if response == 0 {
                self.good_beats += open.beats;
                let got = self.xdma.written(open.address).expect("what was answered well was written");
                assert_eq!(got, open.data, "cycle {cycle}");
            }
        }
        if let (Some((id, response, last, data)), true) = (beat, ready[1]) {
            let open = self.reads.front_mut().expect("a beat of a read");
            assert_eq!(id, open.id, "cycle {cycle}: beats of the oldest read");
            assert_eq!(last, open.moved + 1 == open.beats, "cycle {cycle}");
            if response == 0 {
                assert_eq!(data, Xdma::data(open.address + 64 * open.moved, 64), "cycle {cycle}");
            }
            open.moved += 1;
            if last {
                let open = self.reads.pop_front().expect("it was there");
                self.ends(&open, response);
            }
        }
        for open in self.writes.iter_mut().chain(&mut self.reads).chain(&mut self.write).chain(&mut self.read) {
            open.touched |= !self.up;
        }
    }

    fn ends(&mut self, open: &Open, response: u64) {
        let kind = match response {
            0 => 0,
            DECERR => 1,
            _ => 2,
        };
        assert_eq!(kind == 1, open.far(), "{open:?}");
        assert!(kind != 2 || (response == SLVERR && open.touched), "{open:?} was abandoned, and the link was up");
        self.done[kind] += 1;
    }

    fn under_way(&self) -> usize {
        self.writes.len() + self.reads.len() + usize::from(self.write.is_some()) + usize::from(self.read.is_some())
    }
}

/// A link that stays up: everything arrives, far addresses are refused, and the limit is kept and reached.
#[test]
fn bursts_pass_and_far_ones_are_refused() {
    run_with_wave_on_failure("host_bridge", |wave| {
        for outstanding in [32, 5] {
            let mut bench = Bench::new(wave, outstanding);
            for round in 0..12 {
                bench.pace = [100, 70, 30][round % 3];
                bench.xdma.pace = [100, 60, 90, 20][round % 4];
                bench.xdma.slowest = [0, 40, 400][round % 3];
                (0..1500).for_each(|_| bench.step());
            }
            // The XDMA is filled: the oldest burst is answered when no further one can begin. Refused bursts would take room
            // in the queues.
            (bench.strays, bench.pace, bench.xdma.pace) = (false, 100, 100);
            (0..1500).for_each(|_| bench.step());
            bench.xdma.slowest = 20_000;
            (0..1500).for_each(|_| bench.step());
            bench.begins = false;
            (bench.xdma.pace, bench.xdma.slowest) = (80, 5);
            (0..24_000).for_each(|_| bench.step());
            assert_eq!(bench.under_way(), 0);
            assert_eq!(bench.xdma.most, [outstanding; 2], "reads and writes in the XDMA");
            let [good, refused, abandoned] = bench.done;
            assert!(good > 2000 && refused > 100 && abandoned == 0, "{:?}", bench.done);
            assert_eq!(bench.pulses, [refused, 0]);
            assert_eq!(bench.xdma.bursts, good, "far bursts did not go out");
        }
    });
}

/// The link comes and goes; the XDMA holds everything back meanwhile, and answers late.
#[test]
fn nothing_hangs_when_the_link_drops() {
    run_with_wave_on_failure("host_bridge_link", |wave| {
        let mut bench = Bench::new(wave, 32);
        for round in 0..150 {
            bench.pace = [100, 70, 30][round % 3];
            bench.xdma.pace = [100, 60, 90, 20][round % 4];
            bench.xdma.slowest = [0, 40, 400][round % 3];
            bench.begins = true;
            bench.up = true;
            let cycles = if round % 5 == 0 { 3 } else { bench.rng.random_range(10..400) };
            (0..cycles).for_each(|_| bench.step());
            bench.up = false;
            // Now and then the link is down for a few cycles only.
            if round % 4 == 0 {
                (0..bench.rng.random_range(1..6)).for_each(|_| bench.step());
                continue;
            }
            (0..200).for_each(|_| bench.step());
            // Without new bursts, all are ended although the link stays down: four beats each, 32 + 2 of both kinds.
            bench.begins = false;
            bench.pace = 100;
            (0..400).for_each(|_| bench.step());
            assert_eq!(bench.under_way(), 0, "round {round}");
        }
        bench.up = true;
        (bench.begins, bench.pace, bench.xdma.pace, bench.xdma.slowest) = (true, 70, 80, 10);
        let before = bench.done;
        (0..3000).for_each(|_| bench.step());
        assert!(bench.done[0] > before[0] + 200, "bursts pass again");
        bench.begins = false;
        (0..3000).for_each(|_| bench.step());
        assert_eq!(bench.under_way(), 0);
        assert!(bench.xdma.is_idle(), "the XDMA got whole bursts, and has answered them");
        let [good, refused, abandoned] = bench.done;
        assert!(good > 1500 && refused > 200 && abandoned > 1500, "{:?}", bench.done);
        assert_eq!(bench.pulses, [refused, abandoned]);
    });
}

/// The figures of the module text.
#[test]
fn timing() {
    run_with_wave_on_failure("host_bridge_timing", |wave| {
        let dut = Dut::new(wave, HostBridge::default(), "host_bridge_32");
        dut.ignore_all();
        let (engine, pcie) = (&dut.engine, &dut.pcie);
        dut.link_up.set(true);
        for (port, level) in [(&engine.bready, true), (&engine.rready, true)] {
            port.set(level);
        }
        for ready in [&pcie.awready, &pcie.wready, &pcie.arready] {
            ready.set(true);
        }
        // Bursts of one beat, one per cycle.
        engine.awvalid.set(true);
        engine.wvalid.set(true);
        engine.wlast.set(true);
        engine.arvalid.set(true);
        dut.eval();
        assert!(engine.awready.is_high() && engine.arready.is_high() && !engine.wready.is_high());
        dut.tick();
        for cycle in 1..20 {
            dut.eval();
            assert!(engine.awready.is_high() && engine.wready.is_high() && engine.arready.is_high(), "cycle {cycle}");
            assert!(pcie.awvalid.is_high() && pcie.arvalid.is_high(), "AW and AR go out in the next cycle");
            assert_eq!(pcie.wvalid.is_high(), cycle > 1, "W one cycle after AW");
            dut.tick();
        }
        engine.awvalid.set(false);
        engine.arvalid.set(false);
        dut.ticks(3);
        engine.wvalid.set(false);
        // Answers.
        pcie.bvalid.set(true);
        pcie.rvalid.set(true);
        pcie.rlast.set(true);
        dut.eval();
        assert!(pcie.bready.is_high() && pcie.rready.is_high() && !engine.bvalid.is_high());
        dut.tick();
        for _ in 1..15 {
            dut.eval();
            assert!(
                pcie.bready.is_high() && pcie.rready.is_high() && engine.bvalid.is_high() && engine.rvalid.is_high()
            );
            dut.tick();
        }
        dut.ticks(8);
        pcie.bvalid.set(false);
        pcie.rvalid.set(false);
        dut.ticks(3);
        // A refused write and read.
        let far = 1u64 << 48;
        engine.awaddr.set(far);
        engine.araddr.set(far);
        engine.awvalid.set(true);
        engine.arvalid.set(true);
        dut.tick();
        engine.awvalid.set(false);
        engine.arvalid.set(false);
        engine.wvalid.set(true);
        dut.eval();
        assert!(engine.wready.is_high() && !engine.rvalid.is_high());
        dut.tick();
        engine.wvalid.set(false);
        dut.eval();
        assert!(!engine.bvalid.is_high() && engine.rvalid.is_high() && engine.rresp.number() == DECERR);
        dut.tick();
        dut.eval();
        assert!(engine.bvalid.is_high() && engine.bresp.number() == DECERR);
    });
}
