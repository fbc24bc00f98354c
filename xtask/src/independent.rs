//! `independent`: driver, command line, C library and SDK build in a tree without test bench, engines and hardware language.
//!
//! The command checks the graph of crates against [`CRATES`], copies the tree without [`ABSENT`], takes the absent crates out
//! of the manifests, and builds the rest there. Copy and build stay in `target/independent`, so a second run is quick.

use crate::process::{cargo_command, quiet, target_folder, visible};
use crate::tree::{self, Copied};
use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use toml::{Table, Value as Toml};

/// Folders that the copy lacks.
const ABSENT: &[&str] = &[
    "testbench",
    "packet-engine",
    "hpu-core",
    "rvma-lut",
    "rtl/verilog",
    "rtl/blocks",
    "rtl/nic",
    "boards",
    "sw-driver/rvma-sim",
    "use-cases",
    "xtask",
];

/// The crates that are built in the copy.
const BUILT: &[&str] = &["spindle", "spindled", "spindle-cli", "spindle-rvma", "spindle-sdk"];

/// A crate, the crates of the project that it may use, and those that only its feature `sim` may use.
type Uses = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Every crate of the project.
#[rustfmt::skip]
const CRATES: &[Uses] = &[
    ("spindle-contract-macros", &[], &[]),
    ("spindle-contract", &["spindle-contract-macros"], &[]),
    ("spindle-hdl-macros", &[], &[]),
    ("spindle-verilog", &["spindle-hdl-macros"], &[]),
    ("spindle-blocks", RTL, &[]),
    ("packet-engine", ENGINE, &[]),
    ("hpu-core", ENGINE, &[]),
    ("rvma-lut", ENGINE, &[]),
    ("spindle-nic", &["spindle-contract", "spindle-verilog", "spindle-blocks", "packet-engine", "hpu-core", "rvma-lut"], &[]),
    ("spindle-boards", &["spindle-contract", "spindle-verilog", "spindle-blocks", "spindle-nic", "spindle-harness", "spindle-proof"], &[]),
    ("spindle-shell-bench", &["spindle", "spindle-boards", "spindle-contract", "spindle-harness", "spindle-model",
        "spindle-sdk", "spindle-sim", "spindle-verilog"], &[]),
    ("spindle", &["spindle-contract"], &[]),
    ("spindle-rvma", DRIVER, &["spindle-rvma-sim", "spindle-sim"]),
    ("spindle-python", &["spindle", "spindle-contract", "spindle-rvma"], &[]),
    ("spindle-sockets", &["spindle", "spindle-contract", "spindle-rvma"], &[]),
    ("spindle-rvma-sim", &["spindle", "spindle-sim"], &[]),
    ("spindle-sdk", DRIVER, &[]),
    ("spindled", DRIVER, &[]),
    ("spindle-cli", &["spindle", "spindle-contract", "spindle-sdk"],
        &["spindle-boards", "spindle-harness", "spindle-model", "spindle-nic", "spindle-sim"]),
    ("spindle-model", &["spindle-contract"], &[]),
    ("spindle-testing", &["spindle-contract"], &[]),
    ("spindle-harness", &["spindle-verilog", "spindle-testing"], &[]),
    ("spindle-fuzz", &["spindle-testing"], &[]),
    ("spindle-proof", &["spindle-harness", "spindle-contract", "spindle-verilog", "spindle-blocks", "packet-engine", "hpu-core"],
        &[]),
    ("spindle-network", &["spindle", "spindle-cli", "spindle-contract", "spindle-harness", "spindle-sdk", "spindle-sim"], &[]),
    ("spindle-sim", &["spindle", "spindle-contract", "spindle-harness", "spindle-nic"], &[]),
    ("spindle-hart", &["spindle", "spindle-contract", "spindle-harness", "spindle-nic", "spindle-sdk", "spindle-sim"], &[]),
    ("spindle-lab", &["spindle", "spindle-cli", "spindle-contract", "spindle-harness", "spindle-hart", "spindle-model", "spindle-network",
        "spindle-nic", "spindle-sdk", "spindle-shell-bench", "spindle-sim"], &[]),
    ("spindle-tests", &["spindle", "spindle-contract", "spindle-verilog", "spindle-blocks", "packet-engine", "hpu-core",
        "rvma-lut", "spindle-nic", "spindle-model", "spindle-harness", "spindle-fuzz", "spindle-hart", "spindle-sdk",
        "spindle-sim", "spindle-testing"], &[]),
    ("spindle-guest", DRIVER, &[]),
    ("spindle-host-rates", &[], &[]),
    ("spindle-use-cases", &["spindle", "spindle-contract", "spindle-harness", "spindle-host-rates", "spindle-model", "spindle-sdk",
        "spindle-sim"], &[]),
    ("xtask", &[], &[]),
];
const RTL: &[&str] = &["spindle-contract", "spindle-verilog"];
const ENGINE: &[&str] = &["spindle-contract", "spindle-verilog", "spindle-blocks"];
const DRIVER: &[&str] = &["spindle", "spindle-contract"];

