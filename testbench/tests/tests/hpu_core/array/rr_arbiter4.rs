//! `RrArbiter4` against round robin in words: among four, and in two groups that take turns.

use hpu_core::array::rr_arbiter4::RrArbiter4;
use rand::Rng;
use spindle_harness::{run_with_wave_on_failure, Dut};

/// The first requester after `last`, in a circle of four.
fn next(wants: u64, last: usize) -> Option<usize> {
    (1..=4).map(|step| (last + step) % 4).find(|&i| wants >> i & 1 == 1)
}

#[test]
fn the_next_one_is_granted() {
    run_with_wave_on_failure("rr_arbiter4", |wave| {
        let dut = Dut::new(wave, RrArbiter4::default(), "rr_arbiter4");
        let mut rng = wave.rng();
        let mut last = [3, 3];
        let mut last_group = 1;
        let mut waited = [0; 8];
        let mut granted = [0; 8];
        for cycle in 0..20_000u64 {
            // Few, many, four only, all at once.
            let mask = [rng.random::<u64>() & rng.random::<u64>(), rng.random(), rng.random::<u64>() & 15, 255];
            let request = mask[cycle as usize / 1000 % 4] & 255;
            let accept = cycle / 4000 % 2 == 0 || rng.random_bool(0.7);
            dut.request.set(request);
            dut.accept.set(accept);
            dut.eval();
            let groups = [next(request & 15, last[0]), next(request >> 4, last[1])];
            let group = if groups[1 - last_group].is_some() { 1 - last_group } else { last_group };
            assert_eq!(dut.any.is_high(), request != 0, "cycle {cycle}");
            assert_eq!(dut.grant.number(), groups[group].map_or(0, |i| 1 << (4 * group + i)), "cycle {cycle}");
            if let Some(i) = groups[group] {
                assert_eq!(dut.index.number(), (4 * group + i) as u64, "cycle {cycle}");
                if accept {
                    (last[group], last_group) = (i, group);
                    granted[4 * group + i] += 1;
                }
            }
            for (i, waited) in waited.iter_mut().enumerate() {
                let waits = accept && request >> i & 1 == 1 && groups[group] != Some(i % 4).filter(|_| group == i / 4);
                let withdrawn = request >> i & 1 == 0;
                *waited = if withdrawn || (accept && !waits) { 0 } else { *waited + u64::from(waits) };
                assert!(*waited <= 7, "requester {i} is passed over eight times in cycle {cycle}");
            }
            dut.tick();
        }
        assert!(granted.iter().all(|&times| times > 1000), "{granted:?}");
    });
}
