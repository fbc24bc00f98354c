//! The array in its smallest shape, its widest cluster and its most clusters: emitted and clean under `verilator -Wall`,
//! with retirement ports only where asked for.

use hpu_core::HpuArray;
use spindle_contract::params::Config;
use spindle_harness::{lint, Source};

/// The emitted array.
fn text(config: Config) -> String {
    crate::large::on_large_stack(move || {
        spindle_verilog::emit(&mut HpuArray::new(&config), "array")
            .unwrap_or_else(|error| panic!("{error}"))
            .to_string()
    })
}

#[test]
fn every_shape_is_lint_clean() {
    for (clusters, hpus, rvfi) in [(1, 1, true), (1, 8, false), (8, 1, false)] {
        let text = text(Config { clusters, hpus, rvfi, ..Config::SIM });
        assert_eq!(text.contains("rvfi_0"), rvfi, "{clusters} x {hpus}");
        let reported = lint(&Source::from_text("array", text)).unwrap_or_else(|error| panic!("{error:#}"));
        assert!(reported.is_empty(), "{clusters} x {hpus}: {reported:?}");
    }
}
