//! Rules of board files.
//!
//! | module | rules |
//! |---|---|
//! | `names` | part and configuration are known; every row has a source; no port and no pin is there twice |
//! | `pads` | each pin is in the pin table, has the I/O standard that the sources state, and completes its pair and bus |
//! | `banks` | the pins of a bank agree on one supply |
//! | `lanes` | lanes are in the order of the quad, and the quad is that of the hard block |
//! | `clocks` | each clock is constrained once, at a pin that can take it |
//! | `config` | configuration voltage, flash, limits, and the temperature trip of HBM |

mod banks;
mod clocks;
mod config;
mod lanes;
mod names;
mod pads;

use crate::data::{Board, Issue, Table};

/// Every breach of a rule, by line.
pub fn lint(board: &Board) -> Vec<Issue> {
    let mut issues = names::check(board);
    match Table::of(board) {
        Some(table) => {
            issues.extend(pads::check(board, &table));
            issues.extend(banks::check(board, &table));
            issues.extend(lanes::check(board, &table));
            issues.extend(clocks::check(board, &table));
        }
        None => {
            let names: Vec<_> = Board::names().collect();
            let text =
                format!("there is no pin table of a board `{}`; there are those of {}", board.name, names.join(", "));
            issues.push(board.issue(board.line_of(1, "name"), text));
        }
    }
    issues.extend(config::check(board));
    issues.sort();
    issues.dedup();
    issues
}
