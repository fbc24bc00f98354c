//! The man page that the unit names.

use std::path::Path;
use std::process::Command;

#[test]
fn the_man_page_is_that_of_the_docs() {
    let output = Command::new(env!("CARGO_BIN_EXE_spindled")).arg("--man-page").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = String::from_utf8(output.stdout).unwrap();
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
        assert!(page.contains(&format!(".SH {section}\n")), "{section} is missing");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/man/spindled.8");
    let committed = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(page == committed, "write the page anew: spindled --man-page > docs/generated/man/spindled.8");
}
