//! The windows of TAGGED mailboxes alone: a memory of positions, and a stock of windows.

use rand::seq::IteratorRandom;
use rand::Rng;
use rvma_lut::placement::windows::{WindowEntry, Windows};
use spindle_blocks::RamStyle;
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const MAILBOXES: usize = 512;
const WINDOWS: u64 = MAILBOXES as u64 / 8;
/// Cycles after which a window that was given back goes out first.
const RETURN: u64 = 3;

fn windows(wave: &WaveContext) -> Dut<Windows> {
    let dut = Dut::new(wave, Windows::new(MAILBOXES, RamStyle::Block), "windows");
    dut.read_enable.set(false);
    dut.write_enable.set(false);
    dut.allocate.set(false);
    dut.give_back.set(false);
    dut.reset();
    dut
}

#[test]
fn positions_hold_what_was_written() {
    run_with_wave_on_failure("windows_positions", |wave| {
        let mut rng = wave.rng();
        let dut = windows(wave);
        let mut written: BTreeMap<(u64, u64), WindowEntry> = BTreeMap::new();
        let mut read: Option<WindowEntry> = None;
        for _ in 0..share(12_000) {
            let write = rng.random_bool(0.6).then(|| (rng.random_range(0..WINDOWS), rng.random_range(0..4u64)));
            // Nothing is read in the cycle in which it is written.
            let next = written.keys().filter(|at| Some(**at) != write).choose(&mut rng).copied();
            let next = next.filter(|_| rng.random_bool(0.7));
            let entry: WindowEntry = random_bits(&mut rng);
            dut.write_enable.set(write.is_some());
            let (window, position) = write.unwrap_or((rng.random_range(0..WINDOWS), rng.random_range(0..4)));
            dut.write_window.set(bits(window));
            dut.write_position.set(bits(position));
            dut.write_entry.set(entry);
            dut.read_enable.set(next.is_some());
            let (window, position) = next.unwrap_or((rng.random_range(0..WINDOWS), rng.random_range(0..4)));
            dut.window.set(bits(window));
            dut.position.set(bits(position));
            dut.eval();
            if let Some(expected) = read {
                // An entry stands until the next read.
                assert_eq!(dut.entry.get(), expected, "cycle {}", dut.cycle());
            }
            if let Some(at) = next {
                read = Some(written[&at]);
            }
            if let Some(at) = write {
                written.insert(at, entry);
            }
            dut.tick();
        }
        assert!(written.len() as u64 > 3 * WINDOWS, "{} positions", written.len());
    });
}

#[test]
fn no_window_has_two_mailboxes() {
    run_with_wave_on_failure("windows_stock", |wave| {
        let mut rng = wave.rng();
        let dut = windows(wave);
        let mut owned: BTreeSet<u64> = BTreeSet::new();
        let mut fresh = 0;
        // Windows that were given back, with the cycle.
        let mut returned: VecDeque<(u64, u64)> = VecDeque::new();
        let (mut empty, mut again) = (0, 0);
        for cycle in 0..share(20_000) as u64 {
            // Phases in which most are taken, and in which most are given back.
            let takes = cycle / 400 % 2 == 0;
            let back = rng.random_bool(if takes { 0.1 } else { 0.8 }).then(|| owned.iter().choose(&mut rng).copied());
            let back = back.flatten();
            dut.give_back.set(back.is_some());
            dut.returned_window.set(bits(back.unwrap_or_else(|| rng.random_range(0..WINDOWS))));
            dut.allocate.set(false);
            dut.eval();
            let offered = dut.any_free.is_high().then(|| dut.free.get().to_u64());
            let oldest = returned.front().copied();
            let there = oldest.filter(|(_, since)| cycle - since >= RETURN);
            match (there, offered) {
                (Some((window, _)), _) => assert_eq!(offered, Some(window), "cycle {cycle}: the oldest one goes first"),
                (None, None) => assert!(fresh == WINDOWS, "cycle {cycle}: {fresh} of {WINDOWS} were taken"),
                (None, Some(window)) => {
                    let early = oldest.is_some_and(|(oldest, _)| oldest == window);
                    assert!(early || (fresh < WINDOWS && window == fresh), "cycle {cycle}: window {window}");
                }
            }
            empty += usize::from(offered.is_none());
            if let Some(window) = offered.filter(|_| rng.random_bool(if takes { 0.8 } else { 0.1 })) {
                dut.allocate.set(true);
                assert!(owned.insert(window), "cycle {cycle}: window {window} has a mailbox");
                if oldest.is_some_and(|(oldest, _)| oldest == window) {
                    returned.pop_front();
                    again += 1;
                } else {
                    fresh += 1;
                }
            }
            if let Some(window) = back {
                owned.remove(&window);
                returned.push_back((window, cycle));
            }
            dut.tick();
        }
        assert!(fresh == WINDOWS && empty > 10 && again > 300, "{fresh} taken, {empty} cycles without, {again} again");
    });
}
