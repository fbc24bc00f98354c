//! `rvma.h`, `rvma_exchange.h` and `rvma_sim.h` as C and C++ programs see them: they compile without a warning and name every call of the
//! library, and the example does what it says.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the library that belongs to this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_path_buf()
}

fn good(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{words}");
    output
}

fn compile(program: &str, source: &Path, output: &Path) -> Output {
    compile_as(&[program], source, output)
}

/// The compiler with arguments of its own.
fn compile_as(compiler: &[&str], source: &Path, output: &Path) -> Output {
    let mut command = Command::new(compiler[0]);
    command
        .args(&compiler[1..])
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(folder().join("include"))
        .arg(source);
    command.arg("-L").arg(library()).arg("-lspindle_rvma").arg(format!("-Wl,-rpath,{}", library().display()));
    good(command.arg("-o").arg(output))
}

/// A compiled program, with the library of this test before one that `cargo build` may have left.
fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.env("LD_LIBRARY_PATH", library());
    command
}

#[test]
fn the_example_receives_what_it_puts() {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("two_nodes");
    compile("cc", &folder().join("examples/two_nodes.c"), &output);
    let output = good(&mut program(&output));
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(words.ends_with("buffer 2: 6000 bytes, epoch 2\nall bytes have arrived\n"), "{words}");
}

/// The same program that joins two processes by served cards has both nodes in one process.
#[test]
fn two_nodes_in_one_process_exchange_a_mebibyte() {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exchange");
    compile_as(&["cc", "-std=c99"], &folder().join("examples/exchange.c"), &output);
    let output = good(program(&output).args(["sim:", "0", "sim:", "1"]));
    let words = String::from_utf8_lossy(&output.stdout);
    let line = |node| format!("node {node}: 1048576 bytes sent, 1048576 bytes received\n");
    assert_eq!(words, line(0) + &line(1));
}

/// Every protocol of `rvma_exchange.h` between two nodes of one process.
#[test]
fn two_nodes_in_one_process_use_every_protocol() {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("protocols");
    compile_as(&["cc", "-std=c99"], &folder().join("examples/protocols.c"), &output);
    let output = good(program(&output).args(["sim:", "0", "sim:", "1"]));
    let words = String::from_utf8_lossy(&output.stdout);
    let line = |node| format!("node {node}: 12 eager messages, 2 of 200000 bytes, 12 in the ring, 12 calls\n");
    assert_eq!(words, line(0) + &line(1));
}

/// The protocols over a wire that loses, doubles and reorders frames; slots that run out, peers that are absent or close, messages that
/// are none, and all that is refused.
#[test]
fn exchange_protocols() {
    runs("exchanges");
}

/// What a program does wrong is an error with a sentence, never a crash.
#[test]
fn mistakes_are_errors() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes.cpp");
    let text = r#"
#include <rvma_exchange.h>
#include <rvma_sim.h>
#include <cstdio>
#include <cstring>
static int wrong(const char *said) { return std::strstr(RVMA_Error(), said) ? 0 : (std::puts(RVMA_Error()), 1); }
int main() {
    RVMA_Addr to = {0, 0};
    if (RVMA_Simulate(0, nullptr) || wrong("1 to 16")) return 1;
    RVMA_Wire wire = {2.0, 0, 1, 1, 1, 1};
    if (RVMA_Simulate(1, &wire) || wrong("between 0 and 1")) return 2;
    if (RVMA_Open_node(nullptr, 0, 0) || wrong("NULL")) return 3;
    if (RVMA_Open(nullptr, 0, nullptr) || wrong("NULL")) return 3;
    RVMA_Options far = {256, 0, nullptr, 0}, many = {0, 257, nullptr, 0}, alone = {3, 2, nullptr, 0};
    if (RVMA_Open("sim:", 0, &far) || wrong("no node 256")) return 3;
    if (RVMA_Open("sim:", 0, &many) || wrong("257 nodes are too many")) return 3;
    if (RVMA_Open("sim:nothing", 0, nullptr) || wrong("no configuration `nothing`")) return 3;
    if (RVMA_Open("sim:", 0, &alone) || wrong("is to be node 3, and 2 nodes are given")) return 3;
    if (RVMA_Put(nullptr, &to, 8, &to, 0, 0, 0, nullptr) != RVMA_ERR_ARGUMENT || wrong("NULL")) return 4;
    if (RVMA_Post_buffer(&to, 8, nullptr, nullptr) != RVMA_ERR_ARGUMENT) return 5;
    if (RVMA_Win_get_epoch(nullptr) >= 0 || RVMA_Win_rewind(nullptr, 0) != nullptr) return 6;
    if (RVMA_Shutdown(nullptr) != RVMA_SUCCESS) return 7;
    return 0;
}
"#;
    std::fs::write(&source, text).unwrap();
    let output = source.with_extension("");
    compile("c++", &source, &output);
    good(&mut program(&output));
}

