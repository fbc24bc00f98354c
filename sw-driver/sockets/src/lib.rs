//! `librvma-sockets.so`: TCP sockets of unmodified programs over RVMA streams.
//!
//! With `LD_PRELOAD=librvma-sockets.so`, `RVMA_CARD=ADDRESS` and `RVMA_NODE=n`, a program's TCP connections to addresses 10.78.0.x go
//! to node x of the RVMA network, and a socket that is bound to 10.78.0.n listens there. Everything else is the system's.
//!
//! The program's descriptor becomes one end of a pair of local sockets, so that reading, writing, waiting, shutting down and
//! closing are the system's own calls. Two threads per connection move bytes between the other end and two streams:
//!
//! Limits: about seven connections of a program, which has 16 regions of the card; `connect` waits, of a non-blocking socket
//! too; after a fork the connections are the parent's, because the threads are.
//!
//! | module | what it does |
//! |---|---|
//! | `calls` | the calls of the C library that name addresses: bind, listen, accept, connect, getsockname, getpeername, close |
//! | `next` | the same calls of the C library itself |
//! | `table` | descriptors that stand for sockets of the network |
//! | `card` | the card, opened with the first socket |
//! | `listener` | requests for connections |
//! | `connection` | two streams, credits, ends |
//! | `message` | what the streams carry |
#![warn(missing_docs)]

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

mod calls;
mod card;
mod connection;
mod listener;
pub mod message;
mod next;
mod table;
