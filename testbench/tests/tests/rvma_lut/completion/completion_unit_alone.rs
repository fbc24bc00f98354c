//! The completion unit alone, against a mark for each buffer and one completion after the other: any slot, packets of one buffer
//! that follow each other closely, records, events and retired buffers that wait. All outputs are compared in each cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::completion::CompletionUnit;
use rvma_lut::types::{BoundPacket, HostWrite, InternalWrite, Retired, WriteOrigin, RECORD};
use spindle_blocks::desc::{Completion, EventDesc};
use spindle_contract::events::BUFFER;
use spindle_contract::wire::{status, RECORD_BUFFER, RECORD_BYTES, RECORD_EPOCH, RECORD_LENGTH, RECORD_STATUS};
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::ports::from_bytes;
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const SLOTS: usize = 1 << 14;
/// Level of the queue of completions at which the sender has to stop, and the words that may come then.
const STOP: usize = 12;
const LATE: usize = 4;
/// Cycles from a packet to its mark in memory.
const MARK: u64 = 3;

/// The event of a buffer that was not filled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Event {
    /// Its mark is to be read.
    #[default]
    Due,
    /// The mark is on its way, since the cycle before.
    Read(u32),
    Offered(u32),
    Sent,
}

/// Inputs of a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Inputs {
    completion: Option<Completion>,
    bound: Option<BoundPacket>,
    posted: Option<u64>,
    record_ready: bool,
    retired_ready: bool,
    report_ready: bool,
}

/// Outputs of a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outputs {
    headroom: bool,
    record: Option<InternalWrite>,
    retired: Option<Retired>,
    report: Option<EventDesc>,
}

/// How often the interesting cases came.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    done: u64,
    /// Buffers that were not filled, and those of them whose mark exceeds the bytes placed.
    partial: u64,
    marked: u64,
    /// Events of complete buffers, and cycles in which one held up the next completion of its kind, or an event of the other.
    complete: u64,
    second: u64,
    after: u64,
    /// Cycles in which a packet held up the read of a mark.
    packets: u64,
    /// Packets two cycles after another one of the same buffer that reach further, and less far.
    further: u64,
    shorter: u64,
    /// Cycles in which something waits for the writer, for the epochs, for the event rings, and without headroom.
    writer: u64,
    epochs: u64,
    rings: u64,
    full: u64,
}

#[derive(Default)]
struct Model {
    waiting: VecDeque<Completion>,
    event: Event,
    /// Event of a complete buffer.
    complete: Option<EventDesc>,
    marks: BTreeMap<u64, u32>,
    seen: Seen,
}

fn report(done: &Completion, mark: u64) -> EventDesc {
    EventDesc {
        pid: done.pid,
        kind: bits(u64::from(BUFFER)),
        code: done.status,
        id: bits(done.mailbox.to_u64()),
        length: done.length,
        extra: bits(mark),
        source: bits(done.epoch.to_u64()),
        user: done.address,
        ..EventDesc::default()
    }
}

fn record(done: &Completion) -> InternalWrite {
    let mut bytes = [0; 32];
    bytes[RECORD_LENGTH..][..4].copy_from_slice(&(done.length.to_u64() as u32).to_le_bytes());
    bytes[RECORD_STATUS] = done.status.to_u64() as u8;
    bytes[RECORD_EPOCH..][..2].copy_from_slice(&(done.epoch.to_u64() as u16).to_le_bytes());
    bytes[RECORD_BUFFER..][..8].copy_from_slice(&done.address.to_u64().to_le_bytes());
    InternalWrite {
        host_write: HostWrite {
            address: done.record,
            origin: WriteOrigin {
                kind: bits(RECORD),
                slot: done.buffer,
                frame: done.frame,
                length: bits(RECORD_BYTES as u64),
                ..WriteOrigin::default()
            },
            ..HostWrite::default()
        },
        data: from_bytes(&bytes),
    }
}

