//! Captures at the other end of the wire: frames of one file enter the card, what the card sends goes to another.

use super::Wire;
use crate::capture::{self, Growing};
use crate::{SentFrame, WireFrame};
use anyhow::Result;
use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

/// Idle cycles in front of each frame.
const GAP: u64 = 100;

/// Captures. Frames begin to enter when the driver first switches reception on.
pub struct PcapWire {
    frames: VecDeque<Vec<u8>>,
    enters: bool,
    output: Option<Growing>,
    /// Nanoseconds of a cycle.
    period: f64,
}

impl PcapWire {
    /// Reads `input` whole and begins `output`; a cycle takes `period` nanoseconds.
    ///
    /// # Errors
    /// The input is no capture of Ethernet frames, or the output cannot be written.
    pub fn open(input: &Path, output: Option<&Path>, period: f64) -> Result<PcapWire> {
        let frames = capture::read(input)?.into_iter().map(|packet| packet.bytes).collect();
        let output = output.map(Growing::create).transpose()?;
        Ok(PcapWire { frames, enters: false, output, period })
    }
}

impl Wire for PcapWire {
    fn send(&mut self, frame: SentFrame) -> Result<()> {
        let time = Duration::from_nanos((frame.first as f64 * self.period) as u64);
        self.output.as_mut().map_or(Ok(()), |output| output.push(time, &frame.bytes))
    }

    fn receive(&mut self) -> Result<Option<WireFrame>> {
        let frame = if self.enters { self.frames.pop_front() } else { None };
        Ok(frame.map(|bytes| WireFrame { bytes, gap: GAP, bad: false }))
    }

    fn receiving(&mut self) {
        self.enters = true;
    }
}
