//! Every block is emitted, and its Verilog is clean under `verilator -Wall`.

use spindle_blocks::Beat;
use spindle_boards::hdl::bar::{BarBridge256, BarBridge512};
use spindle_boards::hdl::gearbox::{BarGearbox, HostGearbox};
use spindle_boards::hdl::host::HostBridge;
use spindle_boards::hdl::identity::{Built, DnaReader, Identity};
use spindle_boards::hdl::irq::IrqBridge;
use spindle_boards::hdl::irq_init::IrqInit;
use spindle_boards::hdl::link::MacLink;
use spindle_boards::hdl::reset::{CoreReset, ResetPair};
use spindle_boards::hdl::slice::SlrSlice;
use spindle_contract::pci::BOARDS;
use spindle_contract::registers::shell::Build;
use spindle_harness::{lint, source_of, Source};
use spindle_verilog::prelude::Block;

pub fn built() -> Built {
    let build =
        Build::ZERO.with_configuration(Build::CONFIGURATION_ALVEO).with_macs(1).with_divider(1).with_dna_bits(96);
    Built::new(&BOARDS[0], "0123456789abcdef00112233445566778899aabb", build, 100).unwrap()
}

fn emit(block: &mut impl Block, top: &str) -> Source {
    source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"))
}

/// All blocks of the host side by the names of their modules.
pub fn all() -> Vec<Source> {
    vec![
        emit(&mut BarBridge512::default(), "bar_bridge_512"),
        emit(&mut BarBridge256::default(), "bar_bridge_256"),
        emit(&mut HostBridge::default(), "host_bridge"),
        emit(&mut HostGearbox::default(), "host_gearbox"),
        emit(&mut BarGearbox::default(), "bar_gearbox"),
        emit(&mut IrqBridge::default(), "irq_bridge"),
        emit(&mut IrqInit::default(), "irq_init"),
        emit(&mut CoreReset::default(), "core_reset"),
        emit(&mut ResetPair::default(), "reset_pair"),
        emit(&mut Identity::new(&built()), "identity"),
        emit(&mut DnaReader::new(96), "dna_reader"),
        emit(&mut MacLink::default(), "mac_link"),
        emit(&mut SlrSlice::<Beat>::default(), "slr_slice"),
    ]
}

#[test]
fn verilator_has_no_warning() {
    for source in all() {
        let warnings = lint(&source).unwrap_or_else(|error| panic!("{}: {error:#}", source.top));
        assert!(warnings.is_empty(), "{}: {warnings:?}", source.top);
    }
}
