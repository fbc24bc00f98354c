//! Tables of the vendor blocks: every board's settings obey them, what makes a card fail is refused, and the declarations
//! that come from them are read by Verilator.

use spindle_boards::data::Board;
use spindle_boards::ip::{self, primitives, xdma, Direction, Instance, Use};
use spindle_verilog::prelude::*;
use std::process::Command;

fn bridge() -> Instance {
    let options = xdma::Options { lanes: 16, quad: "GTY_Quad_227", block: None, subsystem: 0x50 };
    xdma::instance(&options).unwrap()
}

/// The breaches of the bridge with one setting changed, or taken away.
fn changed(name: &'static str, value: Option<&str>) -> String {
    let mut bridge = bridge();
    bridge.settings.retain(|(known, _)| *known != name);
    bridge.settings.extend(value.map(|value| (name, value.to_string())));
    bridge.check().err().unwrap_or_default().join("\n")
}

#[test]
fn each_board_has_its_blocks() {
    for (name, modules) in [
        ("u50", ["xdma", "cmac0"]),
        ("u55c", ["xdma", "cmac0"]),
        ("u280", ["xdma", "cmac0"]),
        ("u250", ["xdma", "cmac0"]),
        ("kcu116", ["xdma", "gty0"]),
        ("kc705", ["pcie7", "pcs0"]),
    ] {
        let instances = ip::instances(&Board::named(name).unwrap()).unwrap();
        assert_eq!(instances.iter().map(|one| one.module.as_str()).collect::<Vec<_>>(), modules, "{name}");
    }
    assert_eq!(Board::names().count(), 6, "a new board needs its row above");
}

#[test]
fn the_values_are_those_of_the_board() {
    let of = |name: &str| ip::instances(&Board::named(name).unwrap()).unwrap();
    let u280 = of("u280");
    assert_eq!(u280[0].value("pf0_subsystem_id"), Some("0280"));
    assert_eq!(u280[0].value("axibar_highaddr_0"), Some("0x0000FFFFFFFFFFFF"));
    let sites = ["CMAC_CORE_SELECT", "GT_GROUP_SELECT", "LANE4_GT_LOC", "GT_REF_CLK_FREQ", "GT_DRP_CLK"];
    let values: Vec<_> = sites.iter().map(|name| u280[1].value(name).unwrap()).collect();
    assert_eq!(values, ["CMACE4_X0Y6", "X0Y40~X0Y43", "X0Y43", "156.25", "100.00"]);
    assert_eq!(of("u250")[1].value("GT_DRP_CLK"), Some("78.125"));
    let kcu116 = of("kcu116");
    assert_eq!(kcu116[0].value("axi_data_width"), Some("256_bit"));
    assert_eq!((kcu116[1].value("CHANNEL_ENABLE"), kcu116[1].value("FREERUN_FREQUENCY")), (Some("X0Y8"), Some("125")));
}

#[test]
fn a_window_of_one_mebibyte_is_refused() {
    for window in [None, Some("0x00000000000FFFFF")] {
        let sentence = changed("axibar_highaddr_0", window);
        assert!(sentence.contains("the window to host memory is 0x0 to 0xfffff"), "{sentence}");
    }
}

#[test]
fn an_address_without_0x_is_refused() {
    // Vivado reads the digits without 0x as another number.
    let sentence = changed("axibar_highaddr_0", Some("0000FFFFFFFFFFFF"));
    assert!(sentence.contains("cannot be `0000FFFFFFFFFFFF`; give 0x and at most 16 hexadecimal digits"), "{sentence}");
}

#[test]
fn a_port_that_the_settings_take_away_is_refused() {
    for (setting, port) in [
        ("pf0_msix_enabled", "msix_enable"),
        ("en_axi_slave_if", "s_axib_awaddr"),
        ("xdma_axilite_slave", "s_axil_awaddr"),
    ] {
        for value in [None, Some("false")] {
            let sentence = changed(setting, value);
            assert!(sentence.contains(&format!("the IP has `{port}` only with `{setting}`")), "{sentence}");
        }
    }
    // MSI is off, so its ports may not be in the table.
    let mut with_msi = bridge();
    assert!(!with_msi.ports.iter().any(|port| ["msi_enable", "msi_vector_width"].contains(&port.name)));
    let mut port = with_msi.ports[0].clone();
    port.name = "msi_enable";
    with_msi.ports.push(port);
    assert!(with_msi.check().unwrap_err()[0].contains("the IP has `msi_enable` only with `pf0_msi_enabled`"));
}

#[test]
fn the_pcs_reaches_the_registers_of_its_transceiver() {
    let mut pcs = ip::pcs_pma::instance(0, "100.00");
    assert_eq!(pcs.check(), Ok(()));
    // A request without a grant, or an access without an answer, stops the block.
    for (input, output) in [
        ("drp_gnt", "drp_req"),
        ("drp_den_i", "drp_den_o"),
        ("drp_dwe_i", "drp_dwe_o"),
        ("drp_daddr_i", "drp_daddr_o"),
        ("drp_di_i", "drp_di_o"),
        ("drp_drdy_i", "drp_drdy_o"),
        ("drp_drpdo_i", "drp_drpdo_o"),
    ] {
        let port = pcs.ports.iter().find(|port| port.name == input).unwrap();
        assert_eq!(port.used, Use::Loop(output), "{input}");
    }
    pcs.ports.retain(|port| port.name != "drp_di_o");
    let sentence = pcs.check().unwrap_err().join("\n");
    assert!(sentence.contains("`drp_di_i` takes `drp_di_o`, which is no output of 16 bits"), "{sentence}");
}

