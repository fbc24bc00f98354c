//! The set-up of the Si5324, against a bus with a multiplexer and a Si5324 on it.

pub mod bus;
mod set_up;
