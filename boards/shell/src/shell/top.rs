//! The top of a board, `top_<board>`: pads, primitives, vendor blocks, and the shell. Wiring only.
//!
//! Boards differ in their pads more than a structure in Rust can, and each wire follows from a table: pads and constants
//! from the board file, ports of vendor blocks from [`crate::ip`]. So the top is written from the tables. A port of a
//! vendor block that no rule connects is an error, and Verilator and yosys check the text against the declarations.

use super::timing::{CORE_BUFFER, CORE_CLOCK};
use crate::data::{Board, Clock, ClockKind, Direction as PinDirection, Issues, MacKind, Pin};
use crate::hdl::leds::LEDS;
use crate::ip::{self, primitives, Instance, Use};
use spindle_verilog::prelude::{Logic, Verilog};
use spindle_verilog::{Design, Module};
use std::fmt::Write;

/// Name of the clock of initialisation in the top.
const INIT_CLOCK: &str = "init_clk";
/// Name of the reference clock of PCIe on the inner side of its buffer.
const PCIE_CLOCK: &str = "pcie_sys_clk";
/// Pads that hold the clock chip, and what leads to it, in reset.
const RESETS_OF_CHIP: [&str; 2] = ["i2c_mux_reset_n", "si5324_reset_n"];
/// Name of the LEDs on the inner side of their buffers.
const LED_WIRE: &str = "led_out";

/// An instance in the text.
struct Placed {
    module: String,
    /// Name and value of each parameter.
    parameters: Vec<(&'static str, String)>,
    name: String,
    /// Port, and what is connected.
    ports: Vec<(String, String)>,
}

/// The text as it grows.
#[derive(Default)]
struct Text {
    wires: Vec<(String, usize)>,
    instances: Vec<Placed>,
    /// Declarations of black boxes: module, text.
    boxes: Vec<(String, String)>,
}

impl Text {
    fn wire(&mut self, name: &str, width: usize) -> String {
        if !self.wires.iter().any(|(known, _)| known == name) {
            self.wires.push((name.to_string(), width));
        }
        name.to_string()
    }

