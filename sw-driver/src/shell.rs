//! The shell of a board: which board a card is, what was built, and the state of its links.
//!
//! A card in a simulator, or served by a program, has no shell. The word SHELL of the page `global`, which every card answers,
//! says whether there is one; the page of the shell is read only if it does.

use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::pci::{self, BOARDS};
use spindle_contract::registers::shell::{self, Build};
use spindle_contract::registers::{global, SHELL_MACS, SHELL_REVISION};

/// The shell of a card, as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Number of the board, which is its PCI subsystem id.
    pub number: u16,
    /// Hash of the commit that was built, as 40 digits.
    pub commit: String,
    /// Options of the build.
    pub build: Build,
    /// Rate of a MAC in Gbit/s.
    pub gbps: u32,
    /// DNA of the device, its highest digits first, once the card has read it.
    pub dna: Option<String>,
    /// State of PCIe.
    pub pcie: shell::Pcie,
    /// Interrupts that wait for the PCIe block, a bit per vector.
    pub irq_pending: u32,
    /// Bursts to addresses that the board cannot reach.
    pub host_refused: u32,
    /// Bursts that were ended because the link was down.
    pub host_abandoned: u32,
    /// Register accesses that the shell ended.
    pub bar_silent: u32,
    /// Times the link went down.
    pub link_losses: u32,
    /// The MACs that the board has.
    pub macs: Vec<Mac>,
}

/// A MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac {
    /// Its state.
    pub state: shell::Mac,
    /// Times it was no longer up.
    pub losses: u32,
    /// Frames that were dropped because the shell's receive FIFO was full.
    pub rx_overflow: u32,
    /// Frames that the MAC marked as bad.
    pub rx_bad: u32,
    /// Frames that were not sent whole.
    pub tx_failed: u32,
}

impl Shell {
    /// The board, if this library knows its number.
    pub fn board(&self) -> Option<&'static pci::Board> {
        BOARDS.iter().find(|board| board.number == self.number)
    }

    /// Name of the configuration of the NIC; `None`: none of the named ones.
    pub fn configuration(&self) -> Option<&'static str> {
        match self.build.configuration() {
            Build::CONFIGURATION_SIM => Some("sim"),
            Build::CONFIGURATION_KINTEX7 => Some("kintex7"),
            Build::CONFIGURATION_ALVEO => Some("alveo"),
            Build::CONFIGURATION_ALVEO32 => Some("alveo32"),
            _ => None,
        }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// The shell of the card's board; `None`: the card has none, as in a simulator.
    ///
    /// # Errors
    /// The card's shell is one of another version, or the card does not answer.
    pub fn shell(&mut self) -> Result<Option<Shell>> {
        let bar = &mut self.bar;
        match bar.read32(global::BASE + global::SHELL)? {
            0 => return Ok(None),
            shell::BASE => {}
            _ => return Err(Error::NoBlock("shell")),
        }
        let mut word = |offset: u32| bar.read32(shell::BASE + offset);
        let revision = word(shell::REVISION)?;
        if revision != SHELL_REVISION {
            return Err(Error::Shell { card: revision, library: SHELL_REVISION });
        }
        let build = Build(word(shell::BUILD)?);
        let pcie = shell::Pcie(word(shell::PCIE)?);
        let commit = (0..5).map(|i| Ok(format!("{:08x}", word(shell::GIT + 4 * i)?))).collect::<Result<String>>()?;
        let dna = if pcie.dna_valid() {
            let words = [word(shell::DNA)?, word(shell::DNA + 4)?, word(shell::DNA + 8)?];
            let dna = words.into_iter().rev().fold(0u128, |dna, word| dna << 32 | u128::from(word));
            Some(format!("{dna:0digits$x}", digits = build.dna_bits().div_ceil(4) as usize))
        } else {
            None
        };
        let macs = (0..build.macs().min(SHELL_MACS as u32)).map(|mac| {
            let mut word = |offset: u32| word(offset + 4 * mac);
            Ok(Mac {
                state: shell::Mac(word(shell::MAC)?),
                losses: word(shell::MAC_LOSSES)?,
                rx_overflow: word(shell::RX_OVERFLOW)?,
                rx_bad: word(shell::RX_BAD)?,
                tx_failed: word(shell::TX_FAILED)?,
            })
        });
        let macs = macs.collect::<Result<_>>()?;
        Ok(Some(Shell {
            number: shell::Board(word(shell::BOARD)?).board() as u16,
            commit,
            build,
            gbps: shell::MacRate(word(shell::MAC_RATE)?).gbps(),
            dna,
            pcie,
            irq_pending: word(shell::IRQ_PENDING)?,
            host_refused: word(shell::HOST_REFUSED)?,
            host_abandoned: word(shell::HOST_ABANDONED)?,
            bar_silent: word(shell::BAR_SILENT)?,
            link_losses: word(shell::LINK_LOSSES)?,
            macs,
        }))
    }

    /// Lets the LEDs of the board blink, so that it is found in its machine. Returns whether the card has a board's shell.
    ///
    /// # Errors
    /// As [`Device::shell`].
    pub fn identify_board(&mut self, blink: bool) -> Result<bool> {
        let has_shell = self.shell()?.is_some();
        if has_shell {
            self.bar.write(shell::Identify::ZERO.with_identify(blink))?;
        }
        Ok(has_shell)
    }
}
