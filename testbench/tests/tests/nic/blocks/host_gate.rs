//! The gate in front of host memory: it stops between two bursts, and gives up answers that do not come.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_nic::HostGate;
use std::collections::VecDeque;

/// Cycles within which a stopped gate is quiet if the host answers.
const PATIENCE: u64 = 2000;

/// What has passed on one side: addresses and last beats of writes, their answers, addresses and last beats of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Passed {
    write_addresses: u64,
    write_bursts: u64,
    write_answers: u64,
    reads: u64,
    read_answers: u64,
}

impl Passed {
    /// No burst has begun that has not ended.
    fn whole(&self) -> bool {
        let writes = [self.write_addresses, self.write_bursts, self.write_answers];
        writes.iter().all(|count| *count == writes[0]) && self.reads == self.read_answers
    }
}

/// Engine and host around the gate. The engine offers bursts whose addresses and data run ahead of each other at random.
struct Bench {
    dut: Dut<HostGate>,
    rng: ChaCha8Rng,
    /// Percent of the cycles in which either side is ready, or offers something new.
    pace: u32,
    /// The host answers.
    answers: bool,
    engine: Passed,
    host: Passed,
    /// Bursts of which the engine has offered data, and the beats left of the last one.
    data_begun: u64,
    beats_left: u64,
    /// The engine's offers of the last cycle that were not taken.
    offers: [bool; 3],
    /// The host's: an answer to a write, a beat of a read.
    gives: [bool; 2],
    /// Beats of the reads that the host has not answered.
    read_beats: VecDeque<u64>,
    /// What the host saw offered and did not take.
    seen: [bool; 3],
    inside: bool,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, HostGate::default(), "host_gate");
        // The engine withdraws what it offers when it is reset; what the host sees is checked in `step`.
        dut.ignore_all();
        dut.stop.set(false);
        dut.abandon.set(false);
        Self {
            dut,
            rng: wave.rng(),
            pace: 60,
            answers: true,
            engine: Passed::default(),
            host: Passed::default(),
            data_begun: 0,
            beats_left: 0,
            offers: [false; 3],
            gives: [false; 2],
            read_beats: VecDeque::new(),
            seen: [false; 3],
            inside: false,
        }
    }

    fn chance(&mut self) -> bool {
        self.rng.random_range(0..100) < self.pace
    }

    /// A cycle; returns whether something moved at the host.
    fn step(&mut self) -> bool {
        // The engine. Addresses and data of writes lead each other by at most three bursts; 40 bursts are under way.
        let room = self.engine.write_addresses.max(self.data_begun) - self.engine.write_answers < 40;
        let new = [self.chance(), self.chance(), self.chance()];
        if !self.offers[0] {
            let leads = self.engine.write_addresses.saturating_sub(self.data_begun) < 3;
            self.offers[0] = new[0] && leads && (room || self.engine.write_addresses < self.data_begun);
        }
        if self.beats_left == 0 {
            let leads = self.data_begun.saturating_sub(self.engine.write_addresses) < 3;
            if new[1] && leads && (room || self.data_begun < self.engine.write_addresses) {
                self.beats_left = self.rng.random_range(1..5);
                self.data_begun += 1;
            }
        }
        if !self.offers[1] {
            self.offers[1] = self.beats_left > 0 && new[1];
        }
        if !self.offers[2] {
            self.offers[2] = new[2] && self.engine.reads - self.engine.read_answers < 40;
        }
        let ready = [self.chance(), self.chance(), self.chance(), self.chance(), self.chance()];
        // The host: an answer to a write after its address and its last beat.
        let writes = self.host.write_addresses.min(self.host.write_bursts);
        self.gives[0] |= self.answers && writes > self.host.write_answers && self.chance();
        self.gives[1] |= self.answers && !self.read_beats.is_empty() && self.chance();
        let dut = &self.dut;
        dut.engine.awvalid.set(self.offers[0]);
        dut.engine.wvalid.set(self.offers[1]);
        dut.engine.wlast.set(self.beats_left == 1);
        dut.engine.arvalid.set(self.offers[2]);
        dut.host.awready.set(ready[0]);
        dut.host.wready.set(ready[1]);
        dut.host.arready.set(ready[2]);
        dut.engine.bready.set(ready[3]);
        dut.engine.rready.set(ready[4]);
        dut.host.bvalid.set(self.gives[0]);
        dut.host.rvalid.set(self.gives[1]);
        dut.host.rlast.set(self.read_beats.front() == Some(&1));
        dut.eval();

        let offered = [dut.host.awvalid.is_high(), dut.host.wvalid.is_high(), dut.host.arvalid.is_high()];
        for i in 0..3 {
            assert!(offered[i] || !self.seen[i], "cycle {}: offer {i} was withdrawn", dut.cycle());
            self.seen[i] = offered[i] && !ready[i];
        }
        let taken = [dut.engine.awready.is_high(), dut.engine.wready.is_high(), dut.engine.arready.is_high()];
        let moves: Vec<bool> = (0..3).map(|i| offered[i] && ready[i]).collect();
        for i in 0..3 {
            assert_eq!(
                self.offers[i] && taken[i],
                moves[i],
                "cycle {}: both sides see the same handshake",
                dut.cycle()
            );
            if !dut.stop.get() {
                assert_eq!((offered[i], taken[i]), (self.offers[i], ready[i]), "an open gate is a wire");
            }
            self.offers[i] &= !moves[i];
        }
        for passed in [&mut self.engine, &mut self.host] {
            passed.write_addresses += u64::from(moves[0]);
            passed.write_bursts += u64::from(moves[1] && self.beats_left == 1);
            passed.reads += u64::from(moves[2]);
        }
        if moves[1] {
            self.inside = self.beats_left > 1;
            self.beats_left -= 1;
        }
        if moves[2] {
            self.read_beats.push_back(self.rng.random_range(1..5));
        }
        let given = [self.gives[0] && dut.host.bready.is_high(), self.gives[1] && dut.host.rready.is_high()];
        self.engine.write_answers += u64::from(dut.engine.bvalid.is_high() && ready[3]);
        self.host.write_answers += u64::from(given[0]);
        self.engine.read_answers += u64::from(dut.engine.rvalid.is_high() && ready[4] && dut.host.rlast.get());
        if given[1] {
            let left = self.read_beats.front_mut().expect("the host answers a read");
            *left -= 1;
            if *left == 0 {
                self.read_beats.pop_front();
                self.host.read_answers += 1;
            }
        }
        self.gives = [self.gives[0] && !given[0], self.gives[1] && !given[1]];
        let moved = moves.contains(&true) || given.contains(&true);
        assert_eq!(dut.moved.is_high(), moved, "cycle {}", dut.cycle());
        dut.tick();
        moved
    }

    /// Is the gate quiet? Between two cycles.
    fn quiet(&self) -> bool {
        self.dut.eval();
        self.dut.quiet.is_high()
    }

    /// Stops the gate and waits until it is quiet; returns the cycles.
    fn stop(&mut self) -> u64 {
        self.dut.stop.set(true);
        for cycles in 0..PATIENCE {
            if self.quiet() {
                return cycles;
            }
            self.step();
        }
        panic!("the gate does not become quiet");
    }

    /// The engine is reset: what it offered is gone.
    fn reset_engine(&mut self) {
        self.offers = [false; 3];
        self.beats_left = 0;
        self.data_begun = self.host.write_bursts;
        self.engine = self.host;
        self.dut.engine.awvalid.set(false);
        self.dut.engine.wvalid.set(false);
        self.dut.engine.arvalid.set(false);
    }
}

