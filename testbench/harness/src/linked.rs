//! Models that are linked into the program: made by a build script, used without a cache, without Verilator and without a compiler.
//!
//! A build script calls [`archive`], which compiles a model into a static library, and names the library to cargo. The program
//! hands the model's [`Linked`] to [`link`]; from then on [`Model::build`](crate::Model::build) of the same source takes that model.

use crate::cache::Cache;
use crate::compile;
use crate::ffi::Face;
use crate::lock::Lock;
use crate::progress::Progress;
use crate::shim::{FACE, FACE_SYMBOL};
use crate::source::Source;
use crate::tools::{run, Tools};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A model that is linked into the program.
pub struct Linked {
    /// The fingerprint of its source ([`Archive::fingerprint`]).
    pub fingerprint: &'static str,
    /// Version of the Verilator that made it.
    pub verilator: &'static str,
    /// The model's table of functions, the symbol [`Archive::symbol`].
    pub face: &'static Face,
}

static LINKED: Mutex<&[Linked]> = Mutex::new(&[]);

/// Makes linked models known to [`Model::build`](crate::Model::build), in place of those of an earlier call.
pub fn link(models: &'static [Linked]) {
    *LINKED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = models;
}

/// The linked models.
pub(crate) fn linked() -> &'static [Linked] {
    *LINKED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The linked model of a source.
pub(crate) fn find(fingerprint: &str) -> Option<&'static Linked> {
    linked().iter().find(|model| model.fingerprint == fingerprint)
}

/// A static library with one model.
pub struct Archive {
    /// Name of the library for the linker: the file is `lib<name>.a`.
    pub name: String,
    /// The symbol of its [`Face`], the only global one.
    pub symbol: String,
    /// The fingerprint of its source.
    pub fingerprint: String,
    /// Version of the Verilator that made it.
    pub verilator: String,
}

/// Compiles `source` into the static library `lib<name>.a` in `folder`, or copies the library from the cache. For build
/// scripts.
///
/// # Errors
/// As of [`Model::build`](crate::Model::build), or binutils are missing.
pub fn archive(source: &Source, name: &str, folder: &Path) -> Result<Archive> {
    let tools = Tools::get()?;
    let cache = Cache::open()?;
    let fingerprint = compile::fingerprint(source)?;
    let symbol = format!("{name}_face");
    let key = source.fingerprint(&[&fingerprint, FACE, name, &tools.verilator_version, &tools.cxx_version]);
    let model = format!("{}-{key}", source.top);
    let lock = cache.path(&format!("{model}.lock"));
    let _lock = Lock::wait(&lock, || ())?;
    let mut kept = cache.checked(&model, "a");
    if kept.is_none() {
        let work = cache.work()?;
        let built = compile::objects(source, tools, &cache, work.path(), &Progress::silent())?;
        let library = library(tools, &built, &symbol, work.path())?;
        cache.keep(&model, "a", &library)?;
        kept = cache.checked(&model, "a");
    }
    let mut kept =
        kept.with_context(|| format!("the library of `{}` changed while it was built; try again", source.top))?;
    let path = folder.join(format!("lib{name}.a"));
    let copied = File::create(&path)
        .and_then(|mut file| kept.file.rewind().and_then(|()| std::io::copy(&mut kept.file, &mut file)));
    copied.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Archive { name: name.into(), symbol, fingerprint, verilator: tools.verilator_version.clone() })
}

/// A static library of `objects` in `work`, in which `symbol` alone is global.
fn library(tools: &Tools, objects: &[PathBuf], symbol: &str, work: &Path) -> Result<PathBuf> {
    let (whole, alone) = (work.join("whole.o"), work.join("alone.o"));
    // One object whose symbols are its own: two models and their runtimes may meet in a program. Groups of functions that
    // several objects share would otherwise be dropped from all models but one.
    run(Command::new(&tools.cxx)
        .args(["-r", "-nostdlib", "-Wl,--force-group-allocation", "-o"])
        .arg(&whole)
        .args(objects))
    .context("cannot join the objects of the model")?;
    let rename = format!("{FACE_SYMBOL}={symbol}");
    let arguments = ["--redefine-sym", &rename, "--keep-global-symbol", symbol];
    run(Command::new("objcopy").args(arguments).arg(&whole).arg(&alone))
        .context("cannot make the symbols of the model local")?;
    let library = work.join("model.a");
    run(Command::new("ar").arg("crs").arg(&library).arg(&alone)).context("cannot write the library of the model")?;
    Ok(library)
}

