//! Boards: their data, the shell around the NIC, and the Vivado project.
//!
//! | module | what it has |
//! |---|---|
//! | [`check`] | checks of netlists: clock crossings, constraints, constants |
//! | [`data`] | boards as `boards/<board>/board.toml` describes them, with the rules that they obey |
//! | [`ip`] | one table per vendor block: ports, widths, clocks, configuration |
//! | [`lint`] | rules of board files: pins, banks, lanes, clocks, flash |
//! | [`hdl`] | blocks of the shell: bridges, clock crossings, MAC, reset, identity |
//! | [`shell`] | the tops |
//! | [`write`] | writers of constraints, Tcl and pages |

pub mod check;
pub mod data;
pub mod hdl;
pub mod ip;
pub mod lint;
pub mod shell;
pub mod write;
