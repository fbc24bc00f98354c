//! Over JTAG: the device, and its flash.

use super::{golden, Project, DIES};
use std::path::Path;

#[test]
fn a_device_is_programmed() {
    let project = Project::u50();
    project
        .run("program.tcl", &[], &[])
        .refused("build/top_u50.bit is missing; make it with build.tcl", "open_hw_manager");
    std::fs::create_dir(project.path().join("build")).unwrap();
    std::fs::write(project.path().join("build/top_u50.bit"), "bits").unwrap();
    // Vivado calls the die of the U50 by two cards.
    project
        .run("program.tcl", &[], &[])
        .refused("cannot distinguish the cards with the die xcu50_u55n", "program_hw_devices");
    let device = ["-hw_server", "lab:3121", "-device", "xcu50_u55n_0"];
    golden("program_u50.txt", &project.run("program.tcl", &device, &[]).succeeded().transcript);
    let two = [("device,xcu50_u55n_1", "xcu50_u55n")];
    project
        .run("program.tcl", &[], &two)
        .refused("2 devices of the cable are a xcu50-fsvh2104-2-e", "program_hw_devices");
    project.run("program.tcl", &["-device", "xcu50_u55n_1"], &two).succeeded();
    let other = [("device,xcu50_u55n_0", "-"), ("device,xcu280_u55c_0", "xcu280_u55c")];
    project.run("program.tcl", &[], &other).refused("0 devices of the cable", "program_hw_devices");
    project.run("program.tcl", &["-device", "xcu280_u55c_0"], &other).refused("0 devices", "program_hw_devices");
    project.run("program.tcl", &[], &device_gone()).refused("0 devices of the cable", "program_hw_devices");
    let silent = [("fails,connect_hw_server", "refused")];
    project.run("program.tcl", &[], &silent).refused("localhost:3121 does not answer", "open_hw_target");
    let none = [("cables", "")];
    project.run("program.tcl", &[], &none).refused("0 cables of localhost:3121 are meant", "open_hw_target");
    let cables = [("cables", "lab/xilinx_tcf/Xilinx/500202A1B lab/xilinx_tcf/Digilent/210308A")];
    project.run("program.tcl", &device, &cables).refused("2 cables of lab:3121 are meant", "open_hw_target");
    let chosen = [&device[..], &["-cable", "210308A"]].concat();
    let run = project.run("program.tcl", &chosen, &cables);
    assert!(
        run.succeeded().transcript.contains("open_hw_target lab/xilinx_tcf/Digilent/210308A"),
        "{}",
        run.transcript
    );
    let empty = [("fails,open_hw_target", "none")];
    project.run("program.tcl", &[], &empty).refused("has no device; switch the board on", "program_hw_devices");
    let broken = [("fails,program_hw_devices", "CRC")];
    project
        .run("program.tcl", &device, &broken)
        .refused("the device did not take build/top_u50.bit: CRC", "close_hw_manager");
}

/// A cable without a device.
fn device_gone() -> [(&'static str, &'static str); 1] {
    [("device,xcu50_u55n_0", "-")]
}

#[test]
fn the_die_of_each_board_is_known_to_the_scripts() {
    for (name, die) in DIES {
        let project = Project::of(name);
        std::fs::write(project.path().join("image.bit"), "bits").unwrap();
        let device = format!("{die}_0");
        project.run("program.tcl", &["-bit", "image.bit", "-device", &device], &[]).succeeded();
        let others = DIES.iter().filter(|(_, other)| *other != die);
        for (_, other) in others {
            let fakes = [(format!("device,{device}"), "-"), (format!("device,{other}_0"), *other)];
            let fakes: Vec<(&str, &str)> = fakes.iter().map(|(row, value)| (row.as_str(), *value)).collect();
            let run = project.run("program.tcl", &["-bit", "image.bit"], &fakes);
            run.refused("0 devices of the cable are a", "program_hw_devices");
        }
    }
}

/// An Intel HEX file with 16 bytes at each address.
fn mcs(folder: &Path, addresses: &[u32]) {
    let mut text = String::new();
    for address in addresses {
        text.push_str(&format!(
            ":02000004{:04X}00\n:10{:04X}00{}00\n",
            address >> 16,
            address & 0xFFFF,
            "FF".repeat(16)
        ));
    }
    text.push_str(":00000001FF\n");
    std::fs::write(folder.join("image.mcs"), text).unwrap();
}

#[test]
fn the_flash_is_written_above_the_makers_image_only() {
    let project = Project::u50();
    let arguments = ["-mcs", "image.mcs", "-device", "xcu50_u55n_0"];
    let run = |fakes: &[(&str, &str)]| project.run("flash.tcl", &arguments, fakes);
    run(&[]).refused("image.mcs is missing", "open_hw_manager");
    for low in [0, 0x0100_1FF0] {
        mcs(project.path(), &[0x0100_2000, low]);
        run(&[]).refused(&format!("image.mcs begins at {low:#010x}, inside the maker's image"), "open_hw_manager");
    }
    mcs(project.path(), &[0x0100_2000, 0x0800_0000]);
    run(&[]).refused("ends at 0x08000010, and the flash at 0x08000000", "open_hw_manager");
    std::fs::write(project.path().join("image.mcs"), ":00000001FF\n").unwrap();
    run(&[]).refused("has no data", "open_hw_manager");
    std::fs::write(project.path().join("image.mcs"), "no hex\n").unwrap();
    run(&[]).refused("is no Intel HEX file: `no hex`", "open_hw_manager");
    mcs(project.path(), &[0x0100_2000, 0x0101_0000]);
    golden("flash_u50.txt", &run(&[]).succeeded().transcript);
    run(&[("memories", "other")]).refused("knows no flash `mt25qu01g-spi-x1_x2_x4`", "create_hw_cfgmem");
    run(&device_gone()).refused("0 devices of the cable", "create_hw_cfgmem");
    run(&[("fails,program_hw_cfgmem", "verify")]).refused("the flash was not written: verify", "boot_hw_device");
}

#[test]
fn an_offset_in_the_makers_image_is_refused_by_the_build() {
    let project = Project::u50();
    let path = project.path().join("settings.tcl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("flash_offset 0x01002000", "flash_offset 0x00000000")).unwrap();
    project.run("build.tcl", &[], &[]).refused("lies in the maker's image", "create_project");
}
