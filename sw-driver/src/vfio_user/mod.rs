//! vfio-user: a PCI function of another program, over a Unix socket.
//!
//! | module | |
//! |---|---|
//! | [`message`] | what goes over the socket |
//! | [`channel`] | a socket that carries whole messages with file descriptors |
//! | [`server`] | serves a [`Function`] to one client after another, without waiting |
//! | [`function`] | the trait of what is served, and the host that the function reaches |
//! | [`dma_table`] | memory that a client has given |
//! | [`client`] | requests to a server, with a bound on every wait |

pub mod channel;
pub mod client;
pub mod dma_table;
pub mod function;
pub mod message;
mod served;
pub mod server;

pub use client::Client;
pub use dma_table::{DmaTable, MapRequest};
pub use function::{Doorbell, Function, Host, Interrupts};
pub use message::IoEventFd;
pub use server::{Refusals, Server};
