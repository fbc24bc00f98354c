//! Folders for Vivado: a board's project, and the NIC alone for block designs.
//!
//! | file | what it has |
//! |---|---|
//! | `rtl/*.sv` | the design, a module a file; no black box, since Vivado brings those |
//! | `settings.tcl`, `ip.tcl`, `nic.tcl` | the board, its IP, the NIC as an IP: data only |
//! | `build.tcl`, `program.tcl`, `flash.tcl`, `package.tcl` | the scripts of `boards/tcl`, the same for every board |
//! | `common.tcl`, `compare.tcl` | what the scripts share, and how the IP is compared |
//! | `pins.xdc`, `timing.xdc`, `config.xdc`, `ooc.xdc` | constraints |
//! | `nic_ip.v` | the NIC with a top in plain Verilog |
//! | `README.md` | the commands |

use super::{tcl, wrapper, xdc};
use crate::data::{Board, Issues};
use crate::ip;
use crate::shell::ShellDesign;
use spindle_contract::params::Config;
use spindle_verilog::{Design, EmitError, Module};
use std::path::{Path, PathBuf};

/// Why a folder was not written.
#[derive(Debug)]
pub enum ExportError {
    /// The board, or its IP, was refused.
    Board(Issues),
    /// The design was refused.
    Emit(EmitError),
    /// A sentence about the design.
    Design(String),
    /// The folder that could not be written, and the reason.
    Write(PathBuf, std::io::Error),
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Board(issues) => write!(f, "{issues}"),
            Self::Emit(error) => write!(f, "{error}"),
            Self::Design(sentence) => f.write_str(sentence),
            Self::Write(folder, error) => write!(f, "cannot write to {}: {error}", folder.display()),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<Issues> for ExportError {
    fn from(issues: Issues) -> Self {
        Self::Board(issues)
    }
}

impl From<EmitError> for ExportError {
    fn from(error: EmitError) -> Self {
        Self::Emit(error)
    }
}

impl From<String> for ExportError {
    fn from(sentence: String) -> Self {
        Self::Design(sentence)
    }
}

/// Files of a folder: path below it, and text.
pub type Files = Vec<(String, String)>;

/// The project of a board. Without a shell the folder has the NIC and the IP: enough to compare the IP and to estimate the NIC,
/// and `build.tcl` refuses the steps that need a top.
///
/// # Errors
/// IP settings that break a rule, or constraints of a crossing whose clock is unknown.
pub fn project(board: &Board, shell: Option<&ShellDesign>) -> Result<Files, ExportError> {
    let instances = ip::instances(board)?;
    let config = board.config();
    let (design, timing) = match shell {
        Some(shell) => (shell.design.clone(), shell.timing.clone()),
        None => (spindle_nic::emit_for_synthesis(&config)?, xdc::Timing::default()),
    };
    let top = shell.map(|shell| shell.design.top.as_str());
    let constraints = [
        ("pins.xdc", xdc::pins(board)),
        ("timing.xdc", xdc::timing(board, &timing)?),
        ("config.xdc", xdc::config(board)),
    ];
    let sources_of_project = tcl::Sources {
        top: top.unwrap_or(""),
        rtl: &names(&design.modules),
        xdc: &constraints.each_ref().map(|(name, _)| *name),
        timing: &timing,
    };
    let mut files = sources(&design);
    files.push(("settings.tcl".into(), tcl::settings(board, &instances, &sources_of_project)));
    files.push(("ip.tcl".into(), tcl::ip(board, &instances)));
    files.extend(constraints.map(|(name, text)| (name.to_string(), text)));
    files.extend(of_nic(&config, &board.part, &design)?);
    files.extend(tcl::SCRIPTS.iter().map(|(name, text)| ((*name).to_string(), (*text).to_string())));
    files.push(("README.md".into(), readme(board, top)));
    Ok(files)
}

/// The NIC alone: sources without trace ports, and what packs them as an IP for block designs.
///
/// # Errors
/// As for [`spindle_nic::emit_for_synthesis`].
pub fn nic(config: &Config, part: &str) -> Result<Files, ExportError> {
    let design = spindle_nic::emit_for_synthesis(config)?;
    let mut files = sources(&design);
    files.extend(of_nic(config, part, &design)?);
    let scripts = tcl::SCRIPTS.iter().filter(|(name, _)| ["common.tcl", "package.tcl"].contains(name));
    files.extend(scripts.map(|(name, text)| ((*name).to_string(), (*text).to_string())));
    Ok(files)
}

/// Writes files into a folder, which is made if it is not there. Files of an earlier export that are no longer part of the
/// design go: `rtl` has this design's modules alone.
///
/// # Errors
/// A path that is a file, or a folder that cannot be written.
pub fn write(files: &Files, folder: &Path) -> Result<(), ExportError> {
    let all = || {
        if folder.exists() && !folder.is_dir() {
            return Err(std::io::Error::other("the path is a file; give a folder"));
        }
        let rtl = folder.join("rtl");
        std::fs::create_dir_all(&rtl)?;
        for entry in std::fs::read_dir(&rtl)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "sv") {
                std::fs::remove_file(path)?;
            }
        }
        files.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    };
    all().map_err(|error| ExportError::Write(folder.into(), error))
}

