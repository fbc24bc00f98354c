//! Loads of the command port: what the other memories give in the same cycle is no part of them.

use crate::hpu_core::processor::hpu::pipeline_bench::{word, Bench, Launch, L1_SCRATCH};
use rand::Rng;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

#[test]
fn a_word_of_the_port_is_the_ports_alone() {
    run_with_wave_on_failure("pipeline_port_words", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        let mut words = vec![lui(8, 0x3_0000), lui(9, 0x7_0000)];
        words.extend((0..8).map(|i| lw(10 + i, 9, 4 * i as i32)));
        words.extend((0..8).map(|i| sw(10 + i, 8, 4 * i as i32)));
        words.push(RET);
        bench.program(0, &words);
        for _ in 0..100 {
            bench.command = rng.random();
            bench.stall = [0, 30][usize::from(rng.random::<bool>())];
            let ending = bench.run(Launch::default());
            assert_eq!(ending.cause, 0, "{ending:?}");
            let found: [u32; 8] = std::array::from_fn(|i| word(&bench.l1, L1_SCRATCH + 4 * i));
            assert_eq!(found, bench.command);
        }
    });
}
