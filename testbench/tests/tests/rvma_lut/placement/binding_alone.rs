//! The binding alone, against a table of messages: packets of any messages in any order, contradictory ones, any head of any
//! mailbox, spilled packets, frames for the host and sweeps; every decision in its cycle.

use rand::seq::{IndexedRandom, IteratorRandom};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::placement::binding::Binding;
use rvma_lut::placement::queue_types::{Head, MessageSpan, Tag};
use rvma_lut::types::{BoundPacket, BufferEntry, HoldRequest, LookedUpPacket, Packet};
use spindle_blocks::desc::{PlacementDone, PlacementOutcome};
use spindle_blocks::RamStyle;
use spindle_contract::reasons::{CLOSED, NO_POSTED_BUFFER, OUT_OF_BOUNDS, STALE_EPOCH};
use spindle_contract::wire::SPINDLE_BYTES;
use spindle_harness::{near, random_bits, random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// Messages that have state; cycles in which the table is emptied after a reset.
const MESSAGES: u64 = 256;
/// Cycles from the first read of a sweep to its end.
const SWEEP: u64 = MESSAGES + 1;

/// A message of which packets are missing.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// The packets that identify it: mailbox, source node, source process, number.
    name: [u64; 4],
    refused: Option<u64>,
    /// It holds its buffer.
    held: bool,
    slot: u64,
    base: u64,
    size: u64,
    offset: u64,
    /// Bytes that are missing.
    left: u64,
}

/// A decision, which leaves one cycle later.
#[derive(Clone, Debug, Default)]
struct Decision {
    bound: Option<(BoundPacket, u64)>,
    verdict: Option<(PlacementDone, bool)>,
    outcome: Option<PlacementOutcome>,
    hold: Option<HoldRequest>,
}

#[derive(Debug, Default)]
struct Counts {
    bound: usize,
    continued: usize,
    ended: usize,
    too_long: usize,
    too_many: usize,
    stale: usize,
    unbound: usize,
    again_refused: usize,
    other_message: usize,
    spilled: usize,
    spilled_later: usize,
    both_spilled: usize,
    frames: [usize; 2],
    without_place: usize,
    frames_wait: usize,
    retries: usize,
    successive: usize,
    swept: [usize; 2],
    empty: usize,
    held: [usize; 2],
    held_before: usize,
    without_hold: [usize; 2],
}

struct Bench {
    dut: Dut<Binding>,
    rng: ChaCha8Rng,
    counts: Counts,
    /// The first cycle after the reset.
    begin: u64,
    messages: BTreeMap<u64, Message>,
    offered: Option<LookedUpPacket>,
    spilled: VecDeque<LookedUpPacket>,
    /// Packets in cycles 1, 2 and 3; whether the first one was spilled.
    fetched: Option<(LookedUpPacket, bool)>,
    loaded: Option<LookedUpPacket>,
    checked: Option<LookedUpPacket>,
    /// The last packet in cycle 3: when, and the slot of its message.
    last: (u64, u64),
    decision: Decision,
    sweep: Option<(bool, u64, u64)>,
    /// First cycle of the sweep's reads.
    sweeps_from: Option<u64>,
    /// Cycle in which the last sweep ended: the next one begins a cycle later at the earliest.
    swept_at: u64,
    slots: Vec<u64>,
    mailboxes: Vec<u64>,
    buffers: Vec<u64>,
}

