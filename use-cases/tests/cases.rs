//! The cases against their models, and their figures against the files that are kept. `cargo xtask figures --quick` runs the cases
//! themselves in every mode.

mod add_a_case;

use bench::{Others, Setting};
use case::{by_name, ALL};
use spindle_contract::params::Config;
use spindle_harness::is_full_run;
use spindle_use_cases::figure::{gallery, summary, Declared, Results, FOLDER, GALLERY};
use std::collections::BTreeSet;
// The case of the page names these modules by `crate::`, as those of the crate do.
use spindle_use_cases::{bench, case, cost};
use std::path::{Path, PathBuf};

/// The root of the checkout.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn setting() -> Setting {
    Setting::new(Config::SIM).unwrap()
}

/// A test for each case whose handlers are broken: the model must catch every change; all are tried in a full run, the first in others.
macro_rules! broken {
    ($($test:ident = $name:literal),* $(,)?) => {
        mod the_model_catches_broken_handlers {
            $(#[test] fn $test() { super::catches($name) })*
        }

        #[test]
        fn every_case_with_handlers_is_broken() {
            let tested = [$($name),*];
            for case in ALL {
                assert_eq!(tested.contains(&case.name), !case.handlers.is_empty(), "{}: its line in `broken!`", case.name);
            }
        }
    };
}

broken! {
    broadcast = "broadcast",
    conditional_read = "conditional-read",
    datatypes = "datatypes",
    invocation = "invocation",
    kv = "kv",
    ping_pong = "ping-pong",
    raid = "raid",
    storage = "storage",
    tenants = "tenants",
    consensus = "consensus",
    allreduce = "allreduce",
    ft_broadcast = "ft-broadcast",
    ddt_apps = "ddt-apps",
    graph = "graph",
    accumulate = "accumulate",
    pspin = "pspin",
    nevermore = "nevermore",
    matching = "matching",
    transactions = "transactions",
    erasure = "erasure",
    slmp = "slmp",
    mpi_rma = "mpi-rma",
    sparse_allreduce = "sparse-allreduce",
}

fn catches(name: &str) {
    let case = by_name(name).unwrap();
    let point = Declared::of(case).unwrap().quick[0];
    // The other changes are caught in a full run.
    let tried = if is_full_run() { case.broken.len() } else { 1 };
    for broken in case.broken.iter().take(tried) {
        // A lost byte shows as a program that does not end.
        let setting = Setting { changes: vec![broken.change], patience: 40_000, ..setting() };
        let result = case::measure(case, &setting, broken.mode, point);
        let error = result.expect_err(&format!("{name}: the model did not notice that {}", broken.what));
        let text = format!("{error:#}");
        assert!(!text.contains("a change needs exactly one place"), "{name}: {text}");
    }
}

/// A test for each case with a server: malformed requests, a few or as many as `SPINDLE_MALFORMED` says, change nothing, and the good
/// ones after them are answered. The replicas of consensus have timers: all NICs run, and as a run has four storms, each has a fourth of
/// the requests.
macro_rules! servers {
    ($($test:ident = $name:literal $mode:literal $others:ident $storms:literal),* $(,)?) => {
        mod a_server_survives_malformed_requests {
            $(#[test] fn $test() { super::survives($name, $mode, super::bench::Others::$others, $storms) })*
        }
    };
}

servers! {
    conditional_read = "conditional-read" "spin" Stand 1,
    consensus = "consensus" "spin" Run 4,
    ft_broadcast = "ft-broadcast" "spin" Stand 1,
    graph = "graph" "spin" Stand 1,
    invocation = "invocation" "spin" Stand 1,
    kv = "kv" "spin" Stand 1,
    storage = "storage" "auth" Stand 1,
    tenants = "tenants" "contexts" Stand 1,
    transactions = "transactions" "spin" Stand 1,
}

fn survives(name: &str, mode: &str, others: Others, storms: usize) {
    let count: usize =
        std::env::var("SPINDLE_MALFORMED").map_or(100, |count| count.parse().expect("SPINDLE_MALFORMED is a number"));
    let case = by_name(name).unwrap();
    let point = Declared::of(case).unwrap().quick[0];
    case::measure(case, &Setting { malformed: count.div_ceil(storms), others, ..setting() }, mode, point).unwrap();
}

#[test]
fn every_handler_is_broken_once() {
    for case in ALL {
        let broken: BTreeSet<_> = case.broken.iter().map(|broken| broken.change.file).collect();
        for (file, _) in case.handlers {
            assert!(broken.contains(file), "{}: no test breaks {file}", case.name);
        }
    }
}

#[test]
fn cases_are_complete() {
    let root = repository();
    for case in ALL {
        let declared = Declared::of(case).unwrap();
        assert!(declared.quick.iter().all(|point| declared.points.contains(point)), "{}", case.name);
        let readme = std::fs::read_to_string(root.join("use-cases").join(case.name).join("README.md"));
        let readme = readme.unwrap_or_else(|error| panic!("{} has no README.md: {error}", case.name));
        for mode in case.modes {
            assert!(
                readme.contains(&format!("`{}`", mode.name)),
                "{}: README.md says nothing of `{}`",
                case.name,
                mode.name
            );
        }
        let gallery = std::fs::read_to_string(root.join("docs/use-cases.md")).unwrap();
        assert!(gallery.contains(&format!("## {}", case.name)), "docs/use-cases.md has no section {}", case.name);
    }
}

#[test]
fn figures_are_those_of_their_results() {
    let folder = repository().join(FOLDER);
    for case in ALL {
        let declared = Declared::of(case).unwrap();
        let results = Results::load(&folder, case.name).unwrap();
        let results = results.unwrap_or_else(|| panic!("{} has no figure; measure one with --figure", case.name));
        assert_eq!(results.summary, summary(case, &results.rows), "{}", case.name);
        for (name, text) in results.files(&declared).unwrap() {
            let kept = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
            assert!(kept == text, "{name} is out of date; run `spindle use-case {} --draw`", case.name);
        }
        for target in &declared.target {
            assert!(results.summary.contains_key(&target.key), "{}: no value of {}", case.name, target.key);
        }
    }
}

#[test]
fn the_gallery_has_the_kept_figures() {
    let page = std::fs::read_to_string(repository().join(GALLERY)).unwrap();
    let fresh = gallery(&page, &repository().join(FOLDER)).unwrap();
    assert!(page == fresh, "{GALLERY} is out of date; run `spindle use-case all --draw`");
}

#[test]
fn wrong_names_are_refused_in_a_sentence() {
    let error = |result: anyhow::Result<()>| format!("{:#}", result.unwrap_err());
    assert!(error(by_name("pingpong").map(|_| ())).starts_with("there is no use case `pingpong`; there are ping-pong"));
    let mode = case::measure(&ALL[0], &setting(), "udp", 8).map(|_| ());
    assert!(error(mode).starts_with("ping-pong has no mode `udp`; there are rdma, p4, store, stream"));
}

/// `--trace` has every NIC's events in the order of cycles, also of a point that fails.
#[test]
fn a_trace_has_the_events_of_all_nics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let read = |setting: &Setting| {
        let result = case::measure(by_name("ping-pong").unwrap(), setting, "stream", 8);
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let lines: Vec<(u64, usize, u16, Option<usize>, String)> = reader.deserialize().map(Result::unwrap).collect();
        (result, lines)
    };
    let setting = Setting { trace: Some(path.clone()), ..setting() };
    let (result, lines) = read(&setting);
    result.unwrap();
    assert!(lines.is_sorted_by_key(|line| (line.0, line.1)));
    for event in ["first_beat", "handler of message", "handler_start", "handled", "egress_last"] {
        assert!(lines.iter().any(|line| line.1 == 1 && line.4.contains(event)), "{event}");
    }
    assert!(lines.iter().any(|line| line.1 == 0 && line.4 == "placed"), "the answer is placed at the first node");
    assert!(lines.iter().all(|line| line.3.is_none_or(|hpu| hpu < setting.config.total_hpus())));

    let (result, lines) = read(&Setting { patience: 100, ..setting });
    assert!(result.is_err() && !lines.is_empty(), "a run that is given up has a trace");
    let nowhere = Setting { trace: Some(folder.path().join("none/trace.csv")), ..self::setting() };
    let error = case::measure(by_name("ping-pong").unwrap(), &nowhere, "stream", 8).unwrap_err();
    assert!(format!("{error:#}").contains("cannot write"), "{error:#}");
}