/// Stops at random moments: every burst that has begun ends, nothing begins afterwards, and the engine gets each answer.
#[test]
fn bursts_end_and_none_begins() {
    run_with_wave_on_failure("host_gate_stops", |wave| {
        let mut bench = Bench::new(wave);
        let mut begun = 0;
        for round in 0..300 {
            bench.pace = [10, 40, 70, 100][round % 4];
            for _ in 0..bench.rng.random_range(0..120) {
                bench.step();
            }
            begun += u64::from(!bench.host.whole());
            bench.stop();
            assert!(bench.host.whole() && !bench.inside, "round {round}: {:?}", bench.host);
            assert_eq!(bench.engine, bench.host, "round {round}: the engine gets what the host gives");
            // The engine goes on offering, and nothing moves.
            for _ in 0..30 {
                assert!(!bench.step() && bench.quiet(), "round {round}");
            }
            bench.reset_engine();
            bench.dut.stop.set(false);
        }
        assert!(begun > 150 && bench.host.write_bursts > 2000, "{begun} {:?}", bench.host);
    });
}

/// A host that does not answer is given up; what it answers later reaches no engine, and what comes after that does.
#[test]
fn late_answers_reach_no_engine() {
    run_with_wave_on_failure("host_gate_abandons", |wave| {
        let mut bench = Bench::new(wave);
        for round in 0..40 {
            bench.answers = false;
            for _ in 0..bench.rng.random_range(0..150) {
                bench.step();
            }
            bench.dut.stop.set(true);
            // The host takes the halves that are missing, and is silent then.
            for _ in 0..300 {
                bench.step();
            }
            assert!(!bench.inside && bench.host.write_addresses == bench.host.write_bursts);
            let late =
                [bench.host.write_addresses - bench.host.write_answers, bench.host.reads - bench.host.read_answers];
            assert_eq!(bench.quiet(), late == [0, 0]);
            bench.dut.abandon.set(true);
            bench.step();
            bench.dut.abandon.set(false);
            assert!(bench.quiet(), "nothing is under way that counts");
            bench.reset_engine();
            // As the engine counts from here on, no burst is under way.
            bench.engine.write_answers = bench.engine.write_addresses;
            bench.engine.read_answers = bench.engine.reads;
            let before = bench.engine;
            bench.dut.stop.set(false);
            bench.answers = true;
            if round % 2 == 0 {
                // All late answers come while the engine has nothing under way.
                bench.pace = 0;
                for _ in 0..1000 {
                    bench.gives[0] |= bench.host.write_answers < bench.host.write_addresses;
                    bench.gives[1] |= !bench.read_beats.is_empty();
                    bench.step();
                }
                assert!(bench.host.whole());
                assert_eq!(bench.engine, before, "the engine sees no answer");
                bench.pace = 60;
            }
            for _ in 0..200 {
                bench.step();
            }
            bench.stop();
            assert!(bench.host.whole());
            assert_eq!(bench.engine, bench.host, "the engine gets the answers of its own bursts");
            bench.reset_engine();
            bench.dut.stop.set(false);
        }
        assert!(bench.host.write_bursts > 500 && bench.host.reads > 500, "{:?}", bench.host);
    });
}
