//! Instruction memory of a cluster: a copy per HPU, so that every HPU reads a word in every cycle.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPUs | in `fetch_address[h]`; out `fetch_data[h]`, one cycle later |
//! | registers | in `write`, `write_address`, `write_data`: goes to all copies |
//!
//! Nothing ever stalls. A word that is fetched while it is written is the old one. Addresses wrap at the size of the memory.

use spindle_blocks::ram::{RamStyle, SdpRam};
use spindle_verilog::prelude::*;

/// The instruction memory. See the module text.
#[derive(LogicBlock, Default)]
pub struct InstructionMemory {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Word that each HPU wants.
    pub fetch_address: Vec<Signal<In, Bits<14>>>,
    /// The words, one cycle later.
    pub fetch_data: Vec<Signal<Out, Bits<32>>>,
    /// Write a word.
    pub write: Signal<In, Bit>,
    /// Where.
    pub write_address: Signal<In, Bits<14>>,
    /// What.
    pub write_data: Signal<In, Bits<32>>,
    copies: Vec<SdpRam<14, 32>>,
    _hpus: usize,
    _last_word: u64,
}

impl InstructionMemory {
    /// `bytes` of code, a power of two, for `hpus` HPUs.
    pub fn new(hpus: usize, bytes: usize) -> Self {
        assert!(
            bytes.is_power_of_two() && (4096..=64 << 10).contains(&bytes),
            "InstructionMemory: {bytes} bytes cannot be had; choose a power of two from 4 KiB to 64 KiB"
        );
        Self {
            fetch_address: (0..hpus).map(|_| Default::default()).collect(),
            fetch_data: (0..hpus).map(|_| Default::default()).collect(),
            copies: (0..hpus).map(|_| SdpRam::with_depth(RamStyle::Block, 1, bytes / 4)).collect(),
            _hpus: hpus,
            _last_word: bytes as u64 / 4 - 1,
            ..Default::default()
        }
    }
}

impl Logic for InstructionMemory {
    #[hdl]
    fn update(&mut self) {
        let wrap = bits::<14>(self._last_word);
        for i in 0..self._hpus {
            self.copies[i].clock.next = self.clock.val();
            self.copies[i].write_enable.next = self.write.val();
            self.copies[i].write_address.next = self.write_address.val() & wrap;
            self.copies[i].write_data.next = self.write_data.val();
            self.copies[i].read_enable.next = true;
            self.copies[i].read_address.next = self.fetch_address[i].val() & wrap;
            self.fetch_data[i].next = self.copies[i].read_data.val();
        }
    }
}
