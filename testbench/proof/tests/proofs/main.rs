//! Proofs by k-induction of blocks and engines; `docs/formal.md` lists them. A folder is a crate.

use spindle_harness::Source;
use spindle_verilog::prelude::Block;

mod blocks;
mod hpu_core;
mod packet_engine;
mod rvma_lut;

/// The law of words, which harnesses of several blocks have.
const LAW: &str = include_str!("law.sv");

/// The text of a block.
fn emitted(block: &mut impl Block, top: &str) -> Source {
    spindle_harness::source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"))
}

/// The words of a memory as a probe, side by side, the first lowest.
fn words(memory: &str, depth: usize) -> String {
    let words: Vec<String> = (0..depth).rev().map(|i| format!("{memory}.words[{i}]")).collect();
    words.join(",")
}
