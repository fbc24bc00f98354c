//! From Verilog text to a shared object in the cache.

use crate::cache::{Cache, Checked};
use crate::lock::Lock;
use crate::progress::Progress;
use crate::runtime::{include_flags, trace_flags, Runtime, CXX_FLAGS, FAST};
use crate::share;
use crate::shim;
use crate::source::Source;
use crate::tools::{run, Tools};
use anyhow::{bail, Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Verilator's flags. Unknowns become zeros in expressions; the start values of registers are chosen per instance. Lookup tables
/// are numbered through the whole design, which would make the functions of shared modules differ.
#[rustfmt::skip]
const VERILATOR_FLAGS: &[&str] = &[
    "--cc", "-O3", "-fno-table", "--prefix", "Vdut", "--x-assign", "0", "--x-initial", "unique", "-Wno-fatal", "-Wno-lint",
];

/// The configuration file that says which modules are shared.
const SHARE_FILE: &str = "spindle_share.vlt";

/// g++ takes far more than linear time over long functions.
const SPLIT_FLAGS: &[&str] = &["--output-split", "10000", "--output-split-cfuncs", "500"];

/// Wide data and small memories belong in a wave.
const TRACE_FLAGS: &[&str] = &["--trace", "--trace-structs", "--trace-max-width", "4096", "--trace-max-array", "64"];

/// Stands before the generated files. In most cycles most of a design rests: taking every branch for unlikely moves what is seldom
/// run out of the way of what runs each cycle, as a profile would, and large models gain an eighth. `Vdut__Syms.h` brings in every
/// other header, so that the macro meets Verilator's statements alone.
const PRELUDE: &str = "#include \"Vdut__Syms.h\"\n\
    #define if(...) if (__builtin_expect(static_cast<bool>(__VA_ARGS__), 0))\n";

/// Generated code above this size is compiled in several units, two at a time.
const UNIT_BYTES: u64 = 400_000;

/// Names of the model of a source in the cache.
pub(crate) struct Name {
    /// By text, options and recipe; the tools are not in it.
    source: String,
    /// The model's name, which also depends on the versions of the tools.
    pub model: String,
}

/// The name of the model of `source`.
///
/// It holds the versions of Verilator and of the compiler where both are installed. Where one is missing, the name is
/// that of the last build of the same source: a model that is in the cache needs no tools.
pub(crate) fn name(source: &Source, cache: &Cache) -> Result<Name> {
    let key = fingerprint(source)?;
    let named = format!("{}-{key}", source.top);
    let model = match (Tools::installed(), cache.last(&named)) {
        (false, Some(model)) => model,
        _ => {
            let tools = Tools::get()?;
            let key = source.fingerprint(&[&key, &tools.verilator_version, &tools.cxx_version]);
            format!("{}-{key}", source.top)
        }
    };
    Ok(Name { source: named, model })
}

/// The fingerprint of a source and of the recipe by which its model is built, without the versions of the tools.
pub(crate) fn fingerprint(source: &Source) -> Result<String> {
    check_names(source)?;
    let flags = [VERILATOR_FLAGS, SPLIT_FLAGS, TRACE_FLAGS, CXX_FLAGS].concat().join(" ");
    let sharing = share::configuration(source);
    Ok(source.fingerprint(&[&flags, FAST, PRELUDE, shim::SHIM, &sharing]))
}

/// The shared object of `source`, compiled now unless the cache has it.
pub(crate) fn shared_object(source: &Source, name: &Name, cache: &Cache, progress: &Progress) -> Result<Checked> {
    if let Some(object) = cache.object(&name.model) {
        return Ok(object);
    }
    let tools = Tools::get()?;
    let lock = cache.path(&format!("{}.lock", name.model));
    let _lock = Lock::wait(&lock, || progress.waits(&source.top))?;
    // The process that held the lock may have built the model.
    if let Some(object) = cache.object(&name.model) {
        return Ok(object);
    }
    cache.sweep();
    let work = cache.work()?;
    progress.begins(&source.top, cache.folder());
    let built = build(source, tools, cache, work.path(), progress);
    progress.ends();
    cache.keep(&name.model, "so", &built?)?;
    let versions = format!("Verilator {}, {}", tools.verilator_version, tools.cxx_version);
    cache.set_last(&name.source, &name.model, &versions, work.path())?;
    cache
        .object(&name.model)
        .with_context(|| format!("the model of `{}` changed while it was built; try again", source.top))
}

/// Names end up in paths and on command lines.
fn check_names(source: &Source) -> Result<()> {
    let plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-$".contains(c))
    };
    if let Some(bad) = source.files.iter().map(|f| &f.0).chain([&source.top]).find(|name| !plain(name)) {
        bail!("`{bad}` cannot name a module or file; use letters, digits, `_`, `-` and `.`, starting with a letter");
    }
    if source.files.is_empty() {
        bail!("the design `{}` has no files; give at least one Verilog text", source.top);
    }
    Ok(())
}

