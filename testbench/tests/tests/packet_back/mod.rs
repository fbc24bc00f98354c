//! Tests of the packet engine behind the packet buffer: message table, payload scheduler, egress, registers, and the engine as a
//! whole, on the emitted Verilog.

mod bench;
mod dispatch;
pub mod dut;
mod engine;
mod hpus;
mod initiator;
mod latency;
mod message_index;
mod responder;
mod scheduler;
mod sender;
mod shapes;
mod spin;
mod traffic;
