//! `LinkFault` against figure 46-9, column by column.

use super::characters::{fault, random_frame, word_of, Character, IDLE};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::mac64::LinkFault;
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

/// The figure: its variables by their names there.
#[derive(Default)]
struct Figure {
    seq_cnt: u32,
    last_seq_type: u8,
    col_cnt: u32,
    link_fault: u8,
    counting: bool,
}

impl Figure {
    /// One column: the kind of its fault, or 0.
    fn column(&mut self, seq_type: u8) {
        if seq_type == 0 {
            self.col_cnt += 1;
            if self.col_cnt > 127 {
                *self = Self { col_cnt: self.col_cnt, ..Self::default() };
            }
            return;
        }
        if !self.counting || seq_type != self.last_seq_type {
            // NEW_FAULT_TYPE
            (self.counting, self.last_seq_type, self.seq_cnt) = (true, seq_type, 1);
        } else {
            self.seq_cnt += 1;
        }
        self.col_cnt = 0;
        if self.seq_cnt >= 4 {
            self.link_fault = seq_type;
        }
    }
}

/// A column and its fault.
fn column(rng: &mut ChaCha8Rng, kind: u8) -> (Vec<Character>, u8) {
    match kind {
        1 | 2 => (fault(kind), kind),
        3 => {
            // Nearly a fault.
            let mut almost = fault(rng.random_range(1..=2));
            match rng.random_range(0..3) {
                0 => almost[0].1 = false,
                1 => almost[rng.random_range(1..3)].0 = 1 << rng.random_range(0..8),
                _ => almost[3].0 = [0, 3, 0x81][rng.random_range(0..3)],
            }
            (almost, 0)
        }
        4 => (random_frame(rng, 4).into_iter().map(|byte| (byte, false)).collect(), 0),
        _ => (vec![IDLE; 4], 0),
    }
}

#[test]
fn equals_the_figure() {
    run_with_wave_on_failure("link_fault", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, LinkFault::default(), "link_fault");
        let mut figure = Figure::default();
        let mut columns: VecDeque<(Vec<Character>, u8)> = VecDeque::new();
        let mut expected: VecDeque<u8> = VecDeque::from([0, 0]);
        let mut seen = [0usize; 3];
        for _ in 0..200_000 {
            while columns.len() < 2 {
                // Faults of one kind or mixed, with gaps around the limit between them.
                let kind = rng.random_range(1..=2);
                for _ in 0..rng.random_range(1..8) {
                    let kind = if rng.random_bool(0.05) { 3 - kind } else { kind };
                    columns.push_back(column(&mut rng, kind));
                    let gap = match rng.random_range(0..10) {
                        0..5 => 0,
                        5..8 => rng.random_range(0..4),
                        8 => rng.random_range(120..136),
                        _ => rng.random_range(0..100),
                    };
                    for _ in 0..gap {
                        let kind = rng.random_range(3..8);
                        columns.push_back(column(&mut rng, kind));
                    }
                }
                for _ in 0..[0, 3, 126, 127, 128, 129, 300][rng.random_range(0..7)] {
                    columns.push_back(column(&mut rng, 0));
                }
            }
            let enabled = rng.random_bool(0.9);
            dut.enable.set(enabled);
            if enabled {
                let (low, high) = (columns.pop_front().unwrap(), columns.pop_front().unwrap());
                let (data, control) = word_of(&[low.0, high.0].concat());
                dut.xgmii.data.set(data);
                dut.xgmii.control.set(control);
                figure.column(low.1);
                figure.column(high.1);
                expected.push_back(figure.link_fault);
            }
            dut.eval();
            let shown = match (dut.local_fault.is_high(), dut.remote_fault.is_high()) {
                (false, false) => 0,
                (true, false) => 1,
                (false, true) => 2,
                both => panic!("{both:?}"),
            };
            dut.tick();
            if enabled {
                let expected = expected.pop_front().unwrap();
                assert_eq!(shown, expected);
                seen[expected as usize] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 10_000), "{seen:?}");
    });
}
