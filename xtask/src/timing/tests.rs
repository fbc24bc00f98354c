//! Small netlists with known longest paths.

use super::delays::{Delays, Family};
use super::graph::Graph;
use super::model::Model;
use super::path::{block_of, longest, Names, Path};
use super::{add_figures, gather, with_parts, Options, Row};
use crate::netlist::Netlist;
use arbtest::arbtest;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// A net takes 100 ps and 10 more for each doubling of its sinks; 50 more at a block RAM.
fn family() -> Family {
    let table = r#"
        device = "d"
        source = "s"
        scale = 1
        uncertainty = 30
        net = { base = 100, fan_out = 10, column = 50 }
        [cell.LUT1]
        through = { I0 = { O = [40] } }
        [cell.LUT2]
        through = { I0 = { O = [200] }, I1 = { O = [120] } }
        [cell.MUXF7]
        through = { I0 = { O = [60] }, I1 = { O = [60] }, S = { O = [90] } }
        [cell.CARRY4.through]
        CI = { O = [20, 30, 30, 35], CO = [-1, -1, -1, 10] }
        S = { O = [15, 45, 55, 65], CO = [-1, -1, -1, 70] }
        DI = { O = [-1, 41, 51, 61], CO = [-1, -1, -1, 71] }
        [cell.FDRE]
        clock = ["C"]
        clock_to_out = { Q = 50 }
        setup = { D = 5, CE = 7, R = 9 }
        [cell.RAM32M]
        clock = ["WCLK"]
        read = { ports = { ADDRA = "DOA" }, by_bit = [300, 250, 200, 150, 100] }
        clock_to_out = { "*" = 600 }
        setup = { "DI*" = 11, WE = 13 }
        [cell.RAMB36E2]
        column = true
        scale = 0.5
        clock = ["CLKARDCLK"]
        clock_to_out = { "DO*" = 1800 }
        registered = { "DOUTA*" = ["DOA_REG", 800] }
        setup = { "ADDR*" = 42, "*" = 46 }
        [cell.DSP48E2]
        column = true
        clock = ["CLK"]
        setup = { "*" = 3 }
        [cell.DSP48E2.dsp]
        operand_setup = 1
        to_product = 10
        to_sum = 100
        through = 110
        from_operand = 120
        from_product = 60
        from_sum = 15
        cascade_to_sum = 4
        cascade_through = 5
    "#;
    toml::from_str(table).unwrap()
}

/// Cells of a module: name, kind, parameters, and pins with their nets; what drives is by the pin's name.
#[derive(Clone, Default)]
struct Design {
    ports: Map<String, Value>,
    cells: Map<String, Value>,
    names: Map<String, Value>,
}

impl Design {
    fn cell(mut self, name: &str, kind: &str, pins: &[(&str, &[u64])]) -> Self {
        self.add(name, kind, pins, json!({}));
        self
    }

    fn add(&mut self, name: &str, kind: &str, pins: &[(&str, &[u64])], parameters: Value) {
        let drives = |pin: &str| ["O", "Q", "CO", "P", "DOA", "DOUTADOUT", "y"].contains(&pin);
        let directions: Map<String, Value> =
            pins.iter().map(|(pin, _)| ((*pin).into(), json!(if drives(pin) { "output" } else { "input" }))).collect();
        let connections: Map<String, Value> = pins.iter().map(|(pin, nets)| ((*pin).into(), json!(nets))).collect();
        self.cells.insert(
            name.into(),
            json!({"type": kind, "parameters": parameters, "port_directions": directions, "connections": connections}),
        );
    }

    /// A register from net `d` to net `q`.
    fn register(self, name: &str, d: u64, q: u64) -> Self {
        self.name(name, q).cell(name, "FDRE", &[("C", &[1]), ("D", &[d]), ("Q", &[q])])
    }

    fn name(mut self, name: &str, net: u64) -> Self {
        self.names.insert(name.into(), json!({"bits": [net]}));
        self
    }

    fn port(mut self, name: &str, direction: &str, nets: &[u64]) -> Self {
        self.ports.insert(name.into(), json!({"direction": direction, "bits": nets}));
        self
    }

