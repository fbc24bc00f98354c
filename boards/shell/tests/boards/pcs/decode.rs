//! `PcsRx` with blocks of any kind.

use super::clause::{
    decode, encode, random_word, rx_next, Block, Kind, Scrambler, TxState, Word, CONTROL, DATA, ERRORS,
};
use crate::mac64::characters::{characters_in, IDLE, START};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::pcs::{BitErrors, BlockLock, PcsRx, Rate};
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::{HashMap, VecDeque};

/// A block of a row, of any bits, or with an invalid header.
fn random_block(rng: &mut ChaCha8Rng) -> Block {
    match rng.random_range(0..20) {
        0 => (CONTROL, rng.random()),
        1 => ([0b00, 0b11][rng.random_range(0..2)], rng.random()),
        2 => (CONTROL, encode(&random_word(rng)).map_or(0x1E, |c| c.0 .1) ^ 1 << rng.random_range(0..64)),
        3..8 => (DATA, rng.random()),
        _ => loop {
            if let Some((block, _)) = encode(&random_word(rng)) {
                return block;
            }
        },
    }
}

/// Figure 49-17 on a sequence of blocks: the word of each.
struct Model {
    state: TxState,
    waiting: Option<(Word, Kind)>,
}

impl Model {
    /// Takes a block and gives the word of the one before it.
    fn take(&mut self, block: Block) -> Option<(Word, Kind, bool)> {
        let (word, kind) = decode(block);
        let before = self.waiting.replace((word, kind))?;
        self.state = rx_next(self.state, before.1, kind);
        let bad = self.state == TxState::E;
        Some((if bad { ERRORS } else { before.0 }, before.1, bad))
    }
}

#[test]
fn blocks_become_words() {
    run_with_wave_on_failure("pcs_rx", |wave| {
        let mut rng = wave.rng();
        for (reversed, name) in [(true, "pcs_rx_many_errors"), (false, "pcs_rx_plain")] {
            // The bench sends many invalid headers: a count of errors that they do not exceed, and a line that stays locked.
            let block = PcsRx::with_parts(BlockLock::default(), BitErrors::new(16, 15), reversed);
            let dut = Dut::new(wave, block, name);
            let mut scrambler = Scrambler::default();
            let mut model = Model { state: TxState::C, waiting: None };
            // The word of each block from the 150th on.
            let mut words: Vec<(Word, bool)> = vec![];
            let mut seen = HashMap::new();
            let (mut sent, mut came, mut invalid, mut bad) = (0, 0, 0, 0);
            // Invalid headers of the last 64 blocks, so that lock is kept.
            let mut window: VecDeque<bool> = VecDeque::from(vec![false; 64]);
            while sent < 60_000 {
                let valid = rng.random_bool(0.95);
                dut.valid.set(valid);
                if valid {
                    let mut plain = if sent < 200 { encode(&[IDLE; 8]).unwrap().0 } else { random_block(&mut rng) };
                    if window.iter().filter(|w| **w).count() > 5 && (plain.0 == 0 || plain.0 == 3) {
                        plain.0 = DATA;
                    }
                    let payload = scrambler.scramble(plain.1);
                    dut.data.set(if reversed { payload.reverse_bits() } else { payload });
                    dut.header.set(u64::from(if reversed { (plain.0 & 1) << 1 | plain.0 >> 1 } else { plain.0 }));
                    sent += 1;
                    let broken = plain.0 == 0 || plain.0 == 3;
                    window.push_back(broken);
                    window.pop_front();
                    invalid += usize::from(broken);
                    if sent >= 150 {
                        if let Some((word, kind, bad)) = model.take(plain) {
                            words.push((word, bad));
                            *seen.entry(format!("{kind:?} {bad}")).or_insert(0) += 1;
                        }
                    }
                } else {
                    dut.data.set(rng.random::<u64>());
                    dut.header.set(rng.random_range(0..4));
                }
                dut.eval();
                invalid -= usize::from(dut.bad_header.is_high());
                if dut.enable.is_high() {
                    let word = characters_in(dut.xgmii.data.number(), dut.xgmii.control.number());
                    came += 1;
                    // The word of the block that came four blocks ago.
                    if came >= 154 {
                        let (expected, expected_bad) = words[came - 154];
                        assert_eq!((word, dut.bad_block.is_high()), (expected, expected_bad), "word {came}");
                        bad += usize::from(expected_bad);
                    }
                } else {
                    assert!(!dut.bad_block.is_high());
                }
                assert!(sent < 154 || dut.status.number() == 0b101, "status {:b}", dut.status.number());
                dut.tick();
            }
            assert!(bad > 1000, "{bad} bad words");
            assert!(invalid <= 4, "{invalid} invalid headers were not reported");
            assert!(seen.len() == 9 && seen.values().all(|count| *count > 200), "{seen:?}");
        }
    });
}

/// Cycles from a block to its word, and from its header to the status.
#[test]
fn latency_is_as_promised() {
    run_with_wave_on_failure("pcs_rx_latency", |wave| {
        let dut = Dut::new(wave, PcsRx::new(Rate::Ten, false), "pcs_rx_10");
        let mut scrambler = Scrambler::default();
        let start: Word = std::array::from_fn(|lane| if lane == 0 { START } else { (0x55, false) });
        let (mut up, mut seen) = (None, None);
        for cycle in 0..200 {
            let block = encode(if cycle == 150 { &start } else { &[IDLE; 8] }).unwrap().0;
            dut.valid.set(true);
            dut.header.set(u64::from(block.0));
            dut.data.set(scrambler.scramble(block.1));
            dut.eval();
            if dut.status.number() & 0b100 != 0 {
                up.get_or_insert(cycle);
            }
            if characters_in(dut.xgmii.data.number(), dut.xgmii.control.number()) == start {
                seen.get_or_insert(cycle);
            }
            dut.tick();
        }
        // The 64th header comes in cycle 63: input, lock, status.
        assert_eq!((up, seen), (Some(63 + 3), Some(150 + 6)));
    });
}
