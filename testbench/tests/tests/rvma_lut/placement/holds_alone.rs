//! The holds alone, against a set of buffers for each message: holds in the densest order, ends of messages, sweeps, events of the
//! queue, counters that wait; every event in its cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rvma_lut::placement::holds::Holds;
use rvma_lut::types::{BufferEvent, HoldEnd, HoldRequest};
use spindle_blocks::desc::PendingEnd;
use spindle_blocks::RamStyle;
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Cycles in which the table is emptied after a reset.
const CLEAR: u64 = 256;
/// Nodes, and those that are spared.
const NODES: usize = 256;
const SPARED: usize = 4;

/// A message: buffers that it holds, {slot, mailbox}, in their order; `over` = COMPLETE came. A buffer that was swept leaves its
/// place.
#[derive(Clone, Debug, Default)]
struct Message {
    places: Vec<Option<(u64, u64)>>,
    over: bool,
}

fn close_to<T: Copy>(rng: &mut rand_chacha::ChaCha8Rng, values: &[T]) -> T {
    *values.choose(rng).unwrap()
}

#[test]
fn random_holds_are_the_models() {
    run_with_wave_on_failure("holds_alone_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Holds::new(RamStyle::Block), "holds");
        let (mut held, mut again, mut moved, mut released, mut swept, mut crowded) = (0, 0, 0, 0, [0; 2], 0);
        for _ in 0..3 {
            dut.hold.valid.set(false);
            dut.pending_end.valid.set(false);
            dut.queue_event.valid.set(false);
            dut.sweep.set(false);
            dut.reset();
            let begin = dut.cycle();
            let one: u64 = rng.random_range(0..256);
            let slots: Vec<u64> = (0..8).map(|bit| one ^ 1 << bit).chain([one]).collect();
            let base: u64 = rng.random_range(0..1 << 14);
            let buffers: Vec<u64> = (0..14).map(|bit| base ^ 1 << bit).chain([base]).collect();
            let boxes: Vec<u64> = [0, 1, 5, 11].iter().map(|bit| (base ^ 1 << bit) & 0xFFF).collect();
            // A buffer belongs to one mailbox.
            let box_of = |slot: u64| boxes[(slot % 4) as usize];
            let mut messages: BTreeMap<u64, Message> = BTreeMap::new();
            // What leaves for the counters: holds after two cycles, events of the queue after three.
            let mut expected: BTreeMap<u64, BufferEvent> = BTreeMap::new();
            let mut releases: VecDeque<HoldEnd> = VecDeque::new();
            let mut last_hold = 0;
            let mut end: Option<PendingEnd> = None;
            let mut sweep: Option<(bool, u64, u64)> = None;
            let (mut sweep_from, mut sweep_done) = (0, 0);
            for _ in 0..share(30_000) {
                let now = dut.cycle();
                let phase = now / 700 % 3;
                // No hold comes during a sweep but those on their way.
                let used: usize = messages.values().map(|message| message.places.len().saturating_sub(1)).sum();
                let room = used + SPARED <= NODES;
                let quiet = sweep.is_some() && now > sweep_from + 5;
                let dense = if phase < 2 { 1.0 } else { 0.3 };
                let may = now >= begin + CLEAR && now >= last_hold + 2 && !quiet && now > sweep_done + 4;
                let hold = (may && room && dut.room.is_high() && rng.random_bool(dense)).then(|| {
                    let slot = close_to(&mut rng, &buffers);
                    HoldRequest {
                        msg_slot: bits(close_to(&mut rng, &slots)),
                        slot: bits(slot),
                        mailbox: bits(box_of(slot)),
                    }
                });
                dut.hold.offer(hold);
                // The queue's events come with a hold, or beside none.
                let event =
                    (hold.is_some() && rng.random()).then(|| BufferEvent { hold: false, ..random_bits(&mut rng) });
                dut.queue_event.valid.set(event.is_some());
                if let Some(event) = event {
                    dut.queue_event.payload.set(event);
                    expected.insert(now + 3, event);
                }
                let ends = if phase == 1 { 0.001 } else { 0.2 };
                if end.is_none() && rng.random_bool(ends) {
                    end = Some(PendingEnd {
                        msg_slot: bits(close_to(&mut rng, &slots)),
                        frame: bits(u64::from(rng.random::<u16>())),
                        ended: rng.random_range(0..3) != 0,
                    });
                }
                dut.pending_end.offer(end);
                if sweep.is_none() && now > begin + 2 * CLEAR && rng.random_range(0..2000) == 0 {
                    sweep = Some((rng.random(), close_to(&mut rng, &buffers), close_to(&mut rng, &boxes)));
                    sweep_from = now;
                }
                dut.sweep.set(sweep.is_some());
                let (all, slot, mailbox) = sweep.unwrap_or((rng.random(), base, boxes[0]));
                dut.sweep_all.set(all);
                dut.sweep_slot.set(slot);
                dut.sweep_mailbox.set(mailbox);
                dut.hold_end.ready.set(rng.random_bool(if phase == 2 { 0.2 } else { 0.7 }));
                let headroom: bool = rng.random();
                dut.buffer_event.headroom.set(headroom);
                dut.eval();
                assert_eq!(dut.queue_event.headroom.is_high(), headroom);

                let found = dut.buffer_event.valid.is_high().then(|| dut.buffer_event.payload.get());
                assert_eq!(found, expected.remove(&now), "cycle {now}");
                if let Some(release) = dut.hold_end.taken() {
                    let wanted = releases.pop_front().unwrap_or_else(|| panic!("cycle {now}: {release:?} of nothing"));
                    assert_eq!(release, wanted, "cycle {now}");
                    released += 1;
                }
                if let Some(taken) = end.filter(|_| dut.pending_end.moves()) {
                    assert!(sweep.is_none() || now < sweep_from + 8, "no message ends during a sweep");
                    let slot = taken.msg_slot.to_u64();
                    let message = messages.remove(&slot).unwrap_or_default();
                    let frame = taken.frame;
                    let slots = message.places.iter().rev().flatten();
                    releases.extend(slots.map(|(slot, _)| HoldEnd { slot: bits(*slot), frame }));
                    if !taken.ended {
                        messages.insert(slot, Message { places: vec![], over: true });
                    }
                    end = None;
                }
                if let Some(hold) = hold {
                    // It is carried out in the next cycle, after an end that is taken in this one.
                    last_hold = now;
                    let message = messages.entry(hold.msg_slot.to_u64()).or_default();
                    let place = (hold.slot.to_u64(), hold.mailbox.to_u64());
                    if !message.over && message.places.last() != Some(&Some(place)) {
                        if message.places.last() == Some(&None) {
                            message.places.pop();
                        }
                        moved += usize::from(!message.places.is_empty());
                        message.places.push(Some(place));
                        expected.insert(now + 2, BufferEvent { hold: true, slot: hold.slot, ..BufferEvent::default() });
                        held += 1;
                    } else {
                        again += 1;
                    }
                }
                if used + SPARED + 1 >= NODES {
                    crowded += 1;
                }
                if sweep.is_some() && dut.swept.is_high() {
                    assert!(releases.is_empty(), "a release that is on its way has left before");
                    assert!(now >= sweep_from + CLEAR, "not all was read");
                    for message in messages.values_mut() {
                        for place in &mut message.places {
                            let meant = place.is_some_and(|(s, m)| if all { m == mailbox } else { s == slot });
                            if meant {
                                *place = None;
                                swept[usize::from(all)] += 1;
                            }
                        }
                    }
                    (sweep, sweep_done) = (None, now);
                }
                dut.tick();
            }
        }
        let counts = [held, again, moved, released];
        assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
        assert!(swept.iter().all(|count| *count > 5) && crowded > 10, "{swept:?} {crowded}");
    });
}

