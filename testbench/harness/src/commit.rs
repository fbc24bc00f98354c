//! The commit that a figure names.

use anyhow::{ensure, Context, Result};
use std::process::Command;

/// The commit of the checkout in the current folder, with so many of its digits.
///
/// # Errors
/// The current folder belongs to no checkout, or git cannot be run.
pub fn present_commit(digits: usize) -> Result<String> {
    let output = Command::new("git").args(["rev-parse", &format!("--short={digits}"), "HEAD"]).output();
    let output = output.context("cannot run git")?;
    ensure!(
        output.status.success(),
        "a figure names the commit at which it was measured, and this folder has none; measure in a clone of the project"
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

#[cfg(test)]
mod tests {
    use super::present_commit;

    #[test]
    fn a_commit_has_as_many_digits_as_asked_for() {
        // A copy of the sources without git has none.
        let Ok(short) = present_commit(8) else { return };
        assert!(short.len() >= 8 && present_commit(40).unwrap().starts_with(&short), "{short}");
    }
}
