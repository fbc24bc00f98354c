//! The packet buffer against a bag of frames: random frames, reads on both ports at once, frees, exhaustion.

use crate::packet_engine::ingress::common::{packed, set_field, Dut};
use packet_engine::ingress::packet_buffer::{PacketBuffer, READ_LATENCY, WRITTEN_LATENCY};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::RamStyle;
use spindle_contract::params::{CELL_BYTES, MAX_FRAME};
use spindle_harness::seeded_rng;
use spindle_model::packet_engine::packet_buffer::PacketBuffer as Bag;
use std::collections::VecDeque;

struct PortNames {
    request: &'static str,
    request_valid: &'static str,
    request_ready: &'static str,
    data: &'static str,
    last: &'static str,
    valid: &'static str,
    ready: &'static str,
}

const LOAD: PortNames = PortNames {
    request: "load_request",
    request_valid: "load_request_valid",
    request_ready: "load_request_ready",
    data: "load_data",
    last: "load_data_last",
    valid: "load_data_valid",
    ready: "load_data_ready",
};
const PLACE: PortNames = PortNames {
    request: "place_request",
    request_valid: "place_request_valid",
    request_ready: "place_request_ready",
    data: "place_data",
    last: "place_data_last",
    valid: "place_data_valid",
    ready: "place_data_ready",
};

fn request(pkt: u16, length: usize, skip: usize) -> Vec<u8> {
    let mut r = packed("read_request");
    set_field(&mut r, "read_request", "pkt", pkt.into());
    set_field(&mut r, "read_request", "length", length as u64);
    set_field(&mut r, "read_request", "skip", skip as u64);
    r
}

/// A consumer: one request on offer, the beats still to come, and how often each frame is being read.
struct Reader {
    names: PortNames,
    offer: Option<(u16, usize, usize)>,
    /// Bytes of each beat to come, whether it is the last, and of which frame.
    beats: VecDeque<(Vec<u8>, bool, u16)>,
    held: Option<(Vec<u8>, bool)>,
    delivered: usize,
}

impl Reader {
    fn new(names: PortNames) -> Self {
        Self { names, offer: None, beats: VecDeque::new(), held: None, delivered: 0 }
    }

    fn reads(&self, pkt: u16) -> bool {
        self.offer.is_some_and(|o| o.0 == pkt) || self.beats.iter().any(|b| b.2 == pkt)
    }

    fn drive(&mut self, dut: &mut Dut, rng: &mut ChaCha8Rng, bag: &Bag, names: &[u16], ready: bool) {
        if self.offer.is_none() && rng.random_bool(0.3) {
            if let Some(pkt) = names.choose(rng) {
                let frame = bag.frame(*pkt).expect("listed");
                let length = if rng.random_bool(0.7) { frame.len() } else { rng.random_range(1..=frame.len()) };
                let skip = if rng.random_bool(0.7) { 0 } else { rng.random_range(0..length.div_ceil(64)) };
                self.offer = Some((*pkt, length, skip));
                dut.set_bytes(self.names.request, &request(*pkt, length, skip));
            }
        }
        dut.set(self.names.request_valid, self.offer.is_some().into());
        dut.set(self.names.ready, ready.into());
    }

    fn sample(&mut self, dut: &Dut, bag: &Bag) {
        if self.offer.is_some() && dut.high(self.names.request_ready) {
            let (pkt, length, skip) = self.offer.take().expect("checked");
            let frame = &bag.frame(pkt).expect("a frame under read is not freed")[..length];
            let count = length.div_ceil(64);
            self.beats.extend(frame.chunks(64).enumerate().skip(skip).map(|(i, c)| (c.to_vec(), i + 1 == count, pkt)));
        }
        if !dut.high(self.names.valid) {
            assert!(self.held.is_none(), "{} fell before ready", self.names.valid);
            return;
        }
        let now = (dut.bytes(self.names.data).to_vec(), dut.high(self.names.last));
        if let Some(held) = self.held.take() {
            assert!(held == now, "{} changed before ready", self.names.data);
        }
        let (bytes, last, pkt) =
            self.beats.front().unwrap_or_else(|| panic!("{}: a beat that nobody asked for", self.names.data));
        assert_eq!(&now.0[..bytes.len()], &bytes[..], "{} of packet {pkt}", self.names.data);
        assert_eq!(now.1, *last, "{} of packet {pkt}", self.names.last);
        if dut.high(self.names.ready) {
            self.beats.pop_front();
            self.delivered += 1;
        } else {
            self.held = Some(now);
        }
    }
}

