//! `spin_printf` on qemu-riscv32: the pieces that it hands to the command port, against Rust's own formatting.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::{compilers, object, program, qemu, sdk, Compiler};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// Bytes of a captured piece: its length and eight characters.
const PIECE: usize = 9;

/// Calls of printf and what each is to print.
fn cases(random: &mut ChaCha8Rng) -> Vec<(String, String)> {
    let case = |call: &str, text: &str| (call.to_owned(), text.to_owned());
    let mut cases = vec![
        case(r#""""#, ""),
        case(r#""1234567""#, "1234567"),
        case(r#""12345678""#, "12345678"),
        case(r#""123456789\n""#, "123456789\n"),
        case(r#""%d|%d|%i", 0, -1, (int)0x80000000"#, "0|-1|-2147483648"),
        case(r#""%u %lu %zu %hu", 4294967295u, 10ul, sizeof(int), 99"#, "4294967295 10 4 99"),
        case(r#""%x %X %08x %p", 0xbeefu, 0xBEEFu, 0x12u, (void *)0x40000010"#, "beef BEEF 00000012 0x40000010"),
        case(
            r##""%#x %#X %#x|%#8x|%-#8x|%#08x", 0xbeefu, 0xBEEFu, 0u, 0xau, 0xbu, 0xcu"##,
            "0xbeef 0XBEEF 0|     0xa|0xb     |0x00000c",
        ),
        case(r#""[%5d] [%05d] [%-5d] [%3d]", -42, -42, -42, 12345"#, "[  -42] [-0042] [-42  ] [12345]"),
        case(r#""%c%c%3c|%-3c|", 'a', 'b', 'c', 'd'"#, "ab  c|d  |"),
        case(r#""%s|%4s|%-4s|%s|%s", "", "ab", "cd", "longer than it", (char *)0"#, "|  ab|cd  |longer than it|(null)"),
        case(r#""100%% %q %5y %", 1"#, "100% %q %5y %"),
        case(r#""%012u|%-012u|%20s", 7u, 7u, "right""#, "000000000007|7           |               right"),
    ];
    for _ in 0..200 {
        let value: u32 = random.random::<u32>() >> random.random_range(0..32);
        let width = random.random_range(0..14);
        let (call, text) = match random.random_range(0..6) {
            0 => (format!(r#""%{width}d", (int){value}u"#), format!("{:width$}", value as i32)),
            1 => (format!(r#""%0{width}d", (int){value}u"#), format!("{:0width$}", value as i32)),
            2 => (format!(r#""%-{width}u|", {value}u"#), format!("{value:<width$}|")),
            3 => (format!(r#""%0{width}X", {value}u"#), format!("{value:0width$X}")),
            4 => (format!(r#""%{width}x-%u", {value}u, {value}u"#), format!("{value:width$x}-{value}")),
            _ => (format!(r#""%{width}s", "{value}""#), format!("{:>width$}", value.to_string())),
        };
        cases.push((call, text));
    }
    cases
}

fn prints_what_it_is_told(compiler: &Compiler) {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases(&mut spindle_testing::seeded_rng("printf"));
    let calls: String = cases
        .iter()
        // A piece of length 0 that no printf makes ends the pieces of a call and holds its return value.
        .map(|(call, _)| format!("    result[1] = (uint32_t)printf({call});\n    give((uint8_t *)result + 3, 9);\n"))
        .collect();
    let main = folder.path().join("main.c");
    let start = "#define PROGRAM\n#include \"linux.h\"\n#include \"spin_printf.h\"\n";
    let body = format!(
        "void run(void) {{\n    uint32_t result[3] = {{0, 0, 0}};\n    \
        map(SPIN_REGION_COMMAND);\n{calls}    finish(0);\n}}\n"
    );
    std::fs::write(&main, format!("{start}{body}")).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let capture = here.join("printf_capture.h");
    let printf = folder.path().join("printf.o");
    object(compiler, &["-include", &capture.to_string_lossy()], &sdk().join("lib/printf.c"), &printf);
    let linked = folder.path().join("program");
    program(compiler, &["-I", &here.to_string_lossy(), "-w"], &[main, sdk().join("lib/memory.c"), printf], &linked);
    let output = qemu(&linked, Vec::new());
    let mut pieces = output.chunks(PIECE);
    for (call, expected) in &cases {
        let mut text = Vec::new();
        let mut last = 8;
        loop {
            let piece = pieces.next().unwrap_or_else(|| panic!("printf({call}) printed nothing more"));
            let length = usize::from(piece[0]);
            if length == 0 {
                let returned = u32::from_le_bytes(piece[1..5].try_into().unwrap());
                assert_eq!(returned as usize, expected.len(), "printf({call})");
                break;
            }
            // Only the last piece of a call may be short.
            assert!(length <= 8 && last == 8, "printf({call}): a piece of {length} after one of {last}");
            last = length;
            text.extend_from_slice(&piece[1..1 + length]);
        }
        assert_eq!(String::from_utf8_lossy(&text), *expected, "printf({call})");
    }
    assert_eq!(pieces.next(), None);
}

#[test]
fn every_conversion_width_and_length() {
    compilers().iter().for_each(prints_what_it_is_told);
}
