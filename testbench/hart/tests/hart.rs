//! `spindle hart`: programs that are no handlers, on the emitted processor.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const MARCH: &str = "-march=rv32ima_zicsr_zba_zbb_zbs";

/// Assembles a program of `tests/programs` with the given arguments in place of those that fit the processor; `None` without
/// a compiler.
fn assemble(folder: &Path, source: &str, target: &[&str], arguments: &[&str]) -> Option<String> {
    let output = folder.join("program.elf");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let result = Command::new("riscv64-unknown-elf-gcc")
        .args(target)
        .args(["-nostdlib", "-static", "-Wl,--no-warn-rwx-segments"])
        .args(arguments)
        .arg("-o")
        .args([&output, &source])
        .output();
    match result {
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Some(output.to_str().expect("the temporary folder has a plain name").to_owned())
        }
        Err(_) => {
            spindle_harness::skip("riscv64-unknown-elf-gcc is not installed; run `cargo xtask setup`");
            None
        }
    }
}

/// The same with the addresses of the processor's memories.
fn program(folder: &Path, defines: &[&str]) -> Option<String> {
    let places = ["-Wl,-Ttext=0x10000000", "-Wl,-Tdata=0x40000000"];
    assemble(folder, "tohost.S", &[MARCH, "-mabi=ilp32"], &[&places[..], defines].concat())
}

/// `result.S` for the processor: its data in context memory, its zeroed variables in the scratchpad.
fn result(folder: &Path, defines: &[&str]) -> Option<String> {
    let places = ["-Wl,-Ttext=0x10000000", "-Wl,-Tdata=0x40000000", "-Wl,-Tbss=0x30000000"];
    let variables = ["-DBSS_BYTES=4", "-DRESULT_AT=tohost"];
    assemble(folder, "result.S", &[MARCH, "-mabi=ilp32"], &[&places[..], &variables, defines].concat())
}

fn hart(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spindle-hart")).args(arguments).output().expect("spindle-hart starts")
}