#[test]
fn msix_in_bar_0_is_refused() {
    for name in ["bar_indicator", "pf0_msix_cap_table_bir", "pf0_msix_cap_pba_bir"] {
        for place in [None, Some("BAR_1:0")] {
            let sentence = changed(name, place);
            assert!(sentence.contains(&format!("`{name}` puts MSI-X into BAR 0")), "{sentence}");
        }
    }
    let mut block = ip::pcie7::instance("X0Y0", 0x705);
    assert_eq!(block.check(), Ok(()));
    block.settings.iter_mut().filter(|(name, _)| *name == "MSIx_Table_BIR").for_each(|row| row.1 = "BAR_0".into());
    assert!(block.check().unwrap_err()[0].contains("hides the registers"));
}

#[test]
fn names_and_values_outside_the_table_are_refused() {
    assert_eq!(bridge().check(), Ok(()));
    for (name, value, words) in [
        ("pf0_bar2_size", Some("32"), "BAR 2 is smaller"),
        ("c_s_axi_num_read", None, "throttles"),
        ("xdma_axilite_slave", Some("false"), "vector map"),
        ("axibar2pciebar_0", Some("1000"), "moves the addresses"),
        ("select_quad", Some("GTH_Quad_227"), "a quad such as GTY_Quad_225"),
        ("axibar_highaddr", Some("0"), "has no setting `axibar_highaddr`"),
    ] {
        let sentence = changed(name, value);
        assert!(sentence.contains(words), "{name}: {sentence}");
    }
    let mut twice = bridge();
    twice.settings.push(("vendor_id", "1AF4".into()));
    assert!(twice.check().unwrap_err()[0].contains("set twice"));
}

#[test]
fn only_inputs_have_constants_and_clocks_exist() {
    for name in Board::names() {
        for instance in ip::instances(&Board::named(name).unwrap()).unwrap() {
            for port in &instance.ports {
                let what = format!("{}.{}", instance.module, port.name);
                match port.used {
                    Use::Tie(_) => assert_eq!(port.direction, Direction::In, "{what}"),
                    Use::Open => assert_eq!(port.direction, Direction::Out, "{what}"),
                    Use::Loop(output) => {
                        assert_eq!(port.direction, Direction::In, "{what}");
                        let end = instance.ports.iter().find(|other| other.name == output).expect(&what);
                        assert_eq!((end.direction, end.width, end.clock), (Direction::Out, port.width, port.clock));
                    }
                    Use::Top | Use::Shell => {}
                }
                let clock = instance.ports.iter().find(|other| other.name == port.clock);
                assert!(port.clock.is_empty() || clock.is_some_and(|clock| clock.is_clock), "{what}: `{}`", port.clock);
            }
        }
    }
}

/// Two instances of a primitive, one of them with a parameter, between pads.
#[block(combinational)]
struct Pads {
    pub pad: Signal<In, Clock>,
    pub whole: Signal<Out, Clock>,
    pub half: Signal<Out, Clock>,
    plain: primitives::BufgceDiv,
    halving: primitives::BufgceDiv,
}

impl Pads {
    fn new() -> Self {
        let halving = primitives::BufgceDiv::default().with_parameter("BUFGCE_DIVIDE", "2");
        Self { halving, ..Self::blank() }
    }
}

#[hdl]
impl Pads {
    fn update(&mut self) {
        self.plain.I.next = self.pad.val();
        self.plain.CE.next = true;
        self.plain.CLR.next = false;
        self.halving.I.next = self.pad.val();
        self.halving.CE.next = true;
        self.halving.CLR.next = false;
        self.whole.next = self.plain.O.val();
        self.half.next = self.halving.O.val();
    }
}

#[test]
fn a_primitive_is_a_black_box_with_parameters() {
    let design = spindle_verilog::emit(&mut Pads::new(), "pads").unwrap();
    let text = design.to_string();
    assert_eq!(text.matches("module BUFGCE_DIV #(").count(), 1, "{text}");
    assert!(
        text.contains("BUFGCE_DIV #(.BUFGCE_DIVIDE(2)) halving (") && text.contains("BUFGCE_DIV plain ("),
        "{text}"
    );
    let boxes: Vec<&str> = design.modules.iter().filter(|one| one.black_box).map(|one| one.name.as_str()).collect();
    assert_eq!(boxes, ["BUFGCE_DIV"]);

    let folder = tempfile::tempdir().unwrap();
    design.write_dir(folder.path()).unwrap();
    let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    let mut command = Command::new(verilator);
    command.current_dir(folder.path()).args(["--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", "pads"]);
    let output = command.args(["-f", "filelist.f"]).output().expect("Verilator is installed: run `cargo xtask setup`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let vendor = tempfile::tempdir().unwrap();
    design.write_dir_without_black_boxes(vendor.path()).unwrap();
    assert_eq!(std::fs::read_to_string(vendor.path().join("filelist.f")).unwrap(), "pads.sv\n");
    assert!(!vendor.path().join("BUFGCE_DIV.sv").exists());
}