    fn text(&self) -> String {
        json!({"modules": {"top": {"ports": self.ports, "cells": self.cells, "netnames": self.names}}}).to_string()
    }

    fn with<T>(&self, boxes: &BTreeMap<String, Model>, run: impl FnOnce(&Graph, &Names) -> T) -> Result<T, String> {
        let text = self.text();
        let netlist: Netlist = serde_json::from_str(&text).unwrap();
        let module = &netlist.modules["top"];
        let graph = Graph::build(module, &family(), boxes).map_err(|error| format!("{error:#}"))?;
        Ok(run(&graph, &Names::of(module)))
    }

    fn paths(&self, ports: bool) -> Vec<Path> {
        self.with(&BTreeMap::new(), |graph, names| longest(graph, names, ports, |_| false)).unwrap()
    }

    fn period(&self) -> f64 {
        self.paths(true)[0].period_ns
    }

    fn error(&self) -> String {
        self.with(&BTreeMap::new(), |_, _| ()).unwrap_err()
    }
}

/// a.q -> LUT2 (slow pin) -> LUT2 (fast pin) -> b.q; the last net lies in the slice of b.
fn chain() -> Design {
    Design::default()
        .register("a.q", 90, 2)
        .cell("l1", "LUT2", &[("I0", &[2]), ("I1", &[91]), ("O", &[3])])
        .cell("l2", "LUT2", &[("I0", &[92]), ("I1", &[3]), ("O", &[4])])
        .register("b.q", 4, 5)
}

#[test]
fn a_chain_of_luts_is_the_sum_of_its_cells_and_nets() {
    let paths = chain().paths(true);
    assert_eq!(paths.len(), 1);
    let Path { period_ns, start, end, group, cells_ns, nets_ns, steps, .. } = &paths[0];
    // Clock-to-output 50, nets 100 + 100, LUTs 200 + 120, set-up 5, uncertainty 30.
    assert_eq!((*period_ns, *cells_ns, *nets_ns), (0.605, 0.375, 0.2));
    assert_eq!((start.as_str(), end.as_str()), ("a.q", "b.q"));
    assert_eq!((group.0.as_str(), group.1.as_str()), ("a", "b"));
    let kinds: Vec<&str> = steps.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(kinds, ["FDRE", "LUT2", "LUT2", "FDRE"]);
    assert!(paths[0].text().contains("from a.q") && paths[0].text().contains("to b.q"));
}

#[test]
fn a_net_with_more_sinks_takes_longer() {
    // Seven further sinks of net 2: 8 sinks are three doublings.
    let mut design = chain();
    for sink in 0..7 {
        design = design.cell(&format!("s{sink}"), "LUT1", &[("I0", &[2]), ("O", &[100 + sink])]);
    }
    assert_eq!(design.period(), 0.635);
    // Eight enables count as one sink.
    let mut enables = chain();
    for sink in 0..8 {
        let q = 200 + sink;
        enables = enables.cell(&format!("e{sink}"), "FDRE", &[("C", &[1]), ("CE", &[2]), ("D", &[93]), ("Q", &[q])]);
    }
    assert_eq!(enables.period(), 0.615);
}

#[test]
fn a_carry_chain_has_no_nets_inside() {
    let carry =
        |name: &'static str, ci: u64, s: u64, o: u64, co: u64| -> (&'static str, Vec<(&'static str, Vec<u64>)>) {
            (
                name,
                vec![
                    ("CI", vec![ci]),
                    ("S", vec![s, 80, 81, 82]),
                    ("O", vec![o, o + 1, o + 2, o + 3]),
                    ("CO", vec![70, 71, 72, co]),
                ],
            )
        };
    let mut design = Design::default().register("a", 90, 2).cell("l", "LUT1", &[("I0", &[2]), ("O", &[3])]);
    for (name, pins) in [carry("c1", 60, 3, 10, 20), carry("c2", 20, 61, 30, 40), carry("c3", 40, 62, 50, 59)] {
        let pins: Vec<(&str, &[u64])> = pins.iter().map(|(pin, nets)| (*pin, nets.as_slice())).collect();
        design = design.cell(name, "CARRY4", &pins);
    }
    // 50, net 100, LUT 40, S to CO 70, CI to CO 10, CI to O[3] 35, set-up 5, 30.
    assert_eq!(design.register("b", 53, 5).period(), 0.34);
}

