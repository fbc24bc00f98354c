//! `MacTx`.

use super::characters::{characters_in, fault, random_frame, with_fcs, Character, Item, Reader};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::mac64::MacTx;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

/// A frame for the bench: its bytes, whether its last beat says that it is bad, and before which beat its source pauses.
#[derive(Clone, Debug)]
struct Offer {
    bytes: Vec<u8>,
    bad: bool,
    pause: Option<usize>,
}

impl From<Vec<u8>> for Offer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, bad: false, pause: None }
    }
}

struct Bench {
    dut: Dut<MacTx>,
    offers: VecDeque<Offer>,
    beat: usize,
    paused: usize,
    reader: Reader,
    /// Sent, aborted, lost.
    events: [usize; 3],
    /// Enabled cycles.
    cycles: usize,
    enabled: bool,
    words: Vec<[Character; 8]>,
    taken: usize,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, MacTx::default(), "mac_tx");
        // A source that pauses inside a frame is what some tests are about.
        dut.ignore_all();
        let mut bench = Self {
            dut,
            offers: VecDeque::new(),
            beat: 0,
            paused: 0,
            reader: Reader::default(),
            events: [0; 3],
            cycles: 0,
            enabled: true,
            words: vec![],
            taken: 0,
        };
        for _ in 0..12 {
            bench.step();
        }
        bench
    }

    fn send(&mut self, offer: impl Into<Offer>) {
        self.offers.push_back(offer.into());
    }

    fn step(&mut self) {
        let offer = self.offers.front().filter(|o| self.paused == 0 && (o.pause != Some(self.beat) || self.beat == 0));
        self.paused = self.paused.saturating_sub(1);
        let valid = offer.is_some();
        let mut last = false;
        self.dut.frames.valid.set(valid);
        if let Some(offer) = offer {
            let rest = &offer.bytes[8 * self.beat..];
            let count = rest.len().min(8);
            last = rest.len() <= 8;
            // Bytes after the end of a frame are of no meaning.
            let mut bytes = [0xA5; 8];
            bytes[..count].copy_from_slice(&rest[..count]);
            self.dut.frames.data.set_bytes(&bytes);
            self.dut.frames.keep.set((1u64 << count) - 1);
            self.dut.frames.last.set(last);
            self.dut.frames.user.set(last && offer.bad);
        } else if let Some(offer) = self.offers.front_mut() {
            offer.pause = None;
        }
        self.dut.enable.set(self.enabled);
        self.dut.eval();
        if valid && self.dut.frames.ready.is_high() {
            self.taken += 1;
            self.beat = if last { 0 } else { self.beat + 1 };
            if last {
                self.offers.pop_front();
            }
        }
        if self.enabled {
            let (data, control) = (self.dut.xgmii.data.number(), self.dut.xgmii.control.number());
            let characters = characters_in(data, control);
            self.reader.read(&characters);
            self.words.push(characters);
            self.cycles += 1;
        }
        let events = self.dut.events.number();
        for (i, count) in self.events.iter_mut().enumerate() {
            *count += (events >> i & 1) as usize;
        }
        self.dut.tick();
    }

    fn drain(&mut self) {
        let mut calm = 0;
        while calm < 24 {
            self.step();
            calm = if self.offers.is_empty() { calm + 1 } else { 0 };
        }
    }
}

fn lengths(rng: &mut ChaCha8Rng, count: usize) -> Vec<usize> {
    (0..count)
        .map(|_| match rng.random_range(0..8) {
            0..4 => rng.random_range(1..=100),
            4..7 => rng.random_range(1..=400),
            _ => rng.random_range(1..=1600),
        })
        .collect()
}

