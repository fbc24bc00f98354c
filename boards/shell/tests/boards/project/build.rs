//! The build: its steps, and what ends it.

use super::{golden, stub, Project};
use spindle_boards::data::Board;
use spindle_boards::ip;
use spindle_boards::write::export;

#[test]
fn the_folder_is_whole_and_has_no_black_box() {
    let project = Project::u50();
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).unwrap_or_default();
    let scripts = ["common.tcl", "build.tcl", "compare.tcl", "program.tcl", "flash.tcl", "package.tcl"];
    let others = [
        "settings.tcl",
        "ip.tcl",
        "nic.tcl",
        "pins.xdc",
        "timing.xdc",
        "config.xdc",
        "ooc.xdc",
        "nic_ip.v",
        "README.md",
    ];
    for name in scripts.iter().chain(&others).chain(&["rtl/nic.sv", "rtl/top_u50.sv"]) {
        assert!(!read(name).is_empty(), "{name} is missing or empty");
    }
    assert!(!project.path().join("rtl/IBUF.sv").exists(), "Vivado would take the declaration for the primitive");
    assert!(read("settings.tcl").contains("rtl {nic.sv top_u50.sv}"), "{}", read("settings.tcl"));
    assert!(read("README.md").lines().count() <= 10);
}

#[test]
fn every_board_is_built_step_by_step() {
    for name in Board::names() {
        let project = Project::of(name);
        let run = project.run("build.tcl", &[], &[]);
        golden(&format!("build_{name}.txt"), &run.succeeded().transcript);
        assert!(run.said().contains(&format!("build/top_{name}.mcs are written")), "{}", run.said());
    }
}

/// The project with the real top of a board: each clock and crossing of its shell is asked for, each file is there.
#[test]
fn the_real_top_of_a_board_is_built() {
    let board = Board::named("u50").unwrap();
    let shell = spindle_boards::shell::design(&board).unwrap().expect("the U50 has a shell");
    let folder = tempfile::tempdir().unwrap();
    export::write(&export::project(&board, Some(&shell)).unwrap(), folder.path()).unwrap();
    let project = Project { folder, board };
    let (clocks, crossings) = (&shell.timing.clocks, &shell.timing.crossings);
    assert!(!clocks.is_empty() && !crossings.is_empty());
    let mut fakes: Vec<(String, String)> =
        clocks.iter().map(|clock| (format!("clock,{}", clock.pin), format!("{:.3}", 1000.0 / clock.mhz))).collect();
    let cells: Vec<String> = crossings.iter().map(|crossing| crossing.cells.replace('*', "_")).collect();
    fakes.push(("cells".into(), cells.join(" ")));
    let of = |fakes: &'_ [(String, String)]| {
        let fakes: Vec<(&str, &str)> = fakes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        project.run("build.tcl", &[], &fakes)
    };
    let run = of(&fakes);
    let transcript = &run.succeeded().transcript;
    assert!(
        transcript.contains("/rtl/shell_u50.sv") && transcript.contains("synth_design -top top_u50"),
        "{transcript}"
    );
    for module in ["xdma", "cmac0", "IBUFDS_GTE4", "OBUF"] {
        assert!(!project.path().join(format!("rtl/{module}.sv")).exists(), "{module} is Vivado's");
    }
    // One clock of another rate, or one synchroniser that synthesis renamed, is found.
    let mut other = fakes.clone();
    other[0].1 = "9.9".into();
    of(&other).refused(&format!("the clock at {} has a period of 9.9 ns", clocks[0].pin), "opt_design");
    let mut fewer = fakes.clone();
    fewer.last_mut().unwrap().1 =
        cells[1..].iter().filter(|cell| **cell != cells[0]).cloned().collect::<Vec<_>>().join(" ");
    of(&fewer).refused(&format!("no register is named {}", crossings[0].cells), "opt_design");
}

#[test]
fn steps_end_where_they_say() {
    for (step, last, never) in [
        ("check", "synth_ip cmac0", "synth_design"),
        ("ooc", "report_utilization", "create_ip"),
        ("synth", "report_timing_summary", "opt_design"),
    ] {
        let run = Project::u50().run("build.tcl", &["-step", step, "-out", step], &[]);
        let last_command = run.succeeded().transcript.lines().last().unwrap_or_default();
        assert!(last_command.starts_with(last), "{step}: {last_command}");
        assert!(!run.transcript.contains(never), "{step}: {never}");
    }
    let run = Project::u50().run("build.tcl", &["-step", "ooc"], &[]);
    assert!(run.transcript.contains("synth_design -mode out_of_context -top nic"), "{}", run.transcript);
}

