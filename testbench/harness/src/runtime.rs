//! Verilator's runtime, compiled once per version and set of flags, and a precompiled header for the models.

use crate::cache::{touch, Cache};
use crate::lock::Lock;
use crate::tools::{run, Tools};
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::process::Command;

/// Flags common to the runtime and every model. GNU-unique symbols would be shared between models of one process.
pub(crate) const CXX_FLAGS: &[&str] = &[
    "-std=gnu++20",
    "-fPIC",
    "-fno-gnu-unique",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-w",
    "-DVERILATOR=1",
    "-DVL_USER_FATAL",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TRACE_FST=0",
];

/// Optimisation of code that runs every cycle; -O3 is no faster.
pub(crate) const FAST: &str = "-O2";

/// The preprocessor's view of the two variants.
pub(crate) fn trace_flags(trace: bool) -> [&'static str; 2] {
    if trace {
        ["-DVM_TRACE=1", "-DVM_TRACE_VCD=1"]
    } else {
        ["-DVM_TRACE=0", "-DVM_TRACE_VCD=0"]
    }
}

/// Include folders of the runtime.
pub(crate) fn include_flags(tools: &Tools) -> [String; 2] {
    [format!("-I{}", tools.include.display()), format!("-I{}", tools.include.join("vltstd").display())]
}

/// The compiled runtime of one variant.
pub(crate) struct Runtime {
    pub objects: Vec<PathBuf>,
    /// Folder that holds `prefix.h` and its precompiled form.
    pub folder: PathBuf,
}

/// A header that every generated file includes anyway, so that it can be precompiled.
fn prefix_header(trace: bool) -> &'static str {
    if trace {
        "#include \"verilated.h\"\n#include \"verilated_vcd_c.h\"\n"
    } else {
        "#include \"verilated.h\"\n"
    }
}

impl Runtime {
    /// Compiles the runtime unless the cache has it.
    pub fn get(tools: &Tools, cache: &Cache, trace: bool) -> Result<Runtime> {
        let mut units = vec!["verilated", "verilated_threads"];
        if trace {
            units.push("verilated_vcd_c");
        }
        let mut hash = Sha256::new();
        for part in [tools.verilator_version.as_str(), &tools.cxx_version, &tools.include.to_string_lossy(), FAST]
            .iter()
            .chain(CXX_FLAGS)
            .chain(&trace_flags(trace))
        {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let name: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let folder = cache.path(&format!("runtime-{name}"));
        let runtime = Runtime { objects: units.iter().map(|u| folder.join(format!("{u}.o"))).collect(), folder };
        if !runtime.folder.exists() {
            runtime.compile(tools, cache, trace, &units, &name)?;
        }
        touch(&runtime.folder);
        Ok(runtime)
    }

    fn compile(&self, tools: &Tools, cache: &Cache, trace: bool, units: &[&str], name: &str) -> Result<()> {
        let _lock = Lock::wait(&cache.path(&format!("runtime-{name}.lock")), || ())?;
        if self.folder.exists() {
            return Ok(()); // another process was faster
        }
        let work = cache.work()?;
        let compiler = || {
            let mut command = Command::new(&tools.cxx);
            command.args(CXX_FLAGS).args(trace_flags(trace)).args(include_flags(tools)).arg(FAST);
            command
        };
        for unit in units {
            let source = tools.include.join(format!("{unit}.cpp"));
            run(compiler().arg("-c").arg(source).arg("-o").arg(work.path().join(format!("{unit}.o"))))
                .context("cannot compile Verilator's runtime")?;
        }
        let header = work.path().join("prefix.h");
        std::fs::write(&header, prefix_header(trace))?;
        run(compiler().args(["-x", "c++-header"]).arg(&header).arg("-o").arg(work.path().join("prefix.h.gch")))
            .context("cannot precompile Verilator's header")?;
        std::fs::rename(work.path(), &self.folder).context("cannot move Verilator's runtime into the model cache")?;
        Ok(())
    }
}