/// Runs a program and expects its exit status, and words on standard output or error.
fn ends(arguments: &[&str], status: i32, words: &[&str]) {
    let done = hart(arguments);
    let text = [done.stdout, done.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert_eq!(done.status.code(), Some(status), "{arguments:?}: {text}");
    assert!(!text.contains("panicked"), "{text}");
    for word in words {
        assert!(text.contains(word), "{arguments:?}: expected `{word}` in: {text}");
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn a_program_reports_its_result_by_a_store() {
    let folder = folder();
    let Some(path) = program(folder.path(), &[]) else { return };
    let trace = folder.path().join("trace");
    let done = hart(&[&path, "--tohost", "tohost", "--trace", trace.to_str().unwrap()]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.ends_with("passed\n") && text.contains("cycles per instruction"), "{text}");
    let lines = std::fs::read_to_string(trace).unwrap();
    assert!(lines.contains("lw t1,3(t0)") && lines.contains("t1=06050403 [40000003]->06050403"), "{lines}");
    // Delays change the cycles, not the result.
    let delayed = hart(&[&path, "--tohost", "tohost", "--delays", "5"]);
    assert!(delayed.status.success() && delayed.stdout != done.stdout);
}

#[test]
fn tohost_is_found_and_its_code_is_the_exit_status() {
    let folder = folder();
    let Some(path) = program(folder.path(), &["-DEXPECTED=43"]) else { return };
    ends(&[&path], 2, &["failed: test 2"]);
    for (defines, status, words) in [
        (&["-DRESULT=1"][..], 0, "passed"),
        (&["-DRESULT=11"], 5, "failed: test 5"),
        (&["-DRESULT=511"], 255, "failed: test 255"),
        (&["-DRESULT=2001"], 255, "failed: test 1000"),
        (&["-DRESULT=12"], 125, "stored 0xc to tohost, which is no result"),
        (&["-DRETURNS", "-DRESULT=7"], 7, "returned 7"),
        (&["-DRETURNS", "-DRESULT=0"], 0, "returned 0"),
        (&["-DRETURNS", "-DRESULT=256"], 0, "returned 0"),
        // Another symbol of that meaning has to be named.
        (&["-URESULT_AT", "-DRESULT_AT=mailbox"], 125, "has not ended after 3000 cycles, at 0x1000"),
    ] {
        let Some(path) = result(folder.path(), defines) else { return };
        ends(&[&path, "--limit", "3000"], status, &[words]);
    }
    let Some(path) = result(folder.path(), &["-URESULT_AT", "-DRESULT_AT=mailbox", "-DRESULT=7"]) else { return };
    ends(&[&path, "--tohost", "mailbox"], 3, &["failed: test 3"]);
    ends(&[&path, "--tohost", "0x40000010"], 3, &["failed: test 3"]);
}

/// The bytes of the signature of `result.S`: a stored word, a word of .bss, two bytes in a word that was initialised.
const SIGNATURE: [u8; 12] = [0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0x11, 0x7e, 0xad, 0xde];

#[test]
fn signatures_and_dumps_show_memory_after_the_end() {
    let folder = folder();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (signature, dump) = (file("signature"), file("dump"));
    // With delays, stores are still under way when the one to tohost retires; a failed program has its signature too.
    for (defines, delays, status) in
        [(&[][..], &[][..], 0), (&["-DRESULT=3"], &["--delays", "3"], 1), (&["-DRETURNS"], &["--delays", "4"], 1)]
    {
        let Some(path) = result(folder.path(), defines) else { return };
        let range = ["begin_signature", "end_signature"];
        let wanted = [&["--signature"], &range[..], &[&signature, "--dump"], &range, &[&dump]].concat();
        ends(&[&[&path[..]], delays, &wanted].concat(), status, &[]);
        assert_eq!(std::fs::read_to_string(&signature).unwrap(), "11223344\n00000000\ndead7e11\n", "{defines:?}");
        assert_eq!(std::fs::read(&dump).unwrap(), SIGNATURE, "{defines:?}");
        // Of another word size, with addresses for symbols.
        let wanted = ["--signature", "0x40000000", "1073741834", &signature, "--signature-granularity", "8"];
        ends(&[&[&path[..]], &wanted[..]].concat(), status, &[]);
        assert_eq!(std::fs::read_to_string(&signature).unwrap(), "0000000011223344\n0000000000007e11\n");
        // Code and variables, to be read.
        let wanted = ["--dump", "0x4000_0000", "0x4000_000c", "-", "--dump", "odd_constant", "0x10000400", "-"];
        ends(
            &[&[&path[..]], &wanted[..]].concat(),
            status,
            &["\n40000000: 44 33 22 11 00 00 00 00 11 7e ad de\n", ": a5 5a c3 00 00"],
        );
    }
    // The stack of the program, with a fault at the end.
    let Some(path) = result(folder.path(), &["-DJUMPS=0x20000101"]) else { return };
    ends(&[&path, "--dump", "0x50000000", "0x50000400", &dump], 125, &["faulted"]);
    assert_eq!(std::fs::read(&dump).unwrap().len(), 1024);
}

#[test]
fn a_jump_into_the_void_is_reported_with_its_target() {
    let folder = folder();
    for (target, shown) in [
        ("0x20000101", "0x20000100"),
        ("0x80000000", "0x80000000"),
        ("0x10000002", "0x10000002"),
        // Data is not executable: the beginning of the signature, where the program has stored before it jumps.
        ("0x40000000", "0x40000000"),
    ] {
        let Some(path) = result(folder.path(), &[&format!("-DJUMPS={target}")]) else { return };
        ends(&[&path], 125, &["faulted: instruction fetch outside the code region", &format!("address {shown}")]);
    }
    let Some(path) = result(folder.path(), &["-DLOOPS"]) else { return };
    ends(&[&path, "--limit", "2000"], 125, &["has not ended after 2000 cycles, at 0x100000", "(_start+0x", "--limit"]);
}

#[test]
fn a_bad_place_is_refused() {
    let folder = folder();
    let Some(path) = result(folder.path(), &[]) else { return };
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for (arguments, words) in [
        (&["--tohost", "nowhere"][..], &["--tohost", "has no symbol `nowhere`"][..]),
        (&["--tohost", "0x80001000"], &["tohost at 0x80001000 lies in no memory"]),
        (&["--tohost", "_start"], &["tohost at 0x10000000 lies in the code region"]),
        (&["--tohost", "0x100000000"], &["`0x100000000` is no address"]),
        (&["--entry", "0x10000002"], &["entry point 0x10000002 is misaligned"]),
        (&["--entry", "0x10000001"], &["entry point 0x10000001 is misaligned"]),
        (&["--entry", "begin_signature"], &["entry point 0x40000000 lies outside the code region"]),
        (&["--entry", "0x10010000"], &["entry point 0x10010000 lies outside the code region"]),
        (&["--entry", "0x10008000"], &["no code at its entry point 0x10008000"]),
        (&["--signature", "nowhere", "tohost", out], &["--signature", "no symbol `nowhere`"]),
        (&["--signature", "0x40000010", "0x40000010", out], &["is empty"]),
        (&["--signature", "0x40000010", "0x40000000", out], &["is empty"]),
        (&["--dump", "0x4000fff0", "0x40010004", out], &["leaves its memory, which ends at 0x40010000"]),
        (&["--dump", "0x90000000", "0x90000004", out], &["no memory at 0x90000000"]),
        (&["--dump", "0x40000000", "0x40000004", "/nowhere/out"], &["cannot write /nowhere/out"]),
        (&["--trace", "/nowhere/out"], &["cannot", "/nowhere/out"]),
    ] {
        ends(&[&[&path[..]], arguments].concat(), 125, words);
    }
    ends(&[&path, "--signature-granularity", "8"], 2, &["--signature"]);
    // Unnamed symbols are no places.
    ends(&[&path, "--entry", ""], 2, &["--entry"]);
    ends(&[&path, "--tohost", ""], 2, &["--tohost"]);
    ends(&[&path, "--dump", "0x40000000", "", out], 2, &["--dump"]);
    ends(&[&path, "--limit", "0"], 2, &["limit"]);
    ends(&[&path, "--dump", "0x40000000", "0x40000004"], 2, &["3 values"]);
}

#[test]
fn a_file_that_cannot_run_is_refused() {
    let folder = folder();
    let Some(path) = result(folder.path(), &[]) else { return };
    let good = std::fs::read(&path).unwrap();
    let rv32 = [MARCH, "-mabi=ilp32"];
    let places = ["-Wl,-Ttext=0x10000000", "-Wl,-Tdata=0x40000000", "-Wl,-Tbss=0x30000000"];
    let variables = ["-DRESULT_AT=tohost", "-DBSS_BYTES=4"];
    let all = [&places[..], &variables].concat();
    let with = |target: &[&str], arguments: &[&str], words: &[&str]| {
        let path = assemble(folder.path(), "result.S", target, arguments).expect("there is a compiler");
        ends(&[&path], 125, words);
    };
    with(&["-march=rv32imac", "-mabi=ilp32"], &all, &["compressed instructions", "-march=rv32ima_"]);
    with(&["-march=rv64ima", "-mabi=lp64"], &all, &["64-bit RISC-V", "-mabi=ilp32"]);
    with(&rv32, &[&["-c"], &variables[..]].concat(), &["object file; link it first"]);
    with(&rv32, &variables, &["no memory for section .text at 0x0001", "link code at 0x10000000"]);
    with(&rv32, &[&all[..], &["-Wl,-e,0"]].concat(), &["entry point 0x00000000 lies outside", "`_start`", "--entry"]);
    // Sections that do not fit: code, initialised and zeroed variables, and where there is no memory.
    let last = ["-Wl,-Ttext=0x1000ffe0", "-Wl,-Tdata=0x40000000", "-Wl,-Tbss=0x30000000"];
    with(
        &rv32,
        &[&last[..], &variables].concat(),
        &["section .text does not fit", "0x1000ffe0", "code region", "65536"],
    );
    let last = ["-Wl,-Ttext=0x10000000", "-Wl,-Tdata=0x4000fffc", "-Wl,-Tbss=0x30000000"];
    with(&rv32, &[&last[..], &variables].concat(), &["section .data does not fit", "it has 28 bytes from 0x4000fffc"]);
    with(
        &rv32,
        &[&places[..], &["-DRESULT_AT=tohost", "-DBSS_BYTES=8196"]].concat(),
        &["section .bss does not fit: it has 8196 bytes from 0x30000000", "scratch region", "8192 bytes"],
    );
    let far = ["-Wl,-Ttext=0x10000000", "-Wl,-Tdata=0x40000000", "-Wl,-Tbss=0x90000000"];
    with(
        &rv32,
        &[&far[..], &variables].concat(),
        &["no memory for section .bss at 0x90000000", "0x40000000 (context)"],
    );
    // Files that are no programs.
    let file = |name: &str, content: &[u8]| {
        let path: PathBuf = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let patched = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    for (path, words) in [
        ("/bin/sh".to_owned(), "another machine"),
        ("/nowhere".to_owned(), "cannot read /nowhere"),
        (folder.path().to_str().unwrap().to_owned(), "Is a directory"),
        (concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").to_owned(), "no ELF file"),
        (file("empty", b""), "no ELF file"),
        (file("half", &good[..good.len() / 2]), "damaged"),
        (file("arm", &patched(18, 40)), "another machine (Arm)"),
        (file("pie", &patched(16, 3)), "position-independent; link it with -static -no-pie"),
        (file("core", &patched(16, 4)), "no linked program"),
    ] {
        ends(&[&path], 125, &[words]);
    }
}

#[test]
fn zeroed_variables_are_zero_and_the_help_names_the_memories() {
    let folder = folder();
    // Beyond the code, in instruction memory: sections of any alignment.
    let variables = ["-DRESULT_AT=tohost", "-DBSS_BYTES=64", "-Wl,-Tdata=0x30000010", "-Wl,-Ttext=0x10000000"];
    let arguments = [&variables[..], &["-Wl,--section-start=.rodata=0x10003001"]].concat();
    let path = assemble(folder.path(), "result.S", &[MARCH, "-mabi=ilp32"], &arguments);
    let Some(path) = path else { return };
    let constant = ["--dump", "0x10003000", "0x10003006", "-"];
    ends(&[&[&path[..]], &constant[..]].concat(), 0, &["10003000: 00 a5 5a c3 00 00\n"]);
    for help in ["-h", "--help"] {
        let words =
            ["code     0x10000000   65536 bytes", "scratch  0x30000000    8192 bytes", "0x40000000   65536 bytes"];
        ends(&[help], 0, &words);
    }
    ends(&["--help"], 0, &["125   no result", "--signature <BEGIN> <END> <FILE>"]);
}
