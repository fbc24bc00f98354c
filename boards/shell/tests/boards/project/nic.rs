//! The NIC as an IP for block designs.

use super::{golden, Project};
use spindle_boards::write::{export, wrapper};
use spindle_contract::params::Config;
use std::process::Command;

#[test]
fn the_nic_is_packed_for_block_designs() {
    let project = Project::u50();
    golden("package.txt", &project.run("package.tcl", &[], &[]).succeeded().transcript);
    // Where Vivado made the map and the space itself, they are not made twice.
    std::fs::remove_dir_all(project.path().join("ip_repo")).unwrap();
    let run = project.run("package.tcl", &[], &[("maps", "bar host")]);
    assert!(!run.succeeded().transcript.contains("ipx::add_"), "{}", run.transcript);
    let fewer = [("buses", "rx tx bar clock reset")];
    let none = [("parts", "")];
    project.run("package.tcl", &[], &none).refused("this Vivado has no part xcu50-fsvh2104-2-e", "create_project");
    project.run("package.tcl", &[], &fewer).refused("did not find the interface `host`", "ipx::save_core");
    std::fs::write(project.path().join("ip_repo/component.xml"), "").unwrap();
    project.run("package.tcl", &[], &[]).refused("has a component.xml already", "ipx::package_project");
}

/// The real NIC for synthesis, and its wrapper: no trace ports, an interface for each stream and bus, accepted by Verilator.
#[test]
fn the_nic_for_synthesis_has_interfaces_and_no_trace() {
    let files = export::nic(&Config::SIM, "xcu50-fsvh2104-2-e").unwrap();
    let text = |name: &str| files.iter().find(|(path, _)| path == name).map(|(_, text)| text.as_str()).unwrap();
    let (nic, own) = (text("rtl/nic.sv"), text("nic_ip.v"));
    let header = &nic[..nic.find(");\n").unwrap()];
    assert!(!header.contains("trace_"), "{header}");
    // What a block inside makes for the trace ports alone is not connected, and synthesis drops it.
    for pin in ["threads", "mailbox", "join", "end", "task"] {
        assert!(nic.contains(&format!(".trace_{pin}()")), "{pin}");
    }
    for line in [
        "(* X_INTERFACE_INFO = \"xilinx.com:interface:axis:1.0 rx TDATA\" *)",
        "(* X_INTERFACE_INFO = \"xilinx.com:interface:aximm:1.0 host ARLEN\" *)",
        "(* X_INTERFACE_PARAMETER = \"ASSOCIATED_BUSIF rx:tx:bar:host, ASSOCIATED_RESET reset, FREQ_HZ 250000000\" *)",
    ] {
        assert!(nic.contains(line) && own.contains(line), "{line}\n{header}");
    }
    // Every port but the interrupts belongs to an interface.
    let lines: Vec<&str> =
        header.lines().skip_while(|line| !line.starts_with("module")).skip(1).map(str::trim).collect();
    let bare =
        lines.windows(2).filter(|pair| !pair[0].starts_with("(*") && !pair[1].starts_with("(*")).map(|pair| pair[1]);
    assert!(bare.clone().all(|line| line.contains(" irq_")), "{:?}", bare.collect::<Vec<_>>());

    let folder = tempfile::tempdir().unwrap();
    export::write(&files, folder.path()).unwrap();
    let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let mut command = Command::new(verilator);
    command.current_dir(folder.path()).args(["--lint-only", "-Wno-lint", "-Wno-style", "--top-module", wrapper::TOP]);
    // Children first, as the list says.
    let list = text("nic.tcl").split_once("rtl {").unwrap().1.split_once('}').unwrap().0;
    command.args(list.split(' ').map(|name| format!("rtl/{name}"))).arg("nic_ip.v");
    let output = command.output().expect("Verilator is installed: run `cargo xtask setup`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
