//! The load router: each cluster gets the beats of its own requests, and the bus knows which bytes are of the packet.

use hpu_core::array::load_router::LoadRouter;
use rand::Rng;
use spindle_blocks::ReadRequest;
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::prelude::bits;
use std::collections::VecDeque;

const CLUSTERS: usize = 3;

/// A request: its cluster, its packet, its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    cluster: usize,
    pkt: u64,
    length: u64,
    skip: u64,
}

#[test]
fn beats_go_to_their_cluster_without_bytes_after_the_packet() {
    run_with_wave_on_failure("load_router", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, LoadRouter::new(CLUSTERS), "load_router");
        let mut offered: Option<Load> = None;
        // Requests that the router took, and those that reached the packet buffer, with beats to come.
        let mut taken: VecDeque<Load> = VecDeque::new();
        let mut reads: VecDeque<(Load, u64)> = VecDeque::new();
        let mut valid = false;
        let (mut served, mut cut) = ([0; CLUSTERS], 0);
        while served.iter().sum::<usize>() < 3000 {
            let now = dut.cycle();
            assert!(now < 300_000, "{served:?}");
            if offered.is_none() && rng.random_range(0..4) == 0 {
                let length = [14, 63, 64, 65, 128, 2047, 2048, rng.random_range(14..2049)][rng.random_range(0..8)];
                offered = Some(Load {
                    cluster: rng.random_range(0..CLUSTERS),
                    pkt: rng.random_range(0..1024),
                    length,
                    skip: rng.random_range(0..256),
                });
            }
            dut.request.offer(offered.map(|load| ReadRequest {
                pkt: bits(load.pkt),
                length: bits(load.length),
                skip: bits(load.skip),
            }));
            dut.cluster.set(1 << offered.map_or(rng.random_range(0..CLUSTERS), |load| load.cluster));
            (0..CLUSTERS).for_each(|cluster| dut.ready[cluster].set(rng.random_range(0..4) > 0));
            dut.load_request.ready.set(rng.random_range(0..3) > 0);
            valid |= !reads.is_empty() && rng.random_range(0..4) > 0;
            dut.load_valid.set(valid);
            let last = reads.front().is_some_and(|read| read.1 == 1);
            dut.load_last.set(last);
            dut.eval();
            if let (true, Some((load, _))) = (valid, reads.front()) {
                let wanted: Vec<bool> = (0..CLUSTERS).map(|cluster| cluster == load.cluster).collect();
                let found: Vec<bool> = dut.valid.iter().map(|wire| wire.is_high()).collect();
                assert_eq!(found, wanted, "cycle {now}: {load:?}");
                let count = if last { load.length - 64 * (load.length.div_ceil(64) - 1) } else { 64 };
                assert_eq!(dut.keep.number(), u64::MAX >> (64 - count), "cycle {now}: {load:?}");
                cut += usize::from(count < 64);
                if dut.load_ready.is_high() {
                    let load = *load;
                    reads[0].1 -= 1;
                    if last {
                        reads.pop_front();
                        served[load.cluster] += 1;
                    }
                    valid = false;
                }
            } else {
                assert!(dut.valid.iter().all(|wire| !wire.is_high()), "cycle {now}: a beat of no request");
            }
            if let Some(request) = dut.load_request.taken() {
                let load = taken.pop_front().expect("it was requested");
                let found = (request.pkt.to_u64(), request.length.to_u64(), request.skip.to_u64());
                assert_eq!(found, (load.pkt, load.length, load.skip), "cycle {now}");
                reads.push_back((load, load.length.div_ceil(64)));
            }
            if dut.request.moves() {
                taken.extend(offered.take());
            }
            dut.tick();
        }
        assert!(
            served.iter().all(|count| *count > 800) && cut > 1000,
            "{served:?}, {cut} beats end before their last byte"
        );
    });
}
