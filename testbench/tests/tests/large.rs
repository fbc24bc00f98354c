//! What does not fit the stack of a test.

/// Calls `build` on a thread with a stack that holds every design: rust-hdl builds them by value.
pub fn on_large_stack<T: Send + 'static>(build: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(512 << 20).spawn(build).expect("a thread can be started");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
