//! What does not fit the stack of a test.

use spindle_harness::{Dut, WaveContext};
use spindle_verilog::ports::HasPorts;
use spindle_verilog::prelude::Block;
use spindle_verilog::EmitError;

/// Calls `build` on a thread with a stack that holds every design: rust-hdl builds them by value.
pub fn on_large_stack<T: Send>(build: impl FnOnce() -> T + Send) -> T {
    spindle_nic::elaborate(|| Ok::<_, EmitError>(build())).unwrap_or_else(|error| panic!("{error}"))
}

/// A block that is built and emitted there, loaded and reset.
pub fn dut<B: Block + HasPorts + Send>(wave: &WaveContext, make: impl FnOnce() -> B + Send, top: &str) -> Dut<B> {
    let (source, block) = on_large_stack(|| {
        let mut block = Box::new(make());
        (crate::source(&mut *block, top), block)
    });
    Dut::of(wave, &source, &block)
}
