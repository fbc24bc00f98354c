//! What is at the other end of a served card's wire: nothing, captures, a TAP interface of this machine, or another served card.

mod link;
mod pcap;
mod tap;

pub use link::Link;
pub use pcap::PcapWire;
pub use tap::TapWire;

use crate::{SentFrame, SimDevice, WireFrame};
use anyhow::Result;
use rustix::event::PollFd;

/// Frames that wait to enter the card, at most: more wait at the other end of the wire.
const MOST_PENDING: usize = 32;
/// Longest frame that comes from a wire: more than the card takes, so that the card decides.
const LONGEST: usize = 16_384;
/// Shortest frame of Ethernet, without FCS. A MAC fills shorter ones up.
const SHORTEST: usize = 60;

/// The other end of a wire.
pub trait Wire {
    /// Takes a frame that the card has sent.
    fn send(&mut self, frame: SentFrame) -> Result<()>;
    /// The next frame for the card, if there is one.
    fn receive(&mut self) -> Result<Option<WireFrame>>;
    /// Descriptors that become ready when there is a frame, or something else to do.
    fn poll_fds(&self) -> Vec<PollFd<'_>> {
        Vec::new()
    }
    /// The driver has switched reception on.
    fn receiving(&mut self) {}
}

/// A wire that ends nowhere.
#[derive(Debug)]
pub struct Nowhere;

impl Wire for Nowhere {
    fn send(&mut self, _: SentFrame) -> Result<()> {
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<WireFrame>> {
        Ok(None)
    }
}

/// Moves frames between the card and its wire; whether there was one.
///
/// # Errors
/// The other end cannot be used any more.
pub fn exchange(sim: &mut SimDevice, wire: &mut dyn Wire) -> Result<bool> {
    let mut moved = send(sim, wire)?;
    while sim.pending() < MOST_PENDING {
        let Some(frame) = wire.receive()? else { break };
        sim.inject(frame);
        moved = true;
    }
    Ok(moved)
}

/// Gives the wire what the card has sent; whether there was a frame.
///
/// # Errors
/// The other end cannot be used any more.
pub fn send(sim: &mut SimDevice, wire: &mut dyn Wire) -> Result<bool> {
    if sim.sent_count() == 0 {
        return Ok(false);
    }
    for frame in sim.take_sent() {
        wire.send(frame)?;
    }
    Ok(true)
}

/// A frame as a MAC hands it over.
fn from_mac(mut bytes: Vec<u8>) -> WireFrame {
    if bytes.len() < SHORTEST {
        bytes.resize(SHORTEST, 0);
    }
    WireFrame { bytes, gap: 0, bad: false }
}
