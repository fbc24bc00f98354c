//! Waves: time, window, scope, formats and save files, on a small design.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle_harness::{Model, Source, WaveGroup, WaveOptions, WaveScope};
use std::collections::BTreeMap;
use std::path::Path;
use wellen::simple::Waveform;

/// Two counters in instances, a structure, a wide signal and names that are alike.
const DESIGN: &str = "
typedef struct packed { logic [3:0] high; logic low; } pair_t;
module part(input logic clock, input logic reset, output logic [7:0] count);
  logic [127:0] wide;
  always_ff @(posedge clock) if (reset) begin count <= 8'd0; wide <= 128'd0; end
    else begin count <= count + 8'd1; wide <= {wide[63:0], wide[127:64]} ^ {120'd0, count}; end
endmodule
module top(input logic clock, input logic reset, output logic [7:0] a_data, output logic [7:0] b_data, output pair_t pair_q);
  pair_t pair;
  part first(.clock(clock), .reset(reset), .count(a_data));
  part second(.clock(clock), .reset(reset), .count(b_data));
  assign pair = {a_data[4:1], b_data[0]};
  assign pair_q = pair;
endmodule
";

/// Records cycles 2 to 12 of the design and returns the file.
fn record(folder: &Path, name: &str, options: &WaveOptions) -> std::path::PathBuf {
    let library = Model::build(&Source::from_text("top", DESIGN).with_trace(true)).unwrap();
    let mut model = library.instance();
    model.reset(2);
    let path = folder.join(name);
    model.trace_open_with(&path, options).unwrap();
    model.ticks(10);
    model.trace_close().unwrap();
    path
}

/// Every signal by its path, with the times and values of its changes.
fn changes(path: &Path) -> BTreeMap<String, Vec<(u64, String)>> {
    let mut wave: Waveform = wellen::simple::read(path).unwrap();
    let hierarchy = wave.hierarchy();
    let variables: Vec<_> =
        hierarchy.all_vars().map(|at| (hierarchy[at].full_name(hierarchy), hierarchy[at].signal_ref())).collect();
    wave.load_signals(&variables.iter().map(|variable| variable.1).collect::<Vec<_>>());
    let times = wave.time_table().to_vec();
    let of = |signal| {
        let signal = wave.get_signal(signal).unwrap();
        let changes = signal.iter_changes().map(|(at, value)| (times[at as usize], value.to_string()));
        // FST files have an unknown value before the first known one.
        changes.filter(|(_, value)| !value.contains('x')).collect()
    };
    variables.into_iter().map(|(name, signal)| (name, of(signal))).collect()
}

fn count(value: &str) -> u64 {
    u64::from_str_radix(value, 2).unwrap()
}

#[test]
fn time_is_that_of_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    for (name, period_ps) in [("a.vcd", 4000), ("b.vcd", 8000), ("c.fst", 3106)] {
        let path = record(folder.path(), name, &WaveOptions { period_ps, origin: 2, ..WaveOptions::default() });
        let wave: Waveform = wellen::simple::read(&path).unwrap();
        let scale = wave.hierarchy().timescale().unwrap();
        assert_eq!((scale.factor, scale.unit), (1, wellen::TimescaleUnit::PicoSeconds), "{name}");
        let rises: Vec<u64> =
            changes(&path)["top.clock"].iter().filter(|change| change.1 == "1").map(|change| change.0).collect();
        let wanted: Vec<u64> = (0..10).map(|cycle| cycle * period_ps + period_ps / 2).collect();
        assert_eq!(rises, wanted, "{name}");
    }
}

#[test]
fn a_window_holds_its_cycles_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["w.vcd", "w.fst"] {
        let path = record(folder.path(), name, &WaveOptions { window: 5..8, ..WaveOptions::default() });
        let counts: Vec<(u64, u64)> =
            changes(&path)["top.a_data"].iter().map(|(time, value)| (*time, count(value))).collect();
        // The value at the begin of cycle 5, and the edges of cycles 5, 6 and 7.
        assert_eq!(counts, [(20_000, 3), (22_000, 4), (26_000, 5), (30_000, 6)], "{name}");
    }
}

