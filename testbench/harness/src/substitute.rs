//! The hooks of `cargo xtask mutants`: lists of the designs that tests load, and a mutated block in the place of the block.
//!
//! Both are off unless the environment names a folder, so that one test executable serves all mutants.
//!
//! * `SPINDLE_MODELS=<folder>`: each design that a test loads is written to `<folder>/<top>-<hash>`, and a line of
//!   `<folder>/loads` names the test and that folder.
//! * `SPINDLE_MUTANTS=<folder>`: for each block, `<folder>/<module>/own` holds its modules as they were emitted, one a file,
//!   and `<folder>/<module>/<module>.sv` the module that stands for all of them, with every mutant in it. A design with
//!   the same modules gets the mutated one. The mutant that acts is chosen by `SPINDLE_MUTANT`, which the mutated
//!   module itself reads, so that its ports are those of the block and a larger design needs no other change. A line of
//!   `<folder>/used` names each test that has loaded such a design, and the block.

use crate::source::Source;
use anyhow::{Context, Result};
use spindle_testing::test_name;
use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

const MODELS: &str = "SPINDLE_MODELS";
const MUTANTS: &str = "SPINDLE_MUTANTS";

/// The design to build for `source`, after it was listed.
pub(crate) fn design(source: &Source) -> Result<Cow<'_, Source>> {
    if let Some(folder) = folder(MODELS) {
        list(source, &folder).with_context(|| format!("cannot list a design in {MODELS}={}", folder.display()))?;
    }
    let Some(folder) = folder(MUTANTS) else { return Ok(Cow::Borrowed(source)) };
    mutated(source, &folder).with_context(|| format!("cannot read the mutants in {MUTANTS}={}", folder.display()))
}

/// Whether mutants run: a failure is what they are for, and needs no wave.
pub(crate) fn mutants_run() -> bool {
    folder(MUTANTS).is_some()
}

fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Writes the design's files, their order in `filelist.f` and its top in `top.txt`, and names it beside the test.
fn list(source: &Source, folder: &Path) -> Result<()> {
    let name = format!("{}-{}", source.top, source.fingerprint(&[]));
    let place = folder.join(&name);
    if !place.exists() {
        // Never half a design, even if two tests meet.
        let fresh = folder.join(format!("{name}.{}.{:08x}", std::process::id(), rand::random::<u32>()));
        std::fs::create_dir_all(&fresh)?;
        for (file, text) in &source.files {
            std::fs::write(fresh.join(file), text)?;
        }
        let files: String = source.files.iter().map(|(file, _)| format!("{file}\n")).collect();
        std::fs::write(fresh.join("filelist.f"), files)?;
        std::fs::write(fresh.join("top.txt"), format!("{}\n", source.top))?;
        if std::fs::rename(&fresh, &place).is_err() {
            std::fs::remove_dir_all(&fresh)?;
        }
    }
    append(&folder.join("loads"), &format!("{}\t{name}", test_name()))
}

/// `source` with each mutated module whose block it has as it was.
fn mutated<'a>(source: &'a Source, folder: &Path) -> Result<Cow<'a, Source>> {
    let mut design = Cow::Borrowed(source);
    let mut blocks = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    blocks.retain(|path| path.join("own").is_dir());
    blocks.sort();
    for block in blocks {
        let module = block.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if has(source, &block.join("own"))? {
            let mutants = std::fs::read_to_string(block.join(format!("{module}.sv")))?;
            let file = format!("{module}.sv");
            let found = design.to_mut().files.iter_mut().find(|(name, _)| *name == file);
            found.with_context(|| format!("{file} is no module of the block"))?.1 = mutants;
            append(&folder.join("used"), &format!("{}\t{module}", test_name()))?;
        }
    }
    Ok(design)
}

/// Whether `source` has every module of the folder `own`.
fn has(source: &Source, own: &Path) -> Result<bool> {
    for entry in std::fs::read_dir(own)? {
        let entry = entry?;
        let (name, text) = (entry.file_name(), std::fs::read_to_string(entry.path())?);
        let same = |(file, other): &(String, String)| name == file.as_str() && statements(other) == statements(&text);
        if !source.files.iter().any(same) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A module without the comment at its head, which has a line number, and with one name for the design's package.
fn statements(text: &str) -> String {
    let body = text.lines().filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut out = String::new();
    let mut rest = body.as_str();
    while let Some(at) = rest.find("_pkg::") {
        let start = rest[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |before| before + 1);
        out.push_str(&rest[..start]);
        out.push_str("pkg::");
        rest = &rest[at + "_pkg::".len()..];
    }
    out + rest
}

/// One write of one line: tests run side by side.
fn append(path: &Path, line: &str) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: &str =
        "// leaf (leaf.rs:3)\nmodule leaf(input a_pkg::t x, output logic y);\nassign y = x.b;\nendmodule\n";

    fn larger(leaf: &str) -> Source {
        let leaf = leaf.replace("leaf.rs:3", "leaf.rs:5").replace("a_pkg::", "larger_pkg::");
        let top = "module larger(input logic z); leaf unit(.x(z), .y()); endmodule\n";
        Source::new("larger", vec![("leaf.sv".into(), leaf), ("larger.sv".into(), top.into())])
    }

    fn mutants() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("leaf/own")).unwrap();
        std::fs::write(folder.path().join("leaf/own/leaf.sv"), LEAF).unwrap();
        std::fs::write(folder.path().join("leaf/leaf.sv"), "the mutants").unwrap();
        folder
    }

    #[test]
    fn a_larger_design_with_the_same_module_gets_the_mutants() {
        let (folder, source) = (mutants(), larger(LEAF));
        let design = mutated(&source, folder.path()).unwrap();
        assert_eq!((design.files[0].1.as_str(), &design.files[1]), ("the mutants", &source.files[1]));
        let used = std::fs::read_to_string(folder.path().join("used")).unwrap();
        assert_eq!(used, format!("{}\tleaf\n", test_name()));
    }

    #[test]
    fn a_module_that_differs_stays_as_it_is() {
        let folder = mutants();
        for source in [larger(&LEAF.replace("x.b", "x.c")), Source::from_text("other", "module other; endmodule")] {
            assert_eq!(*mutated(&source, folder.path()).unwrap(), source);
        }
        assert!(!folder.path().join("used").exists());
    }

    #[test]
    fn a_design_is_listed_once_and_named_by_every_test() {
        let folder = tempfile::tempdir().unwrap();
        (0..2).for_each(|_| list(&larger(LEAF), folder.path()).unwrap());
        let loads = std::fs::read_to_string(folder.path().join("loads")).unwrap();
        let (test, design) = loads.lines().next().unwrap().split_once('\t').unwrap();
        assert_eq!((loads.lines().count(), test), (2, test_name().as_str()));
        let read = |file: &str| std::fs::read_to_string(folder.path().join(design).join(file)).unwrap();
        assert_eq!((read("top.txt").as_str(), read("filelist.f").as_str()), ("larger\n", "leaf.sv\nlarger.sv\n"));
        assert!(read("leaf.sv").contains("larger_pkg::t"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
