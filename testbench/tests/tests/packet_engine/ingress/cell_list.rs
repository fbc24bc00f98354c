//! The cell list against a queue. A cell has a number of its own until the reading side has passed it once after reset: so many
//! short runs, each from a reset.

use packet_engine::ingress::cell_list::CellList;
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{CELL_BYTES, MAX_FRAME};
use spindle_harness::{run_with_wave_on_failure, share, Dut};
use std::collections::VecDeque;

/// Runs of a size.
const RUNS: usize = 300;
/// So many times the runs are made at most until each case was met often enough.
const MANY: usize = 5;
/// Cells that a frame takes at most: one more than the longest frame has, before that shows.
const MOST: usize = MAX_FRAME.div_ceil(CELL_BYTES);

/// What came of the runs.
#[derive(Debug, Default)]
struct Seen {
    /// Cells that were given while the list was empty, and frames that went back over the end of the first lap.
    empty: usize,
    back: usize,
}

/// One run from a reset. Frames take cells, and go back, all or the last cells of them; frames that stay give back their
/// cells later, in any order.
fn run(dut: &Dut<CellList>, rng: &mut ChaCha8Rng, cells: usize, seen: &mut Seen) {
    [&dut.take, &dut.give, &dut.rewind].iter().for_each(|wire| wire.set(false));
    dut.reset();
    let mut list: VecDeque<u64> = (0..cells as u64).collect();
    let (mut frame, mut stored): (Vec<u64>, Vec<u64>) = (vec![], vec![]);
    let mut taken = 0;
    let [takes, gives, rewinds] = [0.3..1.0, 0.05..1.0, 0.02..0.3].map(|range| rng.random_range(range));
    for _ in 0..rng.random_range(cells..4 * cells) {
        let rewind = !frame.is_empty() && rng.random_bool(rewinds);
        let take = !rewind && frame.len() < MOST && !list.is_empty() && rng.random_bool(takes);
        let given = stored.choose(rng).copied().filter(|_| rng.random_bool(gives));
        let count = if rng.random() { frame.len() } else { rng.random_range(0..frame.len().max(1)) + 1 };
        dut.rewind.set(rewind);
        dut.rewind_count.set(if rewind { count } else { rng.random_range(0..32) });
        dut.take.set(take);
        dut.give.set(given.is_some());
        dut.give_cell.set(given.unwrap_or_else(|| rng.random_range(0..cells as u64)));
        dut.eval();
        assert_eq!(dut.count.number() as usize, list.len());
        assert_eq!(dut.available.is_high(), !list.is_empty());
        if let Some(cell) = list.front() {
            assert_eq!(dut.next_cell.number(), *cell, "after {taken} cells");
        }
        if let Some(cell) = given {
            seen.empty += usize::from(list.is_empty());
            list.push_back(cell);
            stored.retain(|other| *other != cell);
        }
        if rewind {
            let from = frame.len() - count;
            frame.drain(from..).rev().for_each(|cell| list.push_front(cell));
            seen.back += usize::from(taken >= cells && taken - count < cells);
            taken -= count;
        }
        if take {
            frame.push(list.pop_front().expect("a cell is free"));
            taken += 1;
        }
        if frame.len() == MOST || rng.random_ratio(1, 6) {
            stored.append(&mut frame);
        }
        dut.tick();
    }
}

#[test]
fn short_runs_from_reset() {
    for cells in [32, 64, 256, 1024] {
        run_with_wave_on_failure(&format!("cell_list_{cells}"), |wave| {
            let mut rng = wave.rng();
            let dut = Dut::new(wave, CellList::new(cells), &format!("cell_list_{cells}"));
            let mut seen = Seen::default();
            let least = share(RUNS);
            let rare = |seen: &Seen| seen.empty <= least / 10 || seen.back <= least / 10;
            // More runs than these only until both cases were met often enough.
            let mut runs = 0;
            while runs < least || rare(&seen) && runs < MANY * least {
                run(&dut, &mut rng, cells, &mut seen);
                runs += 1;
            }
            println!("{cells} cells, {runs} runs: {seen:?}");
            assert!(!rare(&seen), "{runs} runs: {seen:?}");
        });
    }
}