fn name_of(looked_up: &LookedUpPacket) -> [u64; 4] {
    let p = &looked_up.packet;
    [looked_up.mailbox.to_u64(), p.src_nid.to_u64(), p.src_pid.to_u64(), p.msg_id.to_u64()]
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let mut rng = wave.rng();
        // Numbers that differ in one bit.
        let mut beside = |width: u32, count: usize| {
            let number = rng.random_range(0..1u64 << width);
            let others = (0..count).map(|_| number ^ 1 << rng.random_range(0..width));
            [number].into_iter().chain(others).collect::<Vec<u64>>()
        };
        let (slots, mailboxes, buffers) = (beside(8, 6), beside(12, 3), beside(14, 3));
        let mut bench = Self {
            dut: Dut::new(wave, Binding::new(RamStyle::Block), "binding"),
            rng,
            counts: Counts::default(),
            begin: 0,
            messages: BTreeMap::new(),
            offered: None,
            spilled: VecDeque::new(),
            fetched: None,
            loaded: None,
            checked: None,
            last: (0, 0),
            decision: Decision::default(),
            sweep: None,
            sweeps_from: None,
            swept_at: 0,
            slots,
            mailboxes,
            buffers,
        };
        bench.reset();
        bench
    }

    fn reset(&mut self) {
        let dut = &self.dut;
        dut.looked_up.valid.set(false);
        dut.sweep.set(false);
        dut.reset();
        self.begin = dut.cycle();
        self.messages.clear();
        self.spilled.clear();
        (self.offered, self.fetched, self.loaded, self.checked) = (None, None, None, None);
        (self.sweep, self.sweeps_from) = (None, None);
        self.decision = Decision::default();
    }

    /// A packet of a message under way, or of another one; some contradict themselves or their message.
    fn packet(&mut self) -> LookedUpPacket {
        let rng = &mut self.rng;
        let msg_slot = *self.slots.choose(rng).unwrap();
        let message = self.messages.get(&msg_slot).filter(|_| rng.random_bool(0.8));
        let other = [*self.mailboxes.choose(rng).unwrap(), rng.random(), rng.random(), rng.random()];
        let name = message.map_or(other, |message| message.name);
        let [mailbox, src_nid, src_pid, msg_id] =
            [(0, 12), (1, 32), (2, 16), (3, 32)].map(|(i, width)| near(rng, name[i] % (1 << width), width, 40));
        let longest = 60_000;
        let msg_len = match rng.random_range(0..6) {
            0 => random_value::<Bits<32>>(rng).to_u64(),
            1 => 0,
            2 => rng.random_range(1..200_000),
            _ => rng.random_range(1..400),
        };
        let left = message.map_or(msg_len, |message| message.left);
        let payload_len = match rng.random_range(0..8) {
            0 => left + 1,
            1 => left.saturating_sub(1),
            2 | 3 => left,
            4 => 0,
            5 => near(rng, left, 16, 1),
            6 => rng.random_range(0..=longest.min(left)),
            _ => rng.random_range(0..200),
        };
        let payload_len = payload_len.min(longest);
        let size = message.map_or(msg_len, |message| message.size);
        let end = match rng.random_range(0..10) {
            0 => size + 1,
            1 => size.saturating_sub(1),
            2 => random_value::<Bits<32>>(rng).to_u64(),
            3 => near(rng, size, 32, 1),
            _ => size,
        };
        let host = rng.random_range(0..12) == 0;
        let single = rng.random_range(0..16) == 0;
        let packet = Packet {
            payload_offset: bits(rng.random_range(SPINDLE_BYTES as u64..2048)),
            payload_len: bits(payload_len),
            src_nid: bits(src_nid),
            src_pid: bits(src_pid),
            msg_id: bits(msg_id),
            msg_len: bits(msg_len),
            has_slot: !host && rng.random_range(0..8) != 0,
            msg_slot: bits(msg_slot),
            end: bits(end % (1 << 32)),
            inconsistent: payload_len > msg_len && message.is_none() || rng.random_range(0..16) == 0,
            single,
            host,
            ..random_bits(rng)
        };
        LookedUpPacket {
            packet,
            refused: rng.random_range(0..10) == 0,
            mailbox: bits(mailbox),
            spills: !host && !single && rng.random_range(0..3) == 0,
            catch_all: bits(*self.mailboxes.choose(rng).unwrap()),
            ..random_bits(rng)
        }
    }

    /// What the buffer queue shows.
    fn head(&mut self) -> Head {
        let rng = &mut self.rng;
        let active = rng.random_range(0..4) != 0;
        Head {
            active,
            stale: !active && rng.random_range(0..3) == 0,
            fits: rng.random_range(0..8) != 0,
            slot: bits(*self.buffers.choose(rng).unwrap()),
            buffer: BufferEntry {
                base: random_value(rng),
                size: if rng.random() { random_value(rng) } else { bits(rng.random_range(0..100_000)) },
            },
            offset: random_value(rng),
            start: random_value(rng),
            ..random_bits(rng)
        }
    }

    /// One cycle, compared with the model: whether a packet is offered, and how often binding may not begin, has to begin
    /// again, or finds no place for a frame.
    fn cycle(&mut self, offers: f64, stalls: f64, retries: f64) {
        let cycle = self.dut.cycle();
        if self.offered.is_none() && self.rng.random_bool(offers) {
            self.offered = Some(self.packet());
        }
        let (dut, rng) = (&self.dut, &mut self.rng);
        dut.looked_up.offer(self.offered);
        dut.sweep.set(self.sweep.is_some());
        let (all, slot, mailbox) =
            self.sweep.unwrap_or_else(|| (rng.random(), rng.random_range(0..1 << 14), rng.random_range(0..1 << 12)));
        dut.sweep_all.set(all);
        dut.sweep_slot.set(slot);
        dut.sweep_mailbox.set(mailbox);
        let [fetch_ready, bound_room, verdict_room, frame_headroom] = [(); 4].map(|()| !rng.random_bool(stalls));
        dut.reservation.fetch_ready.set(fetch_ready);
        dut.bound.headroom.set(bound_room);
        dut.verdict.headroom.set(verdict_room);
        dut.frame_headroom.set(frame_headroom);
        let retry = rng.random_bool(retries);
        dut.reservation.retry.set(retry);
        let frame_room = rng.random_range(0..4) != 0;
        dut.frame_room.set(frame_room);
        let hold_room = rng.random_range(0..4) != 0;
        dut.hold_room.set(hold_room);
        let head = self.head();
        self.dut.reservation.head.set(head);
        self.dut.eval();

        self.check_outputs(cycle);
        let decision = self.decide(cycle, &head, frame_room, hold_room);
        let room = fetch_ready && bound_room && verdict_room && frame_headroom;
        let fetches = self.check_fetch(cycle, room);
        let loads = self.check_load(cycle, retry);
        self.check_sweep(cycle);
        self.decision = decision;
        self.checked = self.loaded.take();
        self.loaded = self.fetched.take().filter(|_| loads).map(|fetched| fetched.0);
        self.fetched = fetches;
        self.dut.tick();
    }

    /// What the packet of the cycle before caused.
    fn check_outputs(&self, cycle: u64) {
        let dut = &self.dut;
        let Decision { bound, verdict, outcome, hold } = &self.decision;
        let found = dut.bound.valid.is_high().then(|| (dut.bound.payload.get(), dut.bound_mailbox.number()));
        assert_eq!(found, *bound, "cycle {cycle}");
        let found = dut.verdict.valid.is_high().then(|| (dut.verdict.payload.get(), dut.verdict_phase.is_high()));
        assert_eq!(found, *verdict, "cycle {cycle}");
        assert_eq!(dut.outcome.offered(), *outcome, "cycle {cycle}");
        assert_eq!(dut.hold.offered(), *hold, "cycle {cycle}");
    }

    /// Cycle 3: decides about a packet.
    fn decide(&mut self, cycle: u64, head: &Head, frame_room: bool, hold_room: bool) -> Decision {
        let dut = &self.dut;
        let Some(looked_up) = self.checked else {
            assert!(!dut.frame_decided.is_high(), "cycle {cycle}");
            return Decision::default();
        };
        let p = looked_up.packet;
        let slot = p.msg_slot.to_u64();
        let length = p.payload_len.to_u64();
        let name = name_of(&looked_up);
        let has_state = p.has_slot && !p.single;
        let entry = self.messages.get(&slot).copied().filter(|_| has_state);
        let message = entry.filter(|message| message.name == name);
        self.counts.other_message += usize::from(entry.is_some() && message.is_none());
        if message.is_some() {
            self.counts.successive += usize::from(self.last == (cycle - 2, slot));
        }
        self.last = (cycle, slot);

        // Where the payload goes: buffer, base, first byte; or the reason of a refusal.
        let out_of_bounds = Err(OUT_OF_BOUNDS as u64);
        let no_place = p.host && !frame_room;
        let holds = p.pending && message.is_none_or(|message| !message.held);
        let no_hold = holds && !hold_room;
        let mut reserves = false;
        let decided: Result<(u64, u64, u64), u64> = if looked_up.refused {
            Err(looked_up.reason.to_u64())
        } else if let Some(message) = message {
            let (fits, enough) = (p.end.to_u64() <= message.size, length <= message.left);
            match message.refused {
                Some(reason) => Err(reason),
                None if no_hold => {
                    self.counts.without_hold[1] += 1;
                    Err(NO_POSTED_BUFFER as u64)
                }
                None if p.inconsistent => out_of_bounds,
                None if fits && enough => {
                    Ok((message.slot, message.base, (p.start.to_u64() + message.offset) % (1 << 32)))
                }
                None => {
                    self.counts.too_long += usize::from(!fits);
                    self.counts.too_many += usize::from(!enough);
                    out_of_bounds
                }
            }
        } else if p.inconsistent {
            if no_hold {
                Err(NO_POSTED_BUFFER as u64)
            } else {
                out_of_bounds
            }
        } else if head.stale {
            Err(STALE_EPOCH as u64)
        } else if no_hold {
            self.counts.without_hold[0] += usize::from(head.active);
            Err(NO_POSTED_BUFFER as u64)
        } else if !head.active || no_place {
            self.counts.without_place += usize::from(head.active);
            Err(NO_POSTED_BUFFER as u64)
        } else if head.fits {
            reserves = true;
            Ok((head.slot.to_u64(), head.buffer.base.to_u64(), head.start.to_u64()))
        } else {
            out_of_bounds
        };
        assert_eq!(dut.reservation.commit.is_high(), reserves, "cycle {cycle}: {looked_up:x?}");
        assert_eq!(dut.frame_decided.is_high(), p.host, "cycle {cycle}");
        if p.host {
            assert_eq!(dut.frame_placed.is_high(), reserves, "cycle {cycle}");
            self.counts.frames[usize::from(reserves)] += 1;
        }

        // A message that found no buffer goes to the catch-all mailbox, with all its packets.
        let begins = message.is_none() && !looked_up.refused && !p.inconsistent;
        let later =
            message.is_some_and(|message| message.refused == Some(NO_POSTED_BUFFER as u64)) && !looked_up.refused;
        let spills = looked_up.spills && (later || (begins && !head.active && !head.stale));
        if spills {
            self.counts.spilled += 1;
            self.counts.spilled_later += usize::from(later);
            let whole = length + SPINDLE_BYTES as u64;
            let packet = Packet {
                payload_offset: bits(p.payload_offset.to_u64() - SPINDLE_BYTES as u64),
                payload_len: bits(whole),
                msg_len: bits(whole),
                start: bits(0),
                end: bits(whole),
                inconsistent: false,
                single: true,
                ..p
            };
            let mailbox = looked_up.catch_all;
            self.spilled.push_back(LookedUpPacket { packet, mailbox, tagged: false, spills: false, ..looked_up });
            self.counts.both_spilled += usize::from(self.spilled.len() == 2);
            assert!(self.spilled.len() <= 2, "cycle {cycle}");
        }

        self.remember(&looked_up, head, message, decided, begins, no_hold);
        let placed = decided.is_ok();
        let hold = decided.ok().filter(|_| holds).map(|(slot, ..)| HoldRequest {
            msg_slot: p.msg_slot,
            slot: bits(slot),
            mailbox: looked_up.mailbox,
        });
        self.counts.held[usize::from(message.is_some())] += usize::from(hold.is_some());
        self.counts.held_before += usize::from(placed && p.pending && !holds);
        self.counts.bound += usize::from(reserves);
        self.counts.continued += usize::from(placed && message.is_some());
        self.counts.again_refused += usize::from(!placed && message.is_some_and(|message| message.refused.is_some()));
        self.counts.stale += usize::from(begins && head.stale);
        self.counts.unbound += usize::from(begins && !head.stale && !head.active);
        self.counts.empty += usize::from(placed && length == 0);
        let outcome = PlacementOutcome {
            pkt: p.pkt,
            silent: looked_up.silent || (looked_up.silent_unbound && !head.active && !head.stale),
            epoch: head.epoch,
            credit: head.credit,
        };
        let done = PlacementDone {
            pkt: p.pkt,
            frame: p.frame,
            has_slot: p.has_slot,
            msg_slot: p.msg_slot,
            payload_len: p.payload_len,
            placed,
            reason: bits(decided.err().unwrap_or(0)),
            of_bytes: p.of_bytes,
            spare: bits(0),
        };
        let bound = decided.ok().filter(|_| length > 0).map(|(slot, base, start)| BoundPacket {
            base: bits(base),
            start: bits(start),
            slot: bits(slot),
            frame: p.frame,
            pkt: p.pkt,
            payload_offset: p.payload_offset,
            payload_len: p.payload_len,
            has_slot: p.has_slot,
            msg_slot: p.msg_slot,
            fence_phase: p.fence_phase,
            host: p.host,
            of_bytes: p.of_bytes,
        });
        Decision {
            verdict: (bound.is_none() && !spills).then_some((done, p.fence_phase)),
            bound: bound.map(|bound| (bound, looked_up.mailbox.to_u64())),
            outcome: (!spills).then_some(outcome),
            hold,
        }
    }

    /// The table after a packet.
    fn remember(
        &mut self,
        looked_up: &LookedUpPacket,
        head: &Head,
        message: Option<Message>,
        decided: Result<(u64, u64, u64), u64>,
        begins: bool,
        no_hold: bool,
    ) {
        let p = looked_up.packet;
        let length = p.payload_len.to_u64();
        if !p.has_slot || p.single || looked_up.refused {
            return;
        }
        let next = if let Some(message) = message {
            // Packets that exceed their message, or contradict it, do not count.
            let counts = length <= message.left && (message.refused.is_some() || decided.is_ok());
            counts.then(|| Message {
                left: message.left - length,
                held: message.held || (decided.is_ok() && p.pending),
                ..message
            })
        } else {
            // The sender of a sequenced message that finds no buffer repeats it.
            let repeats = p.sequenced && (no_hold || (!looked_up.spills && !head.active && !head.stale));
            (begins && !repeats).then(|| Message {
                name: name_of(looked_up),
                refused: decided.err(),
                held: p.pending,
                slot: head.slot.to_u64(),
                base: head.buffer.base.to_u64(),
                size: head.buffer.size.to_u64(),
                offset: head.offset.to_u64(),
                left: (p.msg_len.to_u64()).wrapping_sub(length) % (1 << 32),
            })
        };
        let Some(next) = next else { return };
        self.counts.ended += usize::from(next.left == 0 && message.is_some());
        if next.left == 0 {
            self.messages.remove(&p.msg_slot.to_u64());
        } else {
            self.messages.insert(p.msg_slot.to_u64(), next);
        }
    }

    /// Cycle 0. Spilled packets go first.
    fn check_fetch(&mut self, cycle: u64, room: bool) -> Option<(LookedUpPacket, bool)> {
        let reservation = &self.dut.reservation;
        // A packet that is decided now is in `spilled` from the next cycle on; but none begins then.
        let spilled = self.spilled.front().copied();
        let next = spilled.or(self.offered);
        let free =
            self.fetched.is_none() && self.checked.is_none() && self.sweep.is_none() && cycle >= self.begin + MESSAGES;
        // A frame waits for the frame of another mailbox.
        let waits = self.loaded.zip(next).is_some_and(|(before, next)| {
            before.packet.host && next.packet.host && (before.refused || before.mailbox != next.mailbox)
        });
        self.counts.frames_wait += usize::from(waits && free && room);
        let fetches = next.filter(|_| free && room && !waits);
        assert_eq!(reservation.fetch.is_high(), fetches.is_some(), "cycle {cycle}");
        if let Some(packet) = fetches {
            self.check_names(cycle, &packet);
        }
        fetches.map(|packet| (packet, spilled.is_some()))
    }

    /// Mailbox and tag in cycles 0 and 1.
    fn check_names(&self, cycle: u64, looked_up: &LookedUpPacket) {
        let reservation = &self.dut.reservation;
        let tag = Tag { tagged: looked_up.tagged, window: looked_up.window, epoch: looked_up.packet.epoch };
        assert_eq!((reservation.mailbox.get(), reservation.tag.get()), (looked_up.mailbox, tag), "cycle {cycle}");
    }

    /// Cycle 1: the packet goes on, or begins again.
    fn check_load(&mut self, cycle: u64, retry: bool) -> bool {
        let (dut, loads) = (&self.dut, self.fetched.is_some() && !retry);
        let spilled = self.fetched.is_some_and(|fetched| fetched.1);
        assert_eq!(dut.reservation.load.is_high(), loads, "cycle {cycle}");
        assert_eq!(dut.looked_up.ready.is_high(), loads && !spilled, "cycle {cycle}");
        let Some((looked_up, _)) = self.fetched else { return false };
        self.counts.retries += usize::from(retry);
        self.check_names(cycle, &looked_up);
        if loads {
            let p = looked_up.packet;
            let span = MessageSpan { msg_len: p.msg_len, start: p.start, end: p.end };
            let found = (self.dut.reservation.message.get(), self.dut.reservation.frame.get());
            assert_eq!(found, (span, p.frame), "cycle {cycle}");
            if spilled {
                self.spilled.pop_front();
            } else {
                self.offered = None;
            }
        }
        loads
    }

    /// The sweep reads a message in each cycle as soon as no packet is under way.
    fn check_sweep(&mut self, cycle: u64) {
        let Some((all, slot, mailbox)) = self.sweep else { return };
        let drained = self.fetched.is_none() && self.loaded.is_none() && self.checked.is_none();
        if drained && self.sweeps_from.is_none() {
            self.sweeps_from = Some(cycle);
        }
        let swept = self.sweeps_from.is_some_and(|from| cycle >= from + SWEEP);
        assert_eq!(self.dut.swept.is_high(), swept, "cycle {cycle}");
        if !swept {
            return;
        }
        for message in self.messages.values_mut().filter(|message| message.refused.is_none()) {
            if all && message.name[0] == mailbox {
                message.refused = Some(CLOSED as u64);
                self.counts.swept[1] += 1;
            } else if !all && message.slot == slot {
                message.refused = Some(STALE_EPOCH as u64);
                self.counts.swept[0] += 1;
            }
        }
        (self.sweep, self.sweeps_from, self.swept_at) = (None, None, cycle);
    }
}

