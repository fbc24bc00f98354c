//! Instruction memory of a cluster: a copy per HPU, so that every HPU reads an instruction and a word of data in every
//! cycle.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPUs | `fetch[h]`: the word two edges later; without `enable` both stages hold |
//! | HPUs | `code[h]`: the word two cycles after the grant |
//! | registers | in `imem`: written to all copies, always in its cycle |
//!
//! Words are stored [predecoded](crate::processor::predecode), two bits beside the 32; a data read returns the word of
//! the image.
//!
//! Fetches never stall. A data read waits while the host writes, one cycle per word. A fetch of a word that is being
//! written returns the old one. Addresses wrap at the size of the memory.

use crate::bundles::CodeWriteSink;
use crate::processor::bundles::{CodePortSink, FetchPortSink};
use crate::processor::predecode::{image_word, CodeWord};
use spindle_blocks::{replicate, TdpRam};
use spindle_verilog::prelude::*;

/// The instruction memory. See the module text.
#[block(no_reset)]
pub struct InstructionMemory {
    /// Fetches of each HPU.
    pub fetch: Vec<FetchPortSink>,
    /// Loads of each HPU.
    pub code: Vec<CodePortSink>,
    /// Words of code from the host, for all copies.
    pub imem: CodeWriteSink,
    copies: Vec<TdpRam<14, 4, 32>>,
    marks: Vec<TdpRam<14, 1, 2>>,
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
            fetch: replicate(hpus),
            code: replicate(hpus),
            copies: (0..hpus).map(|_| TdpRam::with_depth(bytes / 4)).collect(),
            marks: (0..hpus).map(|_| TdpRam::with_depth(bytes / 4)).collect(),
            _hpus: hpus,
            _last_word: bytes as u64 / 4 - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl InstructionMemory {
    fn update(&mut self) {
        let wrap = bits::<14>(self._last_word);
        let written = self.imem.data.val();
        for i in 0..self._hpus {
            let fetches = self.fetch[i].enable.val();
            let address = self.fetch[i].address.val() & wrap;
            self.copies[i].a_enable.next = fetches;
            self.copies[i].a_advance.next = fetches;
            self.copies[i].a_strobe.next = bits::<4>(0);
            self.copies[i].a_address.next = address;
            self.copies[i].a_write.next = bits::<32>(0);
            self.marks[i].a_enable.next = fetches;
            self.marks[i].a_advance.next = fetches;
            self.marks[i].a_strobe.next = bits::<1>(0);
            self.marks[i].a_address.next = address;
            self.marks[i].a_write.next = bits::<2>(0);
            let marks = self.marks[i].a_read.val();
            self.fetch[i].data.next =
                CodeWord { word: self.copies[i].a_read.val(), other: marks.get_bit(0), legal: marks.get_bit(1) };

            let works = self.imem.write.val() | self.code[i].valid.val();
            let data_address =
                (if self.imem.write.val() { self.imem.address.val() } else { self.code[i].address.val() }) & wrap;
            self.copies[i].b_enable.next = works;
            self.copies[i].b_advance.next = true;
            self.copies[i].b_strobe.next = repeat::<4>(self.imem.write.val());
            self.copies[i].b_address.next = data_address;
            self.copies[i].b_write.next = written.word;
            self.marks[i].b_enable.next = works;
            self.marks[i].b_advance.next = true;
            self.marks[i].b_strobe.next = repeat::<1>(self.imem.write.val());
            self.marks[i].b_address.next = data_address;
            self.marks[i].b_write.next = (written.legal, written.other).cat::<2>();
            self.code[i].ready.next = !self.imem.write.val();
            let marks = self.marks[i].b_read.val();
            self.code[i].data.next = image_word(CodeWord {
                word: self.copies[i].b_read.val(),
                other: marks.get_bit(0),
                legal: marks.get_bit(1),
            });
        }
    }
}
