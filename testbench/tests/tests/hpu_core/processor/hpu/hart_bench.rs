//! The emitted processor on its bench.

use hpu_core::processor::hpu::{Hpu, HpuOptions};
use spindle_harness::{Source, WaveContext};
use spindle_hart::Hart;

/// The emitted processor with its retirement port.
pub fn source() -> Source {
    let options = HpuOptions { rvfi: true, predecodes: true, ..HpuOptions::default() };
    crate::source(&mut Hpu::new(options), "hpu")
}

/// A processor after reset, number `hpu` of its cluster.
pub fn hart(context: &WaveContext, hpu: usize) -> Hart {
    let model = context.model(&source()).unwrap_or_else(|error| panic!("{error:#}"));
    Hart::new(model, context.seed(), hpu).unwrap_or_else(|error| panic!("{error:#}"))
}