#[test]
fn the_build_is_refused_with_a_sentence() {
    let project = Project::u50();
    let bridge = &ip::instances(&project.board).unwrap()[0];
    let narrow = stub(bridge, |name, width| Some(if name == "m_axib_wdata" { 256 } else { width }));
    let missing = stub(bridge, |name, width| (name != "usr_irq_req").then_some(width));
    let further = stub(bridge, |_, width| Some(width)) + " pipe_clock {input 1}";
    let settings: Vec<String> = bridge.ip.settings.iter().map(|setting| format!("CONFIG.{}", setting.name)).collect();
    let fewer = settings.join(" ").replace("CONFIG.axibar_highaddr_0 ", "");
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, &'a str);
    let cases: &[Case] = &[
        (&[], &[("slack,path_max", "-0.150")], "timing is not met: setup -0.150 ns, hold 0.010 ns", "write_bitstream"),
        (&[], &[("slack,path_min", "-0.002")], "timing is not met: setup 0.021 ns, hold -0.002 ns", "write_bitstream"),
        (&[], &[("slack,pulse", "-0.004")], "hold 0.010 ns, pulse width -0.004 ns. No bitstream", "write_bitstream"),
        (&[], &[("skew", "VIOLATED")], "the skew of a crossing is not met", "write_bitstream"),
        (&[], &[("slack,path_max", "")], "no path of the design has a constraint (max)", "write_bitstream"),
        (&[], &[("clock,host/clock", "-")], "there is no clock at host/clock", "opt_design"),
        (
            &[],
            &[("clock,host/clock", "6.4")],
            "host/clock has a period of 6.4 ns, and the design is made for",
            "opt_design",
        ),
        (&[], &[("cells", "")], "no register is named *rx_cross/*head_sync*", "opt_design"),
        (&[], &[("parts", "xcku5p-ffvb676-2-e")], "this Vivado has no part xcu50-fsvh2104-2-e", "create_project"),
        (&[], &[("slack,path_max", "-")], "no path to check (max)", "write_bitstream"),
        (
            &[],
            &[("stub,xdma", &narrow)],
            "m_axib_wdata is output 256 bits in the IP and output 512 bits",
            "synth_design",
        ),
        (&[], &[("stub,xdma", &missing)], "the IP has no port usr_irq_req", "synth_design"),
        (&[], &[("stub,xdma", &further)], "the table has no port pipe_clock, an input of 1 bits", "synth_design"),
        (&[], &[("no_stub", "1")], "wrote no xdma_stub.v", "synth_design"),
        (&[], &[("settings,xdma", &fewer)], "the IP has no setting CONFIG.axibar_highaddr_0", "set_property -dict"),
        (
            &[],
            &[("changes,CONFIG.axibar_highaddr_0", "0x00000000000FFFFF")],
            "CONFIG.axibar_highaddr_0 was set to `0x0000FFFFFFFFFFFF` and is `0x00000000000FFFFF`",
            "synth_ip",
        ),
        (&[], &[("ip,cmac_usplus", "-")], "this Vivado has no IP `cmac_usplus`", "synth_ip"),
        (
            &[],
            &[("fails,synth_ip", "ERROR: [Common 17-345] A valid license was not found for feature 'x'")],
            "the synthesis of xdma needs a licence that is not installed",
            "synth_design",
        ),
        (
            &[],
            &[("fails,generate_target", "[Common 17-345] A valid license was not found"), ("ip,xdma", "4.2")],
            "needs a licence that is not installed",
            "synth_ip",
        ),
        (
            &[],
            &[(
                "fails,write_bitstream",
                "This design contains one or more cells for which bitstream generation is not permitted: no license",
            )],
            "the licence of cmac_usplus is free",
            "write_cfgmem",
        ),
        (&[], &[("fails,synth_design", "out of memory")], "the synthesis failed: out of memory", "opt_design"),
        (&["-step", "all"], &[], "there is no step `all`; give one of check, ooc, synth, bitstream", "create_project"),
        (
            &["-board", "u50"],
            &[],
            "there is no argument `-board`; the names are -step, -out, -differences, -jobs",
            "create_project",
        ),
        (&["-step"], &[], "each argument is a name and a value", "create_project"),
        (&["-differences", "maybe"], &[], "-differences is stop or show", "create_project"),
    ];
    for (arguments, fakes, sentence, never) in cases {
        // A stub of an earlier case must not be found.
        let _ = std::fs::remove_dir_all(project.path().join("build"));
        project.run("build.tcl", arguments, fakes).refused(sentence, never);
    }
}

