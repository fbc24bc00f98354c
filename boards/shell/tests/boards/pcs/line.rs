//! MAC and PCS over a line of bits: frames from a MAC through its PCS, a line, the PCS of the other side and its MAC.

use crate::mac64::characters::random_frame;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::mac64::{LinkFault, MacRx, MacTx};
use spindle_boards::hdl::pcs::{BitErrors, BlockLock, Gearbox, PcsRx, PcsTx};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use std::collections::VecDeque;

/// A transceiver pair: bits in the order of the wire, found again at a place that slips by one at each request.
pub struct Line {
    pub bits: VecDeque<bool>,
    /// Cycles until a slip is carried out.
    slipping: Option<u32>,
    pub slips: usize,
    /// Part of the bits that are inverted.
    pub errors: f64,
}

impl Line {
    pub fn new() -> Self {
        Self { bits: VecDeque::new(), slipping: None, slips: 0, errors: 0.0 }
    }

    pub fn send(&mut self, header: u64, payload: u64, rng: &mut ChaCha8Rng) {
        for i in 0..66 {
            let bit = if i < 2 { header >> i & 1 } else { payload >> (i - 2) & 1 } == 1;
            self.bits.push_back(bit ^ (self.errors > 0.0 && rng.random_bool(self.errors)));
        }
    }

    pub fn slip(&mut self) {
        assert!(self.slipping.is_none(), "a slip before the last one was carried out");
        self.slipping = Some(20);
    }

    /// The next header and payload, 67 bits at most.
    pub fn receive(&mut self) -> (u64, u64) {
        if let Some(left) = &mut self.slipping {
            *left -= 1;
            if *left == 0 {
                self.bits.pop_front();
                self.slips += 1;
                self.slipping = None;
            }
        }
        let mut take =
            |count: usize| (0..count).fold(0u64, |word, i| word | u64::from(self.bits.pop_front().unwrap()) << i);
        (take(2), take(64))
    }
}

struct Bench {
    mac_tx: Dut<MacTx>,
    pcs_tx: Dut<PcsTx>,
    pcs_rx: Dut<PcsRx>,
    mac_rx: Dut<MacRx>,
    link: Dut<LinkFault>,
    line: Line,
    rng: ChaCha8Rng,
    sending: VecDeque<Vec<u8>>,
    beat: usize,
    current: Vec<u8>,
    received: Vec<(Vec<u8>, bool)>,
    /// The transmitted word is new.
    fresh: bool,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let rx = PcsRx::with_parts(BlockLock::new(32), BitErrors::new(2000, 16), false);
        let bench = Self {
            mac_tx: Dut::new(wave, MacTx::default(), "mac_tx"),
            pcs_tx: Dut::new(wave, PcsTx::new(Gearbox::Sequenced, false), "pcs_tx_plain"),
            pcs_rx: Dut::new(wave, rx, "pcs_rx_line"),
            mac_rx: Dut::new(wave, MacRx::default(), "mac_rx"),
            link: Dut::new(wave, LinkFault::default(), "link_fault"),
            line: Line::new(),
            rng: wave.rng(),
            sending: VecDeque::new(),
            beat: 0,
            current: vec![],
            received: vec![],
            fresh: false,
        };
        bench.mac_tx.ignore_all();
        bench
    }

    /// One cycle of all blocks, each with the outputs that the others had before it.
    fn cycle(&mut self) {
        let Self { mac_tx, pcs_tx, pcs_rx, mac_rx, link, .. } = self;
        // Transmit.
        pcs_tx.xgmii.data.set(mac_tx.xgmii.data.number());
        pcs_tx.xgmii.control.set(mac_tx.xgmii.control.number());
        mac_tx.enable.set(pcs_tx.enable.is_high());
        let frame = self.sending.front();
        mac_tx.frames.valid.set(frame.is_some());
        let mut last = false;
        if let Some(frame) = frame {
            let rest = &frame[8 * self.beat..];
            let count = rest.len().min(8);
            last = rest.len() <= 8;
            let mut bytes = [0; 8];
            bytes[..count].copy_from_slice(&rest[..count]);
            mac_tx.frames.data.set_bytes(&bytes);
            mac_tx.frames.keep.set((1u64 << count) - 1);
            mac_tx.frames.last.set(last);
            mac_tx.frames.user.set(false);
        }
        mac_tx.eval();
        if mac_tx.frames.ready.is_high() && self.sending.front().is_some() {
            self.beat = if last { 0 } else { self.beat + 1 };
            if last {
                self.sending.pop_front();
            }
        }
        if self.fresh {
            self.line.send(pcs_tx.header.number(), pcs_tx.data.number(), &mut self.rng);
        }
        self.fresh = pcs_tx.enable.is_high();
        // Receive.
        if pcs_rx.slip.is_high() {
            self.line.slip();
        }
        let valid = self.line.bits.len() > 200;
        pcs_rx.valid.set(valid);
        if valid {
            let (header, payload) = self.line.receive();
            pcs_rx.header.set(header);
            pcs_rx.data.set(payload);
        }
        let (data, control) = (pcs_rx.xgmii.data.number(), pcs_rx.xgmii.control.number());
        let moves = pcs_rx.enable.is_high();
        mac_rx.xgmii.data.set(data);
        mac_rx.xgmii.control.set(control);
        mac_rx.enable.set(moves);
        link.xgmii.data.set(data);
        link.xgmii.control.set(control);
        link.enable.set(moves);
        let frames = &mac_rx.frames;
        if frames.valid.is_high() {
            self.current.extend(&frames.data.bytes()[..frames.keep.number().count_ones() as usize]);
            if frames.last.is_high() {
                self.received.push((std::mem::take(&mut self.current), frames.user.is_high()));
            }
        }
        mac_tx.tick();
        pcs_tx.tick();
        pcs_rx.tick();
        mac_rx.tick();
        link.tick();
        mac_tx.eval();
        pcs_tx.eval();
        pcs_rx.eval();
        mac_rx.eval();
        link.eval();
    }

    fn up(&self) -> bool {
        self.pcs_rx.status.number() & 0b100 != 0
    }

    /// Cycles until the link is up and no fault is reported.
    fn wait_for_link(&mut self) -> usize {
        let mut cycles = 0;
        while !self.up() || self.link.local_fault.is_high() {
            self.cycle();
            cycles += 1;
            assert!(cycles < 66 * 100 * 2 + 4000, "no link after {cycles} cycles");
        }
        cycles
    }

    fn send_all(&mut self, frames: &[Vec<u8>]) {
        self.sending.extend(frames.iter().cloned());
        while !self.sending.is_empty() {
            self.cycle();
        }
        (0..60).for_each(|_| self.cycle());
    }
}

