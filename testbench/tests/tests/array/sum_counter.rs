//! The counter of many sources against a sum in words.

use crate::cluster::dut::Dut;
use hpu_core::sum_counter::SumCounter;
use rand::Rng;
use spindle_harness::run_with_wave_on_failure;

/// Cycles from an event to the low half of the count.
const DELAY: usize = 3;

#[test]
fn every_event_counts() {
    run_with_wave_on_failure("sum_counter", |wave| {
        let mut dut = Dut::new(wave, &mut SumCounter::default(), "sum_counter");
        let mut rng = wave.rng();
        let mut sums = vec![0u64; DELAY];
        for cycle in 0..4000 {
            // Few, many, all, none.
            let few = rng.random::<u32>() & rng.random::<u32>() & rng.random::<u32>();
            let events = [few, rng.random(), u32::MAX, 0][cycle / 50 % 4];
            dut.set("events", events.into());
            dut.model.eval();
            assert_eq!((dut.get("low"), dut.get("high")), (sums[cycle], 0), "cycle {cycle}");
            sums.push(sums.last().expect("some") + u64::from(events.count_ones()));
            dut.model.tick();
        }
        assert!(sums.last().is_some_and(|&sum| sum > 40_000), "few events came");
    });
}
