//! Shells: what lies between the NIC and the vendor blocks of a board.

use crate::data::{Board, Issues};
use crate::write::xdc::Timing;
use spindle_verilog::Design;

/// The shell of a board, ready for a project.
#[derive(Debug, Clone)]
pub struct ShellDesign {
    /// The design from the top down: pads, primitives, vendor blocks and the shell. Emitted with
    /// [`with_interfaces`](spindle_nic::with_interfaces), so that the NIC has no trace ports and can be packed alone.
    pub design: Design,
    /// Clocks that vendor blocks make, and the crossings between clocks.
    pub timing: Timing,
}

/// The shell of a board; none if the board has none yet.
///
/// # Errors
/// A design that the emitter refuses, as an issue of the board's file.
pub fn design(_board: &Board) -> Result<Option<ShellDesign>, Issues> {
    Ok(None)
}