fn set_beat(dut: &mut Dut, frame: &[u8], index: usize) -> bool {
    let last = 64 * index + 64 >= frame.len();
    dut.set_bytes("beat_data", &frame[64 * index..frame.len().min(64 * index + 64)]);
    dut.set("beat_last", last.into());
    dut.set("beat_valid", 1);
    last
}

fn buffer(cells: usize, style: RamStyle) -> Dut {
    Dut::new(&mut PacketBuffer::new(cells, style), &format!("packet_buffer_{cells}_{}", style.attribute()))
}

/// Random traffic. How readily frames are freed changes with time, so that the buffer runs full and empty.
fn run(cells: usize, style: RamStyle, cycles: u64) {
    let mut rng = seeded_rng(&format!("packet_buffer_{cells}"));
    let mut dut = buffer(cells, style);
    let mut bag = Bag::new(cells);
    let mut readers = [Reader::new(LOAD), Reader::new(PLACE)];
    let mut current: Option<(Vec<u8>, usize)> = None;
    let mut ended: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
    let mut doomed: Option<u16> = None;
    let (mut stored, mut overflows, mut long, mut quiet) = (0, 0, 0, 0);
    for cycle in 0.. {
        let sending = cycle < cycles;
        let phase = cycle / (6 * cells as u64).max(1500) % 4;
        if current.is_none() && sending && (phase == 1 || rng.random_bool(0.6)) {
            let n = match rng.random_range(0..8) {
                0..=3 => rng.random_range(1..=64),
                4..=5 => rng.random_range(1..1600),
                6 => CELL_BYTES * rng.random_range(1..4) + rng.random_range(0..3) - 1,
                _ => rng.random_range(MAX_FRAME - 2000..MAX_FRAME + 200),
            };
            let mut frame = vec![0; n];
            rng.fill(&mut frame[..]);
            current = Some((frame, 0));
        }
        dut.set("beat_valid", 0);
        if let Some((frame, index)) = &mut current {
            if phase == 1 || rng.random_bool(0.9) {
                let last = set_beat(&mut dut, frame, *index);
                *index += 1;
                if last {
                    ended.push_back((cycle + WRITTEN_LATENCY as u64, current.take().expect("checked").0));
                }
            }
        }
        let names: Vec<u16> = bag.names().into_iter().filter(|n| Some(*n) != doomed).collect();
        for reader in &mut readers {
            let ready = phase == 3 || rng.random_bool(0.7);
            if sending {
                reader.drive(&mut dut, &mut rng, &bag, &names, ready);
            } else {
                dut.set(reader.names.ready, 1);
                dut.set(reader.names.request_valid, reader.offer.is_some().into());
            }
        }
        if doomed.is_none()
            && rng.random_bool(if !sending {
                1.0
            } else if phase < 2 {
                0.002
            } else {
                0.6
            })
        {
            let free: Vec<u16> = names.into_iter().filter(|n| !readers.iter().any(|r| r.reads(*n))).collect();
            doomed = free.choose(&mut rng).copied();
            dut.set("free", doomed.unwrap_or(0).into());
        }
        dut.set("free_valid", doomed.is_some().into());
        dut.eval();

        for reader in &mut readers {
            reader.sample(&dut, &bag);
        }
        if doomed.is_some() && dut.high("free_ready") {
            assert!(bag.free(doomed.take().expect("checked")));
        }
        let due = ended.front().is_some_and(|e| e.0 == cycle);
        assert_eq!(dut.high("written_valid"), due, "written_valid in cycle {cycle}");
        if due {
            let (_, frame) = ended.pop_front().expect("checked");
            if dut.high("written_overflow") {
                overflows += 1;
                long += usize::from(frame.len() > MAX_FRAME);
            } else {
                stored += 1;
                assert_eq!(dut.get("written_cells") as usize, Bag::cells_of(frame.len()));
                bag.store(dut.get("written_pkt") as u16, frame).unwrap_or_else(|e| panic!("cycle {cycle}: {e}"));
            }
        }
        let busy = current.is_some()
            || !ended.is_empty()
            || doomed.is_some()
            || readers.iter().any(|r| r.offer.is_some() || !r.beats.is_empty());
        quiet = if busy || sending { 0 } else { quiet + 1 };
        dut.tick();
        if quiet > 60 && bag.names().is_empty() {
            break;
        }
        assert!(cycle < cycles + 20_000, "the buffer does not run empty");
    }
    dut.eval();
    assert_eq!(dut.get("cells_free") as usize, cells, "cells were lost or invented");
    println!(
        "stored {stored}, overflows {overflows} (too long {long}), beats read {} {}",
        readers[0].delivered, readers[1].delivered
    );
    assert!(stored > 500 && overflows > 50 && long > 5 && overflows > 2 * long);
    assert!(readers.iter().all(|r| r.delivered > 2000));
}