#[test]
fn a_multiplexer_of_the_slice_has_no_net_before_its_data() {
    let mux = |data: u64, select: u64| {
        Design::default()
            .register("a", 90, 2)
            .cell("l", "LUT1", &[("I0", &[2]), ("O", &[3])])
            .cell("m", "MUXF7", &[("I0", &[data]), ("S", &[select]), ("O", &[4])])
            .register("b", 4, 5)
    };
    // 50, net 100, LUT 40, 60, set-up 5, 30; and 50, net 100, LUT 40, net 100, 90, set-up 5, 30.
    assert_eq!(mux(3, 95).period(), 0.285);
    assert_eq!(mux(95, 3).period(), 0.415);
}

#[test]
fn memories_begin_and_end_paths() {
    let block = |registered: u64| {
        let mut design = Design::default().register("a.q", 90, 2).register("b.q", 4, 5);
        let pins: &[(&str, &[u64])] = &[("CLKARDCLK", &[1]), ("ADDRARDADDR", &[2]), ("DOUTADOUT", &[4])];
        design.add("m.ram", "RAMB36E2", pins, json!({"DOA_REG": format!("{registered:032b}")}));
        design.paths(true)
    };
    // Its own scale is one half. From the RAM: 900, net 150, set-up 5, 30; with its output register 400. To the RAM: 50, net
    // 150, set-up 21, 30.
    let times = |paths: &[Path]| paths.iter().map(|path| (path.group.clone(), path.period_ns)).collect::<Vec<_>>();
    let group = |from: &str, to: &str| (from.to_string(), to.to_string());
    assert_eq!(times(&block(0)), [(group("m", "b"), 1.085), (group("a", "m"), 0.251)]);
    assert_eq!(times(&block(1)), [(group("m", "b"), 0.585), (group("a", "m"), 0.251)]);
    assert_eq!(block(0)[0].start, "m.ram RAMB36E2 (DOUTADOUT)");
}

#[test]
fn a_read_of_lut_ram_goes_on_and_a_write_ends() {
    let address: &[u64] = &[91, 2, 92, 93, 94];
    let pins = [("WCLK", &[1][..]), ("ADDRA", address), ("DOA", &[3, 6]), ("DIA", &[7, 7]), ("WE", &[8])];
    let design = Design::default()
        .register("a.q", 90, 2)
        .cell("m.ram", "RAM32M", &pins)
        .register("b.q", 3, 5)
        .register("w.q", 95, 8);
    let paths = design.paths(true);
    let times: Vec<(&str, &str, f64)> =
        paths.iter().map(|path| (path.group.0.as_str(), path.group.1.as_str(), path.period_ns)).collect();
    // From the write clock to the output 600, net 100, set-up 5, 30; the enable 50, net 100, set-up 13, 30. No path leads from
    // the enable to the output.
    assert_eq!(times, [("m", "b", 0.735), ("w", "m", 0.193)]);
    // Through the second address bit: 50, net 100, 250.
    let read = |graph: &Graph, _: &Names| {
        let registers = graph.starts.iter().filter(|start| start.pin == "Q");
        graph.arrivals(registers)[graph.by_number[&3].index()]
    };
    assert_eq!(design.with(&BTreeMap::new(), read).unwrap().unwrap().0, 400.0);
}

#[test]
fn registers_of_a_dsp_cut_its_path() {
    let period = |registers: &[&str]| {
        let mut design = Design::default().register("a", 90, 2).register("b", 4, 5);
        let parameters: Map<String, Value> = registers.iter().map(|name| ((*name).into(), json!("1"))).collect();
        design.add("dsp", "DSP48E2", &[("CLK", &[1]), ("A", &[2]), ("P", &[4])], Value::Object(parameters));
        design.period()
    };
    // 50, net 150, through 110, net 150, set-up 5, 30.
    assert_eq!(period(&[]), 0.495);
    // From the operand's register: 120, 150, 5, 30; with all registers to the operand: 50, 150, 1, 30.
    assert_eq!(period(&["AREG"]), 0.305);
    assert_eq!(period(&["MREG"]), 0.245);
    assert_eq!(period(&["AREG", "MREG", "PREG"]), 0.231);
}

