//! Verilator's lint as a list of warnings.

use crate::cache::{touch, Cache};
use crate::compile::write_files;
use crate::source::Source;
use crate::tools::{output, Tools};
use anyhow::{bail, Context, Result};
use std::fmt;
use std::process::Command;

const LINT_FLAGS: &[&str] = &["--lint-only", "-Wall", "-Wno-fatal", "-Wno-DECLFILENAME"];

/// One warning of `verilator -Wall`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Verilator's name for it, such as `WIDTH`.
    pub code: String,
    /// File, line and column.
    pub place: String,
    /// What Verilator says.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.code, self.message)
    }
}

/// Lints a design with every warning on. One rule is off: that a file be named after its module. The answer is
/// cached by content. Text that Verilator cannot read at all is an error with Verilator's words.
pub fn lint(source: &Source) -> Result<Vec<Warning>> {
    let tools = Tools::get()?;
    let cache = Cache::open()?;
    let name = source.fingerprint(&[&tools.verilator_version, &LINT_FLAGS.join(" ")]);
    let report = cache.path(&format!("{}-{name}.lint", source.top));
    if let Ok(text) = std::fs::read_to_string(&report) {
        touch(&report);
        return Ok(parse(&text));
    }
    let work = cache.work()?;
    let arguments = write_files(source, work.path())?;
    let output = output(Command::new(&tools.verilator).current_dir(work.path()).args(LINT_FLAGS).args(arguments))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("Verilator refuses `{}`:\n{}", source.top, text.trim_end());
    }
    let fresh = work.path().join("report");
    std::fs::write(&fresh, &text)?;
    std::fs::rename(fresh, &report).context("cannot move the lint report into the model cache")?;
    Ok(parse(&text))
}

/// Reads `%Warning-CODE: file:line:column: message` lines; the lines after each are context.
fn parse(text: &str) -> Vec<Warning> {
    let warning = |line: &str| {
        let (code, rest) = line.strip_prefix("%Warning-")?.split_once(": ")?;
        let (place, message) = rest.split_once(": ").unwrap_or(("", rest));
        Some(Warning { code: code.into(), place: place.into(), message: message.trim().into() })
    };
    text.lines().filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_design_has_no_warnings_and_a_dirty_one_has() {
        let clean = "module tidy(input logic [3:0] a, output logic [3:0] q);\n  assign q = ~a;\nendmodule\n";
        assert_eq!(lint(&Source::from_text("tidy", clean)).unwrap(), []);
        let dirty = clean.replace("tidy", "untidy").replace("~a", "{1'b0, a}");
        for _ in 0..2 {
            // The second answer comes from the cache.
            let warnings = lint(&Source::from_text("untidy", dirty.as_str())).unwrap();
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].code.starts_with("WIDTH") && warnings[0].place.starts_with("untidy.sv:2"));
        }
    }

    #[test]
    fn unreadable_text_is_an_error() {
        let error = lint(&Source::from_text("broken", "module broken; assign = ; endmodule")).unwrap_err();
        assert!(error.to_string().contains("syntax error"), "{error}");
    }
}
