//! Checks of the boards that need no Vivado, on netlists of yosys.
//!
//! | module | what it finds |
//! |---|---|
//! | [`board`] | all checks of a board's top |
//! | [`cdc`] | paths from one clock to another without a synchroniser |
//! | [`constraints`] | names in constraints that the netlist does not have; crossings without a bound |
//! | [`pads`] | pads that are not driven by the constant of the board file |
//! | [`shell`] | rules of the tops: buses with a guard, clocks, black boxes |
//! | [`boxes`] | the table of black boxes: the clock of each pin |
//! | [`netlist`], [`yosys`] | a netlist, and how it is made |

pub mod board;
pub mod boxes;
pub mod cdc;
pub mod constraints;
mod graph;
pub mod netlist;
pub mod pads;
pub mod shell;
pub mod yosys;
