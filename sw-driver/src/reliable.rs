//! The reliable sender: puts from host memory, handlers' puts of context memory, and gets are sent again until their
//! destination has acknowledged them.

use crate::{Bar, Device, Error, HostMemory, Registers, Result};
use spindle_contract::registers::node::{self, LastRefusal, SendControl, SendLimit, SendTimes, SendTurns};

/// Cycles of a unit of the put limit.
const LIMIT_UNIT: u64 = 1024;
/// Longest put limit, in cycles.
pub const LONGEST_PUT_LIMIT: u64 = LIMIT_UNIT * ((1 << 15) - 1);

/// Puts that may take turns ([`Device::set_put_turns`]).
pub const MOST_PUT_TURNS: u8 = 64;

/// What a time may be, the last doubling included: sixteen bits less the sign.
const LONGEST: u16 = (1 << 15) - 1;
/// Times that the timeout doubles.
const DOUBLINGS: u32 = 3;

/// How the card sends reliably.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reliability {
    /// Time without an acknowledgement after which segments are sent again, in units of 64 cycles, at most 4095; it
    /// doubles up to three times.
    pub timeout: u16,
    /// Time after which a segment is sent again when a later one arrived, in units of 64 cycles, at most 32,767: what the paths to a node
    /// differ by.
    pub hole_time: u16,
    /// Timeouts in a row after which a destination is given up, at most 15.
    pub retries: u8,
    /// Incarnation of the windows that are opened; 0: the first window to a node is not, which suits nodes that were reset
    /// together.
    pub incarnation: u32,
}

impl Default for Reliability {
    fn default() -> Self {
        Self {
            timeout: SendTimes::RESET.timeout() as u16,
            hole_time: SendTimes::RESET.hole_time() as u16,
            retries: SendControl::RESET.retries() as u8,
            incarnation: 0,
        }
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Has the card number its puts from host memory and of context memory, and its gets, and send them until they
    /// are acknowledged; `None`, as after reset: it sends them once. Destinations need the sequence filter and the
    /// responder. Not while puts are under way.
    ///
    /// # Errors
    /// More than 15 retries, or a time beyond its limit: the card compares times as 16 bits with a sign, so a longer
    /// one would be over at once.
    pub fn set_reliability(&mut self, reliability: Option<Reliability>) -> Result<()> {
        let Reliability { timeout, hole_time, retries, incarnation } = reliability.unwrap_or_default();
        if retries > 15 {
            return Err(Error::Argument(format!("{retries} retries; choose at most 15")));
        }
        for (what, time, limit) in [("timeout", timeout, LONGEST >> DOUBLINGS), ("hole time", hole_time, LONGEST)] {
            if time > limit {
                return Err(Error::Argument(format!("a {what} of {time} units of 64 cycles; choose at most {limit}")));
            }
        }
        self.bar.write(SendTimes::ZERO.with_timeout(timeout.into()).with_hole_time(hole_time.into()))?;
        self.bar.write32(node::BASE + node::SEND_INCARNATION, incarnation)?;
        self.bar.write(SendControl::ZERO.with_retries(retries.into()).with_sequenced(reliability.is_some()))
    }

    /// Whether the card numbers its puts and sends them until they are acknowledged ([`Device::set_reliability`]).
    pub fn sends_reliably(&mut self) -> Result<bool> {
        Ok(self.bar.read::<SendControl>()?.sequenced())
    }

    /// Limits how long puts and gets of this card find no buffer: one that is refused for lack of a buffer, or
    /// because its destination is busy, `cycles` after it began to leave, rounded up to 1024, has failed, and its
    /// event has the refusal. `None`, as after reset: the card sends it again until the destination takes it. Holds
    /// for all processes of the card, and for puts and gets that begin to leave after this call.
    ///
    /// # Errors
    /// A limit of no cycles, or beyond [`LONGEST_PUT_LIMIT`].
    pub fn set_put_limit(&mut self, cycles: Option<u64>) -> Result<()> {
        if let Some(cycles) = cycles.filter(|cycles| !(1..=LONGEST_PUT_LIMIT).contains(cycles)) {
            return Err(Error::Argument(format!(
                "a put limit of {cycles} cycles; choose 1 to {LONGEST_PUT_LIMIT}, or no limit"
            )));
        }
        let units = cycles.map_or(0, |cycles| cycles.div_ceil(LIMIT_UNIT));
        self.bar.write(SendLimit::ZERO.with_send_limit(units as u32))
    }

    /// Has up to `puts` puts that the card sends reliably take turns, a segment each, so that a short put does not wait for the end of
    /// a long one, and a put to a node that accepts none does not hold up the others. 1, as after reset: each is sent to its end
    /// before the next one begins, so puts to one node over one path arrive in their order. Holds for all processes of the card.
    ///
    /// # Errors
    /// `puts` is 0 or more than [`MOST_PUT_TURNS`].
    pub fn set_put_turns(&mut self, puts: u8) -> Result<()> {
        if !(1..=MOST_PUT_TURNS).contains(&puts) {
            return Err(Error::Argument(format!("turns of {puts} puts; choose 1 to {MOST_PUT_TURNS}")));
        }
        self.bar.write(SendTurns::ZERO.with_puts(puts.into()))
    }

    /// Of the puts and gets of processes that the card sends reliably, the one that was refused last: its number
    /// ([`Put::number`](crate::put::Put)) and the code of the refusal (`wire::nack`). `None`: no put was refused
    /// since reset.
    pub fn last_refusal(&mut self) -> Result<Option<(u16, u8)>> {
        let refusal: LastRefusal = self.bar.read()?;
        let code = refusal.code() as u8;
        Ok((code != 0).then_some((refusal.number() as u16, code)))
    }

    /// Segments that were sent again.
    pub fn segments_resent(&mut self) -> Result<u32> {
        self.bar.read32(node::BASE + node::SEGMENTS_RESENT)
    }
}