#[test]
fn a_combinational_loop_is_refused() {
    let design = chain().cell("x.l3", "LUT1", &[("I0", &[4]), ("O", &[91])]);
    let error = design.error();
    assert!(error.contains("3 nets are a combinational loop") && error.contains("x.l3"), "{error}");
    assert!(error.contains("break it with a register"));
}

#[test]
fn an_unknown_cell_and_an_unknown_pin_are_refused() {
    let error = chain().cell("x", "BUFGMUX", &[("I0", &[4]), ("O", &[6])]).error();
    assert_eq!(
        error,
        "a cell is `BUFGMUX`, which has no delays; add it to xtask/timing.toml from its library, or give the module's Verilog too"
    );
    let error = chain().cell("x", "LUT2", &[("I2", &[4]), ("O", &[6])]).error();
    assert_eq!(error, "`LUT2` has no delay from its pin I2; add it to xtask/timing.toml");
    // An unconnected or constant pin needs none.
    let mut constant = chain();
    constant.cells["l1"]["connections"]["I1"] = json!(["0"]);
    assert_eq!(constant.period(), 0.605);
}

#[test]
fn ports_are_registers_outside_unless_the_block_is_the_top() {
    let design = chain().port("in", "input", &[91]).port("out", "output", &[4]);
    let inside = design.paths(false);
    assert_eq!(inside.len(), 1);
    let all = design.paths(true);
    // To the port as to the register, without its set-up.
    let ports: Vec<(String, f64)> =
        all.iter().map(|path| (format!("{} > {}", path.start, path.end), path.period_ns)).collect();
    assert_eq!(all[0].period_ns, 0.605);
    assert!(ports.iter().any(|(path, period)| path == "a.q > port out[0]" && *period == 0.6), "{ports:?}");
    // A false path leaves the port out.
    let without =
        design.with(&BTreeMap::new(), |graph, names| longest(graph, names, true, |port| port == "out")).unwrap();
    assert!(without.iter().all(|path| !path.end.starts_with("port")));
}

/// A register and a LUT on each side of a border.
fn inner() -> Design {
    Design::default()
        .port("i", "input", &[10])
        .port("y", "output", &[13])
        .cell("n1", "LUT2", &[("I0", &[10]), ("I1", &[90]), ("O", &[11])])
        .register("r", 11, 12)
        .cell("n2", "LUT1", &[("I0", &[12]), ("O", &[13])])
}

#[test]
fn a_box_is_as_long_as_what_is_in_it() {
    let outer = |design: Design| {
        design
            .register("a", 91, 2)
            .cell("l", "LUT1", &[("I0", &[2]), ("O", &[3])])
            .cell("m", "LUT2", &[("I0", &[4]), ("I1", &[92]), ("O", &[5])])
            .register("b", 5, 6)
    };
    let model = inner().with(&BTreeMap::new(), |graph, _| Model::of(graph, &family())).unwrap();
    assert!(model.through.is_empty());
    let boxes = BTreeMap::from([("part".to_string(), model)]);
    let boxed = outer(Design::default()).cell("part", "part", &[("i", &[3]), ("y", &[4])]);
    let boxed = boxed.with(&boxes, |graph, names| longest(graph, names, false, |_| false)).unwrap();
    let flat = outer(Design::default())
        .cell("n1", "LUT2", &[("I0", &[3]), ("I1", &[90]), ("O", &[11])])
        .register("r", 11, 12)
        .cell("n2", "LUT1", &[("I0", &[12]), ("O", &[4])])
        .paths(false);
    let periods = |paths: &[Path]| paths.iter().map(|path| path.period_ns).collect::<Vec<_>>();
    assert_eq!(periods(&boxed), periods(&flat));
    assert!(boxed[0].start == "a" || boxed[0].end == "b");
}