/// Checks the graph of crates, copies the tree and builds it.
pub fn run() -> Result<()> {
    let metadata = quiet(cargo_command().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata is no JSON")?;
    let breaches = breaches(&metadata, CRATES);
    ensure!(
        breaches.is_empty(),
        "the graph of crates is not that of xtask/src/independent.rs:\n{}",
        breaches.join("\n")
    );

    let folder = std::path::absolute(target_folder().join("independent"))?;
    let tree = folder.join("tree");
    copy(&tree)?;
    let start = Instant::now();
    let mut build = cargo_command();
    build
        .current_dir(&tree)
        .args(["build", "--quiet", "--no-default-features", "--target-dir"])
        .arg(folder.join("build"));
    // Variables of an outer cargo name the outer workspace.
    build.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_MANIFEST_PATH");
    visible(build.args(BUILT.iter().flat_map(|name| ["--package", name])))?;
    let built = folder.join("build/debug");
    let library = built.join("libspindle_rvma.so");
    ensure!(library.is_file(), "the build left no {}", library.display());
    let handlers = quiet(Command::new(built.join("spindle")).arg("handlers"))?;
    ensure!(handlers.contains("ping_pong"), "`spindle handlers` of the copy does not list ping_pong:\n{handlers}");
    println!(
        "independent: {} build without {} ({:.0} s)",
        BUILT.join(", "),
        ABSENT.join(", "),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Dependencies between crates of the project that `crates` does not allow. Those of tests are free.
fn breaches(metadata: &Value, crates: &[Uses]) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let own: BTreeSet<String> = packages.iter().map(|package| text(&package["name"])).collect();
    let mut breaches = vec![];
    for package in &packages {
        let name = text(&package["name"]);
        let Some((_, always, sim)) = crates.iter().find(|(known, ..)| *known == name) else {
            breaches.push(format!("{name} is not in the table"));
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            let used = text(&dependency["name"]);
            let optional = dependency["optional"] == true;
            let allowed = always.contains(&&*used) || optional && sim.contains(&&*used);
            if own.contains(&used) && dependency["kind"] != "dev" && !allowed {
                let how = if optional { "if a feature is on" } else { "always" };
                breaches.push(format!("{name} may not use {used} ({how})"));
            }
        }
    }
    breaches
}

/// Copies the files that git knows or would take to `tree`, but for those below [`ABSENT`], and reduces the manifests.
fn copy(to: &Path) -> Result<()> {
    let kept = |path: &str| !ABSENT.iter().any(|folder| path.starts_with(&format!("{folder}/")));
    let (workspace, absent) = reduced_workspace(&fs::read_to_string("Cargo.toml")?)?;
    tree::copy(to, |path, contents| {
        // The lock file names the absent crates too; cargo removes them.
        if !kept(path) || path == "Cargo.lock" && to.join(path).exists() {
            return Ok(if kept(path) { Copied::AsItIs } else { Copied::Absent });
        }
        let text = || String::from_utf8(contents.to_vec()).with_context(|| path.to_owned());
        Ok(Copied::As(if path == "Cargo.toml" {
            workspace.clone().into_bytes()
        } else if path.ends_with("Cargo.toml") {
            reduced_crate(&text()?, &absent).with_context(|| path.to_owned())?.into_bytes()
        } else {
            contents.to_vec()
        }))
    })
}

/// The workspace's manifest without the crates below [`ABSENT`], and their names.
fn reduced_workspace(text: &str) -> Result<(String, BTreeSet<String>)> {
    let is_absent = |path: &str| ABSENT.iter().any(|folder| path == *folder || path.starts_with(&format!("{folder}/")));
    let mut manifest: Table = text.parse().context("Cargo.toml")?;
    let workspace =
        manifest.get_mut("workspace").and_then(Toml::as_table_mut).context("Cargo.toml has no workspace")?;
    let members = workspace.get_mut("members").and_then(Toml::as_array_mut).context("the workspace has no members")?;
    members.retain(|member| !member.as_str().is_some_and(is_absent));
    let mut absent = BTreeSet::new();
    let dependencies = workspace.get_mut("dependencies").and_then(Toml::as_table_mut);
    dependencies.context("the workspace has no dependencies")?.retain(|name, value| {
        let gone = value.get("path").and_then(Toml::as_str).is_some_and(is_absent);
        if gone {
            absent.insert(name.to_owned());
        }
        !gone
    });
    // The copy is built to see that it can be, so nothing is optimised.
    manifest.remove("profile");
    Ok((toml::to_string(&manifest)?, absent))
}

/// A crate's manifest without tests' dependencies, and without optional ones on `absent` crates.
fn reduced_crate(text: &str, absent: &BTreeSet<String>) -> Result<String> {
    let mut manifest: Table = text.parse()?;
    let mut gone = BTreeSet::new();
    for kind in ["dependencies", "build-dependencies"] {
        let Some(dependencies) = manifest.get_mut(kind).and_then(Toml::as_table_mut) else { continue };
        let mut needed = vec![];
        dependencies.retain(|name, value| {
            if !absent.contains(name) {
                return true;
            }
            if value.get("optional").and_then(Toml::as_bool) == Some(true) {
                gone.insert(name.to_owned());
            } else {
                needed.push(name.to_owned());
            }
            false
        });
        if !needed.is_empty() {
            bail!("the crate cannot be built without {}", needed.join(", "));
        }
    }
    manifest.remove("dev-dependencies");
    if let Some(features) = manifest.get_mut("features").and_then(Toml::as_table_mut) {
        for (_, parts) in features.iter_mut() {
            let Some(parts) = parts.as_array_mut() else { continue };
            let crate_of = |part: &str| {
                let part = part.strip_prefix("dep:").unwrap_or(part);
                part.split(['/', '?']).next().unwrap_or(part).to_owned()
            };
            parts.retain(|part| part.as_str().is_none_or(|part| !gone.contains(&crate_of(part))));
        }
    }
    Ok(toml::to_string(&manifest)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_crate_of_the_driver_that_needs_the_test_bench_is_found() {
        let crates: &[Uses] = &[("a", &["b"], &["c"]), ("b", &[], &[]), ("c", &[], &[])];
        let package = |dependencies: Value| {
            json!({"packages": [{"name": "a", "dependencies": dependencies}, {"name": "b", "dependencies": []},
                {"name": "c", "dependencies": []}]})
        };
        let good =
            json!([{"name": "b", "kind": null}, {"name": "c", "kind": null, "optional": true}, {"name": "serde"}]);
        assert_eq!(breaches(&package(good), crates), Vec::<String>::new());
        let tests = json!([{"name": "c", "kind": "dev"}]);
        assert_eq!(breaches(&package(tests), crates), Vec::<String>::new());
        let bad = json!([{"name": "c", "kind": null, "optional": false}]);
        assert_eq!(breaches(&package(bad), crates), ["a may not use c (always)"]);
        let unknown = json!({"packages": [{"name": "d", "dependencies": []}]});
        assert_eq!(breaches(&unknown, crates), ["d is not in the table"]);
    }

    #[test]
    fn manifests_lose_absent_crates_and_what_names_them() {
        let (workspace, absent) = reduced_workspace(
            "[workspace]\nmembers = [\"sw-driver\", \"testbench/sim\", \"rtl/nic\"]\n[workspace.dependencies]\n\
             spindle-sim = { path = \"testbench/sim\" }\nspindle = { path = \"sw-driver\" }\nserde = \"1\"\n\
             [profile.dev.package.spindle-sim]\nopt-level = 3\n",
        )
        .unwrap();
        assert_eq!(absent.iter().collect::<Vec<_>>(), ["spindle-sim"]);
        assert!(
            workspace.contains("sw-driver") && workspace.contains("serde") && !workspace.contains("sim"),
            "{workspace}"
        );

        let member = "[features]\ndefault = [\"sim\"]\nsim = [\"dep:spindle-sim\", \"spindle-sim?/x\", \"dep:csv\"]\n\
                      [dependencies]\nspindle-sim = { workspace = true, optional = true }\ncsv = { optional = true }\n\
                      [dev-dependencies]\nspindle-sim = {}\n";
        let reduced = reduced_crate(member, &absent).unwrap();
        assert!(!reduced.contains("spindle-sim") && reduced.contains("dep:csv"), "{reduced}");
        let error = reduced_crate(&member.replace(", optional = true }", " }"), &absent).unwrap_err().to_string();
        assert!(error.contains("cannot be built without spindle-sim"), "{error}");
    }
}
