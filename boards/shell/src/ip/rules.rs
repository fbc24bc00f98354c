//! Settings that Vivado accepts and with which a card fails all the same.

use super::{Direction, Instance, Use};

/// Bytes that the MSI-X logic of `xdma` takes of its BAR.
const INTERNAL_MSIX_BYTES: u64 = 64 << 10;

/// Ports that an IP has only where a setting is `true`: IP, port, setting. Of a bus, its first port.
const BROUGHT: &[(&str, &str, &str)] = &[
    ("xdma", "msi_enable", "pf0_msi_enabled"),
    ("xdma", "msi_vector_width", "pf0_msi_enabled"),
    ("xdma", "msix_enable", "pf0_msix_enabled"),
    ("xdma", "s_axib_awaddr", "en_axi_slave_if"),
    ("xdma", "s_axil_awaddr", "xdma_axilite_slave"),
];

/// Ports of the table that the generated IP lacks.
fn absent(instance: &Instance) -> Vec<String> {
    let of_ip = BROUGHT.iter().filter(|(ip, ..)| *ip == instance.ip.name);
    let without = of_ip.filter(|(_, port, setting)| {
        instance.ports.iter().any(|known| known.name == *port) && instance.value(setting) != Some("true")
    });
    without
        .map(|(_, port, setting)| {
            format!("the IP has `{port}` only with `{setting}`; set it to true, or drop the port")
        })
        .collect()
}

/// The breaches of an instance, a sentence each.
pub fn breaches(instance: &Instance) -> Vec<String> {
    let found = match instance.ip.name {
        "xdma" => bridge(instance),
        "pcie_7x" => tlp_block(instance),
        _ => vec![],
    };
    let looped = instance.ports.iter().filter_map(|port| match port.used {
        Use::Loop(output) => Some((port, output)),
        _ => None,
    });
    let torn = looped
        .filter(|(port, output)| {
            let end = instance.ports.iter().find(|other| other.name == *output);
            end.is_none_or(|end| (end.direction, end.width) != (Direction::Out, port.width))
        })
        .map(|(port, output)| {
            format!("`{}` takes `{output}`, which is no output of {} bits; correct the table", port.name, port.width)
        });
    let wide = instance.ports.iter().filter(|port| match port.used {
        Use::Tie(value) => port.width < 64 && value >> port.width != 0,
        _ => false,
    });
    let wide = wide
        .map(|port| format!("the constant of `{}` has more than {} bits; correct the table", port.name, port.width));
    found
        .into_iter()
        .chain(absent(instance))
        .chain(torn)
        .chain(wide)
        .map(|sentence| format!("{}: {sentence}", instance.module))
        .collect()
}

fn number(instance: &Instance, name: &str) -> u64 {
    let digits = instance.value(name).unwrap_or("0");
    u64::from_str_radix(digits.trim_start_matches("0x"), 16).unwrap_or(0)
}

/// Bytes of a BAR.
fn bar_bytes(instance: &Instance, scale: &str, size: &str) -> u64 {
    let unit = if instance.value(scale) == Some("Megabytes") { 1 << 20 } else { 1 << 10 };
    instance.value(size).and_then(|size| size.parse::<u64>().ok()).unwrap_or(0) * unit
}

fn bridge(instance: &Instance) -> Vec<String> {
    let mut found = vec![];
    let low = number(instance, "axibar_0");
    // Vivado's default is a window of 1 MiB, outside of which DMA fails without a message.
    let high = instance.value("axibar_highaddr_0").map_or(0xF_FFFF, |_| number(instance, "axibar_highaddr_0"));
    let bytes = high.wrapping_sub(low).wrapping_add(1);
    if low != 0 || bytes != 1 << 48 {
        found.push(format!(
            "the window to host memory is {low:#x} to {high:#x}, and DMA outside of it fails silently; set axibar_0 to 0 and \
             axibar_highaddr_0 to 0x0000FFFFFFFFFFFF"
        ));
    }
    if number(instance, "axibar2pciebar_0") != 0 {
        found.push("axibar2pciebar_0 moves the addresses of host memory; set it to 0".into());
    }
    let places = ["bar_indicator", "pf0_msix_cap_table_bir", "pf0_msix_cap_pba_bir"];
    for name in places {
        if instance.value(name).unwrap_or("BAR_1:0") == "BAR_1:0" {
            found.push(format!("`{name}` puts MSI-X into BAR 0 and hides the registers there; set it to BAR_3:2"));
        }
    }
    if places.iter().any(|name| instance.value(name) != instance.value(places[0])) {
        found.push(format!("{} differ; give them the same BAR", places.join(", ")));
    }
    if bar_bytes(instance, "pf0_bar2_scale", "pf0_bar2_size") < INTERNAL_MSIX_BYTES {
        found.push("BAR 2 is smaller than the 64 KiB of MSI-X; set pf0_bar2_size to 64 Kilobytes at least".into());
    }
    for name in ["c_s_axi_num_read", "c_s_axi_num_write"] {
        if instance.value(name) != Some("32") {
            found.push(format!("`{name}` is not 32, and the default of 8 throttles DMA; set it to 32"));
        }
    }
    if instance.value("xdma_axilite_slave") != Some("true") {
        found.push("without xdma_axilite_slave the vector map cannot be set; set it to true".into());
    }
    found
}

fn tlp_block(instance: &Instance) -> Vec<String> {
    let places = ["MSIx_Table_BIR", "MSIx_PBA_BIR"];
    let in_bar_0 = places.iter().filter(|name| matches!(instance.value(name), None | Some("BAR_0" | "BAR_1:0")));
    in_bar_0
        .map(|name| format!("`{name}` puts MSI-X into BAR 0 and hides the registers there; set it to BAR_3:2"))
        .collect()
}