#[test]
fn a_box_that_lets_a_path_through_lengthens_it() {
    let inner = Design::default().port("i", "input", &[10]).port("y", "output", &[11]).cell(
        "n",
        "LUT1",
        &[("I0", &[10]), ("O", &[11])],
    );
    let model = inner.with(&BTreeMap::new(), |graph, _| Model::of(graph, &family())).unwrap();
    assert_eq!(model.through, [("i[0]".to_string(), "y[0]".to_string(), 40.0)]);
    let boxes = BTreeMap::from([("part".to_string(), model)]);
    let outer =
        Design::default().register("a", 91, 2).cell("part", "part", &[("i", &[2]), ("y", &[3])]).register("b", 3, 4);
    let paths = outer.with(&boxes, |graph, names| longest(graph, names, false, |_| false)).unwrap();
    // 50, net 100, 40, net 100, set-up 5, 30.
    assert_eq!(paths[0].period_ns, 0.325);
    let wrong = Design::default().register("a", 91, 2).cell("part", "part", &[("other", &[2]), ("y", &[3])]);
    let error = wrong.with(&boxes, |_, _| ()).unwrap_err();
    assert!(error.contains("`part` has a pin `other` that its block lacks"), "{error}");
}

#[test]
fn the_whole_is_as_slow_as_its_slowest_part() {
    let path = |period_ns: f64, from: &str, to: &str| Path {
        period_ns,
        start: from.into(),
        end: to.into(),
        group: (from.into(), to.into()),
        ends: 1,
        cells_ns: 0.0,
        nets_ns: 0.0,
        steps: Vec::new(),
    };
    let row = |block: &str, paths: Vec<Path>| Row {
        block: block.into(),
        family: "xcup".into(),
        config: "alveo".into(),
        period_ns: paths[0].period_ns,
        mhz: 1000.0 / paths[0].period_ns,
        paths,
    };
    let nic = || row("nic", vec![path(3.0, "a", "b"), path(2.0, "b", "a")]);
    // A path from a port of a part goes on outside, where it is counted.
    let part = |inner: f64| row("cluster", vec![path(5.0, "ports", "l1"), path(inner, "hpu", "l1")]);
    let whole = with_parts(nic(), &[part(4.0)]);
    assert_eq!((whole.period_ns, whole.mhz, whole.paths[0].start.as_str()), (4.0, 250.0, "cluster: hpu"));
    assert_eq!(with_parts(nic(), &[part(2.5)]).period_ns, 3.0);
}

#[test]
fn paths_are_grouped_by_the_blocks_of_their_ends() {
    assert_eq!(block_of("hpu_12.execute.sum[3]"), "hpu_*.execute");
    assert_eq!((block_of("q[1]"), block_of("port x[3]")), ("top".into(), "ports".into()));
    let mut design = chain();
    for copy in 0..3 {
        design = design.cell(&format!("d{copy}"), "LUT1", &[("I0", &[4]), ("O", &[300 + copy])]);
        design = design.register(&format!("b.copy{copy}"), 300 + copy, 400 + copy);
    }
    let paths = design.paths(true);
    assert_eq!((paths.len(), paths[0].ends), (1, 4));
}

