//! Every block of the Ethernet side is emitted, and clean under Verilator's lint.

use spindle_boards::hdl::pcs::{Gearbox, PcsRx, PcsTx, Rate};
use spindle_boards::write::blocks::ethernet;
use spindle_harness::{lint, source_of, Source};

#[track_caller]
fn clean(source: &Source) {
    let warnings = lint(source).unwrap_or_else(|error| panic!("{}: {error:#}", source.top));
    assert!(warnings.is_empty(), "{}: {warnings:?}", source.top);
}

#[test]
fn blocks_are_lint_clean() {
    for (name, design) in ethernet().expect("the blocks are emitted") {
        clean(&Source::from_text(name, design.to_string()));
    }
    let tx = source_of(&mut PcsTx::new(Gearbox::Sequenced, false), "pcs_tx_plain");
    clean(&tx.expect("the block is emitted"));
    let rx = source_of(&mut PcsRx::new(Rate::TwentyFive, false), "pcs_rx_plain");
    clean(&rx.expect("the block is emitted"));
}
