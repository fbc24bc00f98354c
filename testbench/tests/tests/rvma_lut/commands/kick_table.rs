//! The block of kicks alone, against sets of named and of kicked processes: all processes, any address, any line.

use rand::seq::IteratorRandom;
use rand::Rng;
use rvma_lut::commands::kicks::Kicks;
use rvma_lut::types::RingCommand;
use spindle_contract::descriptors::client;
use spindle_contract::shadow::{BYTES, WORD_EVENT_HEAD, WORD_RING_TAIL};
use spindle_harness::{run_with_wave_on_failure, share, Dut};
use spindle_verilog::ports::from_bytes;
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PROCESSES: u64 = 64;
/// Most cycles from a kick to its read if no other process is marked: 2, and the search.
const SEARCH: u64 = 2 + PROCESSES;

/// The line that is being read.
struct Reading {
    pid: u64,
    /// Cycles until the host answers.
    left: u32,
    words: [u32; BYTES / 4],
    error: bool,
}

/// Pointers that a line brings: process, tail, head, arm.
type Pointers = (u64, u64, u64, bool);

#[test]
fn random_kicks_are_the_models() {
    run_with_wave_on_failure("kick_table_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Kicks::default(), "kicks");
        dut.shadow.valid.set(false);
        dut.kick.valid.set(false);
        dut.line.valid.set(false);
        dut.blocked.set(false);
        dut.read.ready.set(false);
        dut.reset();
        let mut named: BTreeMap<u64, u64> = BTreeMap::new();
        let mut marked: BTreeSet<u64> = BTreeSet::new();
        let mut reading: Option<Reading> = None;
        let mut due: Option<Pointers> = None;
        let mut shadow: Option<(u64, bool, u64)> = None;
        // Cycles in which something is marked and nothing is read, not counting those in which the host takes no read.
        let mut search = 0;
        let (mut applied, mut refused, mut dropped) = (0, 0, 0);
        let cycles = share(60_000) as u64;
        for cycle in 0.. {
            let ends = cycle > cycles;
            if ends && marked.is_empty() && reading.is_none() && due.is_none() && shadow.is_none() {
                break;
            }
            assert!(cycle < cycles + 20_000, "{} processes wait for ever", marked.len());
            // Phases with many kicks and with few, and with few processes.
            let busy = cycle / 700 % 3;
            let kick = (!ends && rng.random_bool([0.3, 0.02, 0.005][busy as usize])).then(|| {
                if rng.random_range(0..4) == 0 {
                    rng.random_range(0..PROCESSES)
                } else {
                    rng.random_range(0..PROCESSES) | 3
                }
            });
            if !ends && shadow.is_none() && rng.random_bool(0.02) {
                // More are named than removed, so that a kick of most processes counts.
                let open = rng.random_range(0..3) != 0;
                shadow = Some((rng.random_range(0..PROCESSES), open, rng.random::<u64>() & !(BYTES as u64 - 1)));
            }
            let blocked = rng.random_bool(0.3);
            let ready = rng.random_bool(if busy == 0 { 0.9 } else { 0.2 });
            let answer = reading.as_mut().and_then(|reading| {
                reading.left -= 1;
                (reading.left == 0).then_some((reading.words, reading.error))
            });
            dut.kick.valid.set(kick.is_some());
            dut.kick.payload.set(bits(kick.unwrap_or_else(|| rng.random_range(0..PROCESSES))));
            dut.shadow.valid.set(shadow.is_some());
            let (pid, open, line) = shadow.unwrap_or_default();
            dut.shadow.payload.set(RingCommand { pid: bits(pid), open, base: bits(line >> 5), last: bits(0x7FFFu64) });
            dut.blocked.set(blocked);
            dut.read.ready.set(ready);
            dut.line.valid.set(answer.is_some());
            let words = answer.map_or_else(|| rng.random(), |(words, _)| words);
            let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
            dut.line.payload.set(from_bytes::<Bits<512>>(&bytes));
            dut.line_error.set(answer.map_or_else(|| rng.random(), |(_, error)| error));
            dut.eval();

            // Pointers are applied one cycle after their line, or as soon as the doorbell lets them.
            let expected = due.filter(|_| !blocked);
            let found = dut.tail.valid.is_high().then(|| {
                (dut.tail.pid.number(), dut.tail.payload.number(), dut.head.payload.number(), dut.arm.is_high())
            });
            assert_eq!(found, expected, "cycle {cycle}");
            assert_eq!(
                dut.head.valid.is_high(),
                dut.tail.valid.is_high(),
                "cycle {cycle}: one pointer without the other"
            );
            if found.is_some() {
                assert_eq!(dut.head.pid.number(), dut.tail.pid.number(), "cycle {cycle}");
                applied += 1;
                due = None;
            }
            if let Some((words, error)) = answer {
                let pid = reading.take().expect("a line is an answer").pid;
                let (tail, head) = (words[WORD_RING_TAIL], words[WORD_EVENT_HEAD]);
                due = (!error).then_some((pid, u64::from(tail & 0xFFFF), u64::from(head & 0xFFFF), head >> 31 != 0));
                refused += usize::from(error);
            }

            let offered = dut.read.valid.is_high();
            let waits = !marked.is_empty() && reading.is_none() && due.is_none() && !offered && shadow.is_none();
            search = if waits { search + 1 } else { 0 };
            assert!(search <= SEARCH, "cycle {cycle}: {marked:?} are not read after {search} cycles");
            if let Some(read) = dut.read.taken() {
                let address = read.address.to_u64();
                let (client, length) = (read.client.to_u64(), read.length.to_u64());
                assert_eq!((client, length), (client::RING as u64, BYTES as u64), "cycle {cycle}");
                // Two processes may name the same line, which this bench avoids.
                let pid = *named.iter().find(|(_, line)| **line == address).expect("a line that is named").0;
                assert!(reading.is_none() && due.is_none() && marked.remove(&pid), "cycle {cycle}: a read for {pid}");
                let error = rng.random_range(0..5) == 0;
                reading = Some(Reading { pid, left: rng.random_range(1..40), words: rng.random(), error });
            }
            if let Some(pid) = kick {
                if named.contains_key(&pid) {
                    marked.insert(pid);
                } else {
                    dropped += 1;
                }
            }
            if dut.shadow_done.is_high() {
                let (pid, open, line) = shadow.take().expect("a line to name or to remove");
                assert!(reading.is_none(), "cycle {cycle}: the line of {pid} changes during a read");
                if open {
                    named.insert(pid, line);
                    if kick == Some(pid) {
                        // The kick of the same cycle counts.
                        marked.insert(pid);
                    }
                } else {
                    named.remove(&pid);
                    marked.remove(&pid);
                }
            }
            dut.tick();
        }
        let seen = [applied, refused, dropped];
        assert!(seen.iter().all(|count| *count > 20), "{seen:?} applied, refused by the host, without a line");
        // Whoever is left works.
        assert!(named.keys().choose(&mut rng).is_some());
    });
}