/// Lengths from 1 to 9600, without a pause: bytes, FCS, and gaps whose sum is 12 each, but for three.
#[test]
fn frames_of_all_lengths_leave_at_the_rate_of_the_line() {
    run_with_wave_on_failure("mac_tx_all_lengths", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        let mut all: Vec<usize> = (1..=1600).chain((1600..9600).step_by(7)).chain(9585..=9600).collect();
        for i in (1..all.len()).rev() {
            all.swap(i, rng.random_range(0..=i));
        }
        let mut shortest = usize::MAX;
        for part in all.chunks(64) {
            let sent: Vec<Vec<u8>> = part.iter().map(|length| random_frame(&mut rng, *length)).collect();
            sent.iter().for_each(|frame| bench.send(frame.clone()));
            let (start, line) = (bench.cycles, sent.iter().map(|f| f.len().max(60) + 24).sum::<usize>());
            while !bench.offers.is_empty() {
                bench.step();
            }
            let took = bench.cycles - start;
            assert!(took <= line / 8 + 2, "{took} cycles for {line} characters");
            bench.drain();
            let (mut number, mut sum) = (0, 0);
            while let Some(item) = bench.reader.items.pop_front() {
                let Item::Frame { bytes, gap } = item else { panic!("{item:?}") };
                assert!(bytes == with_fcs(&sent[number]), "frame of {} bytes", sent[number].len());
                if let (Some(gap), true) = (gap, number > 0) {
                    (sum, shortest) = (sum + gap, shortest.min(gap));
                    assert!((9..=15).contains(&gap), "a gap of {gap}");
                }
                number += 1;
            }
            assert_eq!(number, sent.len());
            let gaps = sent.len() - 1;
            assert!(sum.abs_diff(12 * gaps) <= 3, "{sum} characters in {gaps} gaps");
        }
        assert_eq!((bench.events, shortest), ([all.len(), 0, 0], 9));
    });
}

/// 2,000 frames of one length, in one piece: cycles and gaps are those of the line, exactly.
#[test]
fn beats_per_frame_are_those_of_the_line() {
    run_with_wave_on_failure("mac_tx_full_rate", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        for length in [1, 60, 61, 62, 63, 64, 65, 67, 1514] {
            let frames = 2000;
            (0..frames).for_each(|_| bench.send(random_frame(&mut rng, length)));
            let start = bench.cycles;
            while !bench.offers.is_empty() {
                bench.step();
            }
            let characters = (length.max(60) + 24) * frames;
            let cycles = bench.cycles - start;
            // The last beat is taken up to nine cycles before the gap ends, where padding follows.
            let line = characters / 8;
            assert!(
                (line - 10..=line + 3).contains(&cycles),
                "{length} bytes: {cycles} cycles, {characters} characters"
            );
            bench.drain();
            let gaps: Vec<usize> = bench
                .reader
                .items
                .drain(..)
                .skip(1)
                .map(|item| match item {
                    Item::Frame { gap, .. } => gap.unwrap(),
                    other => panic!("{other:?}"),
                })
                .collect();
            let sum: usize = gaps.iter().sum();
            assert!(sum.abs_diff(12 * (frames - 1)) <= 3, "{length} bytes: {sum} characters of gap");
        }
    });
}

/// With a PCS that stops in one cycle of 33, and at random, the words are the same.
#[test]
fn a_pause_of_the_gearbox_changes_nothing() {
    run_with_wave_on_failure("mac_tx_enable", |wave| {
        let mut rng = wave.rng();
        let frames: Vec<Vec<u8>> = lengths(&mut rng, 200).into_iter().map(|l| random_frame(&mut rng, l)).collect();
        let mut words = vec![];
        for kind in 0..3 {
            let mut bench = Bench::new(wave);
            frames.iter().for_each(|f| bench.send(f.clone()));
            let mut cycle = 0;
            while !bench.offers.is_empty() {
                bench.enabled = match kind {
                    0 => true,
                    1 => cycle % 33 != 32,
                    _ => rng.random_bool(0.5),
                };
                bench.step();
                cycle += 1;
            }
            bench.enabled = true;
            bench.drain();
            assert_eq!(bench.events, [200, 0, 0]);
            let busy = bench.words.iter().rposition(|w| w.iter().any(|c| !c.1)).unwrap();
            words.push(bench.words[..=busy].to_vec());
        }
        assert!(words[0] == words[1] && words[0] == words[2]);
    });
}

/// Cycles from the offer to the first byte on the XGMII.
#[test]
fn latency_is_as_promised() {
    run_with_wave_on_failure("mac_tx_latency", |wave| {
        let mut bench = Bench::new(wave);
        let offered = bench.words.len();
        bench.send(vec![0x3C; 64]);
        bench.drain();
        let first = bench.words.iter().position(|word| word[0] == (0x3C, false)).unwrap();
        assert_eq!(first - offered, 8);
    });
}

