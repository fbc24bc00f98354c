//! A load of L1 reads before the stores ahead of it have left the store buffer. It must find their bytes all the same, also
//! where only one of the two reaches into the other's row of eight bytes.

use crate::hpu_core::processor::hpu::hart_bench::hart;
use spindle_contract::memory_map::{base, PACKET, SCRATCH};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;
use spindle_hart::{Hart, Timing};

/// Offset in the scratchpad of the bytes that are stored and loaded: the start of a row.
const AT: i32 = 64;
/// Bytes there before a store, and the word that is stored: all different.
const BEFORE: [u8; 20] = [
    0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xA9, 0xBA, 0xCB, 0xDC, 0xED, 0xFE, 0x0F, 0x1F, 0x2E, 0x3D,
    0x4C,
];
const STORED: u32 = 0xD1C2_B3A4;
/// Registers with the words of `BEFORE`, from this one on, and with the stored word.
const WORDS: u32 = 20;
const VALUE: u32 = 6;

/// A store, then instructions that are neither, then a load, and what it finds.
struct Case {
    store: (u32, i32),
    between: Vec<u32>,
    load: (u32, i32),
}

impl Case {
    fn words(&self) -> Vec<u32> {
        let mut words: Vec<u32> = (0..5).map(|i| sw(WORDS + i, 3, AT + 4 * i as i32)).collect();
        words.push(FENCE);
        words.push(store(self.store.0, VALUE, 3, AT + self.store.1));
        words.extend(&self.between);
        words.push(load(self.load.0, 7, 3, AT + self.load.1));
        words
    }

    fn expected(&self) -> u32 {
        let mut bytes = BEFORE;
        let (size, at) = (1 << self.store.0, self.store.1 as usize);
        bytes[at..at + size].copy_from_slice(&STORED.to_le_bytes()[..size]);
        let (size, at) = (1 << (self.load.0 & 3), self.load.1 as usize);
        let mut word = [0; 4];
        word[..size].copy_from_slice(&bytes[at..at + size]);
        u32::from_le_bytes(word)
    }
}

/// Every store and load of two and four bytes in two rows that share a byte, up to four instructions apart. Of the first
/// instruction between them there is one that goes into the store buffer as well.
fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for (stores, loads) in [(SW, LW), (SW, LHU), (SH, LW), (SH, LHU)] {
        for store in 0..16 {
            for load in 0..16 {
                if store >= load + (1 << (loads & 3)) || load >= store + (1 << stores) {
                    continue;
                }
                for distance in 0..5 {
                    let others = vec![addi(5, 5, 1); distance];
                    let mut with_store = others.clone();
                    with_store.iter_mut().take(1).for_each(|first| *first = sw(5, 3, AT + 64));
                    for between in [others, with_store] {
                        cases.push(Case { store: (stores, store), between, load: (loads, load) });
                    }
                }
            }
        }
    }
    cases
}

/// Runs the cases, in programs of as many as a packet has words.
fn run(hart: &mut Hart, cases: &[Case]) {
    for part in cases.chunks(512) {
        let mut words = vec![lui(8, base(PACKET) >> 12), lui(3, base(SCRATCH) >> 12)];
        words.extend(li(VALUE, STORED));
        for (i, word) in BEFORE.chunks(4).enumerate() {
            words.extend(li(WORDS + i as u32, u32::from_le_bytes(word.try_into().expect("four bytes"))));
        }
        for (i, case) in part.iter().enumerate() {
            words.extend(case.words());
            words.push(sw(7, 8, 4 * i as i32));
        }
        words.push(RET);
        let ending = hart.run_program(&words);
        assert_eq!(ending.cause, 0, "{ending:x?}");
        for (case, found) in part.iter().zip(hart.l1.chunks(4)) {
            let found = u32::from_le_bytes(found.try_into().expect("four bytes"));
            let Case { store: (stores, to), between, load: (loads, from) } = case;
            assert_eq!(
                found,
                case.expected(),
                "load {loads} at {from} after store {stores} at {to}, between them {between:x?}, {:?}",
                hart.timing
            );
        }
    }
}

#[test]
fn a_load_finds_the_bytes_of_the_store_before_it() {
    run_with_wave_on_failure("hart_overtaking", |context| {
        let mut hart = hart(context, 0);
        let cases = cases();
        for l1_denied in [0, 64, 128, 200] {
            hart.timing = Timing { l1_denied, ..Timing::IDLE };
            run(&mut hart, &cases);
        }
    });
}
