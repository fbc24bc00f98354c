//! The packet buffer against a bag of frames: random frames, reads on both ports at once, frees, exhaustion.

use packet_engine::ingress::packet_buffer::{PacketBuffer, READ_LATENCY, WRITTEN_LATENCY};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::bundles::BeatSourcePorts;
use spindle_blocks::desc::ReadRequest;
use spindle_blocks::RamStyle;
use spindle_contract::params::{CELL_BYTES, MAX_FRAME};
use spindle_harness::{run_with_wave_on_failure, seeded_rng, Dut, WaveContext};
use spindle_model::packet_engine::packet_buffer::PacketBuffer as Bag;
use spindle_verilog::prelude::{bits, SinkPorts};
use std::collections::VecDeque;

/// A side that reads: where it asks, and where the beats come.
type Side = fn(&Dut<PacketBuffer>) -> (&SinkPorts<ReadRequest>, &BeatSourcePorts);

const SIDES: [Side; 2] = [|dut| (&dut.load_request, &dut.load_data), |dut| (&dut.place_request, &dut.place_data)];

fn request(pkt: u16, length: usize, skip: usize) -> ReadRequest {
    ReadRequest { pkt: bits(pkt), length: bits(length), skip: bits(skip) }
}

/// A consumer: one request on offer, the beats still to come, and how often each frame is being read.
struct Reader {
    side: Side,
    offer: Option<(u16, usize, usize)>,
    /// Bytes of each beat to come, whether it is the last, and of which frame.
    beats: VecDeque<(Vec<u8>, bool, u16)>,
    delivered: usize,
}

impl Reader {
    fn new(side: Side) -> Self {
        Self { side, offer: None, beats: VecDeque::new(), delivered: 0 }
    }

    fn reads(&self, pkt: u16) -> bool {
        self.offer.is_some_and(|o| o.0 == pkt) || self.beats.iter().any(|b| b.2 == pkt)
    }

    fn drive(&mut self, dut: &Dut<PacketBuffer>, rng: &mut ChaCha8Rng, bag: &Bag, names: &[u16], ready: bool) {
        if self.offer.is_none() && rng.random_bool(0.3) {
            if let Some(pkt) = names.choose(rng) {
                let frame = bag.frame(*pkt).expect("listed");
                let length = if rng.random_bool(0.7) { frame.len() } else { rng.random_range(1..=frame.len()) };
                let skip = if rng.random_bool(0.7) { 0 } else { rng.random_range(0..length.div_ceil(64)) };
                self.offer = Some((*pkt, length, skip));
            }
        }
        let (ask, data) = (self.side)(dut);
        ask.offer(self.offer.map(|(pkt, length, skip)| request(pkt, length, skip)));
        data.ready.set(ready);
    }

    fn sample(&mut self, dut: &Dut<PacketBuffer>, bag: &Bag) {
        let (ask, data) = (self.side)(dut);
        if ask.moves() {
            let (pkt, length, skip) = self.offer.take().expect("checked");
            let frame = &bag.frame(pkt).expect("a frame under read is not freed")[..length];
            let count = length.div_ceil(64);
            self.beats.extend(frame.chunks(64).enumerate().skip(skip).map(|(i, c)| (c.to_vec(), i + 1 == count, pkt)));
        }
        if !data.valid.is_high() {
            return;
        }
        let (bytes, last, pkt) = self.beats.front().expect("a beat that was asked for");
        assert_eq!(&data.bytes()[..bytes.len()], &bytes[..], "packet {pkt}");
        assert_eq!(data.last.is_high(), *last, "packet {pkt}");
        if data.ready.is_high() {
            self.beats.pop_front();
            self.delivered += 1;
        }
    }
}

fn set_beat(dut: &Dut<PacketBuffer>, frame: &[u8], index: usize) -> bool {
    let last = 64 * index + 64 >= frame.len();
    dut.beat.data.set_bytes(&frame[64 * index..frame.len().min(64 * index + 64)]);
    dut.beat.last.set(last);
    dut.beat.valid.set(true);
    last
}

fn buffer(wave: &WaveContext, cells: usize, style: RamStyle) -> Dut<PacketBuffer> {
    Dut::new(wave, PacketBuffer::new(cells, style), &format!("packet_buffer_{cells}_{}", style.attribute()))
}

