//! The counters alone, against a sum for each buffer: any slot, bytes before and after the closing, failed writes, buffers that
//! are held or cut. Each completion is compared in its cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::completion::counters::Counters;
use rvma_lut::types::{BufferEvent, BytesAcked, HoldEnd, RecordEntry};
use spindle_blocks::desc::Completion;
use spindle_contract::wire::status;
use spindle_harness::{run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const SLOTS: usize = 1 << 14;
/// Level of the queue of events at which the sender has to stop.
const STOP: usize = 16;
/// Cycles in which the sender may still send.
const LATE: usize = 3;

/// A buffer that was posted.
#[derive(Clone, Debug, Default)]
struct Buffer {
    record: RecordEntry,
    acked: u32,
    placed: u32,
    failed: bool,
    /// Bytes bound to it.
    total: Option<u32>,
    holds: usize,
    complete: bool,
}

/// An operation that is taken.
#[derive(Clone, Copy, Debug)]
enum Op {
    Event(BufferEvent),
    Acked(BytesAcked),
    Release(HoldEnd),
}

#[derive(Default)]
struct Model {
    buffers: BTreeMap<u64, Buffer>,
    events: VecDeque<BufferEvent>,
    /// In which of the last three cycles an operation was taken, and what it completes.
    taken: [Option<Option<Completion>>; 3],
    cycle: u32,
}

impl Model {
    /// Whether an event of this buffer was not taken yet.
    fn events_of(&self, slot: u64) -> bool {
        self.events.iter().any(|event| event.slot.to_u64() == slot)
    }

    fn apply(&mut self, op: Op) -> Option<Completion> {
        let (slot, frame) = match op {
            Op::Event(event) => (event.slot, event.frame),
            Op::Acked(acked) => (acked.slot, acked.frame),
            Op::Release(release) => (release.slot, release.frame),
        };
        let buffer = self.buffers.get_mut(&slot.to_u64()).expect("a buffer that was posted");
        let mut state = status::DONE;
        let complete = match op {
            Op::Event(event) if event.open => {
                *buffer = Buffer { record: buffer.record, ..Buffer::default() };
                false
            }
            Op::Event(event) if event.cut => {
                state = if event.cancelled { status::CANCELLED } else { status::PARTIAL };
                true
            }
            Op::Event(event) if event.hold => {
                buffer.holds += 1;
                false
            }
            Op::Event(event) => {
                buffer.total = Some(event.total.to_u64() as u32);
                buffer.total == Some(buffer.acked) && buffer.holds == 0
            }
            Op::Release(_) => {
                buffer.holds -= 1;
                buffer.total == Some(buffer.acked) && buffer.holds == 0
            }
            Op::Acked(acked) => {
                let bytes = acked.length.to_u64() as u32;
                buffer.acked += bytes;
                buffer.placed += if acked.ok { bytes } else { 0 };
                buffer.failed |= !acked.ok;
                buffer.total == Some(buffer.acked) && buffer.holds == 0
            }
        };
        if !complete || std::mem::replace(&mut buffer.complete, true) {
            return None;
        }
        if buffer.failed && state == status::DONE {
            state = status::PARTIAL;
        }
        let record = buffer.record;
        Some(Completion {
            version: bits(u64::from(spindle_contract::VERSION)),
            frame,
            mailbox: record.mailbox,
            buffer: slot,
            record: bits(record.record.to_u64() << 4),
            length: bits(u64::from(buffer.placed)),
            status: bits(u64::from(state)),
            epoch: record.epoch,
            address: record.base,
            stamp: bits(u64::from(self.cycle.wrapping_sub(1))),
            pid: record.pid,
            event: record.event,
            spare: bits(0),
        })
    }
}

/// The block and its model.
struct Bench {
    dut: Dut<Counters>,
    model: Model,
    acked: Option<BytesAcked>,
    release: Option<HoldEnd>,
}

impl Bench {
    /// Whether an operation on this buffer was not taken yet.
    fn waits(&self, slot: u64) -> bool {
        let acked = self.acked.is_some_and(|acked| acked.slot.to_u64() == slot);
        let release = self.release.is_some_and(|release| release.slot.to_u64() == slot);
        acked || release || self.model.events.iter().any(|event| event.slot.to_u64() == slot)
    }

    fn reset(&mut self) {
        self.dut.buffer_event.valid.set(false);
        self.dut.bytes_acked.valid.set(false);
        self.dut.hold_end.valid.set(false);
        self.dut.posted.valid.set(false);
        self.dut.completion.headroom.set(false);
        self.dut.reset();
        self.model = Model::default();
        (self.acked, self.release) = (None, None);
    }

    /// A cycle; returns the completion, and whether the sender of events may go on.
    fn step(
        &mut self,
        posted: Option<(u64, RecordEntry)>,
        event: Option<BufferEvent>,
        room: bool,
    ) -> (Option<Completion>, bool) {
        let (dut, model) = (&self.dut, &mut self.model);
        dut.posted.offer(posted.map(|posted| bits::<14>(posted.0)));
        if let Some((_, record)) = posted {
            dut.posted_record.set(record);
        }
        dut.buffer_event.valid.set(event.is_some());
        if let Some(event) = event {
            dut.buffer_event.payload.set(event);
        }
        dut.bytes_acked.offer(self.acked);
        dut.hold_end.offer(self.release);
        dut.completion.headroom.set(room);
        dut.eval();
        let cycle = model.cycle;
        let found = dut.completion.valid.is_high().then(|| dut.completion.payload.get());
        let expected = model.taken[2].flatten();
        assert_eq!(found, expected, "cycle {cycle}");
        let headroom = model.events.len() < STOP;
        assert_eq!(dut.buffer_event.headroom.is_high(), headroom, "cycle {cycle}");
        // Neither in the cycle after another one nor in that in which its counts are written.
        let go = model.taken[0].is_none() && model.taken[2].is_none() && room;
        let releases = go && model.events.is_empty();
        assert_eq!(dut.hold_end.ready.is_high(), releases, "cycle {cycle}");
        let acks = releases && self.release.is_none();
        assert_eq!(dut.bytes_acked.ready.is_high(), acks, "cycle {cycle}");
        let op = if acks { self.acked.take().map(Op::Acked) } else { None };
        let op = op.or_else(|| if releases { self.release.take().map(Op::Release) } else { None });
        let op = op.or_else(|| if go { model.events.pop_front().map(Op::Event) } else { None });
        let taken = op.map(|op| model.apply(op));
        model.taken = [taken, model.taken[0], model.taken[1]];
        model.events.extend(event);
        if let Some((slot, record)) = posted {
            model.buffers.insert(slot, Buffer { record, ..Buffer::default() });
        }
        model.cycle += 1;
        dut.tick();
        (found, headroom)
    }
}

/// What is still to come for a buffer: the bytes of its packets, and the total once all of them are bound.
#[derive(Clone, Debug, Default)]
struct Plan {
    packets: Vec<u16>,
    total: Option<u32>,
    /// Holds that come before the total, and those that are not over.
    holds: usize,
    held: usize,
    /// Cycle from which on packets may come, so that they follow the posting.
    from: u64,
    /// The buffer is cut instead, for ever if a total that is never reached is given.
    cut: bool,
}

fn record(rng: &mut ChaCha8Rng) -> RecordEntry {
    RecordEntry {
        base: bits(rng.random::<u64>()),
        record: bits(rng.random_range(0..1u64 << 60)),
        epoch: bits(u64::from(rng.random::<u16>())),
        mailbox: bits(rng.random_range(0..1 << 12)),
        pid: bits(rng.random_range(0..64)),
        event: rng.random(),
    }
}

fn plan(rng: &mut ChaCha8Rng, from: u64) -> Plan {
    let packets: Vec<u16> = (0..rng.random_range(0..12))
        .map(|_| if rng.random() { rng.random_range(1..=u16::MAX) } else { rng.random_range(1..4) })
        .collect();
    let sum: u32 = packets.iter().map(|packet| u32::from(*packet)).sum();
    let cut = packets.is_empty() || rng.random_range(0..4) == 0;
    // A buffer that is cut was closed or not; its packets may all have come, which completes it before.
    let total = match rng.random_range(0..4) {
        0 if cut => None,
        1 if cut => Some(sum ^ 1 << rng.random_range(0..32)).filter(|total| *total > sum),
        2 if cut => Some(rng.random_range(sum..=u32::MAX)).filter(|total| *total > 0),
        _ => Some(sum).filter(|total| *total > 0),
    };
    let holds = if rng.random() { rng.random_range(0..4) } else { 0 };
    Plan { packets, total, from, cut, holds, held: 0 }
}

#[test]
fn random_buffers_are_the_models() {
    run_with_wave_on_failure("counters_alone_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Counters::new(SLOTS), "counters");
        let mut bench = Bench { dut, model: Model::default(), acked: None, release: None };
        let (mut seen, mut released) = ([0; 4], [0; 2]);
        let mut buffers = 0;
        for _ in 0..4 {
            bench.reset();
            // Slots, some of which differ in one bit.
            let one = rng.random_range(0..SLOTS as u64);
            let mut free: Vec<u64> = (0..14).map(|bit| one ^ 1 << bit).chain([one, !one % SLOTS as u64]).collect();
            free.extend((0..14).map(|bit| (!one ^ 1 << bit) % SLOTS as u64));
            let mut plans: BTreeMap<u64, Plan> = BTreeMap::new();
            let mut rooms = [false; LATE + 1];
            for cycle in 0..share(15_000) as u64 {
                let phase = cycle / 500 % 4;
                let (posts, packets, room) = match phase {
                    0 => (0.3, 1.0, 1.0),
                    1 => (0.9, 0.3, 0.02),
                    2 => (0.5, 0.05, 0.5),
                    _ => (0.05, 0.9, 0.97),
                };
                let mut posted = None;
                let mut event = None;
                let may = rooms[LATE];
                let frame = bits(u64::from(rng.random::<u16>()));
                if may && !free.is_empty() && rng.random_bool(posts) {
                    let slot = free.swap_remove(rng.random_range(0..free.len()));
                    posted = Some((slot, record(&mut rng)));
                    event = Some(BufferEvent { open: true, slot: bits(slot), frame, ..BufferEvent::default() });
                    plans.insert(slot, plan(&mut rng, cycle + 20));
                    buffers += 1;
                } else if may && rng.random_bool(0.3) {
                    let slots: Vec<u64> =
                        plans.iter().filter(|plan| plan.1.from <= cycle).map(|plan| *plan.0).collect();
                    if let Some(slot) = slots.choose(&mut rng) {
                        let plan = plans.get_mut(slot).unwrap();
                        let blank = BufferEvent { slot: bits(*slot), frame, ..BufferEvent::default() };
                        if plan.holds > 0 {
                            (plan.holds, plan.held) = (plan.holds - 1, plan.held + 1);
                            event = Some(BufferEvent { hold: true, ..blank });
                        } else if let Some(total) = plan.total.take() {
                            event = Some(BufferEvent { total: bits(u64::from(total)), ..blank });
                        } else if plan.packets.is_empty() && !bench.waits(*slot) {
                            // The reclaim waits for all writes; a buffer may be complete before.
                            if plan.cut && cycle > plan.from + 60 {
                                event = Some(BufferEvent { cut: true, cancelled: rng.random(), ..blank });
                                // The holds of a buffer that is cut are forgotten.
                                plan.held = 0;
                                if rng.random() {
                                    plan.cut = false;
                                    plan.from = cycle + 40;
                                }
                            } else if !plan.cut && plan.held == 0 && cycle > plan.from + 60 {
                                plans.remove(slot);
                                free.push(*slot);
                            }
                        }
                    }
                }
                if bench.release.is_none() && rng.random_bool(0.01) {
                    let slots: Vec<u64> = plans.iter().filter(|plan| plan.1.held > 0).map(|plan| *plan.0).collect();
                    // A hold that is on its way goes first.
                    if let Some(slot) = slots.choose(&mut rng).filter(|slot| {
                        let comes = event.is_some_and(|event: BufferEvent| event.slot.to_u64() == **slot);
                        !comes && !bench.model.events_of(**slot)
                    }) {
                        let plan = plans.get_mut(slot).unwrap();
                        plan.held -= 1;
                        plan.from = plan.from.max(cycle);
                        bench.release =
                            Some(HoldEnd { slot: bits(*slot), frame: bits(u64::from(rng.random::<u16>())) });
                        let late = bench.model.buffers[slot].total.is_some() && plan.packets.is_empty();
                        released[usize::from(late)] += 1;
                    }
                }
                if bench.acked.is_none() && rng.random_bool(packets) {
                    let slots: Vec<u64> = plans
                        .iter()
                        .filter(|plan| plan.1.from <= cycle && !plan.1.packets.is_empty())
                        .map(|plan| *plan.0)
                        .collect();
                    // Half of the packets go to one buffer in succession.
                    let slot = if rng.random() { slots.first() } else { slots.choose(&mut rng) };
                    if let Some(slot) = slot {
                        let plan = plans.get_mut(slot).unwrap();
                        let length = plan.packets.pop().unwrap();
                        if plan.packets.is_empty() {
                            plan.from = cycle + 100;
                        }
                        bench.acked = Some(BytesAcked {
                            slot: bits(*slot),
                            length: bits(u64::from(length)),
                            ok: rng.random_range(0..8) != 0,
                            fence_phase: rng.random(),
                            frame: bits(u64::from(rng.random::<u16>())),
                        });
                    }
                }
                let (completion, headroom) = bench.step(posted, event, rng.random_bool(room));
                rooms.rotate_right(1);
                rooms[0] = headroom;
                seen[3] += usize::from(!headroom);
                match completion.map(|completion| completion.status.to_u64() as u8) {
                    Some(status::DONE) => seen[0] += 1,
                    Some(status::PARTIAL) => seen[1] += 1,
                    Some(status::CANCELLED) => seen[2] += 1,
                    _ => {}
                }
            }
        }
        assert!(released.iter().all(|count| *count > 5), "{released:?} holds over before and after the last packet");
        assert!(
            seen.iter().all(|count| *count > 10),
            "{seen:?} done, partial, cancelled, cycles without room, of {buffers}"
        );
    });
}

