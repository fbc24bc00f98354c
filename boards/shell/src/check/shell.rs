//! What the checks know of the project's own blocks and of the tops.

use super::boxes::{Boxes, Pin};
use super::cdc::Rules;
use crate::data::{Board, ClockKind};
use crate::ip::{self, Port};

/// Buses of the project's blocks that cross with a guard.
///
/// The names are those of fields in the blocks; a block that renames one fails its test and the check of each top.
pub fn rules() -> Rules {
    let why = "the pointer that says so is seen after the word was written, and the writer waits for the reader's";
    let fifo = Rules::default().held("lut_0.words", "head", "written.near", why);
    let fifo = fifo.held("block_0.words", "block_0.fetched", "written.near", why);
    let why = "the bit that says so is seen after the quanta were written, and the next pause frame comes later";
    fifo.held("receive_0.asked", "send_0.taken", "send_0.turned.near", why)
}

/// The rules of a board's top.
///
/// # Errors
/// IP of the board that breaks a rule, as sentences.
pub fn of(board: &Board) -> Result<Rules, String> {
    let mut rules = rules().independent("*link.near", "levels of a MAC, each for itself").constant(
        "dna_port/DOUT",
        "*dna_reader.bits",
        "the bit is taken 8 cycles after the edge that shifted it out",
    );
    rules.boxes = Boxes::primitives();
    rules.boxes.add_synchronous(spindle_nic::TOP, "clock");
    // The reader of the number makes the clock of the primitive itself.
    ["DNA_PORT", "DNA_PORTE2"].iter().for_each(|module| rules.boxes.add(module, []));
    for instance in ip::instances(board).map_err(|issues| issues.to_string())? {
        rules.boxes.add(&instance.module, instance.ports.iter().map(pin));
    }
    // Pads without a clock; those of clocks are none of data.
    let pads = board.used_pins().filter(|pin| !is_clock(board, pin.bus()));
    for pad in pads {
        if !rules.ports.iter().any(|rule| rule.port == pad.bus()) {
            rules = rules.port(pad.bus(), "");
        }
    }
    Ok(rules)
}

fn is_clock(board: &Board, bus: &str) -> bool {
    board.clocks.iter().any(|clock| clock.kind == ClockKind::Fabric && bus.starts_with(&clock.name))
}

/// A pin of a vendor block by its table.
fn pin(port: &Port) -> (String, Pin) {
    let what = match port {
        Port { is_clock: true, .. } => Pin::Clock,
        Port { clock: "", .. } => Pin::Free,
        Port { clock, .. } => Pin::Of((*clock).to_owned()),
    };
    (port.name.to_owned(), what)
}
