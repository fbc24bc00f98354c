//! The NIC top and the Verilog emitter.
