//! Host-side library of Spindle.
//!
//! [`Device`] drives a card through two small traits: [`Bar`] for its registers and [`HostMemory`] for memory that it can reach.
//! A transport implements [`Card`]: both, with interrupts, reset and identity. [`SharedCard`] is a card with several owners.
//!
//! | module | what it does |
//! |---|---|
//! | [`access`] | the traits of a transport, and registers by their type |
//! | [`counters`] | all counters, by name |
//! | [`vfio_user`] | a card of another program, over a Unix socket: client and server |
//! | [`config_space`] | the configuration space of a card in software |
//! | [`irq`] | interrupts as eventfds |
//! | [`device`] | opens a card and knows its configuration |
//! | [`dma`] | memory that a program shares with a card |
//! | [`events`] | event rings |
//! | [`frames`] | whole frames to the host and from the host |
//! | [`image`] | reads handler images (ELF) and refuses what the card cannot run |
//! | [`context`] | places images, installs and activates execution contexts |
//! | [`plugin`] | cards of a shared library |
//! | [`print`](mod@print) | what handlers print |
//! | [`moderation`] | interrupt vectors, and when an event ring requests an interrupt |
//! | [`receive_map`] | what has arrived of a buffer that is not complete |
//! | [`resident`] | contexts and rules that outlive the program that loaded them |
//! | [`rule`] | the rule language and its terms |
//! | [`rule_table`] | match rules in the card's slots |
//! | [`rvma`] | mailboxes, buffers, completion records |
//! | [`stock`] | buffers of a window that are posted again and again |
//! | [`shadow`] | pointers of rings in host memory |
//! | [`shell`] | the board of a card: what was built, its links |
//! | [`stats`] | counters and fault reports |
//! | [`tap`] | TAP interfaces of Linux |
//! | [`transport`] | the ways to a card |
//!
//! ```
//! use spindle::rule::Rule;
//! let rule: Rule = "udp.dport == 9999 && ip.src in 10.0.0.0/8".parse()?;
//! assert_eq!(rule.alternatives().len(), 1);
//! # Ok::<(), spindle::rule::SyntaxError>(())
//! ```
#![warn(missing_docs)]

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

pub mod access;
pub mod command_ring;
pub mod config_space;
pub mod congestion;
pub mod context;
pub mod counters;
pub mod device;
pub mod dma;
pub mod error;
pub mod events;
pub mod frames;
pub mod image;
pub mod irq;
pub mod moderation;
pub mod nodes;
mod patience;
pub mod peer;
pub mod plugin;
pub mod print;
pub mod put;
pub mod receive_map;
pub mod regions;
pub mod reliable;
pub mod resident;
pub mod rule;
pub mod rule_table;
pub mod rvma;
pub mod shadow;
pub mod shell;
pub mod stats;
pub mod stock;
pub mod tap;
pub mod tasks;
pub mod trace;
pub mod transport;
pub mod vfio_user;
pub mod window;

pub use access::{Bar, Card, HostMemory, Identity, Registers, SharedCard};
pub use command_ring::{CommandRing, FrameOptions};
pub use context::{ContextId, ContextOptions, Overload};
pub use device::Device;
pub use error::{Error, Result};
pub use events::{Arrived, Event, EventKind, EventRing, Outcome};
pub use frames::{Frames, ReceivedFrame};
pub use image::Image;
pub use moderation::InterruptOptions;
pub use nodes::{Icrc, Node};
pub use print::Print;
pub use put::{Kind, Put, Reply, Stream, Target};
pub use receive_map::{ReceiveMap, Received};
pub use regions::Access;
pub use rule::Rule;
pub use shadow::Shadow;
pub use stock::Stock;
pub use transport::open;