/// From the end of a message to its first release 2 cycles, 2 for each node after that.
#[test]
fn cycles() {
    run_with_wave_on_failure("holds_alone_cycles", |wave| {
        let dut = Dut::new(wave, Holds::new(RamStyle::Block), "holds");
        dut.hold_end.ready.set(true);
        (0..CLEAR + 2).for_each(|_| dut.tick());
        for slot in 0..3u64 {
            dut.hold.offer(Some(HoldRequest { msg_slot: bits(9), slot: bits(slot), mailbox: bits(1) }));
            dut.tick();
            dut.hold.offer(None::<HoldRequest>);
            dut.tick();
        }
        dut.pending_end.offer(Some(PendingEnd { msg_slot: bits(9), frame: bits(77), ended: true }));
        let mut seen = vec![];
        for cycle in 0..12 {
            dut.eval();
            if let Some(release) = dut.hold_end.taken() {
                assert_eq!(release.frame.to_u64(), 77);
                seen.push((cycle, release.slot.to_u64()));
            }
            let taken = dut.pending_end.moves();
            dut.tick();
            if taken {
                assert_eq!(cycle, 1);
                dut.pending_end.offer(None::<PendingEnd>);
            }
        }
        assert_eq!(seen, [(2, 2), (4, 1), (6, 0)]);
    });
}