/// The folder of the C++ compiler's static standard library, which a linked model needs.
///
/// # Errors
/// The compiler is missing, or has no such library.
pub fn standard_library() -> Result<PathBuf> {
    let output = run(Command::new(&Tools::get()?.cxx).arg("-print-file-name=libstdc++.a"))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let folder = path.parent().filter(|_| path.is_absolute());
    Ok(folder.context("the C++ compiler has no static standard library (libstdc++.a)")?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    fn counter(top: &str, step: u32) -> Source {
        let text = format!(
            "module {top}(input logic clock, input logic reset, output logic [15:0] q);\n\
             always_ff @(posedge clock) q <= reset ? 16'd0 : q + 16'd{step};\nendmodule\n"
        );
        Source::from_text(top, text)
    }

    /// Two libraries, one of them with waves, in one image whose only other library is C's: as a program would link them.
    #[test]
    fn models_that_are_linked_need_no_cache() {
        let folder = tempfile::tempdir().unwrap();
        let sources =
            [("by_one", counter("linked_by_one", 1)), ("by_three", counter("linked_by_three", 3).with_trace(true))];
        let archives: Vec<Archive> =
            sources.iter().map(|(name, source)| archive(source, name, folder.path()).unwrap()).collect();
        // The symbols are hidden outside of a program, so a table names them.
        let (table, image) = (folder.path().join("table.c"), folder.path().join("image.so"));
        let symbols: Vec<&str> = archives.iter().map(|archive| archive.symbol.as_str()).collect();
        let text = format!(
            "extern const char {}[];\nconst void *const faces[] = {{{}}};\n",
            symbols.join("[], "),
            symbols.join(", ")
        );
        std::fs::write(&table, text).unwrap();
        let mut join = Command::new(&Tools::get().unwrap().cxx);
        join.args(["-shared", "-fPIC", "-x", "c"]).arg(&table).args(["-x", "none", "-o"]).arg(&image);
        join.arg(format!("-L{}", folder.path().display()))
            .args(archives.iter().map(|archive| format!("-l{}", archive.name)));
        run(join.arg("-static-libstdc++")).unwrap();
        // SAFETY: the image holds models that this crate compiled, and is never unloaded.
        let image = Box::leak(Box::new(unsafe { libloading::Library::new(&image) }.unwrap()));
        // SAFETY: the table has an address for each model, that of its constant table of functions.
        let faces: libloading::Symbol<'static, *const [&'static Face; 2]> = unsafe { image.get(b"faces\0") }.unwrap();
        // SAFETY: as above.
        let faces = unsafe { **faces };
        let models: Vec<Linked> = archives
            .into_iter()
            .zip(faces)
            .map(|(archive, face)| Linked {
                fingerprint: archive.fingerprint.leak(),
                verilator: archive.verilator.leak(),
                face,
            })
            .collect();
        link(models.leak());
        for ((_, source), step) in sources.iter().zip([1, 3]) {
            let library = Model::build(source).unwrap();
            assert_eq!(library.path(), std::env::current_exe().unwrap(), "the model was loaded from the cache");
            let mut model = library.instance();
            let q = model.port("q").unwrap();
            model.reset(2);
            model.ticks(100);
            assert_eq!(model.get(q), 100 * step);
        }
        // Another source is no linked one.
        let other = Model::build(&counter("linked_by_one", 2)).unwrap();
        assert_ne!(other.path(), std::env::current_exe().unwrap());
    }
}
