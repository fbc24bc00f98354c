//! What everything costs, to the cycle, and the page of the documentation that says so.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::Cycles;
use std::path::Path;

#[test]
fn stalls_are_as_documented() {
    run_with_wave_on_failure("hart_stalls", |context| {
        let cycles = Cycles::measure(&mut hart(context, 0)).unwrap_or_else(|error| panic!("{error:#}"));
        println!("{}", cycles.markdown());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hpu-stalls.md");
        if std::env::var_os("SPINDLE_BLESS").is_some() {
            std::fs::write(&path, cycles.markdown()).expect("the documentation can be written");
        }
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            page == cycles.markdown(),
            "docs/hpu-stalls.md is not what is measured; SPINDLE_BLESS=1 writes it anew"
        );
        // What must not change with a page that is written anew.
        assert_eq!((cycles.start, cycles.switch, cycles.resume), (1, 2, 2));
        assert_eq!(cycles.latency("`lw`, aligned, L1"), 2);
        assert_eq!(cycles.latency("`lb`"), 3);
        assert_eq!(cycles.latency("`mul`"), 2);
        assert_eq!(cycles.latency("`add`"), 0);
        assert_eq!(cycles.piece("branch, taken"), (3, 0));
        assert_eq!(cycles.piece("`jal`"), (3, 0));
        assert_eq!(cycles.piece("branch, not taken"), (0, 0));
    });
}
