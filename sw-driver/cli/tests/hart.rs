//! `spindle hart`: programs that are no handlers, on the emitted processor.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Assembles the program with the given definitions; `None` without a compiler.
fn program(folder: &Path, defines: &[&str]) -> Option<PathBuf> {
    let output = folder.join("program.elf");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/tohost.S");
    let result = Command::new("riscv64-unknown-elf-gcc")
        .args(["-march=rv32ima_zicsr_zba_zbb_zbs", "-mabi=ilp32", "-nostdlib", "-static", "-Wl,--no-warn-rwx-segments"])
        .args(["-Wl,-Ttext=0x10000000", "-Wl,-Tdata=0x40000000"])
        .args(defines)
        .arg("-o")
        .args([&output, &source])
        .output();
    match result {
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Some(output)
        }
        Err(_) => {
            println!("skipped: riscv64-unknown-elf-gcc is not installed; run `cargo xtask setup`");
            None
        }
    }
}

fn hart(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spindle")).arg("hart").args(arguments).output().expect("spindle starts")
}

#[test]
fn a_program_tells_its_result_by_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = program(folder.path(), &[]) else { return };
    let (path, trace) = (path.to_str().unwrap(), folder.path().join("trace"));
    let done = hart(&[path, "--tohost", "tohost", "--trace", trace.to_str().unwrap()]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(told.ends_with("passed\n") && told.contains("cycles per instruction"), "{told}");
    let lines = std::fs::read_to_string(trace).unwrap();
    assert!(lines.contains("lw t1,3(t0)") && lines.contains("t1=06050403 [40000003]->06050403"), "{lines}");
    // Delays change the cycles, not the result.
    let delayed = hart(&[path, "--tohost", "tohost", "--delays", "5"]);
    assert!(delayed.status.success() && delayed.stdout != done.stdout);
}

#[test]
fn a_failed_test_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = program(folder.path(), &["-DEXPECTED=43"]) else { return };
    let done = hart(&[path.to_str().unwrap(), "--tohost", "tohost"]);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && told.contains("test 2 of"), "{told}");
}

#[test]
fn what_cannot_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = program(folder.path(), &[]) else { return };
    let path = path.to_str().unwrap();
    for (arguments, sentence) in [
        (vec![path, "--tohost", "nowhere"], "has no symbol `nowhere`"),
        (vec![path, "--limit", "3000"], "used up its cycle budget"),
        (vec![path, "--entry", "0x10000002"], "misaligned"),
        (vec!["/bin/sh"], "not for 32-bit RISC-V"),
        (vec![concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], "no ELF file"),
        (vec!["/nowhere"], "cannot read /nowhere"),
    ] {
        let done = hart(&arguments);
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success() && told.contains(sentence), "{arguments:?}: {told}");
        assert!(!told.contains("panicked"), "{told}");
    }
}
