//! What a user may get wrong: each gets a sentence that says what to do, an exit code, and never a panic.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GOOD: &str = "#include \"spindle.h\"\nint header_handler(const spin_header_t *h, void *s) { (void)h; (void)s; return SPIN_DROP; }\n";

fn spindle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spindle")).args(arguments).output().expect("the program starts")
}

/// Runs and expects a refusal with all of `words`.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = spindle(arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} was accepted");
    assert!(
        output.status.code().is_some_and(|code| code == 1 || code == 2),
        "{arguments:?}: {:?}\n{text}",
        output.status
    );
    assert!(!text.contains("panicked"), "{text}");
    for word in words {
        assert!(text.contains(word), "{arguments:?} should say `{word}`:\n{text}");
    }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        folder.write("good.c", GOOD.as_bytes());
        folder.write("good.pcap", &pcap(&[&[0x55; 60]]));
        folder
    }

    fn write(&self, name: &str, content: &[u8]) -> String {
        std::fs::write(self.0.path().join(name), content).expect("the temporary folder takes files");
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn handler(&self, name: &str, words: &[&str]) {
        refused(&["run", &self.path(name), "--pcap", &self.path("good.pcap")], words);
    }

    fn capture(&self, content: &[u8], words: &[&str]) {
        let path = self.write("bad.pcap", content);
        refused(&["run", &self.path("good.c"), "--pcap", &path], words);
    }

    /// Links C by the flags given instead of the program's own.
    fn elf(&self, name: &str, source: &str, flags: &[&str]) {
        let source = self.write("elf.c", source.as_bytes());
        let status = Command::new("riscv64-unknown-elf-gcc")
            .args(["-nostdlib", "-ffreestanding", "-O1"])
            .args(flags)
            .arg(source)
            .arg("-o")
            .arg(self.path(name))
            .status();
        assert!(status.expect("the RISC-V compiler is installed").success());
    }
}

/// A little-endian capture of Ethernet frames.
fn pcap(frames: &[&[u8]]) -> Vec<u8> {
    let word = |value: u32| value.to_le_bytes();
    let mut file = [word(0xa1b2_c3d4), word(0x0004_0002), word(0), word(0), word(65535), word(1)].concat();
    for frame in frames {
        file.extend([word(1), word(0), word(frame.len() as u32), word(frame.len() as u32)].concat());
        file.extend_from_slice(frame);
    }
    file
}

/// `-N` keeps the ELF header out of the first segment, as the SDK's script does.
const RV32: [&str; 5] =
    ["-march=rv32im", "-mabi=ilp32", "-Wl,-Ttext=0x10000000", "-Wl,-e,0", "-Wl,-N,--no-warn-rwx-segments"];
const ENTRY: &str = "int header_handler(void) { return 0; }";

#[test]
fn handlers() {
    let folder = Folder::new();
    folder.handler("missing.c", &["cannot read", "missing.c"]);
    folder.write("wrong.c", b"int header_handler(void) { return nonsense; }\n");
    folder.handler("wrong.c", &["does not compile", "nonsense", "undeclared"]);
    folder.write("open.c", b"int elsewhere(void);\nint header_handler(void) { return elsewhere(); }\n");
    folder.handler("open.c", &["undefined reference to `elsewhere'"]);
    folder.write("none.c", b"int helper(void) { return 0; }\n");
    folder.handler("none.c", &["no entry point", "header_handler"]);
    folder.write(
        "huge.c",
        format!("{ENTRY}\nchar big[1 << 24];\nchar *payload_handler(void) {{ return big; }}\n").as_bytes(),
    );
    folder.handler("huge.c", &["overflowed"]);
}

