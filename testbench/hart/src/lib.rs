//! A bench for one handler processor: everything around its ports, with random delays wherever the ports allow them.
//!
//! [`Hart`] takes a model of the emitted `Hpu` with its retirement port and plays loader, instruction memory, L1, the
//! remote port to which L2 and the atomic units are connected, and the command port. [`Timing`] says how unkind they are.
//! [`Retired`](spindle_sim::Retired) is an instruction as it left the pipeline.

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

pub mod assembler;
mod bench;
pub mod command;
mod cycles;
mod events;
pub mod kernels;
mod loader;
mod port;
mod remote;
mod timing;

pub use bench::{bytes_of_half, Hart, CODE_BYTES, L2_BYTES};
pub use command::{load, open};
pub use cycles::Cycles;
pub use events::{place_of_fault, Ending, HandlerEvent};
pub use loader::{Area, Start, Target};
pub use port::{CommandPort, PortWrite, Verdict};
pub use remote::{Remote, Rival};
pub use timing::Timing;
