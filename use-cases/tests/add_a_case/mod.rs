//! The case of `docs/use-cases.md`, "Add a case": the page has its files as they are here, and they are a case that runs.

#[path = "../sum/case.rs"]
mod sum;

use crate::bench::Setting;
use crate::case;
use spindle_contract::params::Config;
use spindle_use_cases::figure::{summary, Declared, Results};
use std::collections::BTreeMap;
use std::path::Path;

/// The files of the page: path and text.
fn files() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/use-cases.md");
    let page = std::fs::read_to_string(page).unwrap();
    let start = page.find("\n## Add a case").expect("the page says how a case is added");
    let mut files = Vec::new();
    let mut rest = &page[start..];
    while let Some(at) = rest.find("\n**use-cases/sum/") {
        let (path, after) = rest[at + 3..].split_once("**\n\n```").expect("a block follows the name of a file");
        let (_, after) = after.split_once('\n').unwrap();
        let (text, after) = after.split_once("```\n").unwrap();
        files.push((path.trim_start_matches("use-cases/").to_string(), text.to_string()));
        rest = after;
    }
    files
}

#[test]
fn the_page_has_the_files_that_are_tested() {
    let files = files();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["sum/handlers/sum.c", "sum/model.rs", "sum/case.rs", "sum/figure.toml", "sum/README.md"]);
    for (name, text) in files {
        let tested = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(&name)).unwrap();
        assert!(text == tested, "docs/use-cases.md and use-cases/tests/{name} differ; copy the file into the page");
    }
}

#[test]
fn the_case_of_the_page_runs_and_has_a_figure() {
    let setting = Setting::new(Config::SIM).unwrap();
    let declared = Declared::of(&sum::CASE).unwrap();
    let mut rows = Vec::new();
    for mode in sum::CASE.modes {
        for point in &declared.quick {
            rows.push(case::measure(&sum::CASE, &setting, mode.name, *point).unwrap());
        }
    }
    let summary = summary(&sum::CASE, &rows);
    for target in &declared.target {
        assert!(summary[&target.key] > 0.0, "{summary:?}");
    }
    let results = Results {
        case: sum::CASE.name.into(),
        config: "sim".into(),
        commit: "0000000".into(),
        inputs: String::new(),
        costs: BTreeMap::new(),
        wire: "paper".into(),
        rows,
        summary,
    };
    let files = results.files(&declared).unwrap();
    assert!(files.iter().any(|(name, text)| name == "sum.svg" && text.contains("<svg")), "{files:?}");
}

#[test]
fn the_model_of_the_page_catches_its_broken_handler() {
    let setting = Setting::new(Config::SIM).unwrap();
    for broken in sum::CASE.broken {
        let setting = Setting { changes: vec![broken.change], patience: 40_000, ..setting.clone() };
        let error = case::measure(&sum::CASE, &setting, broken.mode, 16).unwrap_err();
        assert!(!format!("{error:#}").contains("a change needs exactly one place"), "{error:#}");
    }
}
