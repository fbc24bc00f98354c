//! Models that are linked into the program: made by a build script, used without a cache, without Verilator and without a compiler.
//!
//! A build script calls [`archive`], which compiles a model into a static library, and names the library to cargo. The program
//! hands the model's [`Linked`] to [`link`]; from then on [`Model::build`](crate::Model::build) of the same source takes that model.

use crate::cache::Cache;
use crate::compile;
use crate::ffi::Face;
use crate::progress::Progress;
use crate::source::Source;
use crate::tools::{run, Tools};
use anyhow::{Context, Result};
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

/// Compiles `source` into the static library `lib<name>.a` in `folder`. For build scripts.
///
/// # Errors
/// As of [`Model::build`](crate::Model::build), or binutils are missing.
pub fn archive(source: &Source, name: &str, folder: &Path) -> Result<Archive> {
    let tools = Tools::get()?;
    let cache = Cache::open()?;
    let work = cache.work()?;
    let fingerprint = compile::fingerprint(source)?;
    let built = compile::objects(source, tools, &cache, work.path(), &Progress::silent())?;
    let symbol = format!("{name}_face");
    let (object, alone) = (work.path().join("whole.o"), work.path().join("alone.o"));
    // One object whose symbols are its own: two models and their runtimes may meet in a program. Groups of functions that
    // several objects share would otherwise be dropped from all models but one.
    run(Command::new(&tools.cxx)
        .args(["-r", "-nostdlib", "-Wl,--force-group-allocation", "-o"])
        .arg(&object)
        .args(&built))
    .context("cannot join the objects of the model")?;
    let rename = format!("{}={symbol}", crate::shim::FACE_SYMBOL);
    run(Command::new("objcopy")
        .args(["--redefine-sym", &rename, "--keep-global-symbol", &symbol])
        .arg(&object)
        .arg(&alone))
    .context("cannot make the symbols of the model local")?;
    let library: PathBuf = folder.join(format!("lib{name}.a"));
    let _ = std::fs::remove_file(&library);
    run(Command::new("ar").arg("crs").arg(&library).arg(&alone)).context("cannot write the library of the model")?;
    Ok(Archive { name: name.into(), symbol, fingerprint, verilator: tools.verilator_version.clone() })
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
