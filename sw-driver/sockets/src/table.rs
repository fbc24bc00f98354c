//! Descriptors of the program that stand for sockets of the network.

use libc::c_int;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Address of an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its node.
    pub node: u8,
    /// Its port.
    pub port: u16,
}

/// What a descriptor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Socket {
    /// Bound to an address, not yet listening or connected.
    Bound(End),
    /// Listens.
    Listening(End),
    /// One end of a connection: its own address and the other one.
    Connected(End, End),
}

/// The descriptors, and the connections that wait to be accepted, by the name of their local socket.
#[derive(Default)]
pub struct Table {
    /// Sockets by descriptor.
    pub sockets: HashMap<c_int, Socket>,
    /// Own and other address of a connection that is not accepted yet.
    pub waiting: HashMap<Vec<u8>, (End, End)>,
}

/// The table. No other lock is taken, and no call of this library made, while it is held.
pub fn table() -> MutexGuard<'static, Table> {
    static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();
    TABLE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a descriptor stands for.
pub fn socket(fd: c_int) -> Option<Socket> {
    table().sockets.get(&fd).copied()
}