#[test]
fn a_cell_on_the_longest_path_never_makes_the_period_shorter() {
    arbtest(|u| {
        // Layers of LUTs, carry cells and registers on random nets of earlier layers.
        let mut design = Design::default();
        let mut nets: Vec<u64> = Vec::new();
        for register in 0..u.int_in_range(1..=4)? {
            design = design.register(&format!("r{register}"), 1000 + register, 10 + register);
            nets.push(10 + register);
        }
        for cell in 0..u.int_in_range(1..=25u64)? {
            let (a, b, out) = (*u.choose(&nets)?, *u.choose(&nets)?, 100 + 4 * cell);
            let name = format!("c{cell:02}");
            match u.int_in_range(0..=3)? {
                0 => design.add(&name, "MUXF7", &[("I0", &[a]), ("S", &[b]), ("O", &[out])], json!({})),
                1 => {
                    let sums = [out, out + 1, out + 2, out + 3];
                    design.add(&name, "CARRY4", &[("CI", &[a]), ("S", &[b]), ("O", &sums)], json!({}));
                }
                2 => design = design.register(&name, a, out),
                _ => design.add(&name, "LUT2", &[("I0", &[a]), ("I1", &[b]), ("O", &[out])], json!({})),
            }
            nets.push(out);
        }
        let last = *u.choose(&nets)?;
        design = design.register("z", last, 5000);
        let before = design.paths(false);
        let Some(path) = before.first() else { return Ok(()) };
        // A LUT before the register's pin at the path's end.
        let data = design.cells[&path.end]["connections"]["D"][0].as_u64().unwrap();
        let mut longer = design.clone();
        longer.add("inserted", "LUT1", &[("I0", &[data]), ("O", &[6000])], json!({}));
        longer.cells[&path.end]["connections"]["D"] = json!([6000]);
        let after = longer.period();
        assert!(after > path.period_ns, "{} became {after}", path.period_ns);
        // A further sink of any net.
        let net = *u.choose(&nets)?;
        let more = design.clone().cell("sink", "LUT1", &[("I0", &[net]), ("O", &[7000])]);
        assert!(more.paths(false)[0].period_ns >= path.period_ns);
        Ok(())
    });
}

#[test]
fn a_register_has_the_name_of_the_module_that_has_it() {
    let mut design = chain().name("use.deep.enable", 2).name("slot_writes", 2).name("issue_stage.slot_writes", 2);
    design.names.remove("a.q");
    design.cells["a.q"]["attributes"] = json!({"src": "issue.sv:84.1-95.4|/share/xilinx/ff_map.v:68.41-68.95"});
    let path = &design.paths(true)[0];
    assert_eq!((path.start.as_str(), path.group.0.as_str()), ("issue_stage.slot_writes [issue.sv:84]", "issue_stage"));
    // Without a place in the source, the outermost name.
    design.cells["a.q"]["attributes"] = json!({});
    assert_eq!(design.paths(true)[0].start, "slot_writes");
}

#[test]
fn wrong_arguments_are_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let options = |files: &[&str]| Options { verilog: files.iter().map(Into::into).collect(), ..Options::default() };
    let error = |files: &[&str], top: &str| match gather(&options(files), top, folder.path()) {
        Ok(_) => panic!("it was taken"),
        Err(error) => format!("{error:#}"),
    };
    assert!(error(&["absent.v"], "top").starts_with("cannot read absent.v"));
    assert_eq!(error(&["a b.v"], "top"), "yosys cannot take the name a b.v; use letters, digits, `.`, `_` and `-`");
    assert_eq!(error(&[], "top; shell"), "`top; shell` is no name of a module; give letters, digits and `_`");
    let delays = Delays::load().unwrap();
    let unknown = format!("{:#}", delays.xc7.factor(Some("Spartan-9")).unwrap_err());
    assert!(unknown.starts_with("there is no factor for `Spartan-9`; there is one for "), "{unknown}");
    assert_eq!(delays.xc7.factor(None).unwrap(), 1.0);
}

#[test]
fn figures_that_are_absent_have_a_reason() {
    let results = json!({
        "timing": {"xcup": {"hpu": {"period_ns": 3.9, "mhz": 256.4}}},
        "failures": [{"block": "rvma_lut", "family": "xcup", "error": "no mapping"}],
    });
    let mut report = Map::new();
    add_figures(&mut report, &results);
    assert_eq!(report["timing"]["xcup"]["hpu"]["period_ns"], json!(3.9));
    assert_eq!(report["timing"]["xcup"]["rvma"]["period_ns"], Value::Null);
    assert_eq!(report["missing"]["timing.xcup.rvma.period_ns"], "no mapping");
    assert_eq!(report["missing"]["timing.xc7.nic.period_ns"], "`cargo xtask timing` left it out");
    assert_eq!(report["missing"].get("timing.xcup.hpu.period_ns"), None);
}
