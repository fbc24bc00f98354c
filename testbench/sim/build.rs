//! With the feature `linked`: the models of the default configuration, compiled into static libraries that the crate links.

#[cfg(not(feature = "linked"))]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}

#[cfg(feature = "linked")]
fn main() {
    linked::build();
}

#[cfg(feature = "linked")]
mod linked {
    use spindle_contract::params::Config;
    use spindle_harness::linked::{archive, standard_library, Archive};
    use spindle_harness::Source;
    use std::fmt::Write;
    use std::path::{Path, PathBuf};

    /// Configuration, and whether the model can record waves.
    const MODELS: &[(&str, Config, bool)] =
        &[("spindle_sim_model", Config::SIM, false), ("spindle_sim_waves_model", Config::SIM, true)];

    /// Emits, verilates and compiles each model, and writes `linked.rs`, which declares them.
    pub fn build() {
        println!("cargo:rerun-if-changed=build.rs");
        for variable in ["VERILATOR", "CXX"] {
            println!("cargo:rerun-if-env-changed={variable}");
        }
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names OUT_DIR"));
        // Build scripts may run where no home folder is set.
        if std::env::var_os("HOME").is_none() && std::env::var_os("SPINDLE_CACHE").is_none() {
            std::env::set_var("SPINDLE_CACHE", out.join("verilated"));
        }
        println!("cargo:rustc-link-search=native={}", out.display());
        let models: Vec<Archive> = MODELS.iter().map(|model| compile(model, &out)).collect();
        for model in &models {
            println!("cargo:rustc-link-lib=static={}", model.name);
        }
        let folder = standard_library().unwrap_or_else(|error| panic!("{error:#}"));
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static=stdc++");
        println!("cargo:rustc-link-lib=m");
        std::fs::write(out.join("linked.rs"), declarations(&models)).expect("OUT_DIR can be written");
    }

    fn compile((name, config, trace): &(&str, Config, bool), out: &Path) -> Archive {
        let design = spindle_nic::emit(config).unwrap_or_else(|error| panic!("cannot emit the NIC: {error}"));
        let files = design.modules.into_iter().map(|module| (format!("{}.sv", module.name), module.text)).collect();
        let source = Source::new(design.top, files).with_trace(*trace);
        archive(&source, name, out).unwrap_or_else(|error| panic!("cannot compile {name}: {error:#}"))
    }

    fn declarations(models: &[Archive]) -> String {
        let (mut symbols, mut table) = (String::new(), String::new());
        for (index, model) in models.iter().enumerate() {
            let Archive { symbol, fingerprint, verilator, .. } = model;
            let _ = writeln!(symbols, "    #[link_name = \"{symbol}\"]\n    static FACE{index}: Face;");
            let _ = writeln!(
                table,
                "    // SAFETY: the library's table is constant.\n    Linked {{ fingerprint: {fingerprint:?}, verilator: \
                 {verilator:?}, face: unsafe {{ &FACE{index} }} }},"
            );
        }
        format!("extern \"C\" {{\n{symbols}}}\n\nstatic MODELS: &[Linked] = &[\n{table}];\n")
    }
}