/// A program of `programs`, as ISO C99, runs to its end.
fn runs(name: &str) {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    compile_as(&["cc", "-std=c99"], &folder().join(format!("tests/programs/{name}.c")), &output);
    good(&mut program(&output));
}

/// Second waits, unknown operations, nodes that do not exist, the put limit, and the refusal that a timeout names.
#[test]
fn ends_of_puts() {
    runs("waits");
}

/// Sizes beyond 32 bits, all mailboxes, all places for buffers.
#[test]
fn limits_are_named_and_a_full_card_serves() {
    runs("limits");
}

/// Dead, closed and forged handles are errors, and the sentence of an error stays.
#[test]
fn handles_are_checked() {
    runs("handles");
}

/// 16 regions, and memory that is taken back.
#[test]
fn registered_memory() {
    runs("regions");
}

/// Empty puts, catch-all, spilling and silent windows, and kinds that are refused.
#[test]
fn kinds_of_windows() {
    runs("windows");
}

/// Buffers that are posted again, and threads that wait side by side.
#[test]
fn stocks_and_threads() {
    runs("stock");
}

/// An image on a window and on a rule, its variables and events.
#[test]
fn handlers_of_a_c_program() {
    let folder_of_test = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let toolchain = match spindle_sdk::toolchain::Toolchain::find(None) {
        Ok(toolchain) => toolchain,
        Err(error) => return spindle_harness::skip(&format!("{error:#}")),
    };
    let image = folder_of_test.join("count_handler.elf");
    let sources = spindle_sdk::toolchain::Sources::one(&folder().join("tests/programs/count_handler.c"));
    spindle_sdk::handler::compile(&toolchain, &sources, &image).unwrap();
    let output = folder_of_test.join("spin");
    compile_as(&["cc", "-std=c99"], &folder().join("tests/programs/spin.c"), &output);
    good(program(&output).arg(image));
}

/// A call that the header does not declare, or that the library does not have, is noticed here.
#[test]
fn header_and_library_have_the_same_calls() {
    let calls = |text: &str, before: &str| {
        let mut names: Vec<String> = ["RVMA_", "SPIN_"]
            .iter()
            .flat_map(|prefix| text.match_indices(prefix))
            .filter(|(at, _)| text[..*at].ends_with(before))
            .filter_map(|(at, _)| {
                let name: String = text[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                text[at + name.len()..].starts_with('(').then_some(name)
            })
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let sources = std::fs::read_dir(folder().join("src")).unwrap();
    let source: String = sources.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let header = ["rvma.h", "rvma_sim.h", "spin.h"].map(|name| folder().join("include").join(name));
    let header: String = header.map(|path| std::fs::read_to_string(path).unwrap()).concat();
    // A declaration follows a type and a space or a star; calls that comments mention do not end in a semicolon.
    let code: String = header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    assert_eq!(calls(&source, "extern \"C\" fn "), calls(&code, ""));
    assert!(calls(&code, "").len() >= 15);
}
