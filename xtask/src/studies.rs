//! `studies`: the studies of networks of calibrated models that have cases, their results and plots in docs/studies, their tables in
//! docs/scale.md, and their figures in the report.

use crate::process::{program, target_folder};
use anyhow::{bail, ensure, Context, Result};
use clap::Args;
use serde_json::{json, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// The studies.
const STUDIES: &str = "testbench/network/studies";
/// Their results.
const RESULTS: &str = "docs/studies";
/// The page with their tables.
const PAGE: &str = "docs/scale.md";

/// Which of them.
#[derive(Args)]
pub struct Options {
    /// A study by its name, such as `sweep3d`; all that have cases if absent. Cases that have been run are not run again.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Run nothing: fill the tables from the results.
    #[arg(long)]
    tables: bool,
}

/// Runs what is missing, collects the results, and fills the tables.
pub fn run(options: &Options) -> Result<()> {
    let all = with_cases()?;
    for name in &options.names {
        ensure!(all.contains(name), "there is no study `{name}` with cases; there are {}", all.join(", "));
    }
    fs::create_dir_all(RESULTS).with_context(|| format!("cannot make {RESULTS}"))?;
    for name in all.iter().filter(|name| options.names.is_empty() || options.names.contains(name)) {
        let (study, results) = (format!("{STUDIES}/{name}.toml"), format!("{RESULTS}/{name}.json"));
        let folder = target_folder().join("studies").join(name);
        let network = |arguments: &[&str]| -> Result<String> {
            let mut command = program("spindle-network", "spindle-network");
            let output = command.arg(&study).args(arguments).stderr(std::process::Stdio::inherit()).output();
            let output = output.context("cannot run `spindle network`")?;
            ensure!(output.status.success(), "study {name} has failed");
            Ok(String::from_utf8(output.stdout)?)
        };
        let table = if options.tables {
            network(&["--table", &results])?
        } else {
            let out = folder.to_str().context("the target folder's name is no text")?;
            network(&["--out", out])?;
            network(&["--out", out, "--collect", &results])?
        };
        network(&["--plot", &results, &format!("{RESULTS}/{name}.svg")])?;
        let page = fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
        fs::write(PAGE, filled(&page, name, &table)?).with_context(|| format!("cannot write {PAGE}"))?;
    }
    Ok(())
}

/// Figures of the results that are kept in the repository, below `scale`: `scale.STUDY.VALUES` for each case that is compared with
/// another one, where the values of the axes go from the last one to the first; a few of them with the name that the report had first.
pub fn figures() -> Result<Value> {
    let mut all = json!({});
    let mut paths = fs::read_dir(RESULTS)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "json"));
    for path in paths {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let results: Value =
            serde_json::from_str(&text).with_context(|| format!("{} has no results of a study", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        enter(&mut all, &name, &results);
    }
    let handlers = all["broadcast1024"]["8"]["hosts"].clone();
    all["broadcast_8b_1024"] = json!({ "handler_over_host": handlers });
    Ok(all)
}

/// Enters the ratios of a study, and the most seconds and megabytes that a case took.
fn enter(all: &mut Value, name: &str, results: &Value) {
    let cases = results["cases"].as_array().into_iter().flatten();
    let (mut seconds, mut megabytes) = (0.0_f64, 0.0_f64);
    for case in cases {
        seconds = seconds.max(case["seconds"].as_f64().unwrap_or(0.0));
        megabytes = megabytes.max(case["peak_mb"].as_f64().unwrap_or(0.0));
        let Some(ratio) = case["ratio"].as_f64() else { continue };
        let mut place = &mut all[name];
        for value in case["settings"].as_object().into_iter().flat_map(|settings| settings.values().rev()) {
            place = &mut place[value.as_str().unwrap_or_default().replace('.', "_")];
        }
        *place = ratio.into();
    }
    all[format!("{name}_seconds")] = seconds.into();
    all[format!("{name}_mb")] = megabytes.into();
}

/// Names of the studies with cases.
fn with_cases() -> Result<Vec<String>> {
    let entries = fs::read_dir(STUDIES).with_context(|| format!("cannot read {STUDIES}"))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    let has_cases = |path: &&PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("\n[sweep."));
    let name = |path: &PathBuf| path.file_stem().and_then(|name| name.to_str()).map(String::from);
    Ok(paths.iter().filter(has_cases).filter_map(name).collect())
}

/// The page with a study's table between its marks.
fn filled(page: &str, name: &str, table: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- study: {name} -->\n"), "\n<!-- end of study -->");
    let Some((before, rest)) = page.split_once(&begin) else {
        bail!("{} has no line `{}` for the table of study {name}; add it", Path::new(PAGE).display(), begin.trim_end());
    };
    let Some((_, after)) = rest.split_once(end) else {
        bail!("{PAGE} has no line `{}` after the table of study {name}; add it", end.trim_start());
    };
    Ok(format!("{before}{begin}\n{table}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::{enter, filled};
    use serde_json::json;

    #[test]
    fn figures_are_named_by_values_from_the_last_axis_to_the_first() {
        let case = |arm: &str, seconds: f64, ratio: f64| {
            let settings = json!({"arm": arm, "gbps": "0.5"});
            json!({"settings": settings, "seconds": seconds, "peak_mb": 24.0, "ratio": ratio})
        };
        let mut all = json!({});
        enter(&mut all, "s", &json!({"cases": [case("rvma", 2.0, 1.0), case("write_imm", 3.0, 1.25)]}));
        let wanted = json!({"s": {"0_5": {"rvma": 1.0, "write_imm": 1.25}}, "s_seconds": 3.0, "s_mb": 24.0});
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_table_stands_between_its_marks() {
        let page = "a\n<!-- study: s -->\n\nold\n\n<!-- end of study -->\nb\n";
        let wanted = "a\n<!-- study: s -->\n\n| new |\n\n<!-- end of study -->\nb\n";
        let once = filled(page, "s", "| new |\n").unwrap();
        assert_eq!(once, wanted);
        assert_eq!(filled(&once, "s", "| new |\n").unwrap(), wanted);
        let error = filled(page, "t", "").unwrap_err().to_string();
        assert!(error.contains("no line `<!-- study: t -->`"), "{error}");
    }
}