impl Model {
    fn step(&mut self, inputs: &Inputs) -> Outputs {
        let mut outputs = Outputs { headroom: self.waiting.len() < STOP, ..Outputs::default() };
        self.seen.full += u64::from(!outputs.headroom);
        let held = self.complete.is_some();
        outputs.report = self.complete;
        if let Some(done) = self.waiting.front().copied() {
            let filled = done.status == bits(u64::from(status::DONE));
            match self.event {
                Event::Due if filled => {}
                Event::Due => {
                    self.seen.packets += u64::from(inputs.bound.is_some());
                    self.seen.after += u64::from(held);
                    if inputs.bound.is_none() && !held {
                        self.event = Event::Read(self.marks[&done.buffer.to_u64()]);
                    }
                }
                Event::Read(mark) => self.event = Event::Offered(mark),
                Event::Offered(mark) => {
                    outputs.report = Some(report(&done, mark.into()));
                    if inputs.report_ready {
                        self.event = Event::Sent;
                        self.seen.marked += u64::from(u64::from(mark) > done.length.to_u64());
                    }
                }
                Event::Sent => self.offer_record(&done, false, inputs, &mut outputs),
            }
            if filled {
                self.seen.second += u64::from(done.event && held);
                self.offer_record(&done, done.event, inputs, &mut outputs);
            }
        }
        self.seen.rings += u64::from(outputs.report.is_some() && !inputs.report_ready);
        if held && inputs.report_ready {
            self.complete = None;
        }
        if let Some(packet) = inputs.bound {
            let reach = packet.start.to_u64() as u32 + packet.payload_len.to_u64() as u32;
            let mark = self.marks.get_mut(&packet.slot.to_u64()).expect("a buffer that was posted");
            *mark = reach.max(*mark);
        }
        if let Some(slot) = inputs.posted {
            self.marks.insert(slot, 0);
        }
        self.waiting.extend(inputs.completion);
        outputs
    }

    /// The record of a buffer whose event, if it was not filled, has left.
    fn offer_record(&mut self, done: &Completion, reports: bool, inputs: &Inputs, outputs: &mut Outputs) {
        self.seen.epochs += u64::from(!inputs.retired_ready);
        if !inputs.retired_ready || reports && self.complete.is_some() {
            return;
        }
        outputs.record = Some(record(done));
        self.seen.writer += u64::from(!inputs.record_ready);
        if inputs.record_ready {
            let Completion { mailbox, buffer: slot, address: base, length, .. } = *done;
            outputs.retired = Some(Retired { mailbox, slot, base, length });
            if reports {
                self.complete = Some(report(done, done.length.to_u64()));
                self.seen.complete += 1;
            }
            if self.event == Event::Sent {
                self.seen.partial += 1;
            } else {
                self.seen.done += 1;
            }
            self.event = Event::Due;
            self.waiting.pop_front();
        }
    }
}

struct Bench {
    dut: Dut<CompletionUnit>,
    rng: ChaCha8Rng,
    model: Model,
    retired_ready: bool,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let dut = Dut::new(wave, CompletionUnit::new(SLOTS), "completion_unit");
        let mut bench = Bench { dut, rng: wave.rng(), model: Model::default(), retired_ready: false };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        self.drive(&Inputs::default());
        self.dut.reset();
        self.model = Model { seen: self.model.seen, ..Model::default() };
        self.retired_ready = false;
    }

    fn drive(&mut self, inputs: &Inputs) {
        let (dut, rng) = (&self.dut, &mut self.rng);
        dut.completion.valid.set(inputs.completion.is_some());
        dut.completion.payload.set(inputs.completion.unwrap_or_else(|| random_bits(rng)));
        dut.bound.valid.set(inputs.bound.is_some());
        dut.bound.payload.set(inputs.bound.unwrap_or_else(|| random_bits(rng)));
        dut.posted.valid.set(inputs.posted.is_some());
        dut.posted.payload.set(bits::<14>(inputs.posted.unwrap_or_else(|| rng.random_range(0..SLOTS as u64))));
        dut.record.ready.set(inputs.record_ready);
        dut.retired.ready.set(inputs.retired_ready);
        dut.buffer_report.ready.set(inputs.report_ready);
    }

    fn step(&mut self, inputs: Inputs, retired: f64) -> Outputs {
        // Room for a retired buffer stays until one comes.
        self.retired_ready |= self.rng.random_bool(retired);
        let inputs = Inputs { retired_ready: self.retired_ready, ..inputs };
        self.drive(&inputs);
        self.dut.eval();
        let found = Outputs {
            headroom: self.dut.completion.headroom.is_high(),
            record: self.dut.record.offered(),
            retired: self.dut.retired.offered(),
            report: self.dut.buffer_report.offered(),
        };
        let expected = self.model.step(&inputs);
        assert_eq!(found, expected, "cycle {}: {inputs:x?}", self.dut.cycle());
        self.dut.tick();
        self.retired_ready &= found.retired.is_none();
        found
    }
}

