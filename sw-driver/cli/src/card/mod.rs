//! Commands on a running card: real, served or simulated. All but `reset` attach to the card and leave alone what others
//! have loaded.

pub mod address;
pub mod bind;
pub mod events;
pub mod info;
pub mod listener;
pub mod live;
pub mod load;
pub mod network;
pub mod put;
pub mod reset;
pub mod stats;
pub mod top;
pub mod trace;
pub mod values;
pub mod window;

use address::{Places, VARIABLE};
use anyhow::{Context, Result};
use live::{Live, Stop};
use spindle::SharedCard;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Commands on a card.
#[derive(clap::Subcommand, Clone, Debug)]
pub enum CardCommand {
    /// Load a handler into a running card, and give it the packets of rules.
    Load(Box<load::LoadArguments>),
    /// Unload contexts of a running card.
    Unload(load::UnloadArguments),
    /// Print the counters of a running card.
    Stats(stats::Arguments),
    /// Show a running card live: HPUs, frames, drops, contexts, mailboxes.
    Top(top::Arguments),
    /// Follow packets through a running card: the cycle of each stage.
    Trace(trace::Arguments),
    /// Print the events of a process as they come.
    Events(events::Arguments),
    /// Bind a card to vfio-pci, so that programs can open it.
    Bind(bind::Arguments),
    /// Reset a card: its contexts, rules, windows and counters.
    Reset,
    /// Put a file into a window of another node, and wait for the acknowledgement.
    Put(Box<put::PutArguments>),
    /// Get bytes of a window of another node.
    Get(Box<put::GetArguments>),
    /// Open a window, and write what arrives to a file or to standard output.
    Window(Box<window::Arguments>),
}

/// The address of the card that the user means.
///
/// # Errors
/// No card is named, and there is none, or there are several.
pub fn address(given: Option<&str>) -> Result<String> {
    Places::default().choose(given, std::env::var(VARIABLE).ok().as_deref())
}

/// Opens the card that the user means: that of `--card`, else of SPINDLE_CARD, else the only one.
///
/// # Errors
/// There is no such card, or it cannot be opened.
pub fn open(given: Option<&str>) -> Result<SharedCard> {
    let address = address(given)?;
    #[cfg(feature = "sim")]
    if address.starts_with(spindle_sim::transport::PREFIX) {
        return spindle_sim::transport::open(&address);
    }
    Ok(spindle::transport::open(&address)?)
}

impl CardCommand {
    /// Carries the command out on the card that the user means.
    ///
    /// # Errors
    /// As [`CardCommand::carry_out`].
    pub fn run(&self, card: Option<&str>) -> Result<()> {
        let stop = Stop::by_signals()?;
        if let CardCommand::Bind(arguments) = self {
            return bind::run(arguments, Path::new("/"), || address(card), &mut io::stdout().lock());
        }
        unless_closed(self.carry_out(|| open(card), &mut io::stdout().lock(), &stop))
    }

    /// Carries the command out, with its output to `out`. Its arguments are checked before the card is opened.
    ///
    /// # Errors
    /// An argument is wrong, the card cannot be opened or does not answer, or a file cannot be read or written.
    pub fn carry_out(&self, open: impl Fn() -> Result<SharedCard>, out: &mut dyn Write, stop: &Stop) -> Result<()> {
        let attach = || Live::attach(open()?);
        match self {
            CardCommand::Load(arguments) => {
                let checked = arguments.check()?;
                load::load(arguments, &checked, &mut attach()?, out, stop)
            }
            CardCommand::Unload(arguments) => load::unload(arguments, &mut attach()?, out, stop),
            CardCommand::Stats(arguments) => stats::run(arguments, &mut attach()?, out, stop),
            CardCommand::Top(arguments) => top::run(arguments, &mut attach()?, stop),
            CardCommand::Trace(arguments) => trace::run(arguments, &mut attach()?, out, stop),
            CardCommand::Events(arguments) => events::run(arguments, &mut Live::attach_or_share(open()?)?, out, stop),
            CardCommand::Bind(_) => unreachable!("`run` has carried it out, without a card"),
            CardCommand::Reset => reset::run(&open()?, out),
            CardCommand::Put(arguments) => {
                let content = arguments.content()?;
                put::put(arguments, &content, &mut attach()?, out, stop)
            }
            CardCommand::Get(arguments) => {
                let mut file = output(&arguments.output)?;
                put::get(arguments, &mut attach()?, file.as_mut().map_or(out, |file| file as &mut dyn Write), stop)
            }
            CardCommand::Window(arguments) => {
                arguments.check()?;
                let mut file = output(&arguments.output)?;
                window::run(arguments, &mut attach()?, file.as_mut().map_or(out, |file| file as &mut dyn Write), stop)
            }
        }
    }
}

/// Prints what the card is.
///
/// # Errors
/// The card cannot be opened or does not answer, or the output cannot be written.
pub fn info(card: Option<&str>, json: bool) -> Result<()> {
    unless_closed(info::run(json, &mut Live::attach(open(card)?)?, &mut io::stdout().lock()))
}

/// A reader that has seen enough, such as `head`, is no error.
fn unless_closed(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
            Ok(())
        }
        other => other,
    }
}

/// The file that a command writes; `None`, for `-`: standard output.
fn output(path: &Path) -> Result<Option<File>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    File::create(path).map(Some).with_context(|| format!("cannot write {}", path.display()))
}
