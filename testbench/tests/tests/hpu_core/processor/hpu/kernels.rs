//! Cycles per instruction of the kernels.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::kernels::{Kernel, KERNELS};

#[test]
fn kernels_do_what_they_should_in_time() {
    run_with_wave_on_failure("hart_kernels", |context| {
        let mut hart = hart(context, 0);
        let mut late = vec![];
        for kernel in KERNELS {
            let runs = kernel.measure(&mut hart).unwrap_or_else(|error| panic!("{error:#}"));
            for run in &runs {
                println!("{}: {run:?}, {:.3} cold, {:.3} warm", kernel.name, run.cold_cpi(), run.warm_cpi());
            }
            let most = if ["ping_pong", "filtering"].contains(&kernel.name) { 1.15 } else { 1.30 };
            let worst = Kernel::worst(&runs);
            if worst.cold_cpi() > most {
                late.push(format!("{}: {:.3} cold, {:.3} warm", kernel.name, worst.cold_cpi(), worst.warm_cpi()));
            }
        }
        assert!(late.is_empty(), "too slow: {late:#?}");
    });
}
