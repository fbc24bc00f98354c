//! The processor's blocks alone, and the cluster: emitted, deterministic and clean under `verilator -Wall`.

use crate::{cluster_bench, processor};
use hpu_core::alu::Alu;
use hpu_core::divider::Divider;
use hpu_core::protection::Protection;
use hpu_core::registers_file::RegisterFile;
use spindle_harness::{lint, Source};

macro_rules! alone {
    ($($name:ident: $block:expr;)*) => {
        vec![$({
            let design = spindle_verilog::emit(&mut $block, stringify!($name)).unwrap_or_else(|error| panic!("{error}"));
            Source::from_text(stringify!($name), design.to_string())
        }),*]
    };
}

#[test]
fn every_shape_is_lint_clean() {
    let mut sources = alone! {
        alu: Alu::default();
        divider: Divider::default();
        protection: Protection::default();
        register_file: RegisterFile::default();
    };
    sources.extend([processor::source(), cluster_bench::source()]);
    let mut told = vec![];
    for design in &sources {
        told.extend(
            lint(design).unwrap_or_else(|error| panic!("{error:#}")).iter().map(|w| format!("{}: {w}", design.top)),
        );
    }
    assert!(told.is_empty(), "{} warnings:\n{}", told.len(), told.join("\n"));
}

#[test]
fn emission_is_deterministic() {
    assert_eq!(processor::source().files, processor::source().files);
    assert_eq!(cluster_bench::source().files, cluster_bench::source().files);
}
