//! How unkind the surroundings are.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Delays. Shares are of 256: 0 = never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Share of the cycles in which a half port of L1 is granted nothing.
    pub l1_denied: u8,
    /// Share of the cycles in which the code data port is granted nothing.
    pub code_denied: u8,
    /// Share of the cycles in which the remote port takes nothing.
    pub remote_denied: u8,
    /// Cycles from a remote request to its answer, least and most; at least 1.
    pub remote: (u64, u64),
    /// Cycles from a write of ISSUE to its pulse, least and most; at least 1.
    pub issue: (u64, u64),
    /// Cycles that a command is under way, least and most.
    pub command: (u64, u64),
    /// Share of the cycles in which no ending is taken.
    pub ending_denied: u8,
}

impl Timing {
    /// No one else is there: every grant at once, L2 in its idle latency.
    pub const IDLE: Timing = Timing {
        l1_denied: 0,
        code_denied: 0,
        remote_denied: 0,
        remote: (8, 8),
        issue: (2, 2),
        command: (20, 20),
        ending_denied: 0,
    };
    /// Everything is contended.
    pub const BUSY: Timing = Timing {
        l1_denied: 64,
        code_denied: 64,
        remote_denied: 96,
        remote: (1, 40),
        issue: (1, 9),
        command: (1, 60),
        ending_denied: 128,
    };

    pub(super) fn chance(rng: &mut ChaCha8Rng, share: u8) -> bool {
        share != 0 && rng.random::<u8>() < share
    }

    pub(super) fn delay(rng: &mut ChaCha8Rng, (least, most): (u64, u64)) -> u64 {
        if least == most {
            least
        } else {
            rng.random_range(least..=most)
        }
    }
}
