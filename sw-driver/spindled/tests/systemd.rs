//! The files for systemd and udev.

use spindle_contract::pci;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(name)
}

#[test]
fn the_unit_is_verified() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return spindle_harness::skip("systemd-analyze is not installed");
    }
    // The program at the place where this test has it: the place of an installation does not exist here.
    let unit = fs::read_to_string(file("spindled.service")).unwrap();
    assert!(unit.contains("/usr/bin/spindled "));
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("spindled.service");
    fs::write(&here, unit.replace("/usr/bin/spindled", env!("CARGO_BIN_EXE_spindled"))).unwrap();
    let verify = |unit: &Path| {
        let output = Command::new("systemd-analyze").args(["verify", "--man=no", "--generators=no"]).arg(unit).output();
        let output = output.unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (well, text) = verify(&here);
    let own: Vec<&str> = text.lines().filter(|line| line.contains("spindled")).collect();
    assert!(well && own.is_empty(), "{text}");
    // A unit that is wrong is noticed.
    let text = fs::read_to_string(&here).unwrap().replace("Restart=on-failure", "Restart=perhaps");
    fs::write(&here, text).unwrap();
    let (_, text) = verify(&here);
    assert!(text.contains("perhaps"), "{text}");
}

#[test]
fn the_rule_names_the_card_of_the_contract() {
    let rules = fs::read_to_string(file("90-spindle.rules")).unwrap();
    let ids = format!("ATTR{{vendor}}==\"{:#06x}\", ATTR{{device}}==\"{:#06x}\"", pci::VENDOR, pci::DEVICE);
    assert!(rules.contains(&ids) && rules.contains("GROUP=\"spindle\""), "{ids}");
    let users = fs::read_to_string(file("spindle.sysusers.conf")).unwrap();
    assert!(users.lines().any(|line| line.split_whitespace().take(2).eq(["g", "spindle"])));
}