    /// A primitive or vendor block, with its declaration.
    fn vendor(
        &mut self,
        block: &impl Logic,
        module: &str,
        parameters: &[(&'static str, String)],
        name: &str,
        ports: &[(&str, String)],
    ) {
        if !self.boxes.iter().any(|(known, _)| known == module) {
            let Verilog::Blackbox(declaration) = block.hdl() else { unreachable!("vendor_block! makes black boxes") };
            self.boxes.push((module.to_string(), declaration.code));
        }
        self.instances.push(Placed {
            module: module.to_string(),
            parameters: parameters.to_vec(),
            name: name.to_string(),
            ports: ports.iter().map(|(port, signal)| ((*port).to_string(), signal.clone())).collect(),
        });
    }

    fn obuf(&mut self, pin: &Pin, from: String) {
        let name = format!("{}_pad", pin.port.replace(['[', ']'], "_").trim_end_matches('_'));
        self.vendor(&primitives::Obuf::default(), "OBUF", &[], &name, &[("I", from), ("O", pin.port.clone())]);
    }
}

/// The project's design: the shell's modules, the declarations of vendor blocks, the top.
///
/// # Errors
/// As for [`ip::instances`]; a port of a vendor block, or a pin, that no rule connects.
pub fn design(board: &Board, shell: Design) -> Result<Design, Issues> {
    let instances = ip::instances(board)?;
    let mut text = Text::default();
    clocks(board, &mut text);
    pads(board, &mut text)?;
    for instance in &instances {
        vendor_block(board, instance, &mut text)?;
    }
    own_shell(board, &instances, &shell.top, &mut text);
    let name = format!("top_{}", board.name);
    let mut modules = shell.modules;
    let boxes = text.boxes.iter();
    modules.extend(boxes.map(|(name, text)| Module { name: name.clone(), text: text.clone(), black_box: true }));
    modules.push(Module { text: print(board, &name, &text), name: name.clone(), black_box: false });
    Ok(Design { modules, top: name })
}

/// Buffers of the clocks that come over pins.
fn clocks(board: &Board, text: &mut Text) {
    let port = |clock: &Clock| (clock.port.clone(), clock.port.replace("_p", "_n"));
    let init = &board.free_running;
    for clock in board.used_clocks() {
        let (p, n) = port(clock);
        if clock.kind == ClockKind::Fabric {
            let raw = text.wire(&format!("{}_raw", clock.name), 1);
            let ports = [("I", p), ("IB", n), ("O", raw.clone())];
            text.vendor(&primitives::Ibufds::default(), "IBUFDS", &[], &format!("{}_pad", clock.name), &ports);
            if clock.name == init.clock {
                let out = text.wire(INIT_CLOCK, 1);
                if init.divide != 1 && board.series7() {
                    mmcm(clock, init.divide, raw, out, text);
                } else if init.divide == 1 {
                    let ports = [("I", raw), ("O", out)];
                    text.vendor(&primitives::Bufg::default(), "BUFG", &[], "init_clk_bufg", &ports);
                } else {
                    // The lint permits 1 and 2.
                    let ports = [("I", raw), ("CE", "1'b1".into()), ("CLR", "1'b0".into()), ("O", out)];
                    let divide = [("BUFGCE_DIVIDE", init.divide.to_string())];
                    text.vendor(&primitives::BufgceDiv::default(), "BUFGCE_DIV", &divide, "init_clk_bufg", &ports);
                }
            }
        } else if clock.name == board.pcie.refclk {
            let fabric = text.wire(PCIE_CLOCK, 1);
            if board.series7() {
                // Transceivers and fabric have one input of the core.
                let open = text.wire("unused_pcie_odiv2", 1);
                let ports = [("I", p), ("IB", n), ("CEB", "1'b0".into()), ("O", fabric), ("ODIV2", open)];
                text.vendor(&primitives::IbufdsGte2::default(), "IBUFDS_GTE2", &[], "pcie_refclk_pad", &ports);
                continue;
            }
            let gt = text.wire(&format!("{PCIE_CLOCK}_gt"), 1);
            let ports = [("I", p), ("IB", n), ("CEB", "1'b0".into()), ("O", gt), ("ODIV2", fabric)];
            text.vendor(&primitives::IbufdsGte4::default(), "IBUFDS_GTE4", &[], "pcie_refclk_pad", &ports);
        } else if board.mac().kind == MacKind::OwnPcs && clock.name == board.mac().refclk {
            let name = &clock.name;
            let (gt, open) = (text.wire(&format!("{name}_gt"), 1), text.wire(&format!("unused_{name}_odiv2"), 1));
            let ports = [("I", p), ("IB", n), ("CEB", "1'b0".into()), ("O", gt), ("ODIV2", open)];
            text.vendor(&primitives::IbufdsGte4::default(), "IBUFDS_GTE4", &[], &format!("{name}_pad"), &ports);
        }
    }
}

/// A clock of initialisation of the 7 series, which has no divider on its global network: an oscillator at 1 GHz.
fn mmcm(clock: &Clock, divide: u32, from: String, to: String, text: &mut Text) {
    let (loop_clock, divided) = (text.wire("init_loop", 1), text.wire("init_divided", 1));
    let multiple = 1000.0 / clock.mhz;
    let locked = text.wire("unused_init_locked", 1);
    let ports = [
        ("CLKIN1", from),
        ("CLKFBIN", loop_clock.clone()),
        ("CLKFBOUT", loop_clock),
        ("CLKOUT0", divided.clone()),
        ("LOCKED", locked),
        ("PWRDWN", "1'b0".into()),
        ("RST", "1'b0".into()),
    ];
    let parameters = [
        ("CLKIN1_PERIOD", format!("{:.3}", clock.period_ns())),
        ("CLKFBOUT_MULT_F", format!("{multiple:.3}")),
        ("DIVCLK_DIVIDE", "1".into()),
        ("CLKOUT0_DIVIDE_F", format!("{:.3}", multiple * f64::from(divide))),
    ];
    text.vendor(&primitives::Mmcme2Base::default(), "MMCME2_BASE", &parameters, "init_clk_mmcm", &ports);
    text.vendor(&primitives::Bufg::default(), "BUFG", &[], "init_clk_bufg", &[("I", divided), ("O", to)]);
}

/// Buffers of the pads that are no clocks.
fn pads(board: &Board, text: &mut Text) -> Result<(), Issues> {
    let is_clock = |pin: &Pin| {
        board.clocks.iter().any(|clock| pin.port == clock.port || pin.port == clock.port.replace("_p", "_n"))
    };
    for pin in board.used_pins().filter(|pin| pin.iostandard.is_some() && !is_clock(pin)) {
        match (pin.dir, pin.constant) {
            (PinDirection::Out, Some(level)) => text.obuf(pin, format!("1'b{level}")),
            (PinDirection::Out, None) if pin.bus() == "led" => {
                let index = pin.index().unwrap_or(0);
                let from = if index < LEDS { format!("{LED_WIRE}[{index}]") } else { "1'b0".into() };
                text.obuf(pin, from);
            }
            (PinDirection::Out, None) if RESETS_OF_CHIP.contains(&pin.port.as_str()) => {
                let from = text.wire("i2c_reset_n", 1);
                text.obuf(pin, from);
            }
            (PinDirection::Inout, _) => {
                let (from, high) =
                    (text.wire(&format!("{}_in", pin.port), 1), text.wire(&format!("{}_t", pin.port), 1));
                let ports = [("I", "1'b0".into()), ("T", high), ("O", from), ("IO", pin.port.clone())];
                text.vendor(&primitives::Iobuf::default(), "IOBUF", &[], &format!("{}_pad", pin.port), &ports);
            }
            (PinDirection::In, _) => {
                let to = text.wire(&format!("{}_in", pin.port), 1);
                let ports = [("I", pin.port.clone()), ("O", to)];
                text.vendor(&primitives::Ibuf::default(), "IBUF", &[], &format!("{}_pad", pin.port), &ports);
            }
            _ => {
                let sentence =
                    format!("no rule of the top connects the pin `{}`; give it const, or add a rule", pin.port);
                return Err(board.issue(pin.line, sentence).into());
            }
        }
    }
    Ok(())
}

/// An IP: each port by its use.
fn vendor_block(board: &Board, instance: &Instance, text: &mut Text) -> Result<(), Issues> {
    let mut ports = vec![];
    for port in &instance.ports {
        let own = format!("{}_{}", instance.module, port.name);
        let signal = match port.used {
            Use::Shell => text.wire(&own, port.width),
            Use::Tie(value) => format!("{}'d{value}", port.width),
            Use::Loop(output) => text.wire(&format!("{}_{output}", instance.module), port.width),
            Use::Open if instance.ports.iter().any(|other| other.used == Use::Loop(port.name)) => {
                text.wire(&own, port.width)
            }
            // Verilator and people see by the name that nothing reads it.
            Use::Open => text.wire(&format!("unused_{own}"), port.width),
            Use::Top => of_top(board, instance, port.name).ok_or_else(|| {
                let sentence = format!("no rule of the top connects the port `{}` of `{}`", port.name, instance.module);
                Issues::from(board.issue(0, format!("{sentence}; add a rule")))
            })?,
        };
        ports.push((port.name.to_string(), signal));
    }
    let declaration = crate::write::stub::declaration(&instance.module, &[], &instance.ports);
    text.boxes.push((instance.module.clone(), declaration));
    let (module, name) = (instance.module.clone(), instance.module.clone());
    text.instances.push(Placed { module, parameters: vec![], name, ports });
    Ok(())
}

/// What a port of a vendor block is connected to that is no matter of the shell.
fn of_top(board: &Board, instance: &Instance, port: &str) -> Option<String> {
    let mac = board.mac();
    let refclk = board.clock(&mac.refclk).map(|clock| clock.port.clone());
    let signal = match (instance.ip.name, port) {
        ("xdma" | "pcie_7x", "sys_clk") => PCIE_CLOCK.into(),
        ("xdma", "sys_clk_gt") => format!("{PCIE_CLOCK}_gt"),
        ("xdma" | "pcie_7x", "sys_rst_n") => format!("{}_in", board.pcie.perst),
        ("pcie_7x", "pcie_drp_clk") | ("ten_gig_eth_pcs_pma", "dclk") => INIT_CLOCK.into(),
        ("ten_gig_eth_pcs_pma", "refclk_p") => refclk?,
        ("ten_gig_eth_pcs_pma", "refclk_n") => refclk?.replace("_p", "_n"),
        ("ten_gig_eth_pcs_pma", lane) => pair(lane).map(|end| format!("{}_{end}", mac.name))?,
        ("xdma" | "pcie_7x", lane) => lane.strip_prefix("pci_exp_").and_then(pair).map(|end| format!("pcie_{end}"))?,
        ("gtwizard_ultrascale", "gtwiz_reset_clk_freerun_in") => INIT_CLOCK.into(),
        ("gtwizard_ultrascale", "gtrefclk00_in") => format!("{}_gt", mac.refclk),
        ("gtwizard_ultrascale", lane) => {
            let lane = lane.strip_prefix("gty")?.trim_end_matches("_in").trim_end_matches("_out");
            pair(lane).map(|end| format!("{}_{end}", mac.name))?
        }
        ("cmac_usplus", "gt_ref_clk_p") => refclk?,
        ("cmac_usplus", "gt_ref_clk_n") => refclk?.replace("_p", "_n"),
        ("cmac_usplus", "init_clk" | "drp_clk") => INIT_CLOCK.into(),
        ("cmac_usplus", "rx_clk") => format!("{}_gt_txusrclk2", instance.module),
        ("cmac_usplus", lane) => {
            let lane = lane.strip_prefix("gt_")?.trim_end_matches("_in").trim_end_matches("_out");
            pair(lane).map(|end| format!("{}_{end}", mac.name))?
        }
        _ => return None,
    };
    Some(signal)
}

/// The end of a pad's name of a differential pair: `rxp` is `rx_p`.
fn pair(name: &str) -> Option<&'static str> {
    [("rxp", "rx_p"), ("rxn", "rx_n"), ("txp", "tx_p"), ("txn", "tx_n")]
        .into_iter()
        .find(|(short, _)| *short == name)
        .map(|(_, long)| long)
}

/// The shell, and the primitives that it uses.
fn own_shell(board: &Board, instances: &[Instance], module: &str, text: &mut Text) {
    let vendor = instances.iter().flat_map(|instance| instance.shell_ports());
    let mut ports: Vec<(String, String)> = vendor.map(|(name, _)| (name.clone(), name)).collect();
    ports.push((INIT_CLOCK.into(), INIT_CLOCK.into()));
    if board.core_clock.divide() != 1 {
        let divided = text.wire(CORE_CLOCK, 1);
        let pins =
            [("I", "xdma_axi_aclk".into()), ("CE", "1'b1".into()), ("CLR", "1'b0".into()), ("O", divided.clone())];
        let divide = [("BUFGCE_DIVIDE", board.core_clock.divide().to_string())];
        text.vendor(&primitives::BufgceDiv::default(), "BUFGCE_DIV", &divide, CORE_BUFFER, &pins);
        ports.push((CORE_CLOCK.into(), divided));
    }
    let lit = board.used_pins().any(|pin| pin.bus() == "led");
    ports.push(("led".into(), text.wire(if lit { LED_WIRE } else { "unused_led" }, LEDS)));
    if board.mac().kind == MacKind::TenGigPcs {
        ports.extend(["i2c_scl", "i2c_sda"].map(|line| (line.to_string(), format!("{line}_in"))));
        ports.extend(["i2c_scl_t", "i2c_sda_t", "i2c_reset_n"].map(|name| (name.to_string(), name.to_string())));
        ports.push(("sfp_los".into(), format!("{}_los_in", board.mac().name)));
    }
    let dna = ["clk", "din", "read", "shift", "dout"];
    for signal in dna {
        let name = format!("dna_{signal}");
        ports.push((name.clone(), text.wire(&name, 1)));
    }
    let pins: Vec<(&str, String)> =
        ["CLK", "DIN", "READ", "SHIFT", "DOUT"].into_iter().zip(dna.map(|signal| format!("dna_{signal}"))).collect();
    if board.series7() {
        text.vendor(&primitives::DnaPort::default(), "DNA_PORT", &[], "dna_port", &pins);
    } else {
        text.vendor(&primitives::DnaPortE2::default(), "DNA_PORTE2", &[], "dna_port", &pins);
    }
    let (module, name) = (module.to_string(), "shell".to_string());
    text.instances.push(Placed { module, parameters: vec![], name, ports });
}

/// Ports of the top: bus, direction, width.
fn ports(board: &Board) -> Vec<(String, PinDirection, usize)> {
    let mut ports: Vec<(String, PinDirection, usize)> = vec![];
    for pin in board.used_pins() {
        let width = pin.index().map_or(1, |index| index + 1);
        match ports.iter_mut().find(|(name, _, _)| name == pin.bus()) {
            Some(known) => known.2 = known.2.max(width),
            None => ports.push((pin.bus().to_string(), pin.dir, width)),
        }
    }
    ports
}

fn print(board: &Board, name: &str, text: &Text) -> String {
    let title = &board.title;
    let mut out = format!(
        "// Top of the {title}: pads, primitives, vendor blocks, and the shell. Wiring only.\nmodule {name}(\n"
    );
    let range = |width: usize| if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) };
    let indexed = |bus: &str| board.used_pins().any(|pin| pin.bus() == bus && pin.index().is_some());
    let list: Vec<String> = ports(board)
        .into_iter()
        .map(|(bus, direction, width)| {
            let direction = match direction {
                PinDirection::In => "input",
                PinDirection::Out => "output",
                PinDirection::Inout => "inout",
            };
            let range = if indexed(&bus) { format!("[{}:0] ", width - 1) } else { String::new() };
            format!("\t{direction} wire {range}{bus}")
        })
        .collect();
    let _ = writeln!(out, "{}\n);", list.join(",\n"));
    for (wire, width) in &text.wires {
        let _ = writeln!(out, "\twire {}{wire};", range(*width));
    }
    for placed in &text.instances {
        let parameters: Vec<String> =
            placed.parameters.iter().map(|(name, value)| format!(".{name}({value})")).collect();
        let parameters = if parameters.is_empty() { String::new() } else { format!("#({}) ", parameters.join(", ")) };
        let ports: Vec<String> = placed.ports.iter().map(|(port, signal)| format!("\t\t.{port}({signal})")).collect();
        let _ = write!(out, "\n\t{} {parameters}{} (\n{}\n\t);\n", placed.module, placed.name, ports.join(",\n"));
    }
    out.push_str("endmodule\n");
    out
}
