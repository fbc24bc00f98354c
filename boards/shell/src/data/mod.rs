//! Boards as `boards/<board>/board.toml` describes them, with the rules that they obey.
//!
//! [`Board::named`] and [`Board::all`] give the six boards of the project, [`Board::parse`] any other file. A board that
//! is returned obeys every rule of [`crate::lint`]; otherwise [`Issues`] has a sentence with file and line for each breach.

mod board;
mod file;
mod issue;
mod package;
mod pads;
mod rows;

pub use board::Board;
pub use issue::{Issue, Issues};
pub use package::{package, Function, Statement, Table, TablePin};
pub use rows::{
    Banks, Bitstream, Clock, ClockKind, Config, CoreClock, Device, Direction, Flash, FreeRunning, HostIp, Limits, Mac,
    MacKind, Origin, Pcie, Pin, Pull, Slew,
};