/// Writes the texts into `folder` and returns the arguments that name them.
pub(crate) fn write_files(source: &Source, folder: &Path) -> Result<Vec<String>> {
    for (name, text) in &source.files {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name} for Verilator"))?;
    }
    let defines = source.options.defines.iter().map(|define| format!("+define+{define}"));
    let top = ["--top-module".to_string(), source.top.clone()];
    Ok(top.into_iter().chain(defines).chain(source.files.iter().map(|f| f.0.clone())).collect())
}

fn build(source: &Source, tools: &Tools, cache: &Cache, work: &Path, progress: &Progress) -> Result<PathBuf> {
    let objects = objects(source, tools, cache, work, progress)?;
    let built = work.join("model.so");
    run(Command::new(&tools.cxx).args(["-shared", "-Wl,-Bsymbolic", "-o"]).arg(&built).args(&objects).arg("-lpthread"))
        .with_context(|| format!("cannot link the model of `{}`", source.top))?;
    Ok(built)
}

/// The objects of a model and of Verilator's runtime, compiled in the folder `work`.
pub(crate) fn objects(
    source: &Source,
    tools: &Tools,
    cache: &Cache,
    work: &Path,
    progress: &Progress,
) -> Result<Vec<PathBuf>> {
    let mut arguments = write_files(source, work)?;
    let sharing = share::configuration(source);
    if !sharing.is_empty() {
        std::fs::write(work.join(SHARE_FILE), sharing).context("cannot write the configuration for Verilator")?;
        arguments.push(SHARE_FILE.into());
    }
    let mut verilator = Command::new(&tools.verilator);
    verilator.current_dir(work).args(VERILATOR_FLAGS).args(SPLIT_FLAGS).args(["--Mdir", "generated"]).args(arguments);
    if source.options.trace {
        verilator.args(TRACE_FLAGS);
    }
    run(&mut verilator).with_context(|| format!("Verilator refuses `{}`", source.top))?;

    let generated = work.join("generated");
    let header = std::fs::read_to_string(generated.join("Vdut.h")).context("Verilator wrote no header")?;
    std::fs::write(generated.join("shim.inc"), shim::generate(&header)?)?;
    let runtime = Runtime::get(tools, cache, source.options.trace)?;

    let units = units(&generated)?;
    progress.compiles(units.len());
    let mut objects = compile_units(tools, &runtime, &generated, source.options.trace, &units, progress)
        .with_context(|| format!("cannot compile the C++ that Verilator made of `{}`", source.top))?;
    objects.extend(runtime.objects);
    Ok(objects)
}

/// One compilation: the files it includes and its optimisation.
struct Unit {
    files: Vec<String>,
    optimise: &'static str,
}

