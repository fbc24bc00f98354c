//! What does not fit the stack of a test.

use spindle_verilog::EmitError;

/// Calls `build` on a thread with a stack that holds every design: rust-hdl builds them by value.
pub fn on_large_stack<T: Send>(build: impl FnOnce() -> T + Send) -> T {
    spindle_nic::elaborate(|| Ok::<_, EmitError>(build())).unwrap_or_else(|error| panic!("{error}"))
}
