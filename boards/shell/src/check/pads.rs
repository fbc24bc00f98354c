//! Pads with a constant: `const` in the board file, as HBM_CATTRIP has it.

use super::boxes::Boxes;
use super::graph::Graph;
use super::netlist::{Bit, Netlist};
use crate::data::Board;

/// A sentence for each pad that is not driven by the constant of the board file, by buffers alone.
///
/// # Errors
/// A sentence: the netlist has a cell that is not known.
pub fn check(board: &Board, netlist: &Netlist, boxes: &Boxes) -> Result<Vec<String>, String> {
    let graph = Graph::new(netlist, boxes)?;
    let mut sentences = Vec::new();
    for pin in board.used_pins() {
        let Some(level) = pin.constant else { continue };
        let bit = netlist.port(pin.bus()).and_then(|port| port.bits.get(pin.index().unwrap_or(0)));
        let driven = bit.map(|bit| graph.before_buffers(*bit));
        let wanted = if level == 0 { Bit::Zero } else { Bit::One };
        let found = match driven {
            Some(bit) if bit == wanted => continue,
            None => "is no port of the top".to_owned(),
            Some(Bit::Zero) => "is driven by 0".to_owned(),
            Some(Bit::One) => "is driven by 1".to_owned(),
            Some(Bit::Unknown) => "is not driven".to_owned(),
            Some(bit) if graph.driver(bit).is_none() => "is not driven".to_owned(),
            Some(_) => "is driven by a signal".to_owned(),
        };
        let (path, line, port) = (&board.path, pin.line, &pin.port);
        sentences.push(format!("{path}:{line}: `{port}` {found}, and has to be driven by the constant {level}"));
    }
    Ok(sentences)
}
