//! Shells: what lies between the NIC and the vendor blocks of a board.
//!
//! | module | what it has |
//! |---|---|
//! | [`alveo`] | the shell of the Alveo cards, in our HDL |
//! | [`kc705`] | the shell of the KC705, in our HDL |
//! | [`kcu116`] | the shell of the KCU116, in our HDL |
//! | [`top`] | pads, primitives and vendor blocks around a shell: wiring, written from the board file and the tables |
//! | [`timing`] | clocks of the vendor blocks, and the crossings between them |

pub mod alveo;
pub mod kc705;
pub mod kcu116;
pub mod timing;
pub mod top;

use crate::data::{Board, HostIp, Issue, Issues, MacKind};
use crate::hdl::gty_watch;
use crate::hdl::identity::Built;
use crate::hdl::pcs::Rate;
use crate::ip;
use crate::write::xdc::Timing;
use alveo::AlveoShell;
use kc705::Kc705Shell;
use kcu116::Kcu116Shell;
use spindle_contract::params::Config;
use spindle_contract::pci::{Board as KnownBoard, BOARDS};
use spindle_contract::registers::shell::Build;
use spindle_verilog::{Design, EmitError};
use std::process::Command;

/// The shell of a board, ready for a project.
#[derive(Debug, Clone)]
pub struct ShellDesign {
    /// The design from the top down: pads, primitives, vendor blocks and the shell.
    pub design: Design,
    /// Clocks that vendor blocks make, and the crossings between clocks.
    pub timing: Timing,
}

/// The source of a build, as the page `shell` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Hash, 40 hexadecimal digits.
    pub hash: String,
    /// The checkout had changes that the hash does not name.
    pub modified: bool,
}

impl Commit {
    /// The commit of the checkout from which this program was built, as it is now; unknown where there is none any more.
    pub fn of_checkout() -> Self {
        let git = |arguments: &[&str]| {
            let output = Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| text.trim().to_string())
        };
        match (git(&["rev-parse", "HEAD"]), git(&["status", "--porcelain"])) {
            (Some(hash), Some(changes)) if hash.len() == 40 => Self { hash, modified: !changes.is_empty() },
            _ => Self::unknown(),
        }
    }

    /// No commit is known: zeros.
    pub fn unknown() -> Self {
        Self { hash: "0".repeat(40), modified: true }
    }
}

/// What differs from shell to shell of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What the page `shell` says.
    pub built: Built,
    /// The MAC corrects errors (RS-FEC).
    pub rsfec: bool,
    /// Pause frames are sent and obeyed.
    pub pause: bool,
    /// MAC and PCIe are in different die regions: register slices between crossings and NIC.
    pub far: bool,
    /// Reads, and writes, that the PCIe block takes at a time.
    pub outstanding: usize,
    /// Bits of an address that reach the host.
    pub address_bits: u32,
}

impl Options {
    /// Options of a board for a NIC of a configuration.
    ///
    /// # Errors
    /// A board that the contract does not know, or a hash of another form.
    pub fn of(board: &Board, config: &Config, commit: &Commit) -> Result<Self, Issues> {
        let mac = board.mac();
        let build = Build::ZERO
            .with_configuration(number_of(config))
            .with_macs(1)
            .with_divider(board.core_clock.divide() as u32)
            .with_rsfec(mac.rsfec)
            .with_pause(mac.pause)
            .with_modified(commit.modified)
            .with_dna_bits(if board.series7() { kc705::DNA_BITS as u32 } else { alveo::DNA_BITS as u32 });
        let built = Built::new(known(board)?, &commit.hash, build, mac.rate_gbps as u16);
        Ok(Self {
            built: built.map_err(|text| Issues::from(board.issue(0, text)))?,
            rsfec: mac.rsfec,
            pause: mac.pause,
            far: mac.slr != board.pcie.slr,
            outstanding: board.limits.reads.min(board.limits.writes),
            address_bits: board.limits.address_bits,
        })
    }
}

/// The number of a configuration on the page `shell`.
fn number_of(config: &Config) -> u32 {
    let named = |other: &Config| config == other;
    match () {
        () if named(&Config::SIM) => Build::CONFIGURATION_SIM,
        () if named(&Config::KINTEX7) => Build::CONFIGURATION_KINTEX7,
        () if named(&Config::ALVEO) => Build::CONFIGURATION_ALVEO,
        () if named(&Config::ALVEO32) => Build::CONFIGURATION_ALVEO32,
        () => Build::CONFIGURATION_CUSTOM,
    }
}

fn known(board: &Board) -> Result<&'static KnownBoard, Issues> {
    ip::subsystem(board)?;
    Ok(BOARDS.iter().find(|known| known.name == board.name).expect("a board with a number is known"))
}

/// The shell of a board alone, `shell_<board>`, around a NIC of any (valid) configuration: the design whose ports are those
/// of the vendor blocks. The NIC has no trace ports. None if the board has no shell yet.
///
/// # Errors
/// An illegal configuration, or a refusal of the emitter, which is a fault of this crate.
pub fn shell(board: &Board, config: &Config, commit: &Commit) -> Result<Option<Design>, Issues> {
    let refuse = |text: String| Issues::from(Issue { path: board.path.clone(), line: 0, text });
    config.validate().map_err(|sentence| refuse(sentence.to_string()))?;
    let options = Options::of(board, config, commit)?;
    let name = format!("shell_{}", board.name);
    let emission = spindle_nic::with_interfaces(config);
    let emitted = match (board.pcie.ip, board.mac().kind) {
        (HostIp::Xdma, MacKind::Cmac) => spindle_nic::elaborate(|| -> Result<Design, EmitError> {
            spindle_verilog::emit_with(&mut AlveoShell::new(config, &options), &name, &emission)
        }),
        (HostIp::Pcie7x, MacKind::TenGigPcs) => spindle_nic::elaborate(|| -> Result<Design, EmitError> {
            let mut shell = Kc705Shell::new(config, &options, Kc705Shell::timing());
            spindle_verilog::emit_with(&mut shell, &name, &emission)
        }),
        (HostIp::Xdma, MacKind::OwnPcs) => {
            let rate = rate(board)?;
            spindle_nic::elaborate(|| -> Result<Design, EmitError> {
                let mut shell = Kcu116Shell::new(config, &options, rate, gty_watch::PATIENCE);
                spindle_verilog::emit_with(&mut shell, &name, &emission)
            })
        }
        _ => return Ok(None),
    };
    emitted.map(Some).map_err(|error| refuse(error.to_string()))
}

/// The rate of the line of a board with a PCS of ours.
fn rate(board: &Board) -> Result<Rate, Issues> {
    let mac = board.mac();
    Rate::of_gigabits(mac.rate_gbps).ok_or_else(|| {
        let text = format!("the PCS has no rate of {} Gbit/s; give 10 or 25", mac.rate_gbps);
        Issues::from(board.issue(mac.line, text))
    })
}

/// The design of a board's project: the top, with the shell of the board's own configuration, built from this checkout; none
/// if the board has no shell yet.
///
/// # Errors
/// As for [`shell`], and for [`ip::instances`].
pub fn design(board: &Board) -> Result<Option<ShellDesign>, Issues> {
    let Some(shell) = shell(board, &board.config(), &Commit::of_checkout())? else { return Ok(None) };
    Ok(Some(ShellDesign { design: top::design(board, shell)?, timing: timing::of(board) }))
}
