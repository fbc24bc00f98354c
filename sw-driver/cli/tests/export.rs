//! `spindle export`: the folder holds what its file list names, Verilator reads the design, the sheet has the parameters.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::program::{spindle, words};
use spindle_contract::params::Config;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Exports into `folder`: what the program printed.
fn export(folder: &Path, arguments: &[&str]) -> String {
    let output = spindle(&[&["export", "--out", folder.to_str().unwrap()], arguments].concat());
    assert!(output.status.success(), "{}", words(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks that the list names every SystemVerilog file once, and that Verilator elaborates the top module without an error.
fn readable(folder: &Path) -> String {
    let read =
        |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (list, top) = (read("filelist.f"), read("top.txt"));
    let listed: Vec<&str> = list.lines().collect();
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let present: BTreeSet<String> = names.filter(|name| name.ends_with(".sv")).collect();
    assert_eq!(listed.len(), present.len(), "a file is listed twice, or is absent from the list");
    assert_eq!(listed.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>(), present);
    let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let output = Command::new(verilator)
        .current_dir(folder)
        .args(["--lint-only", "-Wno-lint", "-Wno-style", "--top-module", top.trim(), "-f", "filelist.f"])
        .output()
        .expect("Verilator is installed: run `cargo xtask setup`");
    assert!(output.status.success(), "{}", words(&output));
    top.trim().to_owned()
}

#[test]
fn the_nic_of_each_configuration_is_complete_and_has_its_sheet() {
    for config in Config::ALL {
        let folder = tempfile::tempdir().unwrap();
        let printed = export(folder.path(), &["--config", config.name]);
        assert_eq!(readable(folder.path()), "nic");
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let bytes: u64 = files
            .filter(|path| path.extension().is_some_and(|end| end == "sv"))
            .map(|path| path.metadata().unwrap().len())
            .sum();
        assert!(printed.contains(&format!("{bytes} bytes")), "{bytes} bytes were written: {printed}");
        let sheet = std::fs::read_to_string(folder.path().join("parameters.json")).unwrap();
        let sheet: serde_json::Value = serde_json::from_str(&sheet).unwrap();
        for (name, value) in [("clusters", config.clusters), ("hpus", config.hpus), ("mailboxes", config.mailboxes)] {
            assert_eq!(sheet[name], value, "{name} of {}", config.name);
        }
        let page = std::fs::read_to_string(folder.path().join("parameters.md")).unwrap();
        assert!(page.contains(&format!("| `match_rules` | {} |", config.match_rules)), "{page}");
    }
}

#[test]
fn blocks_have_a_folder_each() {
    let folder = tempfile::tempdir().unwrap();
    export(folder.path(), &["--config", "sim", "--blocks"]);
    let blocks: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(blocks.iter().any(|block| block.ends_with("parser")) && blocks.len() >= 10, "{blocks:?}");
    for block in blocks {
        assert_eq!(readable(&block), block.file_name().unwrap().to_str().unwrap());
    }
}

#[test]
fn a_processor_has_its_retirement_port() {
    let folder = tempfile::tempdir().unwrap();
    export(folder.path(), &["--config", "sim", "--processor"]);
    assert_eq!(readable(folder.path()), "hpu");
    let top = std::fs::read_to_string(folder.path().join("hpu.sv")).unwrap();
    let header = &top[..top.find(");").unwrap()];
    assert!(header.contains("rvfi"), "{header}");
}

#[test]
fn the_nic_for_synthesis_comes_with_what_packs_it() {
    let folder = tempfile::tempdir().unwrap();
    let printed = export(folder.path(), &["--config", "sim", "--synthesis"]);
    assert!(printed.contains("pack with package.tcl"), "{printed}");
    let top = std::fs::read_to_string(folder.path().join("rtl/nic.sv")).unwrap();
    assert!(top.contains("X_INTERFACE_INFO") && !top.contains("logic [15:0] trace_valid"), "{top}");
    for name in ["nic_ip.v", "nic.tcl", "common.tcl", "package.tcl"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_board_comes_with_its_scripts_and_says_what_it_lacks() {
    for (board, title) in [("u50", "Alveo U50"), ("kcu116", "KCU116"), ("kc705", "KC705")] {
        let folder = tempfile::tempdir().unwrap();
        let printed = export(folder.path(), &["--board", board]);
        let settings = std::fs::read_to_string(folder.path().join("settings.tcl")).unwrap();
        match settings.lines().find_map(|line| line.trim().strip_prefix("top ")).unwrap() {
            "{}" => assert!(printed.contains(&format!("the {title} has no top yet, so no bitstream")), "{printed}"),
            top => {
                assert!(printed.contains(&format!("files for the {title}, top {top}")), "{printed}");
                assert!(folder.path().join(format!("rtl/{top}.sv")).exists());
            }
        }
        for name in ["build.tcl", "program.tcl", "flash.tcl", "ip.tcl", "pins.xdc", "rtl/nic.sv", "README.md"] {
            assert!(folder.path().join(name).exists(), "{name}");
        }
    }
}

#[test]
fn what_cannot_be_exported_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let refused = |arguments: &[&str]| {
        let output = spindle(&[&["export", "--out", out.to_str().unwrap()], arguments].concat());
        assert!(!output.status.success() && !out.exists(), "{}", words(&output));
        words(&output)
    };
    let unknown = refused(&["--board", "u51"]);
    assert!(unknown.contains("there is no board `u51`; give one of u50, u55c, u280, u250, kcu116, kc705"), "{unknown}");
    let port = refused(&["--board", "u280", "--port", "qsfp7"]);
    assert!(port.contains("there is no network port `qsfp7`; give one of qsfp0, qsfp1"), "{port}");
    let both = refused(&["--board", "u50", "--config", "sim"]);
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn the_flash_is_refused_with_what_to_do() {
    for arguments in [&["flash"][..], &["flash", "image.mcs"], &["--card", "0000:65:00.0", "flash"]] {
        let output = spindle(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(words(&output).contains("over JTAG with flash.tcl"), "{}", words(&output));
    }
}
