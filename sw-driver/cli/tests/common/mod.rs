//! Compilers and qemu, for the tests that run machine code of the SDK outside the NIC.
#![allow(dead_code, reason = "no test that shares this file uses all of it")]

pub mod program;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Extensions of the processor, as handlers are built for them.
const ARCHITECTURE: &str = "rv32ima_zba_zbb_zbs";
const GCC: &str = "riscv64-unknown-elf-gcc";

/// A compiler with the arguments that make 32-bit RISC-V of it.
#[derive(Clone)]
pub struct Compiler {
    /// Program and its first arguments.
    pub command: Vec<String>,
    /// Further arguments for linking.
    pub link: Vec<String>,
}

/// GCC, and Clang where it is installed with its linker.
pub fn compilers() -> Vec<Compiler> {
    let march = format!("-march={}", ARCHITECTURE.replacen('_', "_zicsr_", 1));
    let mut all = vec![Compiler { command: [GCC, &march, "-mabi=ilp32"].map(String::from).to_vec(), link: vec![] }];
    let names = std::iter::once("clang".to_owned()).chain((14..=24).rev().map(|version| format!("clang-{version}")));
    let runs = |name: &String| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    match names.into_iter().find(runs) {
        Some(clang) => {
            let march = format!("-march={ARCHITECTURE}");
            let command = [&clang, "--target=riscv32-unknown-elf", &march, "-mabi=ilp32"];
            all.push(Compiler { command: command.map(String::from).to_vec(), link: vec!["-fuse-ld=lld".into()] });
        }
        None => spindle_harness::skip_part("clang is not installed; install it with its linker lld"),
    }
    all
}

/// The handler SDK's folder.
pub fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers")
}

fn command(compiler: &Compiler, arguments: &[&str], output: &Path) -> Command {
    let mut command = Command::new(&compiler.command[0]);
    // Nothing sets the global pointer, so nothing may be relaxed to it.
    command
        .args(&compiler.command[1..])
        .args(["-O2", "-ffreestanding", "-mno-relax"])
        .arg("-I")
        .arg(sdk().join("include"));
    command.args(arguments).arg("-o").arg(output);
    command
}

/// GCC before 13 dies of the constant 2048 with Zbs, which the program itself works around in the same way.
fn succeeds(command: Command) {
    let again = |without: &str| {
        let mut again = Command::new(command.get_program());
        again.args(command.get_args().map(|argument| argument.to_string_lossy().replace(without, "")));
        again.output().expect("the compiler starts")
    };
    let mut output = again("\0");
    if String::from_utf8_lossy(&output.stderr).contains("internal compiler error") {
        output = again("_zbs");
    }
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles a file with the SDK's headers.
pub fn object(compiler: &Compiler, arguments: &[&str], file: &Path, output: &Path) {
    let mut command = command(compiler, arguments, output);
    command.arg("-c").arg(file);
    succeeds(command);
}

/// Links a Linux program of these files with the SDK's headers.
pub fn program(compiler: &Compiler, arguments: &[&str], files: &[PathBuf], output: &Path) {
    let libgcc = Command::new(GCC).args(["-march=rv32im", "-mabi=ilp32", "-print-libgcc-file-name"]).output();
    let libgcc = libgcc.expect("install the compiler: apt-get install gcc-riscv64-unknown-elf").stdout;
    let mut command = command(compiler, arguments, output);
    command.args(&compiler.link).args(["-nostdlib", "-static", "-Wl,-Ttext=0x00100000"]).args(files);
    command.arg(String::from_utf8(libgcc).unwrap().trim());
    succeeds(command);
}

/// Runs a Linux program on qemu-riscv32: its output.
pub fn qemu(program: &Path, input: Vec<u8>) -> Vec<u8> {
    let mut qemu = Command::new("timeout")
        .args(["60", "qemu-riscv32"])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = qemu.stdin.take().unwrap();
    // Writing and reading at once: pipes are short.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = qemu.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "qemu-riscv32 ended with {}; if it is missing: apt-get install qemu-user",
        output.status
    );
    output.stdout
}