#[test]
fn random_packets_are_the_models() {
    run_with_wave_on_failure("binding_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        for _ in 0..3 {
            bench.reset();
            for cycle in 0..share(40_000) {
                // Phases of full speed, of stalls and of few packets; now and then a sweep.
                let (offers, stalls, retries) = match cycle / 500 % 4 {
                    0 | 1 => (1.0, 0.0, 0.02),
                    2 => (0.7, 0.1, 0.2),
                    _ => (0.1, 0.05, 0.1),
                };
                let now = bench.dut.cycle();
                let rests = now >= bench.begin + MESSAGES && now > bench.swept_at + 1;
                if rests && bench.sweep.is_none() && bench.rng.random_range(0..700) == 0 {
                    // Of a message under way, or nearly.
                    let message = bench.messages.values().choose(&mut bench.rng).copied();
                    let (slot, mailbox) = message.map_or((0, 0), |message| (message.slot, message.name[0]));
                    let slot = near(&mut bench.rng, slot, 14, 4);
                    let mailbox = near(&mut bench.rng, mailbox, 12, 4);
                    bench.sweep = Some((bench.rng.random(), slot, mailbox));
                }
                bench.cycle(offers, stalls, retries);
            }
        }
        let counts = &bench.counts;
        let decided = [counts.bound, counts.continued, counts.ended, counts.too_long, counts.too_many, counts.stale];
        let others = [counts.unbound, counts.again_refused, counts.other_message, counts.empty, counts.without_place];
        let spilled = [counts.spilled, counts.spilled_later, counts.retries, counts.successive];
        let held = [counts.held[0], counts.held[1], counts.held_before, counts.without_hold[0], counts.without_hold[1]];
        assert!(held.iter().all(|count| *count > 50), "{counts:?}");
        let frames = [counts.frames[0], counts.frames[1], counts.frames_wait];
        assert!(decided.iter().chain(&others).chain(&spilled).all(|count| *count > 50), "{counts:?}");
        assert!(
            frames.iter().all(|count| *count > 20)
                && counts.swept.iter().chain([&counts.both_spilled]).all(|count| *count > 5),
            "{counts:?}"
        );
    });
}
