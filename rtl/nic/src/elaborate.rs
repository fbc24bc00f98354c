//! The stack on which designs are built.

use spindle_verilog::EmitError;

/// Bytes of that stack: rust-hdl builds a whole design by value.
const STACK_BYTES: usize = 512 << 20;

/// Runs `build`, which constructs and emits blocks, on a stack that holds every design.
///
/// [`emit`](crate::emit), [`emit_hpu`](crate::emit_hpu) and [`blocks`](crate::blocks) do so themselves.
///
/// # Errors
/// Those of `build`, and an [`EmitError`] if the system refuses the thread. A panic of `build` goes on in the caller.
pub fn elaborate<T: Send, E: From<EmitError> + Send>(build: impl FnOnce() -> Result<T, E> + Send) -> Result<T, E> {
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, build).map_err(|error| {
                let megabytes = STACK_BYTES >> 20;
                let sentence =
                    format!("cannot start a thread with a stack of {megabytes} MiB ({error}); raise the memory limit");
                E::from(EmitError::parameter(sentence))
            })?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