/// A kick of an idle block is read after two cycles, and its pointers are there one cycle after the line.
#[test]
fn cycles_of_a_kick() {
    run_with_wave_on_failure("kick_table_cycles", |wave| {
        let dut = Dut::new(wave, Kicks::default(), "kicks");
        dut.kick.valid.set(false);
        dut.line.valid.set(false);
        dut.line_error.set(false);
        dut.blocked.set(false);
        dut.read.ready.set(true);
        dut.shadow.valid.set(false);
        dut.reset();
        for pid in [0, 63, 5] {
            dut.shadow.valid.set(true);
            dut.shadow.payload.set(RingCommand { pid: bits(pid), open: true, base: bits(2 * pid), last: bits(0u64) });
            dut.eval();
            assert!(dut.shadow_done.is_high(), "a line is named at once while nothing is read");
            dut.tick();
            dut.shadow.valid.set(false);
            dut.kick.valid.set(true);
            dut.kick.payload.set(bits(pid));
            let kicked = dut.cycle();
            dut.tick();
            dut.kick.valid.set(false);
            dut.eval();
            while dut.read.taken().is_none() {
                dut.tick();
                dut.eval();
            }
            let read = dut.cycle();
            dut.tick();
            dut.line.valid.set(true);
            dut.line.payload.set(from_bytes::<Bits<512>>(&[0xFF; BYTES]));
            let line = dut.cycle();
            dut.tick();
            dut.line.valid.set(false);
            dut.eval();
            assert!(dut.tail.valid.is_high(), "the pointers are late");
            assert_eq!((read - kicked, dut.cycle() - line), (2, 1), "process {pid}");
            dut.tick();
        }
    });
}