#[test]
fn images() {
    let folder = Folder::new();
    folder.write("text.elf", b"this is no image");
    folder.handler("text.elf", &["not an ELF file"]);
    folder.write("empty.elf", b"");
    folder.handler("empty.elf", &["not an ELF file"]);
    std::fs::copy(std::env::current_exe().unwrap(), folder.path("host.elf")).unwrap();
    folder.handler("host.elf", &["64-bit", "32-bit little-endian RISC-V"]);
    folder.elf("rv64.elf", ENTRY, &["-march=rv64im", "-mabi=lp64", "-Wl,-e,0"]);
    folder.handler("rv64.elf", &["64-bit"]);
    folder.elf("good.elf", ENTRY, &RV32);
    let good = std::fs::read(folder.path("good.elf")).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    folder.write("arm.elf", &with(18, 40));
    folder.handler("arm.elf", &["ELF machine 40"]);
    folder.write("big.elf", &with(5, 2));
    folder.handler("big.elf", &["big-endian"]);
    folder.write("half.elf", &good[..good.len() / 2]);
    folder.handler("half.elf", &["damaged"]);
    folder.elf("none.elf", "int helper(void) { return 0; }", &RV32);
    folder.handler("none.elf", &["no entry point"]);
    folder.elf(
        "open.elf",
        "int elsewhere(void); int header_handler(void) { return elsewhere(); }",
        &[&RV32[..], &["-Wl,--unresolved-symbols=ignore-all", "-Wl,--emit-relocs"]].concat(),
    );
    folder.handler("open.elf", &["undefined symbols: elsewhere"]);
    folder.elf("large.elf", "int header_handler(void) { return 0; } const char big[100000] = {1};", &RV32);
    folder.handler("large.elf", &["bytes of code", "32768"]);
    folder.elf("place.elf", ENTRY, &["-march=rv32im", "-mabi=ilp32", "-Wl,-Ttext=0x80000000", "-Wl,-e,0", "-Wl,-N"]);
    folder.handler("place.elf", &["outside the code region", "handler.ld"]);
}

/// Every single wrong byte in the headers of an image is refused or harmless, never a panic.
#[test]
fn damaged_images_do_not_panic() {
    let folder = Folder::new();
    folder.elf("good.elf", ENTRY, &RV32);
    let good = std::fs::read(folder.path("good.elf")).unwrap();
    for at in 0..good.len() {
        for value in [0x00, 0x7f, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            // In this process: a panic is a failed test, and it is fast enough for every byte.
            let _ = spindle::Image::parse(&bytes);
        }
        let _ = spindle::Image::parse(&good[..at]);
    }
}

#[test]
fn captures() {
    let folder = Folder::new();
    refused(&["run", &folder.path("good.c"), "--pcap", "/nowhere/in.pcap"], &["cannot open", "/nowhere/in.pcap"]);
    folder.capture(b"", &["not a pcap"]);
    folder.capture(b"GIF89a and so on, long enough to hold a header", &["not a pcap"]);
    folder.capture(&pcap(&[]), &["holds no packets"]);
    folder.capture(b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a", &["block 1 of the pcapng file", "ends inside"]);
    folder.capture(b"\x1f\x8b\x08\0\0\0\0\0", &["is compressed", "gunzip"]);
    let whole = pcap(&[&[1; 60], &[2; 60]]);
    folder.capture(&whole[..whole.len() - 7], &["packet 2", "cut short"]);
    let mut absurd = whole.clone();
    absurd[24 + 8..24 + 12].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    folder.capture(&absurd, &["packet 1"]);
    let mut partial = whole.clone();
    partial[24 + 12..24 + 16].copy_from_slice(&1500u32.to_le_bytes());
    folder.capture(&partial, &["captured in part"]);
    let mut wifi = whole;
    wifi[20] = 105;
    folder.capture(&wifi, &["not Ethernet"]);
}

#[test]
fn rules_configurations_and_tools() {
    let folder = Folder::new();
    let run = |more: &[&str], words: &[&str]| {
        refused(&[&["run", &folder.path("good.c"), "--pcap", &folder.path("good.pcap")], more].concat(), words)
    };
    run(&["--match", "udp.dport = 9"], &["==", "\n  udp.dport = 9\n            ^"]);
    run(&["--match", "udp", "--match", "port == 9"], &["no field `port`"]);
    run(&["--config", "virtex"], &["no configuration `virtex`", "sim, kintex7, alveo, alveo32"]);
    run(&["--watchdog", "0"], &["watchdog", "1 to 16000000"]);
    run(&["--watchdog", "16000001"], &["watchdog budget of 16000001 cycles"]);
    run(&["--no-such-option"], &["--no-such-option"]);
    refused(&["export", "--config", "x", "--out", &folder.path("out")], &["no configuration `x`"]);
    let output = Command::new(env!("CARGO_BIN_EXE_spindle"))
        .args(["run", &folder.path("good.c"), "--pcap", &folder.path("good.pcap")])
        .env("SPINDLE_CC", "no-such-compiler")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("apt-get install gcc-riscv64-unknown-elf"), "{text}");
}

