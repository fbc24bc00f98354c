//! Every block of the wire side is emitted, and clean under `verilator -Wall`.

use spindle_boards::hdl::pause::Pause;
use spindle_boards::hdl::wire_64::Wire64;
use spindle_boards::write::blocks::wire_side;
use spindle_harness::{lint, source_of, Source};

#[track_caller]
fn clean(source: &Source) {
    let warnings = lint(source).unwrap_or_else(|error| panic!("{}: {error:#}", source.top));
    assert!(warnings.is_empty(), "{}: {warnings:?}", source.top);
}

#[test]
fn blocks_are_lint_clean() {
    for (name, design) in wire_side().expect("the blocks are emitted") {
        clean(&Source::from_text(name, design.to_string()));
    }
    clean(&source_of(&mut Pause::<9>::off(), "pause_off").expect("the block is emitted"));
    clean(&source_of(&mut Wire64::with_pause(), "wire_64_pause").expect("the block is emitted"));
}