/// A buffer between its posting and its record.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Packets that are still to come.
    packets: u32,
    /// Cycle from which on its packets, or its completion, may come.
    from: u64,
    completes: bool,
}

/// Buffers that are due: those with packets to come, or those without.
fn ready(live: &BTreeMap<u64, Buffer>, cycle: u64, with_packets: bool) -> Vec<u64> {
    let due = |buffer: &Buffer| !buffer.completes && buffer.from <= cycle && (buffer.packets > 0) == with_packets;
    live.iter().filter(|(_, buffer)| due(buffer)).map(|(slot, _)| *slot).collect()
}

/// A packet: near the ends of the buffers before, of the least and of the greatest lengths and ends.
fn packet(rng: &mut ChaCha8Rng, slot: u64, mark: u32) -> BoundPacket {
    let length = match rng.random_range(0..4) {
        0 => 1,
        1 => u16::MAX,
        _ => rng.random_range(1..=u16::MAX),
    };
    let end = match rng.random_range(0..4) {
        0 => rng.random::<u32>() >> rng.random_range(0..32),
        1 => mark ^ 1 << rng.random_range(0..32),
        2 => mark.wrapping_add(rng.random_range(0..3)).wrapping_sub(1),
        _ => u32::MAX >> rng.random_range(0..32),
    };
    let start = end.saturating_sub(length.into());
    BoundPacket {
        slot: bits(slot),
        start: bits(u64::from(start)),
        payload_len: bits(u64::from(length)),
        ..random_bits(rng)
    }
}

/// Completion of a buffer, also with fewer or more bytes than its mark.
fn completion(rng: &mut ChaCha8Rng, slot: u64) -> Completion {
    let code = match rng.random_range(0..4) {
        0 => status::PARTIAL,
        1 => status::CANCELLED,
        _ => status::DONE,
    };
    Completion { buffer: bits(slot), status: bits(u64::from(code)), ..random_bits(rng) }
}

