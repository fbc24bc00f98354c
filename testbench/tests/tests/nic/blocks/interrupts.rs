//! Requests by vector, their acknowledgements, and the map from processes to vectors.

use rand::Rng;
use spindle_contract::pci::VECTORS;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_nic::Interrupts;
use spindle_verilog::prelude::bits;
use std::collections::VecDeque;

const PROCESSES: u64 = 64;
/// Cycles from a process's pulse, and from a cause of the card, to the request.
const RING_TO_REQUEST: u64 = 3;
const CAUSE_TO_REQUEST: u64 = 2;

/// The vector of a process after reset.
fn first_vector(process: u64) -> u64 {
    1 + process % (VECTORS as u64 - 1)
}

struct Bench {
    dut: Dut<Interrupts>,
}

impl Bench {
    /// Interrupts whose map is set.
    fn new(wave: &WaveContext) -> Self {
        let bench = Self::resetting(wave);
        bench.dut.ticks(PROCESSES);
        bench
    }

    /// Interrupts that have just left reset.
    fn resetting(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, Interrupts::new(), "interrupts");
        for port in [&dut.ring.valid, &dut.route.valid] {
            port.set(false);
        }
        dut.causes.set(0u64);
        dut.masks.set(3u64);
        dut.acknowledge.set(0u64);
        Self { dut }
    }

    fn request(&self) -> u64 {
        self.dut.eval();
        self.dut.request.get().to_u64()
    }

    /// A cycle in which this process's event ring requests an interrupt.
    fn ring(&self, process: u64) {
        self.dut.ring.offer(Some(bits::<6>(process)));
        self.dut.tick();
        self.dut.ring.valid.set(false);
    }

    fn route(&self, process: u64, vector: u64) {
        self.dut.route.offer(Some(bits::<6>(process)));
        self.dut.route_vector.set(vector);
        self.dut.tick();
        self.dut.route.valid.set(false);
    }

    fn acknowledge(&self, vectors: u64) {
        self.dut.acknowledge.set(vectors);
        self.dut.tick();
        self.dut.acknowledge.set(0u64);
    }

    /// Cycles until these vectors are requested, and nothing before; the cycle of the cause is over.
    fn cycles_to(&self, vectors: u64) -> u64 {
        for cycle in 1..10 {
            match self.request() {
                0 => self.dut.tick(),
                request => {
                    assert_eq!(request, vectors);
                    return cycle;
                }
            }
        }
        panic!("{vectors:#x} are not requested");
    }
}

#[test]
fn every_process_has_its_vector() {
    run_with_wave_on_failure("interrupts_vectors", |wave| {
        let bench = Bench::new(wave);
        for process in 0..PROCESSES {
            bench.ring(process);
            assert_eq!(bench.cycles_to(1 << first_vector(process)), RING_TO_REQUEST, "process {process}");
            // The level stays until it is acknowledged, and falls in the next cycle.
            bench.dut.ticks(5);
            assert_eq!(bench.request(), 1 << first_vector(process));
            bench.acknowledge(1 << first_vector(process));
            assert_eq!(bench.request(), 0);
        }
        for (process, vector) in [(0, 15), (63, 0), (7, 9)] {
            bench.route(process, vector);
            bench.ring(process);
            assert_eq!(bench.cycles_to(1 << vector), RING_TO_REQUEST);
            bench.acknowledge(1 << vector);
        }
        // Others keep theirs.
        bench.ring(8);
        bench.cycles_to(1 << first_vector(8));
    });
}

/// Until the map is set, a vector that is routed waits; of several the last one counts.
#[test]
fn a_route_waits_for_the_map() {
    run_with_wave_on_failure("interrupts_early_route", |wave| {
        for wait in 0..3 {
            let bench = Bench::resetting(wave);
            bench.dut.ticks(wait);
            bench.route(2, 11);
            bench.route(60, 12);
            bench.dut.ticks(PROCESSES + 2);
            for (process, vector) in [(60, 12), (2, first_vector(2))] {
                bench.ring(process);
                bench.cycles_to(1 << vector);
                bench.acknowledge(1 << vector);
            }
        }
    });
}

