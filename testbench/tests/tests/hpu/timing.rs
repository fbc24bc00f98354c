//! The cycle table of the processor's documentation.

use crate::assembler::*;
use crate::processor::{Launch, Processor};
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_harness::run_with_wave_on_failure;

/// Cycles of `words` at the end of a handler, that is, how much longer it takes than without them.
fn cost(hpu: &mut Processor, words: &[u32]) -> u32 {
    let before = [lui(8, base(CONTEXT) >> 12), lui(9, base(CODE) >> 12), addi(5, 0, 77), addi(6, 0, -3)];
    let mut cycles = |words: &[u32]| {
        hpu.program(0, &[&before, words, &[RET]].concat());
        let ending = hpu.run(Launch::default());
        assert_eq!(ending.cause, 0);
        ending.cycles
    };
    cycles(words) - cycles(&[])
}

#[test]
fn instructions_take_the_documented_cycles() {
    run_with_wave_on_failure("hpu_timing", |context| {
        let mut hpu = Processor::new(context, 0);
        for latency in 1..5 {
            hpu.latency = (u64::from(latency), u64::from(latency));
            let cases: [(&str, u32, u32); 15] = [
                ("add", add(7, 5, 6), 3),
                ("addi", addi(7, 5, 1), 3),
                ("lui", lui(7, 1), 3),
                ("auipc", auipc(7, 1), 3),
                ("branch", branch(0, 5, 6, 4), 3),
                ("branch taken", branch(0, 5, 5, 4), 3),
                ("jal", jal(7, 4), 3),
                ("csrr", csrr(7, 0xC00), 3),
                ("mul", op((1, 0), 7, 5, 6), 6),
                ("mulh", op((1, 1), 7, 5, 6), 6),
                ("rem", op((1, 6), 7, 5, 6), 37),
                ("load", lw(7, 8, 0), 6 + latency),
                ("load across words", lw(7, 8, 1), 6 + 2 * latency),
                ("store", sw(7, 8, 0), 5 + latency),
                ("store across words", sw(7, 8, 1), 5 + 2 * latency),
            ];
            for (name, word, cycles) in cases {
                assert_eq!(cost(&mut hpu, &[word]), cycles, "{name}, latency {latency}");
            }
            assert_eq!(cost(&mut hpu, &[lw(7, 9, 0)]), 7, "load from code");
        }
        // The shortest handler: its return, then the fetch and decode that see the return address.
        hpu.program(0, &[RET]);
        assert_eq!(hpu.run(Launch::default()).cycles, 5);
    });
}
