//! Parser, matcher, packet buffer and ingress join together: frames in, packets and drops out.

use crate::packet_engine::dut::intake;
use crate::packet_engine::ingress::common::Dut;
use crate::packet_engine::ingress::frames::{any, drive_beat, PORT};
use packet_engine::ingress::arrival::Intake;
use packet_engine::ingress::ingress_join::{self, IngressJoin};
use packet_engine::ingress::packet_buffer::PacketBuffer;
use packet_engine::ingress::parser::Parser;
use packet_engine::ingress::{header_matcher, header_matcher::HeaderMatcher, parser};
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle_blocks::bundles::{BeatSource, RxSink};
use spindle_blocks::desc::{PacketDesc, ReadRequest};
use spindle_blocks::RamStyle;
use spindle_contract::params::MATCH_LITERALS;
use spindle_contract::reasons;
use spindle_harness::seeded_rng;
use spindle_model::packet_engine::packet_buffer::PacketBuffer as Bag;
use spindle_model::packet_engine::parser::{parse, Verdict};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

/// The receive path. The test frees through the same port as the join, which goes first.
#[block]
struct Ingress {
    rx: RxSink,
    rx_enable: Signal<In, Bit>,
    spindle_port: Signal<In, Bits<16>>,
    rule_index: Signal<In, Bits<6>>,
    rule_action: Signal<In, Bits<32>>,
    rule_write: Signal<In, Bit>,
    commit: Signal<In, Bit>,
    committing: Signal<Out, Bit>,
    packet: Source<PacketDesc>,
    packet_intake: Signal<Out, Intake>,
    drop_valid: Signal<Out, Bit>,
    drop_reason: Signal<Out, Bits<5>>,
    free: Sink<Bits<10>>,
    load_request: Sink<ReadRequest>,
    load_data: BeatSource,
    cells_free: Signal<Out, Bits<11>>,
    /// The pairing is exact: a matched frame always finds its written half.
    both: Signal<Out, Bits<2>>,
    front: Parser,
    matcher: HeaderMatcher,
    buffer: PacketBuffer,
    join: IngressJoin,
}

