//! Jumps through a register to where there is no code: the address that the fault reports is the one that the reference
//! simulator fetches from.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use crate::hpu_core::processor::hpu::spike;
use rand::Rng;
use spindle_contract::memory_map::{base, CODE, FAULT_FETCH};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_hart::{Start, Timing};
use std::path::PathBuf;

/// Jumps to compare.
const JUMPS: usize = 60;

/// The program of a jump to `target`, with or without an offset.
fn jump(target: u32, offset: i32) -> Vec<u32> {
    [&li(5, target.wrapping_sub(offset as u32))[..], &[jalr(RA, 5, offset), ECALL]].concat()
}

#[test]
fn a_stray_jump_reports_the_address_of_the_fetch() {
    let Some(spike) = spike::find() else {
        eprintln!("skipped: there is no spike; {}", spike::INSTALL);
        return;
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("stray-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    run_with_wave_on_failure("hart_stray_jumps", |context| {
        let mut rng = context.rng();
        let mut hart = hart(context, 0);
        let mut odd = 0;
        for number in 0..JUMPS {
            hart.timing = if number % 2 == 0 { Timing::IDLE } else { Timing::BUSY };
            // Beyond the image but in the window of the code region, and far away, where the simulator has no memory either.
            let far = 0x8000_0000 | rng.random::<u32>() & 0x6FFF_FFFF;
            let near = base(CODE) + 0x1_2000 + rng.random_range(0..0x4000);
            let target = if number % 3 == 0 { near } else { far } & !2;
            let offset = [0, 1, 5, -3, 2047, -2048][rng.random_range(0..6)];
            odd += target & 1;
            let words = jump(target, offset);
            let start = Start { entry: base(CODE) + spike::FIRST_CODE, ..Start::default() };
            let memory = spike::memory(&start, |bytes| vec![0; bytes]);
            let fetched = spike::stray_fetch(&spike, &folder, &words, &start, &memory);
            assert_eq!(fetched, target & !1, "the simulator clears bit 0 of the target");
            hart.program(spike::FIRST_CODE as usize, &words);
            let ending = hart.run(start);
            let found = (ending.cause, ending.pc, ending.address);
            assert_eq!(found, (FAULT_FETCH, fetched, fetched), "jump to {target:#010x}, offset {offset}: {ending:x?}");
        }
        assert!(odd > 10, "only {odd} odd targets");
    });
    std::fs::remove_dir_all(&folder).expect("the target folder can be written");
}