#[test]
fn random_traffic_kintex_size() {
    run(256, RamStyle::Block, 40_000);
}

#[test]
fn random_traffic_smallest() {
    run(32, RamStyle::Block, 30_000);
}

#[test]
fn random_traffic_alveo_size() {
    run(1024, RamStyle::Ultra, 60_000);
}

/// Writes a frame from an idle buffer and gives its name.
fn store(dut: &mut Dut, frame: &[u8]) -> u16 {
    let mut index = 0;
    loop {
        let last = set_beat(dut, frame, index);
        dut.tick();
        index += 1;
        if last {
            break;
        }
    }
    dut.set("beat_valid", 0);
    dut.model.ticks(WRITTEN_LATENCY as u64 - 1);
    dut.eval();
    assert!(dut.high("written_valid") && !dut.high("written_overflow"));
    dut.get("written_pkt") as u16
}

/// One-beat frames at one per cycle until every cell is taken; exactly the others overflow, and all come back.
#[test]
fn one_beat_frames_fill_every_cell() {
    let cells = 256;
    let mut dut = buffer(cells, RamStyle::Block);
    dut.tick();
    for round in 0..5 {
        let mut names = vec![];
        for cycle in 0..cells + 10 {
            if cycle < cells + 8 {
                set_beat(&mut dut, &[cycle as u8; 60], 0);
            } else {
                dut.set("beat_valid", 0);
            }
            dut.eval();
            if dut.high("written_valid") && !dut.high("written_overflow") {
                names.push(dut.get("written_pkt"));
            }
            dut.tick();
        }
        assert_eq!(names.len(), cells, "round {round}");
        dut.tick();
        dut.eval();
        assert_eq!(dut.get("cells_free"), 0);
        // Freeing: one frame of one cell per cycle.
        let mut freed = 0;
        let mut cycles = 0;
        while freed < cells {
            dut.set("free", names[freed]);
            dut.set("free_valid", 1);
            dut.eval();
            freed += usize::from(dut.high("free_ready"));
            dut.tick();
            cycles += 1;
        }
        dut.set("free_valid", 0);
        assert!(cycles <= cells + 1, "freeing {cells} cells took {cycles} cycles");
        dut.model.ticks(5);
        dut.eval();
        assert_eq!(dut.get("cells_free") as usize, cells);
    }
}

/// `cells_free` counts the cell of a frame from its first beat on, and gives back what an endless frame took.
#[test]
fn cells_are_counted_under_way() {
    let mut dut = buffer(256, RamStyle::Block);
    dut.tick();
    let frame = vec![1; 12_000];
    for index in 0..180 {
        set_beat(&mut dut, &frame, index);
        dut.tick();
        dut.set("beat_valid", 0);
        dut.model.ticks(3);
        dut.eval();
        // With the last beat of a cell the next cell is taken, up to the longest frame.
        let taken = if index < MAX_FRAME / 64 - 1 { (index + 1) / 8 + 1 } else { 0 };
        assert_eq!(dut.get("cells_free") as usize, 256 - taken, "beat {index}");
    }
}

/// The stated latency, and one beat per cycle inside and between packets, on both ports.
#[test]
fn read_timing() {
    for names in [LOAD, PLACE] {
        let mut dut = buffer(256, RamStyle::Block);
        dut.tick();
        let long: Vec<u8> = (0..3000u32).map(|i| i as u8).collect();
        let a = store(&mut dut, &long);
        let b = store(&mut dut, &[7; 64]);
        let jobs: [(u16, usize, usize); 6] =
            [(a, 3000, 0), (b, 64, 0), (b, 64, 0), (a, 3000, 7), (b, 1, 0), (a, 2999, 40)];
        let beats: usize = jobs.iter().map(|j| j.1.div_ceil(64) - j.2).sum();
        // The last job passes over five cells first.
        let passes = 5;
        dut.set(names.ready, 1);
        let (mut next, mut seen, mut first, mut end) = (0, 0, None, 0);
        for cycle in 0..400u64 {
            dut.set(names.request_valid, u64::from(next < jobs.len()));
            if let Some((pkt, length, skip)) = jobs.get(next) {
                dut.set_bytes(names.request, &request(*pkt, *length, *skip));
            }
            dut.eval();
            if next < jobs.len() && dut.high(names.request_ready) {
                next += 1;
            }
            if dut.high(names.valid) {
                first.get_or_insert(cycle);
                seen += 1;
                end = cycle;
            }
            dut.tick();
        }
        assert_eq!(first, Some(READ_LATENCY as u64), "{}", names.data);
        assert_eq!(seen, beats);
        assert_eq!(end, READ_LATENCY as u64 + beats as u64 - 1 + passes, "{}: bubbles", names.data);
    }
}