#[test]
fn every_record_and_event_is_the_models() {
    run_with_wave_on_failure("completion_unit_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        for round in 0..6 {
            bench.reset();
            // Slots, some of which differ in one bit.
            let one = bench.rng.random_range(0..SLOTS as u64);
            let mut free: Vec<u64> = (0..14).map(|bit| one ^ 1 << bit).chain([one]).collect();
            let mut live: BTreeMap<u64, Buffer> = BTreeMap::new();
            let (mut rooms, mut last, mut last_packet) = ([false; LATE], 0, None::<(u64, u64)>);
            let mut quiet_until = 0;
            for cycle in 1..share(12_000) as u64 {
                // Packets, postings, completions; records, retired buffers and events that are taken.
                let (packets, posts, completions, [records, retired, reports]) = match (cycle / 400 + round) % 5 {
                    0 => (1.0, 0.1, 0.3, [1.0, 1.0, 1.0]),
                    1 => (0.9, 0.5, 0.9, [0.1, 0.9, 0.9]),
                    2 => (0.3, 0.9, 0.9, [0.9, 0.9, 0.05]),
                    3 => (0.5, 0.9, 0.9, [0.9, 0.1, 0.9]),
                    _ => (0.1, 0.9, 0.9, [1.0, 1.0, 0.4]),
                };
                let rng = &mut bench.rng;
                let mut inputs = Inputs {
                    record_ready: rng.random_bool(records),
                    report_ready: rng.random_bool(reports),
                    ..Inputs::default()
                };
                // The queue posts while no packet is bound, and packets are two cycles apart.
                if cycle >= last + MARK && !free.is_empty() && rng.random_bool(posts) {
                    let slot = free.swap_remove(rng.random_range(0..free.len()));
                    inputs.posted = Some(slot);
                    quiet_until = cycle + 4;
                    let (packets, from) = (rng.random_range(0..9), cycle + 4);
                    live.insert(slot, Buffer { packets, from, completes: false });
                } else if cycle >= last + 2 && cycle >= quiet_until && rng.random_bool(packets) {
                    let slots = ready(&live, cycle, true);
                    // Half of the packets go to the buffer of the packet before.
                    let again =
                        last_packet.filter(|(slot, _)| slots.contains(slot) && rng.random()).map(|(slot, _)| slot);
                    if let Some(slot) = again.or_else(|| slots.choose(rng).copied()) {
                        let mark = bench.model.marks[&slot];
                        let packet = packet(rng, slot, mark);
                        let end = packet.start.to_u64() + packet.payload_len.to_u64();
                        if let Some((_, before)) = last_packet.filter(|before| before.0 == slot && last + 2 == cycle) {
                            bench.model.seen.further += u64::from(end > before);
                            bench.model.seen.shorter += u64::from(end < before);
                        }
                        (last, last_packet) = (cycle, Some((slot, end)));
                        inputs.bound = Some(packet);
                        let buffer = live.get_mut(&slot).expect("a buffer with packets");
                        buffer.packets -= 1;
                        // The last one is written before the buffer is complete.
                        buffer.from = if buffer.packets == 0 { cycle + MARK - 1 } else { cycle };
                    }
                }
                if rooms[LATE - 1] && rng.random_bool(completions) {
                    if let Some(slot) = ready(&live, cycle, false).choose(rng) {
                        inputs.completion = Some(completion(rng, *slot));
                        live.get_mut(slot).expect("a buffer").completes = true;
                    }
                }
                let outputs = bench.step(inputs, retired);
                rooms.rotate_right(1);
                rooms[0] = outputs.headroom;
                if let Some(retired) = outputs.retired {
                    live.remove(&retired.slot.to_u64()).expect("a buffer that completes");
                    free.push(retired.slot.to_u64());
                }
            }
        }
        let Seen { done, partial, marked, complete, second, after, .. } = bench.model.seen;
        let Seen { packets, further, shorter, writer, epochs, rings, full, .. } = bench.model.seen;
        let counts =
            [done, partial, marked, complete, second, after, packets, further, shorter, writer, epochs, rings, full];
        assert!(counts.into_iter().all(|count| count > 30), "{:?}", bench.model.seen);
    });
}

/// A record comes one cycle after its completion, after an event four; the event of a complete buffer one cycle after its record.
#[test]
fn cycles_of_a_record() {
    run_with_wave_on_failure("completion_unit_alone_cycles", |wave| {
        let mut bench = Bench::new(wave);
        let open = Inputs { record_ready: true, report_ready: true, ..Inputs::default() };
        for (code, event, expected) in [
            (status::DONE, false, [Some(1), None]),
            (status::DONE, true, [Some(1), Some(2)]),
            (status::PARTIAL, true, [Some(4), Some(3)]),
            (status::CANCELLED, false, [Some(4), Some(3)]),
        ] {
            bench.step(Inputs { posted: Some(5), ..open }, 1.0);
            let done = Completion { buffer: bits(5u64), status: bits(u64::from(code)), event, ..Completion::default() };
            bench.step(Inputs { completion: Some(done), ..open }, 1.0);
            let outputs: Vec<Outputs> = (0..8).map(|_| bench.step(open, 1.0)).collect();
            let first = |found: &dyn Fn(&Outputs) -> bool| outputs.iter().position(found).map(|at| at + 1);
            let found = [first(&|o| o.record.is_some()), first(&|o| o.report.is_some())];
            assert_eq!(found, expected, "status {code}, event {event}");
        }
    });
}
