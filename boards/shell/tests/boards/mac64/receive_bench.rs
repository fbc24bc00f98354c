//! `MacRx` under an XGMII that is written character by character.

use super::characters::{word_of, Character, IDLE};
use spindle_boards::hdl::mac64::MacRx;
use spindle_harness::{Dut, WaveContext};

/// What the receiver made of a frame.
#[derive(Debug, PartialEq, Clone)]
pub struct Received {
    pub bytes: Vec<u8>,
    pub bad: bool,
}

/// In the order of `RxEvents`.
pub const GOOD: usize = 0;
pub const FCS: usize = 1;
pub const RUNT: usize = 2;
pub const LONG: usize = 3;
pub const CODE: usize = 4;
pub const BAD_START: usize = 5;

pub struct Bench {
    dut: Dut<MacRx>,
    pub frames: Vec<Received>,
    current: Vec<u8>,
    pub events: [usize; 6],
    /// Words so far.
    pub words: usize,
    /// Word in which the first beat came.
    pub first_beat: Option<usize>,
}

impl Bench {
    pub fn new(wave: &WaveContext, block: MacRx, name: &str) -> Self {
        let dut = Dut::new(wave, block, name);
        let mut bench = Self { dut, frames: vec![], current: vec![], events: [0; 6], words: 0, first_beat: None };
        bench.play(&[IDLE; 128]);
        bench
    }

    pub fn standard(wave: &WaveContext) -> Self {
        Self::new(wave, MacRx::default(), "mac_rx")
    }

    pub fn cycle(&mut self, characters: Option<&[Character]>) {
        self.dut.enable.set(characters.is_some());
        // Without `enable` the word has no meaning.
        let (data, control) = characters.map_or((0xFEFE_0707_FBFB_FDFD, 0xAA), word_of);
        self.dut.xgmii.data.set(data);
        self.dut.xgmii.control.set(control);
        self.dut.eval();
        let frames = &self.dut.frames;
        if frames.valid.is_high() {
            self.first_beat.get_or_insert(self.words);
            let (keep, last) = (frames.keep.number(), frames.last.is_high());
            assert!(keep == 0xFF || last && keep > 0 && (keep & (keep + 1)) == 0, "keep {keep:#x}");
            assert!(last || !frames.user.is_high());
            self.current.extend(&frames.data.bytes()[..keep.count_ones() as usize]);
            if last {
                let bytes = std::mem::take(&mut self.current);
                self.frames.push(Received { bytes, bad: frames.user.is_high() });
            }
        }
        let events = self.dut.events.number();
        assert!((events & 0x1F).count_ones() <= 1, "a frame has one end");
        for (i, count) in self.events.iter_mut().enumerate() {
            *count += (events >> i & 1) as usize;
        }
        self.words += usize::from(characters.is_some());
        self.dut.tick();
    }

    /// Plays characters, which are whole words.
    pub fn play(&mut self, characters: &[Character]) {
        assert_eq!(characters.len() % 8, 0);
        characters.chunks(8).for_each(|word| self.cycle(Some(word)));
    }

    /// Plays a line to its end and lets the pipe run empty.
    pub fn finish(&mut self, mut line: Line) {
        line.pad(8);
        self.play(&line.characters);
        self.play(&[IDLE; 16 * 8]);
    }
}

/// Characters under construction.
#[derive(Default)]
pub struct Line {
    pub characters: Vec<Character>,
}

impl Line {
    pub fn add(&mut self, characters: &[Character]) {
        self.characters.extend(characters);
    }

    /// Idle characters up to a multiple of `lanes`.
    pub fn pad(&mut self, lanes: usize) {
        while !self.characters.len().is_multiple_of(lanes) {
            self.characters.push(IDLE);
        }
    }

    /// The shortest gap that a receiver meets (46.2.1): five characters with the end, up to a column.
    pub fn gap(&mut self) {
        self.add(&[IDLE; 4]);
        self.pad(4);
    }

    /// Idle characters up to the given lane, 0 or 4.
    pub fn up_to(&mut self, lane: usize) {
        while self.characters.len() % 8 != lane {
            self.characters.push(IDLE);
        }
    }
}
