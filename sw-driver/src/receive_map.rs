//! Receive maps: what has arrived of a buffer that is not complete, as when a receiver computes on the parts that it
//! has, or requests the missing ones again.

use crate::rvma::{Posted, Window};
use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::params::RECEIVE_MAP_BITS;
use spindle_contract::registers::{doorbell, doorbell_command, MAP_SHIFT};
use std::ops::Range;

/// Words of 64 bits in a map.
pub const MAP_WORDS: usize = RECEIVE_MAP_BITS / 64;

/// The map of a posted buffer. It stays readable when the buffer is complete, until it is given back; the card has few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveMap {
    /// The process it belongs to.
    pub process: usize,
    /// Its number.
    pub number: u32,
    /// Bytes of the buffer that a bit represents.
    pub granule: u32,
}

/// What a map said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bit i: a packet whose first byte lies in granule i of the buffer is in host memory.
    pub words: [u64; MAP_WORDS],
    /// Bytes of a granule.
    pub granule: u32,
}

impl Received {
    /// Whether a packet that begins in the granule of this byte has arrived.
    pub fn begins_at(&self, offset: u32) -> bool {
        let bit = (offset / self.granule) as usize;
        bit < RECEIVE_MAP_BITS && self.words[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// What has not arrived of a message of `length` bytes at `offset` of the buffer, that its sender cuts into
    /// segments of `segment` bytes: each segment must have a granule of its own.
    pub fn missing(&self, offset: u32, length: u32, segment: u32) -> Vec<Range<u32>> {
        let starts = (0..length).step_by(segment.max(1) as usize);
        // No buffer reaches beyond the last byte that an offset names.
        let place = |at: u32| offset.saturating_add(at);
        let missing = starts.filter(|at| !self.begins_at(place(*at)));
        missing.map(|at| place(at)..place(at.saturating_add(segment).min(length))).collect()
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Posts memory of the caller with a receive map: a bit for each `granule` bytes, a power of two, of the buffer's
    /// first 1024 granules. The record is zeroed first.
    pub fn post_mapped(&mut self, window: Window, posted: Posted, granule: u32) -> Result<ReceiveMap> {
        if !granule.is_power_of_two() {
            return Err(Error::Argument(format!("a granule of {granule} bytes is no power of two; choose one")));
        }
        self.stage_buffer(window, posted)?;
        let staging = [(doorbell::COUNT, granule.ilog2())];
        let number = self.ring(window.process, "post_mapped", doorbell_command::POST_MAPPED, &staging)?;
        Ok(ReceiveMap { process: window.process, number, granule })
    }

    /// Reads a map. Bytes whose bits are set are in host memory.
    pub fn read_map(&mut self, map: &ReceiveMap) -> Result<Received> {
        let mut words = [0; MAP_WORDS];
        for (i, word) in words.iter_mut().enumerate() {
            *word = self.read_map_word(map, i)?;
        }
        Ok(Received { words, granule: map.granule })
    }

    /// Reads 64 bits of a map, from bit 64 × `word` on: what changes of a long message in a short time.
    ///
    /// # Errors
    /// There is no such word.
    pub fn read_map_word(&mut self, map: &ReceiveMap, word: usize) -> Result<u64> {
        if word >= MAP_WORDS {
            return Err(Error::Argument(format!("word {word} of a map of {MAP_WORDS} words")));
        }
        let staging = [(doorbell::COUNT, map.number << MAP_SHIFT | word as u32)];
        self.ring(map.process, "read_map", doorbell_command::READ_MAP, &staging)?;
        self.value(map.process)
    }

    /// Gives a map back. Its buffer goes on without.
    pub fn free_map(&mut self, map: ReceiveMap) -> Result<()> {
        let staging = [(doorbell::COUNT, map.number << MAP_SHIFT)];
        self.ring(map.process, "free_map", doorbell_command::FREE_MAP, &staging).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_of_a_message() {
        let mut received = Received { words: [0; MAP_WORDS], granule: 1024 };
        for start in [100, 100 + 2 * 1408] {
            received.words[0] |= 1 << (start / 1024);
        }
        assert_eq!(received.missing(100, 4000, 1408), vec![1508..2916; 1]);
        assert_eq!(received.missing(100, 5000, 1408), [1508..2916, 100 + 3 * 1408..5100]);
        assert!(!received.begins_at(u32::MAX), "after the last granule no bit exists");
    }
}
