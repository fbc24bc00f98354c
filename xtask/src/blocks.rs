//! Folders of emitted Verilog: making them and finding them.

use crate::process::{program, target_folder, visible};
use anyhow::{bail, Context, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The block that is the whole NIC.
pub const WHOLE: &str = "nic";

/// A folder of emitted Verilog: `.sv` files, their order in `filelist.f`, and the top module's name in `top.txt`.
pub struct Block {
    pub name: String,
    pub top: String,
    pub folder: PathBuf,
    /// Relative to `folder`, as the tool's sandbox needs them.
    pub files: String,
    /// Size of the Verilog, by which long runs start before short ones.
    pub bytes: u64,
}

/// Locks on folders of emitted Verilog, until the process ends.
static HELD: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// Waits until no other process reads or writes `folder`, and keeps others from it: each of them would clear it first.
fn hold(folder: &Path) -> Result<()> {
    let mut held = HELD.lock().expect("no holder of the lock panics");
    if held.iter().any(|(path, _)| path == folder) {
        return Ok(());
    }
    let path = folder.with_extension("lock");
    std::fs::create_dir_all(path.parent().expect("it is below the target folder"))?;
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    if file.try_lock().is_err() {
        println!("another run uses {}; waiting until it ends", folder.display());
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    held.push((folder.to_path_buf(), file));
    Ok(())
}

/// Emits every block of a configuration and the whole NIC, each to a folder of its own below `target/synth/<config>`,
/// and returns that folder, which is this process's until it ends.
pub fn emit(config: &str) -> Result<PathBuf> {
    let folder = target_folder().join("synth").join(config);
    hold(&folder)?;
    if folder.exists() {
        // Blocks that no longer exist must not be judged.
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder)?;
    let mut emit = program("spindle-nic", "emit");
    visible(emit.args(["--config", config, "--what", "all", "--out"]).arg(&folder))?;
    Ok(folder)
}

/// The blocks below `source`; if `names` is not empty, only those, and each of them must exist.
pub fn find(source: &Path, names: &[String]) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let entries = std::fs::read_dir(source).with_context(|| format!("cannot read {}", source.display()))?;
    for entry in entries {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(top) = std::fs::read_to_string(folder.join("top.txt")) else { continue };
        if !(names.is_empty() || names.contains(&name)) {
            continue;
        }
        // The package of types comes before what uses it.
        let list = std::fs::read_to_string(folder.join("filelist.f"));
        let list = list.with_context(|| format!("{} has no filelist.f", folder.display()))?;
        let files: Vec<&str> = list.lines().collect();
        let sizes = files.iter().map(|file| Ok(std::fs::metadata(folder.join(file))?.len()));
        let bytes = sizes.sum::<Result<u64>>()?;
        blocks.push(Block { name, top: top.trim().into(), folder, files: files.join(" "), bytes });
    }
    if blocks.is_empty() {
        bail!("no blocks in {}; each needs a folder with top.txt and .sv files", source.display());
    }
    if let Some(name) = names.iter().find(|name| blocks.iter().all(|block| block.name != **name)) {
        bail!("there is no block `{name}` in {}", source.display());
    }
    blocks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(blocks)
}