/// A reset while a frame comes in and both sides read.
fn reset_under_way(dut: &Dut<PacketBuffer>, cells: usize) {
    let mut rng = seeded_rng(&format!("packet_buffer_{cells}_before"));
    let any: [ReadRequest; 2] =
        std::array::from_fn(|_| request(rng.random_range(0..cells as u16), rng.random_range(1000..3000), 0));
    for cycle in 0..rng.random_range(20..80) {
        set_beat(dut, &[0; 2000], cycle % 32);
        for (side, any) in SIDES.iter().zip(any) {
            let (ask, data) = side(dut);
            ask.offer(Some(any));
            data.ready.set(rng.random::<bool>());
        }
        dut.tick();
    }
    dut.reset();
    dut.beat.valid.set(false);
    SIDES.iter().for_each(|side| side(dut).0.valid.set(false));
}

/// Random traffic. How readily frames are freed changes with time, so that the buffer runs full and empty.
fn run(wave: &WaveContext, cells: usize, style: RamStyle, cycles: u64) {
    let mut rng = seeded_rng(&format!("packet_buffer_{cells}"));
    let dut = buffer(wave, cells, style);
    reset_under_way(&dut, cells);
    let mut bag = Bag::new(cells);
    let mut readers = SIDES.map(Reader::new);
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
        dut.beat.valid.set(false);
        if let Some((frame, index)) = &mut current {
            if phase == 1 || rng.random_bool(0.9) {
                let last = set_beat(&dut, frame, *index);
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
                reader.drive(&dut, &mut rng, &bag, &names, ready);
            } else {
                let (ask, data) = (reader.side)(&dut);
                data.ready.set(true);
                ask.valid.set(reader.offer.is_some());
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
            dut.free.set(doomed.unwrap_or(0));
        }
        dut.free.valid.set(doomed.is_some());
        dut.eval();

        for reader in &mut readers {
            reader.sample(&dut, &bag);
        }
        if doomed.is_some() && dut.free.ready.is_high() {
            assert!(bag.free(doomed.take().expect("checked")));
        }
        let due = ended.front().is_some_and(|e| e.0 == cycle);
        assert_eq!(dut.written.valid.is_high(), due, "written_valid in cycle {cycle}");
        if due {
            let (_, frame) = ended.pop_front().expect("checked");
            if dut.written.overflow.is_high() {
                overflows += 1;
                long += usize::from(frame.len() > MAX_FRAME);
            } else {
                stored += 1;
                assert_eq!(dut.written.cells.number() as usize, Bag::cells_of(frame.len()));
                bag.store(dut.written.pkt.number() as u16, frame).unwrap_or_else(|e| panic!("cycle {cycle}: {e}"));
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
    assert_eq!(dut.cells_free.number() as usize, cells, "cells were lost or invented");
    println!(
        "stored {stored}, overflows {overflows} (too long {long}), beats read {} {}",
        readers[0].delivered, readers[1].delivered
    );
    assert!(stored > 500 && overflows > 50 && long > 5 && overflows > 2 * long);
    assert!(readers.iter().all(|r| r.delivered > 2000));
}

#[test]
fn random_traffic_kintex_size() {
    run_with_wave_on_failure("packet_buffer_random_traffic_kintex_size", |wave| {
        run(wave, 256, RamStyle::Block, 40_000);
    });
}

#[test]
fn random_traffic_smallest() {
    run_with_wave_on_failure("packet_buffer_random_traffic_smallest", |wave| {
        run(wave, 32, RamStyle::Block, 60_000);
    });
}

#[test]
fn random_traffic_alveo_size() {
    run_with_wave_on_failure("packet_buffer_random_traffic_alveo_size", |wave| {
        run(wave, 1024, RamStyle::Ultra, 60_000);
    });
}

/// Writes a frame from an idle buffer and gives its name.
fn store(dut: &Dut<PacketBuffer>, frame: &[u8]) -> u16 {
    let mut index = 0;
    loop {
        let last = set_beat(dut, frame, index);
        dut.tick();
        index += 1;
        if last {
            break;
        }
    }
    dut.beat.valid.set(false);
    dut.ticks(WRITTEN_LATENCY as u64 - 1);
    dut.eval();
    assert!(dut.written.valid.is_high() && !dut.written.overflow.is_high());
    dut.written.pkt.number() as u16
}

/// One-beat frames at one per cycle until every cell is taken; exactly the others overflow, and all come back.
#[test]
fn one_beat_frames_fill_every_cell() {
    run_with_wave_on_failure("packet_buffer_one_beat_frames_fill_every_cell", |wave| {
        let cells = 256;
        let dut = buffer(wave, cells, RamStyle::Block);
        dut.tick();
        for round in 0..5 {
            let mut names = vec![];
            for cycle in 0..cells + 10 {
                if cycle < cells + 8 {
                    set_beat(&dut, &[cycle as u8; 60], 0);
                } else {
                    dut.beat.valid.set(false);
                }
                dut.eval();
                if dut.written.valid.is_high() && !dut.written.overflow.is_high() {
                    names.push(dut.written.pkt.number());
                }
                dut.tick();
            }
            assert_eq!(names.len(), cells, "round {round}");
            dut.tick();
            dut.eval();
            assert_eq!(dut.cells_free.number(), 0);
            // Freeing: one frame of one cell per cycle.
            let mut freed = 0;
            let mut cycles = 0;
            while freed < cells {
                dut.free.set(names[freed]);
                dut.free.valid.set(true);
                dut.eval();
                freed += usize::from(dut.free.ready.is_high());
                dut.tick();
                cycles += 1;
            }
            dut.free.valid.set(false);
            assert!(cycles <= cells + 1, "freeing {cells} cells took {cycles} cycles");
            dut.ticks(5);
            dut.eval();
            assert_eq!(dut.cells_free.number() as usize, cells);
        }
    });
}

/// `cells_free` counts the cell of a frame from its first beat on, and gives back what an endless frame took.
#[test]
fn cells_are_counted_under_way() {
    run_with_wave_on_failure("packet_buffer_cells_are_counted_under_way", |wave| {
        let dut = buffer(wave, 256, RamStyle::Block);
        dut.tick();
        let frame = vec![1; 12_000];
        for index in 0..180 {
            set_beat(&dut, &frame, index);
            dut.tick();
            dut.beat.valid.set(false);
            dut.ticks(3);
            dut.eval();
            // With the last beat of a cell the next cell is taken, up to the longest frame.
            let taken = if index < MAX_FRAME / 64 - 1 { (index + 1) / 8 + 1 } else { 0 };
            assert_eq!(dut.cells_free.number() as usize, 256 - taken, "beat {index}");
        }
    });
}

/// The stated latency, and one beat per cycle inside and between packets, on both ports.
#[test]
fn read_timing() {
    run_with_wave_on_failure("packet_buffer_read_timing", |wave| {
        for (side, name) in SIDES.iter().zip(["load", "place"]) {
            let dut = buffer(wave, 256, RamStyle::Block);
            dut.tick();
            let long: Vec<u8> = (0..3000u32).map(|i| i as u8).collect();
            let a = store(&dut, &long);
            let b = store(&dut, &[7; 64]);
            let jobs: [(u16, usize, usize); 6] =
                [(a, 3000, 0), (b, 64, 0), (b, 64, 0), (a, 3000, 7), (b, 1, 0), (a, 2999, 40)];
            let beats: usize = jobs.iter().map(|j| j.1.div_ceil(64) - j.2).sum();
            // The last job passes over five cells first.
            let passes = 5;
            let (ask, data) = side(&dut);
            data.ready.set(true);
            let (mut next, mut seen, mut first, mut end) = (0, 0, None, 0);
            for cycle in 0..400u64 {
                ask.offer(jobs.get(next).map(|(pkt, length, skip)| request(*pkt, *length, *skip)));
                dut.eval();
                if ask.moves() {
                    next += 1;
                }
                if data.valid.is_high() {
                    first.get_or_insert(cycle);
                    seen += 1;
                    end = cycle;
                }
                dut.tick();
            }
            assert_eq!(first, Some(READ_LATENCY as u64), "{name}");
            assert_eq!(seen, beats);
            assert_eq!(end, READ_LATENCY as u64 + beats as u64 - 1 + passes, "{name}: bubbles");
        }
    });
}
