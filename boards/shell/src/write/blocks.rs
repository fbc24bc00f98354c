//! Folders of SystemVerilog, one for each block of the shell: what `cargo xtask synth --from` maps.

use crate::hdl::pause::{Pause, PauseOptions};
use crate::hdl::rx_cross::RxCross;
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
    wire_side()?.into_iter().map(deliver).collect()
}