fn frames(rng: &mut ChaCha8Rng, count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|_| {
            let length = rng.random_range(60..300);
            random_frame(rng, length)
        })
        .collect()
}

/// Any offset of the blocks is found by slips; then every frame arrives, and none is bad.
#[test]
fn every_offset_is_found() {
    run_with_wave_on_failure("pcs_line_offsets", |wave| {
        let mut bench = Bench::new(wave);
        bench.wait_for_link();
        for offset in 1..66 {
            // The line loses some bits.
            bench.line.bits.drain(..offset);
            while bench.up() {
                bench.cycle();
            }
            bench.wait_for_link();
            bench.received.clear();
            let sent = frames(&mut bench.rng, 10);
            bench.send_all(&sent);
            let good: Vec<(Vec<u8>, bool)> = sent.into_iter().map(|frame| (frame, false)).collect();
            assert!(bench.received == good, "offset {offset}");
        }
        assert!(bench.line.slips > 65, "{} slips", bench.line.slips);
    });
}

/// Bit errors: no wrong frame passes for a good one; many of them take the link down, with local fault, until they stop.
#[test]
fn errors_are_found_and_end() {
    run_with_wave_on_failure("pcs_line_errors", |wave| {
        let mut bench = Bench::new(wave);
        bench.wait_for_link();
        for (errors, falls) in [(1e-4, false), (1e-3, false), (0.02, true), (0.3, true)] {
            bench.received.clear();
            bench.line.errors = errors;
            let sent = frames(&mut bench.rng, 400);
            bench.sending.extend(sent.iter().cloned());
            let (mut fell, mut faults) = (false, 0);
            while !bench.sending.is_empty() {
                bench.cycle();
                fell |= !bench.up();
                faults += usize::from(bench.link.local_fault.is_high());
            }
            assert_eq!(fell, falls, "with errors {errors}");
            assert!(!falls || faults > 100, "{faults} cycles of local fault");
            let good = bench.received.iter().filter(|frame| !frame.1);
            let mut at = 0;
            let mut count = 0;
            for (bytes, _) in good {
                at += sent[at..].iter().position(|frame| frame == bytes).expect("a good frame was sent") + 1;
                count += 1;
            }
            assert!(count < 400 && (falls || count > 0), "{count} good frames with errors {errors}");
            // And everything is right again.
            bench.line.errors = 0.0;
            (0..3000).for_each(|_| bench.cycle());
            bench.wait_for_link();
            (0..400).for_each(|_| bench.cycle());
            bench.received.clear();
            let sent = frames(&mut bench.rng, 20);
            bench.send_all(&sent);
            assert!(bench.received == sent.into_iter().map(|f| (f, false)).collect::<Vec<_>>());
        }
    });
}
