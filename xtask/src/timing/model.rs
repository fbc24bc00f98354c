//! The timing of a block at its ports, in which it is a part of the whole NIC: with it no path is lost that begins in one
//! engine and ends in the other, and none is counted as if a register stood at the border.

use super::delays::Family;
use super::graph::{Graph, Place, Terminal};
use crate::netlist::Cell;
use anyhow::{ensure, Result};
use std::collections::BTreeMap;

/// Picoseconds by port bit (`name[3]`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// From an input to the registers inside, set-up included. An input without a path is 0.
    pub inputs: BTreeMap<String, f64>,
    /// From the registers inside to an output, clock-to-output included.
    pub outputs: BTreeMap<String, f64>,
    /// From an input to an output without a register between.
    pub through: Vec<(String, String, f64)>,
}

impl Model {
    /// The model of a module. A net goes on inside: its base is counted outside, and its sinks inside are counted here.
    pub fn of(graph: &Graph, family: &Family) -> Model {
        let inside = |terminal: &&Terminal| terminal.place != Place::Port;
        let arrivals = graph.arrivals(graph.starts.iter().filter(inside));
        let remaining = graph.remaining(graph.ends.iter().filter(inside));
        let outputs: Vec<&Terminal> = graph.ends.iter().filter(|end| end.place == Place::Port).collect();
        let reaching = graph.remaining(outputs.iter().copied());
        let mut model = Model::default();
        for start in graph.starts.iter().filter(|start| start.place == Place::Port) {
            let rest = remaining[start.net.index()].map_or(0.0, |rest| (rest - family.net.base).max(0.0));
            model.inputs.insert(start.pin.clone(), rest);
            if reaching[start.net.index()].is_none() {
                continue;
            }
            let alone = Terminal { cell: 0.0, ..start.clone() };
            let times = graph.arrivals([&alone]);
            for end in &outputs {
                if let Some((time, _)) = times[end.net.index()] {
                    let time = (time - family.net.base).max(0.0);
                    model.through.push((start.pin.clone(), end.pin.clone(), time));
                }
            }
        }
        for end in outputs {
            // An output that only inputs reach has its time by `through` alone.
            if let Some((time, _)) = arrivals[end.net.index()] {
                model.outputs.insert(end.pin.clone(), time);
            }
        }
        model
    }

    /// Whether the box's pins are those of the block that the model was made of.
    pub fn check_pins(&self, kind: &str, cell: &Cell) -> Result<()> {
        let known = |pin: &str| {
            let bit = format!("{pin}[");
            let listed =
                |map: &BTreeMap<String, f64>| map.range(bit.clone()..).next().is_some_and(|(k, _)| k.starts_with(&bit));
            listed(&self.inputs) || listed(&self.outputs) || self.through.iter().any(|(_, to, _)| to.starts_with(&bit))
        };
        let inputs = cell
            .connections
            .keys()
            .filter(|pin| cell.port_directions.get(*pin).is_some_and(|direction| direction != "output"));
        for pin in inputs {
            ensure!(known(pin), "`{kind}` has a pin `{pin}` that its block lacks; emit both from one source");
        }
        Ok(())
    }
}
