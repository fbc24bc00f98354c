//! A TAP interface of this machine at the other end of the wire.

use super::{from_mac, Wire, LONGEST};
use crate::{SentFrame, WireFrame};
use anyhow::Result;
use rustix::event::{PollFd, PollFlags};
use spindle::tap::Tap;

/// A TAP interface: what the system sends there enters the card, and what the card sends arrives there.
pub struct TapWire {
    tap: Tap,
    buffer: Vec<u8>,
}

impl TapWire {
    /// Opens the interface of this name, or makes one.
    ///
    /// # Errors
    /// As for [`Tap::open`].
    pub fn open(name: &str) -> Result<TapWire> {
        Ok(TapWire { tap: Tap::open(name, false)?, buffer: vec![0; LONGEST] })
    }
}

impl Wire for TapWire {
    fn send(&mut self, frame: SentFrame) -> Result<()> {
        if !self.tap.send(&frame.bytes)? {
            log::debug!("{}: a frame of {} bytes is lost; is the interface up?", self.tap.name(), frame.bytes.len());
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<WireFrame>> {
        let length = self.tap.receive(&mut self.buffer)?;
        Ok(length.filter(|length| *length > 0).map(|length| from_mac(self.buffer[..length].to_vec())))
    }

    fn poll_fds(&self) -> Vec<PollFd<'_>> {
        vec![PollFd::new(&self.tap, PollFlags::IN)]
    }
}