/// A missing beat, at every place, and a last beat that says bad: error characters and an end; the next frame is whole.
#[test]
fn underruns_end_with_error_characters() {
    run_with_wave_on_failure("mac_tx_underrun", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        let mut aborted = 0;
        for beats in 1..14 {
            for place in 0..beats {
                for tail in [1, 5, 8] {
                    let bytes = random_frame(&mut rng, 8 * (beats - 1) + tail);
                    let good = random_frame(&mut rng, 70);
                    let (bad, pause) = if place == 0 { (true, None) } else { (false, Some(place)) };
                    bench.send(Offer { bytes: bytes.clone(), bad, pause });
                    bench.send(good.clone());
                    bench.drain();
                    let item = bench.reader.items.pop_front().unwrap();
                    let Item::Broken { bytes: left, errors } = item else { panic!("{item:?}") };
                    assert_eq!(errors, 12);
                    let whole = if place == 0 { 8 * (beats - 1) } else { 8 * place };
                    assert_eq!(left, bytes[..whole]);
                    aborted += 1;
                    let next = bench.reader.items.pop_front().unwrap();
                    assert!(matches!(&next, Item::Frame { bytes, .. } if *bytes == with_fcs(&good)), "{next:?}");
                }
            }
        }
        assert_eq!(bench.events, [aborted, aborted, 0]);
    });
}

/// Sends frames with a fault in words `from..until`: remote fault or idle at once, then whole frames only, and every frame is
/// counted once.
fn send_with_fault(bench: &mut Bench, sent: &[Vec<u8>], (local, remote): (bool, bool), (from, until): (usize, usize)) {
    sent.iter().for_each(|f| bench.send(f.clone()));
    let before = bench.events;
    while !bench.offers.is_empty() || bench.words.len() < until + 30 {
        let now = bench.words.len();
        bench.dut.local_fault.set(local && (from..until).contains(&now));
        bench.dut.remote_fault.set(remote && (from..until).contains(&now));
        bench.step();
    }
    bench.drain();
    let columns: Vec<Character> = if local { fault(2) } else { vec![(7, true); 4] };
    for word in &bench.words[from + 2..until + 1] {
        assert_eq!((&word[..4], &word[4..]), (&columns[..], &columns[..]));
    }
    let (mut whole, mut at) = (0, 0);
    for item in bench.reader.items.drain(..) {
        match item {
            Item::Frame { bytes, .. } => {
                at += sent[at..].iter().position(|f| with_fcs(f) == bytes).expect("frames in order") + 1;
                whole += 1;
            }
            Item::Cut { .. } | Item::Fault(2) => {}
            other => panic!("{other:?}"),
        }
    }
    let events: Vec<usize> = bench.events.iter().zip(before).map(|(a, b)| a - b).collect();
    assert_eq!(events, [whole, 0, sent.len() - whole]);
}

/// Faults come and go at random times in traffic.
#[test]
fn faults_stop_frames() {
    run_with_wave_on_failure("mac_tx_faults", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        for round in 0..400 {
            let sent: Vec<Vec<u8>> = lengths(&mut rng, 12).into_iter().map(|l| random_frame(&mut rng, l)).collect();
            let faults = (round % 2 == 0, round % 2 == 1 || round % 10 == 0);
            let from = bench.words.len() + rng.random_range(0..200);
            let until = from + rng.random_range(4..120);
            send_with_fault(&mut bench, &sent, faults, (from, until));
        }
        assert!(bench.events[2] > 400, "faults met {} frames", bench.events[2]);
    });
}

/// A fault that begins at each word of two frames, the second of which begins in either lane and ends in each.
#[test]
fn a_fault_at_every_word_stops_frames() {
    run_with_wave_on_failure("mac_tx_fault_words", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        for first in [60, 64] {
            for second in 60..68 {
                for word in 5..34 {
                    let sent: Vec<Vec<u8>> = [first, second].map(|length| random_frame(&mut rng, length)).into();
                    let from = bench.words.len() + word;
                    send_with_fault(&mut bench, &sent, (true, false), (from, from + 4));
                }
            }
        }
        assert!(bench.events[0] > 200 && bench.events[2] > 200, "{:?}", bench.events);
    });
}