#[test]
fn the_card_requests_vector_0() {
    run_with_wave_on_failure("interrupts_card", |wave| {
        let bench = Bench::new(wave);
        let causes = |causes: u64| {
            bench.dut.causes.set(causes);
            bench.dut.tick();
        };
        for cause in [1, 2] {
            causes(cause);
            assert_eq!(bench.cycles_to(1), CAUSE_TO_REQUEST);
            bench.acknowledge(1);
            // A cause that stays is no new one; another one is.
            bench.dut.ticks(10);
            assert_eq!(bench.request(), 0);
            causes(3);
            assert_eq!(bench.cycles_to(1), CAUSE_TO_REQUEST);
            bench.acknowledge(1);
            causes(0);
            bench.dut.ticks(5);
            assert_eq!(bench.request(), 0);
        }
        // A cause that is masked counts when the mask opens.
        bench.dut.masks.set(0u64);
        causes(2);
        bench.dut.ticks(5);
        assert_eq!(bench.request(), 0);
        bench.dut.masks.set(2u64);
        bench.dut.tick();
        assert_eq!(bench.cycles_to(1), CAUSE_TO_REQUEST);
    });
}

/// Causes, routes and acknowledgements in any cycles: each request is that of a cause, at its cycle, and each cause is followed by an
/// acknowledged request.
#[test]
fn random_causes() {
    run_with_wave_on_failure("interrupts_random", |wave| {
        const CYCLES: u64 = 30_000;
        let bench = Bench::new(wave);
        let dut = &bench.dut;
        let mut rng = wave.rng();
        let mut map: Vec<u64> = (0..PROCESSES).map(first_vector).collect();
        let (mut requested, mut counted) = (0u64, 0u64);
        // Causes on their way, with the cycle of their request; those without an acknowledgement, by vector.
        let mut coming: VecDeque<(u64, u64)> = VecDeque::new();
        let mut owed = [None; VECTORS];
        let (mut causes, mut masks) = (0u64, 3u64);
        let (mut rings, mut taken) = (0, 0);
        for cycle in 0..CYCLES {
            let ends = cycle + 200 > CYCLES;
            let quiet = ends || cycle % 1000 > 700;
            let ring = (!quiet && rng.random_bool(0.4)).then(|| rng.random_range(0..PROCESSES));
            dut.ring.offer(ring.map(bits::<6>));
            let route = rng.random_bool(0.02).then(|| (rng.random_range(0..PROCESSES), rng.random_range(0..16u64)));
            dut.route.offer(route.map(|(process, _)| bits::<6>(process)));
            dut.route_vector.set(route.map_or(0, |(_, vector)| vector));
            if !ends && rng.random_bool(0.05) {
                (causes, masks) = (rng.random_range(0..4), rng.random_range(0..4));
            }
            dut.causes.set(causes);
            dut.masks.set(masks);
            // Also of vectors that are not requested, which has no effect.
            let acknowledge =
                if ends { 0xFFFF } else { rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>() & 0xFFFF };
            dut.acknowledge.set(acknowledge);
            dut.eval();
            assert_eq!(dut.request.get().to_u64(), requested, "cycle {cycle}");
            assert_eq!(dut.waiting.get().to_u64(), requested);

            for (vector, owed) in owed.iter_mut().enumerate() {
                if requested & acknowledge & 1 << vector != 0 {
                    taken += 1;
                    owed.take_if(|due| *due <= cycle);
                }
            }
            if let Some(process) = ring {
                coming.push_back((cycle + RING_TO_REQUEST, 1 << map[process as usize]));
                owed[map[process as usize] as usize] = Some(cycle + RING_TO_REQUEST);
                rings += 1;
            }
            if causes & masks & !counted != 0 {
                coming.push_back((cycle + CAUSE_TO_REQUEST, 1));
                owed[0] = owed[0].max(Some(cycle + CAUSE_TO_REQUEST));
            }
            counted = causes & masks;
            if let Some((process, vector)) = route {
                map[process as usize] = vector;
            }
            requested &= !acknowledge;
            coming.retain(|(due, vectors)| {
                requested |= if *due == cycle + 1 { *vectors } else { 0 };
                *due > cycle + 1
            });
            dut.tick();
        }
        assert_eq!(owed, [None; VECTORS], "every cause is followed by an interrupt");
        assert!(rings > 5000 && taken > 2000 && taken < rings, "{rings} causes, {taken} interrupts");
    });
}
