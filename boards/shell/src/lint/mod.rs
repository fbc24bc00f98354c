//! Rules of board files.

mod names;

use crate::data::{Board, Issue};

/// Every breach of a rule, by line.
pub fn lint(board: &Board) -> Vec<Issue> {
    let mut issues = names::check(board);
    issues.sort();
    issues.dedup();
    issues
}