#[test]
fn differences_are_shown_on_request_and_other_outputs_are_none() {
    let project = Project::u50();
    let bridge = &ip::instances(&project.board).unwrap()[0];
    let narrow = stub(bridge, |name, width| Some(if name == "m_axib_wdata" { 256 } else { width }));
    let run = project.run("build.tcl", &["-differences", "show"], &[("stub,xdma", &narrow), ("ip,xdma", "4.2")]);
    let said = run.succeeded().said();
    assert!(said.contains("xdma differs from ip.tcl:\n  m_axib_wdata"), "{said}");
    assert!(said.contains("xdma: version 4.2 of xdma; the table was taken from 4.1"), "{said}");
    assert!(said.contains("1 outputs of which are not used"), "{said}");

    // A setting that the IP does not know is left out; the others are made.
    let names = bridge.ip.settings.iter().map(|setting| format!("CONFIG.{}", setting.name));
    let fewer: Vec<String> = names.filter(|name| name != "CONFIG.plltype").collect();
    let run =
        project.run("build.tcl", &["-differences", "show", "-step", "check"], &[("settings,xdma", &fewer.join(" "))]);
    let said = run.succeeded().said();
    assert!(said.contains("the IP has no setting CONFIG.plltype"), "{said}");
    assert!(said.contains("the IP has 1 differences from the table"), "{said}");
    assert!(
        !run.transcript.contains("plltype") && run.transcript.contains("CONFIG.ref_clk_freq"),
        "{}",
        run.transcript
    );
}

#[test]
fn names_of_settings_compare_without_regard_to_capitals() {
    let project = Project::u50();
    let bridge = &ip::instances(&project.board).unwrap()[0];
    let names = bridge.ip.settings.iter().map(|setting| format!("CONFIG.{}", setting.name.to_uppercase()));
    let names = names.collect::<Vec<_>>().join(" ");
    project.run("build.tcl", &["-step", "check"], &[("settings,xdma", &names)]).succeeded();
}

#[test]
fn the_slack_of_pulse_widths_may_be_elsewhere() {
    let run = Project::u50().run("build.tcl", &[], &[("slack,pulse", "-")]);
    assert!(run.succeeded().said().contains("has no slack of pulse widths where it was looked for"), "{}", run.said());
}

/// Without a shell the folder has what can be checked, and says what it lacks.
#[test]
fn a_folder_without_a_top_does_not_claim_to_be_whole() {
    let board = Board::named("u50").unwrap();
    let folder = tempfile::tempdir().unwrap();
    export::write(&export::project(&board, None).unwrap(), folder.path()).unwrap();
    let readme = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    assert!(
        readme.contains("No bitstream: the Alveo U50 has no top yet") && !readme.contains("program.tcl"),
        "{readme}"
    );
    let project = Project { folder, board };
    for step in ["synth", "bitstream"] {
        project.run("build.tcl", &["-step", step], &[]).refused("no top for the Alveo U50", "create_project");
    }
    project.run("program.tcl", &[], &[]).refused("has no top for the Alveo U50", "open_hw_manager");
    project.run("flash.tcl", &[], &[]).refused("has no top for the Alveo U50", "open_hw_manager");
    for step in ["check", "ooc"] {
        project.run("build.tcl", &["-step", step], &[]).succeeded();
    }
    project.run("package.tcl", &[], &[]).succeeded();
}

#[test]
fn a_missing_file_is_named() {
    let project = Project::u50();
    std::fs::remove_file(project.path().join("ip.tcl")).unwrap();
    project.run("build.tcl", &[], &[]).refused("ip.tcl is missing; write the folder anew", "create_project");
    let project = Project::u50();
    std::fs::remove_file(project.path().join("rtl/nic.sv")).unwrap();
    let run = project.run("build.tcl", &[], &[]);
    assert!(!run.output.status.success() && run.complained().contains("nic.sv is missing"), "{}", run.complained());
}

#[test]
fn the_mock_refuses_unknown_words() {
    for (line, words) in [
        ("launch_runs impl_1", "invalid command name"),
        ("synth_design -flatten none", "has no option -flatten"),
        (
            "create_ip -name xdma -vendor xilinx.com -library ip -module_name a -dir .; set_property CONFIG.other 1 a",
            "no property",
        ),
    ] {
        let project = Project::u50();
        std::fs::write(project.path().join("line.tcl"), line).unwrap();
        let run = project.run("line.tcl", &[], &[]);
        assert!(!run.output.status.success() && run.complained().contains(words), "{line}: {}", run.complained());
    }
}
