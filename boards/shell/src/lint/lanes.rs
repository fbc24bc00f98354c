//! Lanes: their order in the quads, the quads of hard blocks, and what the sources call each lane.

use crate::data::{Board, Function, Issue, Mac, MacKind, Pin, Table};

/// First quad of a column of transceivers: part, quad, column. The channels of that quad are Y0 to Y3.
const COLUMNS: [(&str, u32, u32); 10] = [
    ("xcu50-", 124, 0),
    ("xcu50-", 224, 1),
    ("xcu55c-", 124, 0),
    ("xcu55c-", 224, 1),
    ("xcu280-", 124, 0),
    ("xcu280-", 224, 1),
    ("xcu250-", 120, 0),
    ("xcu250-", 220, 1),
    ("xcku5p-", 224, 0),
    ("xc7k325t", 115, 0),
];

/// Hard 100G MACs next to quads: part, quad, site.
const CMACS: [(&str, u32, &str); 7] = [
    ("xcu50-", 131, "CMACE4_X0Y4"),
    ("xcu55c-", 130, "CMACE4_X0Y3"),
    ("xcu55c-", 131, "CMACE4_X0Y4"),
    ("xcu280-", 134, "CMACE4_X0Y6"),
    ("xcu280-", 135, "CMACE4_X0Y7"),
    ("xcu250-", 231, "CMACE4_X0Y8"),
    ("xcu250-", 230, "CMACE4_X0Y7"),
];

/// Site of a channel, such as `X1Y15`; none if the part has no column that begins below the quad.
fn site(part: &str, quad: u32, channel: u32) -> Option<String> {
    let columns = COLUMNS.iter().filter(|(p, first, _)| part.starts_with(p) && *first <= quad);
    let (_, first, column) = columns.max_by_key(|(_, first, _)| *first)?;
    // A file may name any quad.
    let row = (quad - first).checked_mul(4)?.checked_add(channel)?;
    Some(format!("X{column}Y{row}"))
}

pub(super) fn check(board: &Board, table: &Table) -> Vec<Issue> {
    let mut issues = Vec::new();
    let pcie = &board.pcie;
    if pcie.lanes == 0 {
        issues.push(board.issue(board.line_of(pcie.line, "lanes"), "PCI Express has 0 lanes; give 1 to 16"));
        return issues;
    }
    if pcie.quads.len() != pcie.lanes.div_ceil(4) {
        let text =
            format!("{} lanes need {} quads, but quads has {}", pcie.lanes, pcie.lanes.div_ceil(4), pcie.quads.len());
        issues.push(board.issue(board.line_of(pcie.line, "quads"), text));
        return issues;
    }
    // Lane 0 of PCIe is the highest channel of its first quad.
    let place = |lane: usize| (pcie.quads[lane / 4], 3 - lane as u32 % 4);
    let lane0 = site(&board.part, pcie.quads[0], 3);
    if lane0.as_deref() != Some(pcie.gt_lane0.as_str()) {
        let text = format!(
            "gt_lane0 is {}, but lane 0 in quad {} has the channel {}",
            pcie.gt_lane0,
            pcie.quads[0],
            lane0.as_deref().unwrap_or("of no known column")
        );
        issues.push(board.issue(board.line_of(pcie.line, "gt_lane0"), text));
    }
    group(board, table, "pcie", pcie.lanes, place, &mut issues);
    for mac in &board.macs {
        mac_lanes(board, table, mac, &mut issues);
    }
    issues
}

fn mac_lanes(board: &Board, table: &Table, mac: &Mac, issues: &mut Vec<Issue>) {
    let first = (0..4).find(|channel| site(&board.part, mac.quad, *channel).as_deref() == Some(mac.gt_lane0.as_str()));
    match first {
        Some(first) if mac.lanes <= 4 - first as usize => {
            group(board, table, &mac.name, mac.lanes, |lane| (mac.quad, first + lane as u32), issues);
        }
        _ => {
            let text = format!(
                "gt_lane0 {} of `{}` is no channel of quad {} with room for {} lanes",
                mac.gt_lane0, mac.name, mac.quad, mac.lanes
            );
            issues.push(board.issue(board.line_of(mac.line, "gt_lane0"), text));
        }
    }
    let known = CMACS.iter().find(|(part, quad, _)| board.part.starts_with(part) && *quad == mac.quad).map(|c| c.2);
    if (mac.kind == MacKind::Cmac) != mac.site.is_some() || (mac.site.is_some() && known != mac.site.as_deref()) {
        let text = format!(
            "site {} of `{}` is not the hard MAC of quad {}, which is {}",
            mac.site.as_deref().unwrap_or("(none)"),
            mac.name,
            mac.quad,
            known.unwrap_or("none for this kind")
        );
        issues.push(board.issue(board.line_of(mac.line, "site"), text));
    }
}