/// Groups the generated files. A small model is one unit, because each unit pays for the headers again. In a large
/// one, code that runs once (constructors, settling, names) goes unoptimised and the rest is dealt out by size.
fn units(generated: &Path) -> Result<Vec<Unit>> {
    let mut files: Vec<(u64, String)> = Vec::new();
    for entry in std::fs::read_dir(generated)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".cpp") {
            files.push((entry.metadata()?.len(), name));
        }
    }
    files.sort_by(|a, b| b.cmp(a)); // largest first; the name makes the order the same everywhere
    let total: u64 = files.iter().map(|f| f.0).sum();
    if total <= UNIT_BYTES {
        return Ok(vec![Unit { files: files.into_iter().map(|f| f.1).collect(), optimise: FAST }]);
    }
    let once = |name: &str| name.contains("Slow") || name.contains("__Syms") || name.contains("ConstPool");
    let (slow, fast): (Vec<_>, Vec<_>) = files.into_iter().partition(|f| once(&f.1));
    let mut groups: Vec<(u64, Vec<String>)> = vec![(0, Vec::new()); 2.max((total / UNIT_BYTES) as usize)];
    for (size, name) in fast {
        let group = groups.iter_mut().min_by_key(|group| group.0).expect("at least two groups");
        group.0 += size;
        group.1.push(name);
    }
    let mut units: Vec<Unit> = groups.into_iter().map(|g| Unit { files: g.1, optimise: FAST }).collect();
    units.push(Unit { files: slow.into_iter().map(|f| f.1).collect(), optimise: "-O0" });
    units.retain(|unit| !unit.files.is_empty());
    Ok(units)
}

/// Compiles `units`, at most two at a time, and returns the objects. The shim rides on the first unit.
fn compile_units(
    tools: &Tools,
    runtime: &Runtime,
    generated: &Path,
    trace: bool,
    units: &[Unit],
    progress: &Progress,
) -> Result<Vec<PathBuf>> {
    let waiting = Mutex::new(units.iter().enumerate());
    let worker = || -> Result<Vec<PathBuf>> {
        let mut objects = Vec::new();
        loop {
            let Some((index, unit)) = waiting.lock().expect("no worker panics").next() else { return Ok(objects) };
            let mut text = PRELUDE.to_string();
            text.extend(unit.files.iter().map(|file| format!("#include \"{file}\"\n")));
            if index == 0 {
                text.push_str("#undef if\n#include \"shim.inc\"\n");
            }
            let source = generated.join(format!("unit{index}.cc"));
            std::fs::write(&source, text)?;
            let object = source.with_extension("o");
            run(Command::new(&tools.cxx)
                .args(CXX_FLAGS)
                .args(trace_flags(trace))
                .args(["-include", "prefix.h"])
                .arg(format!("-I{}", runtime.folder.display()))
                .arg(format!("-I{}", generated.display()))
                .args(include_flags(tools))
                .args([unit.optimise, "-c"])
                .arg(&source)
                .arg("-o")
                .arg(&object))?;
            objects.push(object);
            progress.compiled();
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..units.len().min(2)).map(|_| scope.spawn(worker)).collect();
        let mut objects = Vec::new();
        for handle in workers {
            objects.extend(handle.join().expect("no worker panics")?);
        }
        objects.sort();
        Ok(objects)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_folders_are_refused() {
        let source = Source::new("top", vec![("../escape.sv".into(), String::new())]);
        assert!(check_names(&source).unwrap_err().to_string().contains("../escape.sv"));
    }

    #[test]
    fn large_models_are_split_and_small_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, size: usize| std::fs::write(folder.path().join(name), " ".repeat(size)).unwrap();
        write("Vdut__0.cpp", 1000);
        write("Vdut__0__Slow.cpp", 1000);
        assert_eq!(units(folder.path()).unwrap().len(), 1);
        write("Vdut__1.cpp", 300_000);
        write("Vdut__2.cpp", 300_000);
        let units = units(folder.path()).unwrap();
        assert_eq!(units.iter().map(|u| u.optimise).collect::<Vec<_>>(), [FAST, FAST, "-O0"]);
        assert_eq!(units.iter().map(|u| u.files.len()).sum::<usize>(), 4);
    }
}
