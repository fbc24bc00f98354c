//! Crossings of the blocks that have several clocks, as they are emitted.

use super::netlist;
use crate::yosys::yosys;
use spindle_blocks::{AsyncFifo, RamStyle};
use spindle_boards::check::cdc::{self, Report, Rules};
use spindle_boards::check::shell;
use spindle_boards::hdl::gearbox::BarGearbox;
use spindle_boards::hdl::link::MacLink;
use spindle_boards::hdl::mac64::Mac64;
use spindle_boards::hdl::reset::{CoreReset, ResetPair};
use spindle_boards::hdl::rx_cross::RxCross;
use spindle_boards::hdl::tx_cross::TxCross;
use spindle_boards::hdl::wire_64::Wire64;
use spindle_harness::{source_of, Source};
use spindle_verilog::prelude::*;

fn emit(block: &mut impl Block, top: &str) -> Source {
    source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"))
}

fn judge(source: &Source, rules: &Rules) -> Option<Report> {
    let netlist = netlist(&yosys()?, &source.files, &source.top, &[]);
    Some(cdc::check(&netlist, rules).unwrap_or_else(|sentence| panic!("{}: {sentence}", source.top)))
}

fn right(source: &Source, rules: &Rules, wanted: &str) {
    let Some(report) = judge(source, rules) else { return };
    assert_eq!(report.findings, Vec::<String>::new(), "{}", source.top);
    assert_eq!(cdc::list(&report), wanted, "{}", source.top);
}

/// The findings in a block, one line of which is written otherwise.
fn broken(source: &Source, from: &str, to: &str, rules: &Rules) -> Option<Vec<String>> {
    let mut source = source.clone();
    let mut changed = 0;
    for (_, text) in source.files.iter_mut().filter(|(_, text)| text.contains(from)) {
        *text = text.replacen(from, to, 1);
        changed += 1;
    }
    assert_eq!(changed, 1, "`{from}` in {}", source.top);
    Some(judge(&source, rules)?.findings)
}

#[test]
fn the_fifo_crosses_by_gray_code() {
    let fifo = emit(&mut AsyncFifo::<Bits<8>, 4>::default(), "async_fifo");
    right(&fifo, &shell::rules(), include_str!("golden/async_fifo.txt"));
    let fifo = emit(&mut AsyncFifo::<Bits<8>, 4>::new(RamStyle::Block), "async_fifo_block");
    right(&fifo, &shell::rules(), include_str!("golden/async_fifo_block.txt"));
}

/// Frames, counts, resets and the sign of life between a MAC and the core.
#[test]
fn frames_cross_by_the_fifo_and_its_pair_of_resets() {
    let rx = emit(&mut RxCross::<4>::default(), "rx_cross");
    right(&rx, &shell::rules(), include_str!("golden/rx_cross.txt"));
    let tx = emit(&mut TxCross::<4>::with_longest(15), "tx_cross");
    right(&tx, &shell::rules(), include_str!("golden/tx_cross.txt"));
}

#[test]
fn resets_cross_by_levels() {
    right(&emit(&mut ResetPair::default(), "reset_pair"), &Rules::default(), include_str!("golden/reset_pair.txt"));
    right(&emit(&mut CoreReset::default(), "core_reset"), &Rules::default(), include_str!("golden/core_reset.txt"));
}

#[test]
fn the_state_of_a_mac_crosses_by_levels_and_counts() {
    let link = emit(&mut MacLink::default(), "mac_link");
    let rules = Rules::default().port("levels", "mac_clock").independent("near", "levels of a MAC, each for itself");
    right(&link, &rules, include_str!("golden/mac_link.txt"));
    let findings = broken(&link, "gray <= next ^ {1'b0, next[3:1]}", "gray <= next", &rules);
    let wanted = |i: usize| {
        let unit = format!("counts[{i}].unit");
        format!(
            "register `{unit}.gray[3:0]` (clock `mac_clock`) crosses bit by bit into register `{unit}.gray_near[3:0]` (clock \
             `core_clock`), and is no Gray code of a counter: its bits are seen in different cycles; use Gray code or a handshake"
        )
    };
    assert!(findings.is_none_or(|found| found == [0, 1].map(wanted)));
}

/// Where receiver and transmitter have a clock each: the parts above, the permission to send, and pause frames.
#[test]
fn a_wire_side_of_three_clocks_is_clean() {
    let wire = emit(&mut Wire64::with_pause(), "wire_64");
    let rules = shell::rules().independent("*link.near", "levels of a MAC, each for itself");
    right(&wire, &rules, include_str!("golden/wire_64.txt"));
    let findings = broken(&wire, "taken <= quanta", "taken <= quanta & {16{turn}}", &rules);
    assert!(findings.is_none_or(|found| found.len() == 1 && found[0].contains("pause.send_0.taken")));
}

/// Only the faults of the link cross between the directions of the MAC of 64 bits.
#[test]
fn the_faults_of_a_link_cross_by_levels() {
    let mac = emit(&mut Mac64::default(), "mac64");
    right(&mac, &Rules::default(), include_str!("golden/mac64.txt"));
    let findings = broken(&mac, "local_near <= local_here", "local_near <= link_local_fault", &Rules::default());
    assert!(findings.is_none_or(|found| found.len() == 1 && found[0].contains("local_near")));
}

/// The clocks of a gearbox have common edges; without that, all of it is a finding.
#[test]
fn a_gearbox_needs_common_edges() {
    let gearbox = emit(&mut BarGearbox::default(), "bar_gearbox");
    let Some(report) = judge(&gearbox, &Rules::default().related("core_clock", "pcie_clock")) else { return };
    assert_eq!((report.findings.len(), report.crossings.len(), report.pairs().len()), (0, 0, 2));
    let report = judge(&gearbox, &Rules::default()).expect("the tool is there");
    assert!(report.findings.len() > 10, "{:?}", report.findings);
    assert!(report.findings.iter().all(|found| found.contains("core_clock") && found.contains("pcie_clock")));
}
