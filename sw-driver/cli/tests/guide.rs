//! The first page and the guide of a handler's programmer (docs/first-reply.md, docs/handlers.md): their sources compile, and all of
//! their commands run.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use std::path::Path;
use std::process::Command;

/// Blocks of the page in this language, each with the line before it.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<(&'a str, &'a str)> {
    let start = format!("\n```{language}\n");
    let found = page.match_indices(&start).map(|(at, _)| {
        let (before, body) = (&page[..at], &page[at + start.len()..]);
        (before.rsplit('\n').next().unwrap(), body.split_once("\n```").unwrap().0)
    });
    found.collect()
}

/// Runs the commands of a page in a folder that has its sources: the folder, and what was printed.
fn run(page: &str) -> (tempfile::TempDir, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let page = std::fs::read_to_string(root.join(page)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // The commands are started in a checkout, and write there.
    for name in ["testbench", "handlers", "sw-driver"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
    }
    for (name, source) in blocks(&page, "c") {
        std::fs::write(folder.path().join(name.trim_matches('`')), format!("{source}\n")).unwrap();
    }
    let mut printed = String::new();
    for command in blocks(&page, "sh").iter().flat_map(|(_, lines)| lines.lines()) {
        // Rules stand in quotes, without blanks.
        let mut words = command.split_whitespace().map(|word| word.trim_matches('\''));
        assert_eq!(words.next(), Some("spindle"), "{command}");
        let output =
            Command::new(env!("CARGO_BIN_EXE_spindle")).args(words).current_dir(folder.path()).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success() && !text.contains("warning"), "{command}\n{text}");
        printed += &text;
    }
    (folder, printed)
}

#[test]
fn every_command_of_the_first_page_runs() {
    let (folder, printed) = run("docs/first-reply.md");
    assert!(printed.contains("variable: answered = 66"), "{printed}");
    assert_eq!(spindle_sim::capture::read(&folder.path().join("answers.pcap")).unwrap().len(), 66);
    assert!(folder.path().join("fates.csv").exists() && folder.path().join("stamp.trace").exists());
}

#[test]
fn every_command_of_the_guide_runs() {
    let (folder, printed) = run("docs/handlers.md");
    assert!(printed.contains("packet 0 from port") && printed.contains("packet 3 from port"), "{printed}");
    let answers = spindle_sim::capture::read(&folder.path().join("answers.pcap")).unwrap();
    assert!(answers.len() > 10 && folder.path().join("third.trace").exists(), "{}", answers.len());
}