#[test]
fn a_scope_selects_instances_and_signals() {
    let folder = tempfile::tempdir().unwrap();
    let names = |scope: &[&str]| {
        let scope = WaveScope::Paths(scope.iter().map(|path| path.to_string()).collect());
        let path = record(folder.path(), "s.vcd", &WaveOptions { scope, ..WaveOptions::default() });
        changes(&path).into_keys().collect::<Vec<_>>()
    };
    let part = ["clock", "count", "reset", "wide"];
    assert_eq!(names(&["top.second"]), part.map(|name| format!("top.second.{name}")));
    assert_eq!(names(&["top.a_*", "top.*.wide"]), ["top.a_data", "top.first.wide", "top.second.wide"]);
    assert_eq!(names(&["top.pair"]), ["top.pair.high", "top.pair.low"]);
    let whole = record(folder.path(), "all.vcd", &WaveOptions::default());
    assert_eq!(changes(&whole).len(), 16);
    // What is selected is what the whole wave has.
    let scope = WaveScope::Paths(vec!["top.first.wide".into()]);
    let selected = record(folder.path(), "one.vcd", &WaveOptions { scope, ..WaveOptions::default() });
    assert_eq!(changes(&selected)["top.first.wide"], changes(&whole)["top.first.wide"]);
    assert!(changes(&selected)["top.first.wide"].len() > 8);
}

#[test]
fn a_scope_that_is_not_in_the_design_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let library = Model::build(&Source::from_text("top", DESIGN).with_trace(true)).unwrap();
    let mut model = library.instance();
    let path = folder.path().join("x.vcd");
    let scope = WaveScope::Paths(vec!["top.third.count".into()]);
    let error = model.trace_open_with(&path, &WaveOptions { scope, ..WaveOptions::default() }).unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.contains("nothing at `top.third.count`") && error.contains("in `top` there are the instances"),
        "{error}"
    );
    assert!(error.contains("first") && error.contains("second") && !path.exists(), "{error}");
    // The model goes on, and records after that.
    model.reset(1);
    model.trace_open(&path).unwrap();
    model.ticks(3);
    model.trace_close().unwrap();
    assert!(changes(&path)["top.a_data"].len() > 2);
}

#[test]
fn fst_and_vcd_hold_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [vcd, fst] = ["w.vcd", "w.fst"].map(|name| changes(&record(folder.path(), name, &WaveOptions::default())));
    assert_eq!(vcd, fst);
    assert!(vcd["top.first.wide"].len() > 8 && vcd["top.pair.high"].len() > 4, "{vcd:?}");
}

#[test]
fn the_save_file_names_signals_of_the_wave() {
    let folder = tempfile::tempdir().unwrap();
    let group = |name: &str, paths: &[&str]| WaveGroup {
        name: name.into(),
        paths: paths.iter().map(|path| path.to_string()).collect(),
    };
    let groups = vec![group("data", &["top.*_data", "top.pair"]), group("nothing", &["top.none"])];
    let options = WaveOptions { scope: WaveScope::Groups, groups, ..WaveOptions::default() };
    let path = record(folder.path(), "g.fst", &options);
    let save = std::fs::read_to_string(path.with_extension("gtkw")).unwrap();
    let rows: Vec<&str> = save.lines().filter(|line| line.starts_with("top")).collect();
    assert_eq!(rows, ["top.a_data[7:0]", "top.b_data[7:0]", "top.pair.high[3:0]", "top.pair.low"]);
    let recorded: Vec<String> = changes(&path).into_keys().collect();
    assert_eq!(rows.iter().map(|row| row.split('[').next().unwrap()).collect::<Vec<_>>(), recorded);
    assert!(save.contains("-data\n") && !save.contains("nothing") && save.contains("g.fst"), "{save}");
}
