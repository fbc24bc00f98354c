//! Folders of SystemVerilog, one for each block of the shell: what `cargo xtask synth --from` maps.

use crate::hdl::i2c::I2cMaster;
use crate::hdl::mac64::{LinkFault, Mac64, MacRx, MacTx};
use crate::hdl::pause::{Pause, PauseOptions};
use crate::hdl::pcs::{BitErrors, BlockLock, Gearbox, PcsRx, PcsTx, Rate};
use crate::hdl::rx_cross::RxCross;
use crate::hdl::si5324::Si5324;
use crate::hdl::tx_cross::TxCross;
use crate::hdl::width::{Narrow, Widen};
use spindle_verilog::prelude::Block;
use spindle_verilog::{emit, Design};
use std::path::{Path, PathBuf};

/// The blocks of the wire side by the names of their folders, with FIFOs of 512 beats.
///
/// # Errors
/// A block that is refused: its name and why.
pub fn wire_side() -> Result<Vec<(&'static str, Design)>, String> {
    let options = PauseOptions { high: 384, low: 128, cycles: PauseOptions::CMAC };
    Ok(vec![
        one("rx_cross", &mut RxCross::<9>::default())?,
        one("tx_cross", &mut TxCross::<9>::default())?,
        one("widen", &mut Widen::default())?,
        one("narrow", &mut Narrow::default())?,
        one("pause", &mut Pause::<9>::new(options))?,
    ])
}

/// The blocks of 10 and 25 Gb/s Ethernet by the names of their folders.
///
/// # Errors
/// A block that is refused: its name and why.
pub fn ethernet() -> Result<Vec<(&'static str, Design)>, String> {
    Ok(vec![
        one("mac_tx", &mut MacTx::default())?,
        one("mac_rx", &mut MacRx::default())?,
        one("link_fault", &mut LinkFault::default())?,
        one("mac64", &mut Mac64::default())?,
        one("pcs_tx", &mut PcsTx::default())?,
        one("pcs_tx_sequenced", &mut PcsTx::new(Gearbox::Sequenced, true))?,
        one("pcs_rx", &mut PcsRx::default())?,
        one("pcs_rx_25", &mut PcsRx::new(Rate::TwentyFive, true))?,
        one("block_lock", &mut BlockLock::default())?,
        one("bit_errors", &mut BitErrors::default())?,
        one("i2c_master", &mut I2cMaster::default())?,
        one("si5324", &mut Si5324::default())?,
    ])
}

fn one(name: &'static str, block: &mut impl Block) -> Result<(&'static str, Design), String> {
    emit(block, name).map(|design| (name, design)).map_err(|error| format!("{name}: {error}"))
}

/// Writes each block to a folder below `out`: a file for each module, `filelist.f` and `top.txt`. Returns the folders.
///
/// # Errors
/// A block that is refused, or a folder that cannot be written: one sentence.
pub fn write(out: &Path) -> Result<Vec<PathBuf>, String> {
    let deliver = |(name, design): (&str, Design)| {
        let folder = out.join(name);
        let written = design
            .write_dir(&folder)
            .and_then(|()| std::fs::write(folder.join("top.txt"), format!("{}\n", design.top)));
        written.map(|()| folder.clone()).map_err(|error| format!("cannot write to {}: {error}", folder.display()))
    };
    wire_side()?.into_iter().chain(ethernet()?).map(deliver).collect()
}