/// The lanes of a group are at the channels that `place` gives: quad and channel of each lane.
fn group(
    board: &Board,
    table: &Table,
    name: &str,
    lanes: usize,
    place: impl Fn(usize) -> (u32, u32),
    issues: &mut Vec<Issue>,
) {
    for (direction, receive) in [("rx", true), ("tx", false)] {
        for (sign, positive) in [("p", true), ("n", false)] {
            for lane in 0..lanes {
                // A port of one lane has no index.
                let index = if lanes == 1 { String::new() } else { format!("[{lane}]") };
                let port = format!("{name}_{direction}_{sign}{index}");
                let Some(pin) = board.pin(&port) else {
                    issues.push(board.issue(board.line_of(1, name), format!("`{port}` has no pin")));
                    continue;
                };
                let (quad, channel) = place(lane);
                let wanted = Function::Lane { receive, positive, channel, quad };
                let Some(known) = table.pin(&pin.loc) else { continue };
                if Function::parse(&known.function) != Some(wanted) {
                    let text = format!(
                        "lane order: `{port}` needs channel {channel} of quad {quad}, but pin {} is {}",
                        pin.loc, known.function
                    );
                    issues.push(board.issue(pin.line, text));
                }
                names(board, table, pin, (receive, positive, lane), name, issues);
            }
        }
    }
}

/// What the sources call the pin is the same lane, direction and sign.
fn names(board: &Board, table: &Table, pin: &Pin, lane: (bool, bool, usize), group: &str, issues: &mut Vec<Issue>) {
    let Some(known) = table.pin(&pin.loc) else { return };
    for (source, statement) in &known.statements {
        let Some((unit, receive, positive, number)) = named_lane(&statement.name) else {
            let text = format!("{source} calls pin {} `{}`, which is no lane", pin.loc, statement.name);
            issues.push(board.issue(pin.line, text));
            continue;
        };
        // A port of one lane is numbered among the ports: sfp2 is lane 0 of its own.
        let unit_fits = if group == "pcie" { unit == Unit::Pcie } else { unit == Unit::Port(port_number(group)) };
        if (receive, positive, number) != lane || !unit_fits {
            let text = format!(
                "{source} calls pin {} `{}`, which is another lane than `{}`",
                pin.loc, statement.name, pin.port
            );
            issues.push(board.issue(pin.line, text));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Pcie,
    Port(usize),
}

fn port_number(text: &str) -> usize {
    let digits: String =
        text.chars().rev().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.chars().rev().collect::<String>().parse().unwrap_or(0)
}

/// Lane in a source's name, such as `pcie_rx0_p`, `qsfp0_tx_n[3]`, `QSFP28_1_RX2_P`, `sfp0.rxp`: unit, receives, positive, lane.
fn named_lane(name: &str) -> Option<(Unit, bool, bool, usize)> {
    let name = name.to_ascii_lowercase();
    let (at, receive) = match (name.find("rx"), name.find("tx")) {
        (Some(at), _) => (at, true),
        (None, Some(at)) => (at, false),
        (None, None) => return None,
    };
    let (unit, rest) = (&name[..at], &name[at + 2..]);
    let digits: String = rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let sign = rest.find(['p', 'n'])?;
    let number = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    // AMD's names with the number before the sign count the lanes of a QSFP from 1.
    let from_one = unit.starts_with("qsfp28") && rest.find(|c: char| c.is_ascii_digit()).is_some_and(|d| d < sign);
    // The 28 of `qsfp28` is a speed; a port without a number is the only one.
    let unit = unit.trim_end_matches(['_', '.']).trim_start_matches("qsfp28");
    let unit = if unit.starts_with("pcie") { Unit::Pcie } else { Unit::Port(port_number(unit)) };
    Some((unit, receive, rest[sign..].starts_with('p'), number - usize::from(from_one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_read_from_names() {
        for (name, lane) in [
            ("pcie_rx11_p", (Unit::Pcie, true, true, 11)),
            ("pcie_x80.tx_n[3]", (Unit::Pcie, false, false, 3)),
            ("qsfp_rx_p[2]", (Unit::Port(0), true, true, 2)),
            ("qsfp1_TX_N3", (Unit::Port(1), false, false, 3)),
            ("QSFP28_1_RX4_P", (Unit::Port(1), true, true, 3)),
            ("QSFP28_0_RX_P0", (Unit::Port(0), true, true, 0)),
            ("sfp2.txn", (Unit::Port(2), false, false, 0)),
        ] {
            assert_eq!(named_lane(name), Some(lane), "{name}");
        }
        assert_eq!(named_lane("led"), None);
    }
}
