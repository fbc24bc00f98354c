//! Completions and man pages.

#[cfg(feature = "sim")]
use std::path::Path;
use std::process::Command;

fn spindle(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_spindle")).args(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = spindle(&["completions", shell]);
        for command in ["load", "unload", "stats", "top", "trace", "events", "reset", "put", "get", "window", "--card"]
        {
            assert!(text.contains(command.trim_start_matches("--")), "{shell}: {command}");
        }
    }
}

#[test]
fn bash_takes_its_completions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spindle");
    std::fs::write(&path, spindle(&["completions", "bash"])).unwrap();
    let checked = Command::new("bash").arg("-n").arg(&path).output().expect("bash is installed");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

/// The pages in docs/generated/man are those of this program; `spindle man docs/generated/man` writes them anew.
#[cfg(feature = "sim")]
#[test]
fn man_pages_are_those_of_the_docs() {
    let folder = tempfile::tempdir().unwrap();
    spindle(&["man", folder.path().to_str().unwrap()]);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/man");
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        // `spindled.8` is the daemon's.
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".1")).collect();
        names.sort();
        names
    };
    let written = names(folder.path());
    assert_eq!(written, names(&docs), "write the pages anew: spindle man docs/generated/man");
    for name in written {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(&name)).unwrap();
        let page = read(folder.path());
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        assert!(page == read(&docs), "{name} is not that of the program: spindle man docs/generated/man");
    }
}
