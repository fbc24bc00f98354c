//! How puts ended: what the NIC writes into a process's event ring, kept until somebody waits for it.

use crate::session::Nic;
use spindle::put::Put;
use spindle::{EventKind, EventRing, Result};
use spindle_contract::wire::nack;
use std::collections::HashMap;
use std::fmt;

/// A put that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutFailed {
    /// Code of the refusal (`wire::nack`); none if the destination did not answer, or the memory could not be read.
    pub refusal: Option<u8>,
}

impl fmt::Display for PutFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.refusal {
            None => "the destination does not answer, or the memory of the put cannot be read",
            Some(nack::NO_MAILBOX) => "the destination has no such window",
            Some(nack::CLOSED) => "the window was closed before the put had arrived",
            Some(nack::BAD_KEY) => "the key is not the window's",
            Some(nack::OUT_OF_BOUNDS) => "the put reaches beyond the buffer",
            Some(nack::STALE_EPOCH) => "the put's buffer was taken back before it had arrived",
            Some(nack::BAD_VERSION) => "the window is of another kind than the put",
            Some(_) => "the destination refused the put",
        })
    }
}

impl std::error::Error for PutFailed {}

/// Ends of the puts of a process.
pub struct Ends {
    ring: EventRing,
    /// By number, of the last 2^15.
    ended: HashMap<u16, std::result::Result<(), PutFailed>>,
}

impl Ends {
    /// None yet.
    pub fn new(ring: EventRing) -> Ends {
        Ends { ring, ended: HashMap::new() }
    }
}

impl Nic {
    /// Waits until every byte of a put has been acknowledged, at most `limit` cycles. Each put is waited for once.
    ///
    /// # Errors
    /// The time is over, or the put failed ([`PutFailed`]).
    pub fn wait_put(&self, put: &Put, limit: u64) -> anyhow::Result<()> {
        let mut answer = Ok(None);
        self.wait("the end of a put", limit, || {
            answer = self.end_of(put);
            !matches!(answer, Ok(None))
        })?;
        Ok(answer?.expect("it was waited for")?)
    }

    /// How a put ended, if it has.
    fn end_of(&self, put: &Put) -> Result<Option<std::result::Result<(), PutFailed>>> {
        let mut ends = self.ends.borrow_mut();
        while let Some(event) = self.driver.borrow_mut().poll_event(&mut ends.ring)? {
            if let EventKind::Put { number, acknowledged, refusal, .. } = event.kind {
                ends.ended.retain(|known, _| number.wrapping_sub(*known) < 1 << 15);
                ends.ended.insert(number, if acknowledged { Ok(()) } else { Err(PutFailed { refusal }) });
            }
        }
        Ok(ends.ended.remove(&put.number))
    }
}
