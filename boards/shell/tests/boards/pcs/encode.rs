//! `PcsTx`.

use super::clause::{encode, error_block, random_word, Block, Kind, Scrambler, TxState, Word};
use crate::mac64::characters::{word_of, IDLE};
use spindle_boards::hdl::pcs::{Gearbox, PcsTx};
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::HashMap;

/// The block that leaves for a word.
fn expected(state: &mut TxState, word: &Word) -> (Block, Kind) {
    let coded = encode(word);
    let kind = coded.map_or(Kind::Error, |c| c.1);
    *state = state.next(kind);
    match (*state, coded) {
        (TxState::E, _) | (_, None) => (error_block(), kind),
        (_, Some((block, _))) => (block, kind),
    }
}

/// Random words of every kind, in and out of turn: header and payload after the descrambler, latency, and the pauses of the
/// gearbox.
#[test]
fn words_become_blocks() {
    run_with_wave_on_failure("pcs_tx", |wave| {
        let mut rng = wave.rng();
        for (gearbox, reversed, name) in [
            (Gearbox::Asynchronous, true, "pcs_tx"),
            (Gearbox::Sequenced, true, "pcs_tx_sequenced"),
            (Gearbox::Sequenced, false, "pcs_tx_plain"),
        ] {
            let dut = Dut::new(wave, PcsTx::new(gearbox, reversed), name);
            let mut state = TxState::Init;
            // What leaves for each word that was taken.
            let mut words: Vec<(Block, Word)> = vec![];
            let mut scrambler = Scrambler::default();
            let mut seen = HashMap::new();
            let (mut blocks, mut fresh, mut last_place) = (0, false, None);
            for cycle in 0..60_000 {
                // The first words are idle: the pipe has to be filled with something known.
                let word = if words.len() < 40 { [IDLE; 8] } else { random_word(&mut rng) };
                let (data, control) = word_of(&word);
                dut.xgmii.data.set(data);
                dut.xgmii.control.set(control);
                dut.eval();
                let place = dut.gearbox_place.number();
                if gearbox == Gearbox::Asynchronous {
                    assert_eq!((place, fresh), (0, cycle >= 2));
                } else {
                    assert!(last_place.is_none_or(|last| place == (last + 1) % 33), "{last_place:?}, {place}");
                    last_place = Some(place);
                    // What stands in cycle 32 is not taken, and every other cycle has a block of its own.
                    assert!(cycle < 2 || fresh == (place != 32), "place {place}");
                }
                let (mut payload, mut header) = (dut.data.number(), dut.header.number() as u8);
                if reversed {
                    (payload, header) = (payload.reverse_bits(), (header & 1) << 1 | header >> 1);
                }
                if fresh {
                    let plain = scrambler.descramble(payload);
                    blocks += 1;
                    // The word that was taken four words ago.
                    if blocks > 12 {
                        let (block, word) = words[blocks - 5];
                        assert_eq!((header, plain), block, "{word:02x?}");
                    }
                }
                fresh = dut.enable.is_high();
                if fresh {
                    let (block, kind) = expected(&mut state, &word);
                    *seen.entry(format!("{kind:?} {}", block == error_block())).or_insert(0) += 1;
                    words.push((block, word));
                }
                dut.tick();
            }
            if gearbox == Gearbox::Sequenced {
                assert!(blocks.abs_diff(60_000 * 32 / 33) <= 2, "{blocks} blocks in 60,000 cycles");
            }
            assert!(seen.len() == 9 && seen.values().all(|count| *count > 200), "{seen:?}");
        }
    });
}