/// Names of the files below `rtl`, children first. Vivado has the black boxes itself.
fn names<'a>(modules: impl IntoIterator<Item = &'a Module>) -> Vec<String> {
    let own = modules.into_iter().filter(|module| !module.black_box);
    own.map(|module| format!("{}.sv", module.name)).collect()
}

/// The module of that name and all that it uses, packages too, in the order of the design. None if there is no such module.
fn below<'a>(design: &'a Design, name: &str) -> Option<Vec<&'a Module>> {
    let top = design.modules.iter().position(|module| module.name == name)?;
    let mut used = vec![false; design.modules.len()];
    used[top] = true;
    // Users come after what they use.
    for at in (0..=top).rev() {
        if !used[at] {
            continue;
        }
        let words = design.modules[at].text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words {
            if let Some(child) = design.modules[..at].iter().position(|module| module.name == word) {
                used[child] = true;
            }
        }
    }
    Some(design.modules.iter().zip(used).filter(|(_, used)| *used).map(|(module, _)| module).collect())
}

fn sources(design: &Design) -> Files {
    let own = design.modules.iter().filter(|module| !module.black_box);
    own.map(|module| (format!("rtl/{}.sv", module.name), module.text.clone())).collect()
}

/// What packs the NIC of a design, and checks it out of context.
fn of_nic(config: &Config, part: &str, design: &Design) -> Result<Files, ExportError> {
    let modules = below(design, spindle_nic::TOP);
    let modules = modules.ok_or_else(|| "the design has no module `nic`; build the shell around Nic".to_string())?;
    let nic = modules.iter().find(|module| module.name == spindle_nic::TOP).expect("`below` begins with the module");
    Ok(vec![
        ("nic.tcl".into(), tcl::nic(config, part, &names(modules.iter().copied()))),
        ("nic_ip.v".into(), wrapper::text(nic)?),
        ("ooc.xdc".into(), tcl::out_of_context(config)),
    ])
}

fn readme(board: &Board, top: Option<&str>) -> String {
    let title = &board.title;
    let start = format!(
        "# {title}: project for Vivado\n\n\
         Never built with Vivado by us, not run on a board. Pages: docs/boards/{}.md and docs/boards/project.md.\n\n",
        board.name
    );
    let run = |script: &str, arguments: &str| format!("`vivado -mode batch -source {script}.tcl{arguments}`");
    let check = run("build", " -tclargs -step check");
    let estimate = run("build", " -tclargs -step ooc");
    let pack = run("package", "");
    match top {
        Some(top) => format!(
            "{start}1. Compare the IP: {check}\n2. Estimate the NIC alone: {estimate}\n3. Make `build/{top}.bit`: {}\n\
             4. Load over JTAG: {}\n5. Write the flash, after 4 works: {}\n6. Pack the NIC for block designs: {pack}\n",
            run("build", ""),
            run("program", " -tclargs -hw_server localhost:3121"),
            run("flash", ""),
        ),
        None => format!(
            "{start}**No bitstream: the {title} has no top yet.** These work:\n\n1. Compare the IP: {check}\n\
             2. Estimate the NIC alone: {estimate}\n3. Pack the NIC for block designs: {pack}\n",
        ),
    }
}
