//! The model cache as a program meets it, in processes of their own.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle_harness::{Model, Source};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds a model and uses it: what each process below does. Returns the folder that has it.
fn use_a_model() -> PathBuf {
    let text = "module cached(input logic [3:0] a, output logic [3:0] q);\n  assign q = a + 4'd3;\nendmodule\n";
    let library = Model::build(&Source::from_text("cached", text)).unwrap_or_else(|error| panic!("{error:#}"));
    let mut model = library.instance();
    let (a, q) = (model.port("a").unwrap(), model.port("q").unwrap());
    model.set(a, 4);
    model.eval();
    assert_eq!(model.get(q), 7);
    library.path().parent().expect("a model is in a folder").to_path_buf()
}

/// An empty cache, but for Verilator's runtime, whose compilation takes most of the time.
fn empty_cache() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(use_a_model()).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("runtime-") && entry.path().is_dir() {
            let to = folder.path().join(entry.file_name());
            std::fs::create_dir(&to).unwrap();
            for file in std::fs::read_dir(entry.path()).unwrap().map(Result::unwrap) {
                std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        }
    }
    folder
}

#[test]
fn a_model_is_built_and_used() {
    use_a_model();
}

/// Runs the test above in another process, with these variables alone.
fn process(variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["a_model_is_built_and_used", "--exact", "--nocapture"]).env_clear().envs(variables.iter().copied());
    command.output().unwrap()
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs it with a cache in `folder`.
fn with_cache(folder: &Path, path: &str) -> Output {
    process(&[("SPINDLE_CACHE", folder.to_str().unwrap()), ("PATH", path)])
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}

/// The only file of the cache that ends so.
fn file(folder: &Path, end: &str) -> PathBuf {
    let found = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().path();
    let mut all = std::fs::read_dir(folder).unwrap().map(found).filter(|path| path.to_str().unwrap().ends_with(end));
    let path = all.next().unwrap_or_else(|| panic!("the cache holds no {end}"));
    assert!(all.next().is_none(), "the cache holds several {end}");
    path
}

#[test]
fn a_cached_model_needs_no_tools() {
    let folder = empty_cache();
    let without = with_cache(folder.path(), "/nowhere");
    assert!(!without.status.success() && words(&without).contains("is not installed"), "{}", words(&without));
    let built = with_cache(folder.path(), &path());
    assert!(built.status.success(), "{}", words(&built));
    let stamp = |file: &Path| std::fs::read(file).unwrap();
    let object = stamp(&file(folder.path(), ".so"));
    let without = with_cache(folder.path(), "/nowhere");
    assert!(without.status.success(), "{}", words(&without));
    assert_eq!(stamp(&file(folder.path(), ".so")), object);
}

#[test]
fn a_damaged_model_is_built_again() {
    let folder = empty_cache();
    assert!(with_cache(folder.path(), &path()).status.success());
    let object = file(folder.path(), ".so");
    let bytes = std::fs::read(&object).unwrap();
    let mut foreign = bytes.clone();
    let middle = foreign.len() / 2;
    foreign[middle] ^= 1;
    // A truncated object is a bus error when it is loaded.
    for damaged in [&bytes[..bytes.len() / 3], &foreign] {
        std::fs::write(&object, damaged).unwrap();
        let again = with_cache(folder.path(), &path());
        assert!(again.status.success(), "{:?}: {}", again.status, words(&again));
        assert!(std::fs::read(&object).unwrap().len() == bytes.len(), "it was not built again");
    }
    // Without the tools it cannot be, and is not loaded.
    std::fs::write(&object, &bytes[..bytes.len() / 3]).unwrap();
    let without = with_cache(folder.path(), "/nowhere");
    assert_eq!(without.status.code(), Some(101), "{}", words(&without));
    assert!(words(&without).contains("is not installed"), "{}", words(&without));
}

#[test]
fn nothing_but_models_is_left() {
    let folder = empty_cache();
    let dead = folder.path().join("build-1-dead");
    std::fs::create_dir(&dead).unwrap();
    std::fs::write(folder.path().join("build-1-dead.lock"), "").unwrap();
    assert!(with_cache(folder.path(), &path()).status.success());
    assert!(!dead.exists());
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let model = name.starts_with("cached-") && [".so", ".sha256", ".last"].iter().any(|end| name.ends_with(end));
        assert!(model || name.starts_with("runtime-") && !name.ends_with(".lock"), "{name}");
    }
}

#[test]
fn without_a_home_the_user_is_asked_for_a_folder() {
    let output = process(&[("PATH", &path()), ("TMPDIR", "/tmp")]);
    let words = words(&output);
    assert!(!output.status.success() && words.contains("set SPINDLE_CACHE to a folder of your own"), "{words}");
}

#[test]
fn the_usual_cache_is_in_the_home_folder() {
    let home = tempfile::tempdir().unwrap();
    let built = process(&[("PATH", &path()), ("HOME", home.path().to_str().unwrap())]);
    assert!(built.status.success(), "{}", words(&built));
    file(&home.path().join(".cache/spindle/verilated"), ".so");
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let output = with_cache(folder.path(), &path());
    assert!(!output.status.success() && words(&output).contains("other users may write"), "{}", words(&output));
}
