//! All cycle-level tests of the emitted design, in one binary, so that the design is linked once. A folder is a part of the design.

/// The emitted text of each block, alone, by the name that its module gets.
macro_rules! alone {
    ($($name:ident: $block:expr;)*) => {
        // A closure each, or all of them would lie on one stack.
        vec![$((|| {
            let design = spindle_verilog::emit(&mut $block, stringify!($name)).unwrap_or_else(|error| panic!("{error}"));
            spindle_harness::Source::from_text(stringify!($name), design.to_string())
        })()),*]
    };
}

mod array;
mod backend;
mod blocks;
mod cluster;
mod hart;
mod hpu;
mod nic;
mod packet_back;
mod packet_front;
mod rvma;
