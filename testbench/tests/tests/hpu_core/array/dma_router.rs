//! The DMA router against queues: what each cluster gives comes out whole, in the order of the descriptors.

use crate::hpu_core::fields::{field, pack};
use hpu_core::array::dma_router::DmaRouter;
use rand::Rng;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

const CLUSTERS: usize = 4;

/// A transfer: an address that no other one has, and its beats.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    address: u64,
    beats: u64,
}

/// A cluster: transfers whose descriptor is offered, and those whose beats are, with the beats that have left.
#[derive(Default)]
struct Cluster {
    descriptors: VecDeque<Transfer>,
    data: VecDeque<(Transfer, u64)>,
    /// A beat is offered, until it is taken.
    offers: bool,
}

impl Transfer {
    /// Its descriptor; every field says which transfer it is.
    fn descriptor(self) -> Vec<u8> {
        let mixed = self.address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let fields = [
            ("version", mixed & 15),
            ("context", mixed >> 4 & 15),
            ("cluster", mixed >> 8 & 7),
            ("hpu", mixed >> 11 & 7),
            ("handle", mixed >> 14 & 15),
            ("frame", mixed >> 18 & 0xFFFF),
            ("address", self.address | mixed >> 40 << 40),
            ("length", 64 * self.beats),
        ];
        pack("dma_desc", &fields)
    }
}

struct Bench {
    dut: Dut<DmaRouter>,
    clusters: [Cluster; CLUSTERS],
    /// Transfers in the order of their descriptors at the output, beats that have come.
    out: VecDeque<(Transfer, u64)>,
    /// Transfers that have come whole.
    done: Vec<u64>,
    /// Cycles with a beat.
    went: Vec<u64>,
    cycle: u64,
}

/// Beat `i` of a transfer.
fn content(transfer: Transfer, i: u64) -> Vec<u8> {
    (0..64).map(|byte| (transfer.address * 7 + i * 3 + byte) as u8).collect()
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        Self {
            dut: Dut::new(wave, DmaRouter::new(CLUSTERS), "dma_router"),
            clusters: Default::default(),
            out: VecDeque::new(),
            done: Vec::new(),
            went: Vec::new(),
            cycle: 0,
        }
    }

    fn give(&mut self, cluster: usize, transfer: Transfer) {
        self.clusters[cluster].descriptors.push_back(transfer);
        self.clusters[cluster].data.push_back((transfer, 0));
    }

    /// One cycle: the clusters that offer a beat if they have one; whether descriptors and data are taken.
    fn step(&mut self, offers: [bool; CLUSTERS], takes: [bool; 2]) {
        for (i, cluster) in self.clusters.iter_mut().enumerate() {
            let desc = &self.dut.desc[i];
            desc.valid.set(!cluster.descriptors.is_empty());
            if let Some(next) = cluster.descriptors.front() {
                desc.set_bytes(&next.descriptor());
            }
            // Beats come when their descriptor has gone.
            let ahead = cluster.data.len() > cluster.descriptors.len();
            let data = &self.dut.data[i];
            cluster.offers |= offers[i] && ahead;
            data.valid.set(cluster.offers);
            if let Some((transfer, beat)) = cluster.data.front() {
                data.payload.set_bytes(&content(*transfer, *beat));
                data.last.set(beat + 1 == transfer.beats);
            }
        }
        self.dut.dma.ready.set(takes[0]);
        // The sink takes the data of descriptors that it has taken.
        let takes_data = takes[1] && !self.out.is_empty();
        self.dut.dma_data.ready.set(takes_data);
        self.dut.eval();
        let cycle = self.cycle;
        if self.dut.dma.valid.is_high() && takes[0] {
            let bytes = self.dut.dma.bytes();
            let address = field("dma_desc", &bytes, "address") & 0xFF_FFFF_FFFF;
            let transfer = Transfer { address, beats: field("dma_desc", &bytes, "length") / 64 };
            assert_eq!(bytes, transfer.descriptor(), "cycle {cycle}: the descriptor of {transfer:?}");
            self.out.push_back((transfer, 0));
        }
        if self.dut.dma_data.valid.is_high() && takes_data {
            let whole = {
                let (transfer, beat) = self.out.front_mut().expect("its descriptor was taken");
                let found = self.dut.dma_data.payload.bytes();
                assert_eq!(found, content(*transfer, *beat), "cycle {cycle}: beat {beat} of {transfer:?}");
                *beat += 1;
                assert_eq!(self.dut.dma_data.last.is_high(), *beat == transfer.beats, "cycle {cycle}: {transfer:?}");
                *beat == transfer.beats
            };
            self.went.push(cycle);
            if whole {
                self.done.push(self.out.pop_front().expect("it is under way").0.address);
            }
        }
        for (i, cluster) in self.clusters.iter_mut().enumerate() {
            if self.dut.data[i].valid.is_high() && self.dut.data[i].ready.is_high() {
                let (transfer, beat) = cluster.data.front_mut().expect("it is offered");
                *beat += 1;
                cluster.offers = false;
                if *beat == transfer.beats {
                    cluster.data.pop_front();
                }
            }
            if self.dut.desc[i].valid.is_high() && self.dut.desc[i].ready.is_high() {
                cluster.descriptors.pop_front();
            }
        }
        self.dut.tick();
        self.cycle += 1;
    }
}

#[test]
fn transfers_of_all_clusters_come_whole() {
    run_with_wave_on_failure("dma_router", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        let mut given = 0;
        let mut percent = [100; CLUSTERS + 2];
        while bench.done.len() < 2000 {
            if bench.cycle.is_multiple_of(200) {
                percent = std::array::from_fn(|_| [10, 50, 90, 100][rng.random_range(0..4)]);
            }
            let cluster = rng.random_range(0..CLUSTERS);
            if given < 2000 && bench.clusters[cluster].data.len() < 4 {
                given += 1;
                bench.give(cluster, Transfer { address: given, beats: [1, 1, 2, 23, 32][rng.random_range(0..5)] });
            }
            let may: [bool; CLUSTERS + 2] = percent.map(|percent| rng.random_range(0..100) < percent);
            bench.step(std::array::from_fn(|i| may[i]), [may[CLUSTERS], may[CLUSTERS + 1]]);
            assert!(bench.cycle < 200_000, "{} of 2000 transfers came", bench.done.len());
        }
        let mut done = bench.done.clone();
        done.sort_unstable();
        assert_eq!(done, (1..=2000).collect::<Vec<_>>());
        assert!(bench.out.is_empty());
    });
}

#[test]
fn beats_follow_without_a_bubble() {
    run_with_wave_on_failure("dma_router_cycles", |wave| {
        let mut bench = Bench::new(wave);
        for (cluster, address, beats) in [(0, 1, 1), (1, 2, 1), (2, 3, 22), (3, 4, 1), (1, 5, 2), (0, 6, 1), (0, 7, 1)]
        {
            bench.give(cluster, Transfer { address, beats });
        }
        for _ in 0..60 {
            bench.step([true; CLUSTERS], [true; 2]);
        }
        // The clusters take turns, and a beat goes out in every cycle from the second one after the first descriptor on.
        assert_eq!(bench.done, [1, 2, 3, 4, 6, 5, 7]);
        assert_eq!(bench.went, (2..31).collect::<Vec<_>>());
    });
}
