//! Answers to frames that the handler saw only in part.

use crate::play::Played;
use spindle_contract::params::SLOT_BYTES;

/// How many: answers as long as the packet slot, to frames that are longer.
pub fn answered(frames: &[Vec<u8>], played: &Played) -> usize {
    let cut = |index: usize| frames[index].len() > SLOT_BYTES;
    let in_part = |reply: &&crate::play::Reply| reply.cause.is_some_and(cut) && reply.frame.bytes.len() == SLOT_BYTES;
    played.replies.iter().filter(in_part).count()
}
