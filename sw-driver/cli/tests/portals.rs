//! Handlers with the interface of the sPIN paper, and handlers in C++: what builds, what is refused, and in which words.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::compilers;
use common::program::{spindle, words, Folder};
use spindle::image::ImageError;
use spindle::Image;
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../handlers/examples/portals").join(name)
}

#[test]
fn examples_build_with_every_compiler() {
    let folder = Folder::new();
    let image = folder.path("h.elf");
    for family in ["gcc", "clang"].into_iter().take(compilers().len()) {
        for level in ["-O2", "-Os"] {
            for (file, sets) in [("relay.c", &["echo", "total"][..]), ("tree.cpp", &["tree"])] {
                let source = example(file);
                let build = ["build", "--portals", source.to_str().unwrap(), "-o", &image, "--cc", family, level];
                let output = spindle(&build);
                assert!(output.status.success() && !words(&output).contains("warning"), "{}", words(&output));
                for set in sets {
                    assert!(words(&output).contains(&format!("{set}_payload_handler")), "{}", words(&output));
                    // An image of one set has its functions as entry points, for whoever loads it.
                    let output = spindle(&[&build[..], &["--handlers", set]].concat());
                    assert!(output.status.success(), "{}", words(&output));
                    let file = std::fs::read(&image).unwrap();
                    let parsed = Image::parse(&file).unwrap();
                    assert_eq!(Image::parse_handlers(&file, Some(set)).unwrap().entries, parsed.entries, "{set}");
                }
            }
        }
    }
}

#[test]
fn a_set_is_chosen_by_its_name() {
    let folder = Folder::new();
    let (source, image) = (example("relay.c"), folder.path("h.elf"));
    let build = ["build", "--portals", source.to_str().unwrap(), "-o", &image];
    assert!(spindle(&build).status.success());
    let file = std::fs::read(&image).unwrap();
    assert_eq!(Image::parse(&file), Err(ImageError::Several(["echo", "swap", "total"].map(String::from).into())));
    let kinds = |set| Image::parse_handlers(&file, Some(set)).unwrap().entries.map(|entry| entry.is_some());
    assert_eq!(kinds("echo"), [true, true, true, false]);
    assert_eq!(kinds("total"), [false, true, true, false], "NULL is an absent handler");
    assert_eq!(kinds("swap"), [false, true, false, false]);

    let refused = |arguments: &[&str], sentence: &str| {
        let output = spindle(arguments);
        assert!(!output.status.success() && words(&output).contains(sentence), "{}", words(&output));
    };
    let capture = captured(&folder);
    let input = ["--pcap", &capture];
    refused(&[&build[..], &["--handlers", "sum"]].concat(), "no handler set `sum`; it has: echo, swap, total");
    refused(&[&["run", &image][..], &input].concat(), "handler sets echo, swap, total; choose one by its name");
    refused(&[&["run", "--handlers", "sum", &image][..], &input].concat(), "no handler set `sum`");
    // Without --portals the compiler knows none of the types.
    refused(&["build", source.to_str().unwrap(), "-o", &image], "are built with --portals");
    refused(&["build", "--portals", "--pspin", source.to_str().unwrap()], "cannot be used with");
    // A set beside functions without a prefix.
    let both = "__handler int header_handler(const ptl_header_t h, void *state);\n\
        __handler int header_handler(const ptl_header_t h, void *state) { return DROP; }\n\
        __handler int a_header_handler(const ptl_header_t h, void *state) { return DROP; }\n";
    let both = folder.write("both.c", both);
    assert!(spindle(&["build", "--portals", &both, "-o", &image]).status.success());
    refused(&["build", "--portals", &both, "-o", &image, "--handlers", "a"], "give it a prefix");
    let long = "__handler int f(const ptl_header_t h, void *state) { return DROP; }\n\
        connect(a_name_that_is_longer_than_31_characters, , &f, NULL, NULL);\n";
    refused(&["build", "--portals", &folder.write("long.c", long), "-o", &image], "has at most 31 characters");
    let wrong =
        "__handler int f(const ptl_header_t h, void *state) { return DROP; }\nconnect(peer, , NULL, &f, NULL);\n";
    refused(&["build", "--portals", &folder.write("wrong.c", wrong), "-o", &image], "incompatible");
}

/// The SDK's own interface in C++, with what C++ has and C has not, and what needs a library.
#[test]
fn a_handler_may_be_cpp() {
    let folder = Folder::new();
    let image = folder.path("h.elf");
    let text = "#include \"spin_printf.h\"\n#include \"spin_update.h\"\n#include \"spin_buffers.h\"\n\
        template <typename T> struct Sum { T value; void operator+=(T other) { value = value + other; } };\n\
        static Sum<uint32_t> seen;\n\
        extern \"C\" int header_handler(const spin_header_t *h, void *state) {\n\
            seen += h->packet_len;\n\
            auto print = [&](const char *format) { printf(format, seen.value); };\n\
            print(\"%u\\n\");\n\
            return SPIN_DROP;\n}\n";
    for family in ["gcc", "clang"].into_iter().take(compilers().len()) {
        for name in ["handler.cpp", "handler.cc", "handler.cxx"] {
            let output = spindle(&["build", &folder.write(name, text), "-o", &image, "--cc", family]);
            assert!(output.status.success() && !words(&output).contains("warning"), "{}", words(&output));
            assert!(words(&output).contains("| header_handler"), "{}", words(&output));
        }
    }
    let output = spindle(&["run", &folder.write("handler.cpp", text), "--pcap", &captured(&folder), "--match", "udp"]);
    let lines: Vec<String> =
        words(&output).lines().filter(|line| line.starts_with("print: ")).map(String::from).collect();
    assert!(output.status.success() && lines.len() == 3, "{}", words(&output));
    assert!(lines[2].ends_with(": 360"), "{lines:?}");

    let class = "struct S { uint32_t value; S(); void operator+=(uint32_t); };\n\
        S::S() : value(spin_cycles()) {}\n\
        void S::operator+=(uint32_t other) { value = value + other; }\n\
        static S seen;";
    let global = text.replace("static Sum<uint32_t> seen;", class);
    let output = spindle(&["build", &folder.write("global.cpp", &global), "-o", &image]);
    assert!(!output.status.success() && words(&output).contains("a constructor is never called"), "{}", words(&output));
    let throws = text.replace("return SPIN_DROP;", "throw 1;");
    let output = spindle(&["build", &folder.write("throws.cpp", &throws), "-o", &image]);
    assert!(!output.status.success() && words(&output).contains("exception"), "{}", words(&output));
}

/// Three frames of 100, 120 and 140 bytes.
fn captured(folder: &Folder) -> String {
    use spindle_model::frames::{udp, Ends};
    use spindle_sim::capture::{self, Captured};
    let path = folder.path("in.pcap");
    let frames = [100, 120, 140].map(|bytes| Captured {
        time: std::time::Duration::ZERO,
        bytes: udp(&Ends::default(), 1, 2, &vec![0; bytes - 42]),
    });
    capture::write(Path::new(&path), &frames).unwrap();
    path
}
