//! `Mac64`: both directions, with clocks of their own.

use super::characters::{characters_in, fault, random_frame, with_fcs, word_of, Item, Reader};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::mac64::Mac64;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

/// Words on the way, enough that neither clock waits for the other for long.
const LINE: usize = 64;

struct Bench {
    dut: Dut<Mac64>,
    rng: ChaCha8Rng,
    /// Words from the transmitter to the receiver.
    line: VecDeque<(u64, u64)>,
    /// Words that the receiver gets instead.
    instead: Option<(u64, u64)>,
    sending: VecDeque<Vec<u8>>,
    beat: usize,
    current: Vec<u8>,
    received: Vec<(Vec<u8>, bool)>,
    reader: Reader,
    /// Sent and good frames, by the events.
    counts: [usize; 2],
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, Mac64::default(), "mac64");
        dut.ignore_all();
        let mut bench = Self {
            dut,
            rng: wave.rng(),
            line: VecDeque::new(),
            instead: None,
            sending: VecDeque::new(),
            beat: 0,
            current: vec![],
            received: vec![],
            reader: Reader::default(),
            counts: [0; 2],
        };
        for (level, cycles) in [(1, 8), (0, 20)] {
            for name in ["tx_reset", "rx_reset"] {
                let mut model = bench.dut.model_mut();
                let port = model.port(name).unwrap();
                model.set(port, level);
            }
            // Nothing is taken yet: the registers that have no reset fill.
            (0..cycles).for_each(|_| bench.edge(true, true));
        }
        (bench.line, bench.received, bench.counts) = (VecDeque::new(), vec![], [0; 2]);
        bench.reader = Reader::default();
        bench
    }

    fn edge(&mut self, tx: bool, rx: bool) {
        let mut model = self.dut.model_mut();
        let clocks = [("tx_clock", tx), ("rx_clock", rx)].map(|(name, rises)| (model.port(name).unwrap(), rises));
        for level in [1, 0] {
            clocks.iter().filter(|clock| clock.1).for_each(|clock| model.set(clock.0, level));
            model.eval();
        }
    }

    /// A rising edge of either clock or both.
    fn step(&mut self) {
        let (tx, rx) = [(true, false), (false, true), (true, true)][self.rng.random_range(0..3)];
        let transmits = tx && self.line.len() < LINE && self.rng.random_bool(0.9);
        self.dut.tx_enable.set(transmits);
        let frame = self.sending.front();
        self.dut.tx.valid.set(frame.is_some());
        let mut last = false;
        if let Some(frame) = frame {
            let rest = &frame[8 * self.beat..];
            let count = rest.len().min(8);
            last = rest.len() <= 8;
            let mut bytes = [0; 8];
            bytes[..count].copy_from_slice(&rest[..count]);
            self.dut.tx.data.set_bytes(&bytes);
            self.dut.tx.keep.set((1u64 << count) - 1);
            self.dut.tx.last.set(last);
            self.dut.tx.user.set(false);
        }
        let word = if rx { self.instead.or_else(|| self.line.front().copied()) } else { None };
        self.dut.rx_enable.set(word.is_some());
        if let Some((data, control)) = word {
            self.dut.rx_xgmii.data.set(data);
            self.dut.rx_xgmii.control.set(control);
        }
        self.dut.eval();
        if tx {
            self.counts[0] += (self.dut.tx_events.number() & 1) as usize;
            if transmits {
                let word = (self.dut.tx_xgmii.data.number(), self.dut.tx_xgmii.control.number());
                self.reader.read(&characters_in(word.0, word.1));
                self.line.push_back(word);
            }
            if self.dut.tx.ready.is_high() && !self.sending.is_empty() {
                self.beat = if last { 0 } else { self.beat + 1 };
                if last {
                    self.sending.pop_front();
                }
            }
        }
        if rx {
            self.counts[1] += (self.dut.rx_events.number() & 1) as usize;
            if word.is_some() {
                self.line.pop_front();
            }
            if self.dut.rx.valid.is_high() {
                let keep = self.dut.rx.keep.number();
                self.current.extend(&self.dut.rx.data.bytes()[..keep.count_ones() as usize]);
                if self.dut.rx.last.is_high() {
                    self.received.push((std::mem::take(&mut self.current), self.dut.rx.user.is_high()));
                }
            }
        }
        self.edge(tx, rx);
    }

    fn send_all(&mut self, frames: &[Vec<u8>]) {
        self.sending.extend(frames.iter().cloned());
        while !self.sending.is_empty() {
            self.step();
        }
        (0..4 * LINE).for_each(|_| self.step());
    }
}

/// What the transmitter sends, the receiver of the same block gets; frames of fewer than 60 bytes come back padded.
#[test]
fn frames_come_back() {
    run_with_wave_on_failure("mac64", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave);
        let lengths: Vec<usize> = (0..600).map(|_| rng.random_range(1..400)).chain([9000, 9596]).collect();
        let sent: Vec<Vec<u8>> = lengths.iter().map(|length| random_frame(&mut rng, *length)).collect();
        bench.send_all(&sent);
        let expected: Vec<(Vec<u8>, bool)> = sent
            .into_iter()
            .map(|mut frame| {
                frame.resize(frame.len().max(60), 0);
                (frame, false)
            })
            .collect();
        assert!(bench.received == expected);
        assert_eq!(bench.counts, [expected.len(); 2]);
    });
}

/// A fault at the receiver stops the frames of the transmitter, which reports a remote fault for a local one; idle
/// columns end it.
#[test]
fn a_fault_crosses_to_the_transmitter() {
    run_with_wave_on_failure("mac64_fault", |wave| {
        let mut bench = Bench::new(wave);
        for (kind, answers) in [(1, true), (2, false)] {
            let columns = [fault(kind), fault(kind)].concat();
            bench.instead = Some(word_of(&columns));
            (0..60).for_each(|_| bench.step());
            assert_eq!((bench.dut.local_fault.is_high(), bench.dut.remote_fault.is_high()), (kind == 1, kind == 2));
            bench.reader.items.clear();
            let lost: Vec<Vec<u8>> = (0..20).map(|i| vec![i; 80]).collect();
            bench.send_all(&lost);
            let items = std::mem::take(&mut bench.reader.items);
            assert!(items.iter().all(|item| answers && *item == Item::Fault(2)), "{items:?}");
            assert_eq!(!items.is_empty(), answers);
            bench.instead = None;
            (0..4000).for_each(|_| bench.step());
            // The receiver hears the remote fault of its own transmitter, which has ended with the local one.
            assert_eq!((bench.dut.local_fault.is_high(), bench.dut.remote_fault.is_high()), (false, false));
            (bench.received, bench.counts) = (vec![], [0; 2]);
            bench.reader.items.clear();
            let sent = vec![vec![0x5A; 100]; 10];
            bench.send_all(&sent);
            assert!(bench.received.iter().all(|frame| *frame == (vec![0x5A; 100], false)));
            assert_eq!((bench.received.len(), bench.counts), (10, [10; 2]));
            let frames = bench
                .reader
                .items
                .iter()
                .filter(|i| matches!(i, Item::Frame { bytes, .. } if *bytes == with_fcs(&sent[0])));
            assert_eq!(frames.count(), 10);
        }
    });
}
