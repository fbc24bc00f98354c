//! What can go wrong, in sentences.

use crate::image::ImageError;
use crate::rule::SyntaxError;

/// Result of the library.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that the library refuses or fails at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The card answered an access with an error or not at all.
    #[error("the card does not answer {access} of register {address:#07x}: {why}")]
    Bar {
        /// "read" or "write".
        access: &'static str,
        /// Byte address in the BAR.
        address: u32,
        /// What happened.
        why: String,
    },
    /// The first register does not say "SPND".
    #[error(
        "this BAR is not a Spindle card's: its first register reads {0:#010x}; check that the right device is open"
    )]
    NotSpindle(u32),
    /// The card speaks another version.
    #[error("the card has contract version {card}, this library speaks {library}; use the library that belongs to the card's image")]
    Version {
        /// The card's.
        card: u32,
        /// The library's.
        library: u32,
    },
    /// A register block is missing from the block list.
    #[error("the card has no register block `{0}`; its image is not complete")]
    NoBlock(&'static str),
    /// The board's shell has another version of its page.
    #[error(
        "the page of the board's shell has version {card}, this library knows {library}; use the library that belongs \
         to the card's image"
    )]
    Shell {
        /// The card's.
        card: u32,
        /// The library's.
        library: u32,
    },
    /// Host memory cannot be had or reached.
    #[error("host memory: {0}")]
    Memory(String),
    /// The image cannot run.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The rule is not understood.
    #[error(transparent)]
    Rule(#[from] SyntaxError),
    /// A table or memory of the card is full.
    #[error("the card has no room for {what}: {wanted} wanted, {free} free; {cure}")]
    Full {
        /// What was wanted.
        what: &'static str,
        /// How much.
        wanted: usize,
        /// How much is left.
        free: usize,
        /// What to do.
        cure: &'static str,
    },
    /// The tests of the rules do not fit the words that the card extracts.
    #[error("the card extracts 16 words of a frame, with five terms each, and none is left for {0}; use fewer different tests or fields")]
    Terms(String),
    /// An argument outside its range.
    #[error("{0}")]
    Argument(String),
    /// A doorbell command was refused.
    #[error("the card refuses {command}: {why}")]
    Doorbell {
        /// The command.
        command: &'static str,
        /// Why.
        why: &'static str,
    },
    /// The card reports what no card of its description can.
    #[error("the card reports {0}; reset it, and write its image again if that happens again")]
    Implausible(String),
    /// A bounded wait ended.
    #[error("{what} did not come within {cycles} cycles")]
    Timeout {
        /// What was waited for.
        what: String,
        /// The bound.
        cycles: u64,
    },
    /// The card has left: it was unplugged, its server ended, or its registers read all ones.
    #[error("the card {address} is gone: {why}; open it again when it is back")]
    Gone {
        /// Address of the card.
        address: String,
        /// How that was noticed.
        why: String,
    },
    /// Another program owns the card.
    #[error("the card {address} is in use by {owner}; end that program, or use the card through spindled")]
    Busy {
        /// Address of the card.
        address: String,
        /// The owner, as far as it is known.
        owner: String,
    },
    /// The system refuses access.
    #[error("no permission for {path}; {cure}")]
    Permission {
        /// File that cannot be opened.
        path: String,
        /// What to do.
        cure: String,
    },
    /// The transport cannot do something.
    #[error("cannot {action}: {source}; {cure}")]
    Transport {
        /// What was attempted.
        action: String,
        /// Why that failed.
        source: std::io::Error,
        /// What to do.
        cure: String,
    },
    /// The other side of a socket refused a request.
    #[error("the server of the card refuses {request}: {why}")]
    Refused {
        /// The request.
        request: &'static str,
        /// Its error, as a sentence.
        why: String,
    },
    /// A library of cards reports an error of its own.
    #[error("{0}")]
    Plugin(String),
}