/// Almost 4 GiB in one buffer that is closed last, or first; one packet in two cycles; its record comes three cycles after the
/// last packet is taken.
#[test]
fn a_large_buffer_is_counted() {
    run_with_wave_on_failure("counters_alone_large", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Counters::new(SLOTS), "counters");
        let mut bench = Bench { dut, model: Model::default(), acked: None, release: None };
        // Beyond half of the count's range also in a part of the rounds.
        let packets = share(105_000).min(65_000);
        for closes_after in [packets - 1, 0] {
            bench.reset();
            let slot = rng.random_range(0..SLOTS as u64);
            let lengths: Vec<u16> = (0..packets).map(|_| rng.random_range(60_000..=u16::MAX)).collect();
            let total: u32 = lengths.iter().map(|length| u32::from(*length)).sum();
            let open = BufferEvent { open: true, slot: bits(slot), ..BufferEvent::default() };
            bench.step(Some((slot, record(&mut rng))), Some(open), true);
            let closes = BufferEvent { open: false, total: bits(u64::from(total)), ..open };
            let begin = bench.model.cycle;
            for (number, length) in lengths.iter().enumerate() {
                let frame = bits(number as u64 & 0xFFFF);
                bench.acked = Some(BytesAcked {
                    slot: bits(slot),
                    length: bits(u64::from(*length)),
                    ok: true,
                    frame,
                    ..BytesAcked::default()
                });
                let mut event = (number == closes_after).then_some(closes);
                while bench.acked.is_some() {
                    let (completion, _) = bench.step(None, event.take(), true);
                    assert!(completion.is_none(), "complete after {number} packets");
                }
            }
            let cycles = (bench.model.cycle - begin) as usize;
            assert!((2 * packets..2 * packets + 6).contains(&cycles), "{cycles} cycles for {packets} packets");
            let after = (1..10).find(|_| bench.step(None, None, true).0.is_some());
            assert_eq!(after, Some(3), "packet to completion");
        }
    });
}