#[test]
fn files_and_folders_that_are_something_else() {
    let folder = Folder::new();
    let good = folder.path("good.c");
    let build = |more: &[&str], words: &[&str]| refused(&[&["build"], more].concat(), words);
    build(&[&folder.path(".")], &["is a folder; give the .c files in it"]);
    build(&[&folder.path("good.pcap")], &["good.pcap is no source by its name", ".c, .S"]);
    build(&[&folder.path("missing.c")], &["cannot read", "missing.c"]);
    build(&["/dev/null"], &["/dev/null is no source by its name"]);
    build(&[&good, "-o", &folder.path(".")], &["cannot write the image to", "it is a folder"]);
    build(&[&good, "-o", &folder.path("none/x.elf")], &["there is no folder", "none; make it"]);
    build(&[&good, "-o", &folder.path("./good.c")], &["the image would replace its source"]);
    assert_eq!(std::fs::read(&good).unwrap(), GOOD.as_bytes(), "the source is as it was");
    build(&[&good, "-I", "/nowhere"], &["no folder /nowhere for -I"]);
    for (define, name) in [("", "``"), ("1x=3", "`1x`"), ("a b=3", "`a b`"), ("=3", "``")] {
        build(&[&good, "-D", define], &[name, "is no name of a macro", "-D NAME=VALUE"]);
    }
    let macros = ["-D", "EMPTY=", "-D", "F(x)=((x) + 1)", "-D", "_A1"];
    let done = spindle(&[&["build", &good, "-o", &folder.path("x.elf")], &macros[..]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    refused(&["export", "--config", "sim", "--out", &good], &["good.c: the path is a file; give a folder"]);
}

#[test]
fn every_shipped_handler_compiles_without_a_warning() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples");
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for file in [examples.clone(), examples.join("faulty")].iter().flat_map(|folder| std::fs::read_dir(folder).unwrap())
    {
        let path: PathBuf = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "c") {
            let output =
                spindle(&["build", &path.to_string_lossy(), "-o", &folder.path().join("x.elf").to_string_lossy()]);
            assert!(
                output.status.success() && output.stderr.is_empty(),
                "{}: {}",
                path.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            count += 1;
        }
    }
    let listed = String::from_utf8(spindle(&["handlers"]).stdout).unwrap();
    assert_eq!(
        listed.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| handler")).count(),
        count,
        "{listed}"
    );
}

/// Variables, zeroed variables and constants land where the driver looks for them.
#[test]
fn an_image_has_its_state() {
    let folder = Folder::new();
    let source = folder.write(
        "state.c",
        b"#include \"spindle.h\"\nuint32_t first = 0x11223344; uint32_t zeroed[5]; static const uint8_t table[4] = {9, 8, 7, 6};\n\
          int payload_handler(const spin_payload_t *p, void *s) { (void)s; first++; \
          zeroed[p->frame % 5] = table[p->frame & 3]; return SPIN_SUCCESS; }\n\
          int completion_handler(uint32_t d, bool f, void *s) { (void)d; (void)f; (void)s; return SPIN_SUCCESS; }\n",
    );
    let output = spindle(&["build", &source, "-o", &folder.path("state.elf")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let image = spindle::Image::parse(&std::fs::read(folder.path("state.elf")).unwrap()).unwrap();
    assert_eq!(image.state, [&[0x44, 0x33, 0x22, 0x11][..], &[0; 20]].concat());
    assert!(image.code.windows(4).any(|bytes| bytes == [9, 8, 7, 6]));
    assert!(image.entries[0].is_none() && image.entries[1].is_some() && image.entries[2].is_some());
    let (name, offset) = image.symbol(image.entries[2].unwrap()).unwrap();
    assert_eq!((name, offset), ("completion_handler", 0));
}