impl Ingress {
    fn new(cells: usize) -> Self {
        Self {
            matcher: HeaderMatcher::new(16, RamStyle::Block),
            buffer: PacketBuffer::new(cells, RamStyle::Block),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Ingress {
    fn update(&mut self) {
        self.rx.join(&mut self.front.rx);
        self.front.rx_enable.next = self.rx_enable.val();
        self.front.spindle_port.next = self.spindle_port.val();
        self.front.beat.join(&mut self.matcher.beat);
        self.matcher.parsed_flags.next = self.front.parsed_flags.val();
        self.front.parsed.join(&mut self.matcher.parsed);
        self.matcher.word_index.next = bits::<4>(0);
        self.matcher.word_source.next = bits::<22>(0);
        self.matcher.word_write.next = false;
        self.matcher.term_index.next = bits::<7>(0);
        self.matcher.term_mask.next = bits::<32>(0);
        self.matcher.term_low.next = bits::<32>(0);
        self.matcher.term_high.next = bits::<32>(0);
        self.matcher.term_write.next = false;
        self.matcher.rule_index.next = self.rule_index.val();
        self.matcher.rule_positive.next = bits::<MATCH_LITERALS>(0);
        self.matcher.rule_negative.next = bits::<MATCH_LITERALS>(0);
        self.matcher.rule_action.next = self.rule_action.val();
        self.matcher.rule_write.next = self.rule_write.val();
        self.matcher.commit.next = self.commit.val();
        self.committing.next = self.matcher.committing.val();
        self.front.beat.join(&mut self.buffer.beat);
        self.matcher.matched.join(&mut self.join.matched);
        self.join.verdict.next = Default::default();
        self.buffer.written.join(&mut self.join.written);
        self.both.next = (self.buffer.written.valid.val(), self.matcher.matched.valid.val()).cat::<2>();

        let mine = !self.join.free.valid.val();
        self.buffer.free.next = if mine { self.free.val() } else { self.join.free.val() };
        self.buffer.free.valid.next = self.free.valid.val() | self.join.free.valid.val();
        self.join.free.ready.next = self.buffer.free.ready.val();
        self.free.ready.next = self.buffer.free.ready.val() & mine;
        self.join.packet.join(&mut self.packet);
        self.packet_intake.next = self.join.packet_intake.val();
        self.drop_valid.next = self.join.drop.valid.val();
        self.drop_reason.next = self.join.drop.val();
        self.cells_free.next = self.buffer.cells_free.val();

        self.load_request.join(&mut self.buffer.load_request);
        self.buffer.load_data.join(&mut self.load_data);
        self.buffer.place_request.next = ReadRequest::default();
        self.buffer.place_request.valid.next = false;
        self.buffer.place_data.ready.next = false;
    }
}

fn ingress(cells: usize) -> Dut {
    let mut dut = Dut::new(&mut Ingress::new(cells), &format!("ingress_{cells}"));
    dut.set("spindle_port", PORT.into());
    dut.set("rx_enable", 1);
    // One rule: everything to context 3.
    dut.set("rule_action", 1 << 31 | 3 << 4 | 1);
    dut.set("rule_write", 1);
    dut.tick();
    dut.set("rule_write", 0);
    dut.set("commit", 1);
    dut.tick();
    dut.set("commit", 0);
    dut.eval();
    while dut.high("committing") {
        dut.tick();
        dut.eval();
    }
    dut
}

/// Frames in; every packet out is read back and compared, every drop has the right reason, no cell is lost.
fn run(cells: usize, frames: usize) {
    let name = format!("ingress_{cells}");
    let mut rng = seeded_rng(&name);
    let mut dut = ingress(cells);
    let mut bag = Bag::new(cells);
    let mut sent: VecDeque<(u16, Vec<u8>, Option<usize>)> = VecDeque::new();
    let mut drops: VecDeque<usize> = VecDeque::new();
    let mut current: Option<(Vec<u8>, usize, bool)> = None;
    let mut reading: Option<(u16, usize)> = None;
    let mut doomed: VecDeque<u16> = VecDeque::new();
    let (mut started, mut passed, mut no_buffer, mut ahead, mut quiet) = (0usize, 0usize, 0usize, 0i64, 0);
    for cycle in 0.. {
        if current.is_none() && started < frames && rng.random_bool(0.9) {
            current = Some((any(&mut rng), 0, rng.random_bool(0.02)));
        }
        dut.set("rx_valid", 0);
        if let Some((frame, index, bad)) = &mut current {
            let last = drive_beat(&mut dut, frame, *index, *bad, 0x33);
            *index += 1;
            if last {
                let reason = match parse(frame, PORT) {
                    _ if *bad => Some(reasons::BAD_FRAME),
                    Verdict::Drop(reason) => Some(reason),
                    Verdict::Accept(_) => None,
                };
                sent.push_back((started as u16, frame.clone(), reason));
                started += 1;
                current = None;
            }
        }
        // A slow reader at first, so that the buffer fills; later everything drains.
        let slow = cycle / 4000 % 2 == 0 && started < frames;
        dut.set("packet_ready", u64::from(!slow || rng.random_bool(0.02)));
        dut.set("load_data_ready", 1);
        let waiting: Vec<u16> = bag.names().into_iter().filter(|n| !doomed.contains(n)).collect();
        if reading.is_none() {
            if let Some(pkt) = waiting.choose(&mut rng) {
                reading = Some((*pkt, 0));
                let mut r = crate::packet_engine::ingress::common::packed("read_request");
                crate::packet_engine::ingress::common::set_field(&mut r, "read_request", "pkt", (*pkt).into());
                crate::packet_engine::ingress::common::set_field(
                    &mut r,
                    "read_request",
                    "length",
                    bag.frame(*pkt).expect("listed").len() as u64,
                );
                dut.set_bytes("load_request", &r);
                dut.set("load_request_valid", 1);
            }
        }
        dut.set("free_valid", u64::from(!doomed.is_empty()));
        dut.set("free", doomed.front().copied().unwrap_or(0).into());
        dut.eval();

        // Written comes before matched, in step.
        let both = dut.get("both");
        ahead += (both >> 1 & 1) as i64 - (both & 1) as i64;
        assert!(
            (0..=ingress_join::WRITTEN_AHEAD as i64 + 1).contains(&ahead),
            "cycle {cycle}: the buffer is {ahead} frames ahead of the matcher"
        );

        if dut.high("drop_valid") {
            drops.push_back(dut.get("drop_reason") as usize);
        }
        if dut.high("packet_valid") && dut.high("packet_ready") {
            let number = dut.field("packet", "packet_desc", "frame") as u16;
            let way = intake(|field| dut.field("packet", "packet_desc", field));
            assert_eq!(dut.get("packet_intake"), way, "the way of frame {number}");
            // Frames between the last packet and this one were dropped, each for its reason or for lack of room.
            loop {
                let (n, frame, reason) = sent.pop_front().expect("a packet without a frame");
                if n == number {
                    assert_eq!(reason, None, "frame {n} passed");
                    assert_eq!(dut.field("packet", "packet_desc", "length") as usize, frame.len());
                    assert_eq!(dut.field("packet", "packet_desc", "context"), 3);
                    assert_eq!(dut.field("packet", "packet_desc", "cells") as usize, Bag::cells_of(frame.len()));
                    bag.store(dut.field("packet", "packet_desc", "pkt") as u16, frame)
                        .unwrap_or_else(|e| panic!("frame {n}: {e}"));
                    passed += 1;
                    break;
                }
                let why = drops.pop_front().unwrap_or_else(|| panic!("frame {n} vanished"));
                no_buffer += usize::from(reason.is_none());
                assert_eq!(why, reason.unwrap_or(reasons::NO_BUFFER), "frame {n} of {} bytes", frame.len());
            }
        }
        if dut.high("free_valid") && dut.high("free_ready") {
            assert!(bag.free(doomed.pop_front().expect("offered")));
        }
        if dut.high("load_data_valid") {
            let (pkt, index) = reading.expect("asked for");
            let frame = bag.frame(pkt).expect("stored");
            let part = &frame[64 * index..frame.len().min(64 * index + 64)];
            assert_eq!(&dut.bytes("load_data")[..part.len()], part, "packet {pkt}, beat {index}");
            let last = 64 * index + 64 >= frame.len();
            assert_eq!(dut.high("load_data_last"), last);
            reading = if last { None } else { Some((pkt, index + 1)) };
            if last {
                doomed.push_back(pkt);
            }
        }
        let taken = dut.high("load_request_valid") && dut.high("load_request_ready");
        dut.tick();
        if taken {
            dut.set("load_request_valid", 0);
        }
        let done = started == frames && reading.is_none() && doomed.is_empty() && bag.names().is_empty();
        quiet = if done { quiet + 1 } else { 0 };
        if quiet > 100 {
            break;
        }
    }
    for (n, _, reason) in sent {
        let why = drops.pop_front().unwrap_or_else(|| panic!("frame {n} vanished"));
        no_buffer += usize::from(reason.is_none());
        assert_eq!(why, reason.unwrap_or(reasons::NO_BUFFER), "frame {n}");
    }
    assert!(drops.is_empty());
    dut.eval();
    assert_eq!(dut.get("cells_free") as usize, cells, "cells were lost");
    println!("{passed} passed, {no_buffer} found no room");
    assert!(passed > frames / 10 && no_buffer > frames / 100, "{passed} passed, {no_buffer} found no room");
}

#[test]
fn nothing_is_lost_or_invented() {
    run(256, 5000);
}

#[test]
fn nothing_is_lost_in_the_smallest_buffer() {
    run(32, 3000);
}

/// From the only beat of a 64-byte frame to `packet_valid`, and to the drop pulse; then one frame per cycle.
#[test]
fn timing() {
    let total = (parser::LATENCY + header_matcher::LATENCY + ingress_join::LATENCY) as u64;
    assert_eq!(total, 7);
    let mut frame = vec![0x11; 64];
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    for (bad, port) in [(false, "packet_valid"), (true, "drop_valid")] {
        let mut dut = ingress(256);
        dut.set("packet_ready", 1);
        for cycle in 0..2 * total {
            dut.set("rx_valid", 0);
            if cycle == 0 {
                drive_beat(&mut dut, &frame, 0, bad, 0);
            }
            dut.eval();
            assert_eq!(dut.high(port), cycle == total, "{port} in cycle {cycle}");
            dut.tick();
        }
        // As many frames as there are cells, one per cycle: one packet or drop per cycle.
        for cycle in 0..256 + total {
            dut.set("rx_valid", 0);
            if cycle < 240 {
                drive_beat(&mut dut, &frame, 0, bad, 0);
            }
            dut.eval();
            assert_eq!(dut.high(port), (total..total + 240).contains(&cycle), "{port} in cycle {cycle} under load");
            dut.tick();
        }
    }
}
