//! Parser, matcher, packet buffer and ingress join together: frames in, packets and drops out.

use crate::packet_engine::ingress::frames::{any, drive_beat, PORT};
use crate::packet_engine::intake::intake;
use packet_engine::ingress::arrival::Intake;
use packet_engine::ingress::ingress_join::{self, IngressJoin};
use packet_engine::ingress::packet_buffer::PacketBuffer;
use packet_engine::ingress::parser::Parser;
use packet_engine::ingress::psn_filter::PsnVerdict;
use packet_engine::ingress::{header_matcher, header_matcher::HeaderMatcher, parser};
use packet_engine::schedule::message::PsnCommit;
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::bundles::{BeatSource, RxSink};
use spindle_blocks::desc::{PacketDesc, ReadRequest};
use spindle_blocks::{JoinTrace, PacketReport, RamStyle};
use spindle_contract::params::MATCH_LITERALS;
use spindle_contract::reasons;
use spindle_contract::wire::{nack_of, opcode, ECN_MARKED};
use spindle_harness::{random_bits, run_with_wave_on_failure, seeded_rng, share, Dut, WaveContext};
use spindle_model::packet_engine::packet_buffer::PacketBuffer as Bag;
use spindle_model::packet_engine::parser::{parse, Verdict};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

/// The receive path. The test frees through the same port as the join, which goes first.
#[block]
struct Ingress {
    pub rx: RxSink,
    pub rx_enable: Signal<In, Bit>,
    pub spindle_port: Signal<In, Bits<16>>,
    pub rule_index: Signal<In, Bits<6>>,
    pub rule_action: Signal<In, Bits<32>>,
    pub rule_write: Signal<In, Bit>,
    pub commit: Signal<In, Bit>,
    pub committing: Signal<Out, Bit>,
    pub packet: Source<PacketDesc>,
    pub packet_intake: Signal<Out, Intake>,
    pub drop_valid: Signal<Out, Bit>,
    pub drop_reason: Signal<Out, Bits<6>>,
    pub free: Sink<Bits<10>>,
    pub load_request: Sink<ReadRequest>,
    pub load_data: BeatSource,
    pub cells_free: Signal<Out, Bits<11>>,
    /// The pairing is exact: a matched frame always finds its written half.
    pub both: Signal<Out, Bits<2>>,
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
        self.front.check_source.next = false;
        self.front.source.present.next = false;
        self.front.source.ip.next = bits::<32>(0);
        self.front.source.requires.next = false;
        self.front.beat.join(&mut self.matcher.beat);
        self.matcher.parsed_flags.next = self.front.parsed_flags.val();
        self.matcher.bad_icrc.next = self.front.bad_icrc.val();
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
        self.matcher.host_window.next = false;
        self.matcher.host_unmatched.next = false;
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

fn ingress(wave: &WaveContext, cells: usize) -> Dut<Ingress> {
    let dut = Dut::new(wave, Ingress::new(cells), &format!("ingress_{cells}"));
    dut.spindle_port.set(PORT);
    dut.rx_enable.set(true);
    // One rule: everything to context 3.
    dut.rule_action.set(1u32 << 31 | 3 << 4 | 1);
    dut.rule_write.set(true);
    dut.tick();
    dut.rule_write.set(false);
    dut.commit.set(true);
    dut.tick();
    dut.commit.set(false);
    dut.eval();
    while dut.committing.is_high() {
        dut.tick();
        dut.eval();
    }
    dut
}

/// Frames in; every packet out is read back and compared, every drop has the right reason, no cell is lost.
fn run(wave: &WaveContext, cells: usize, frames: usize) {
    let name = format!("ingress_{cells}");
    let mut rng = seeded_rng(&name);
    let dut = ingress(wave, cells);
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
        dut.rx.valid.set(false);
        if let Some((frame, index, bad)) = &mut current {
            let last = drive_beat(&dut.rx, frame, *index, *bad, 0x33);
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
        dut.packet.ready.set(!slow || rng.random_bool(0.02));
        dut.load_data.ready.set(true);
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
                dut.load_request.set_bytes(&r);
                dut.load_request.valid.set(true);
            }
        }
        dut.free.valid.set(!doomed.is_empty());
        dut.free.set(doomed.front().copied().unwrap_or(0));
        dut.eval();

        // Written comes before matched, in step.
        let both = dut.both.number();
        ahead += (both >> 1 & 1) as i64 - (both & 1) as i64;
        assert!(
            (0..=ingress_join::WRITTEN_AHEAD as i64 + 1).contains(&ahead),
            "cycle {cycle}: the buffer is {ahead} frames ahead of the matcher"
        );

        if dut.drop_valid.is_high() {
            drops.push_back(dut.drop_reason.number() as usize);
        }
        if dut.packet.valid.is_high() && dut.packet.ready.is_high() {
            let packet = dut.packet.get();
            let number = packet.frame.to_u64() as u16;
            let way = intake(&packet);
            assert_eq!(dut.packet_intake.number(), way, "the way of frame {number}");
            // Frames between the last packet and this one were dropped, each for its reason or for lack of room.
            loop {
                let (n, frame, reason) = sent.pop_front().expect("a packet without a frame");
                if n == number {
                    assert_eq!(reason, None, "frame {n} passed");
                    assert_eq!(packet.length.to_u64() as usize, frame.len());
                    assert_eq!(packet.context.to_u64(), 3);
                    assert_eq!(packet.cells.to_u64() as usize, Bag::cells_of(frame.len()));
                    bag.store(packet.pkt.to_u64() as u16, frame).unwrap_or_else(|e| panic!("frame {n}: {e}"));
                    passed += 1;
                    break;
                }
                let why = drops.pop_front().unwrap_or_else(|| panic!("frame {n} vanished"));
                no_buffer += usize::from(reason.is_none());
                assert_eq!(why, reason.unwrap_or(reasons::NO_BUFFER), "frame {n} of {} bytes", frame.len());
            }
        }
        if dut.free.valid.is_high() && dut.free.ready.is_high() {
            assert!(bag.free(doomed.pop_front().expect("offered")));
        }
        if dut.load_data.valid.is_high() {
            let (pkt, index) = reading.expect("asked for");
            let frame = bag.frame(pkt).expect("stored");
            let part = &frame[64 * index..frame.len().min(64 * index + 64)];
            assert_eq!(&dut.load_data.bytes()[..part.len()], part, "packet {pkt}, beat {index}");
            let last = 64 * index + 64 >= frame.len();
            assert_eq!(dut.load_data.last.is_high(), last);
            reading = if last { None } else { Some((pkt, index + 1)) };
            if last {
                doomed.push_back(pkt);
            }
        }
        let taken = dut.load_request.valid.is_high() && dut.load_request.ready.is_high();
        dut.tick();
        if taken {
            dut.load_request.valid.set(false);
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
    assert_eq!(dut.cells_free.number() as usize, cells, "cells were lost");
    println!("{passed} passed, {no_buffer} found no room");
    assert!(passed > frames / 10 && no_buffer > frames / 100, "{passed} passed, {no_buffer} found no room");
}

#[test]
fn nothing_is_lost_or_invented() {
    run_with_wave_on_failure("ingress_join_nothing_is_lost_or_invented", |wave| {
        run(wave, 256, share(5000));
    });
}

#[test]
fn nothing_is_lost_in_the_smallest_buffer() {
    run_with_wave_on_failure("ingress_join_nothing_is_lost_in_the_smallest_buffer", |wave| {
        run(wave, 32, share(3000));
    });
}

/// What the join gets of a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    desc: PacketDesc,
    drop: bool,
    reason: usize,
    verdict: PsnVerdict,
    pkt: u64,
    cells: u64,
    overflow: bool,
}

/// What comes of it a cycle later, beside the packet or the freed cells.
#[derive(Debug, Default, PartialEq)]
struct Ends {
    drop: Option<u64>,
    trace: Option<JoinTrace>,
    commit: Option<PsnCommit>,
    report: Option<PacketReport>,
}

impl Frame {
    /// Any bits in every field; values that the join distinguishes are frequent.
    fn any(rng: &mut ChaCha8Rng) -> Self {
        let mut desc: PacketDesc = random_bits(rng);
        if rng.random_bool(0.5) {
            desc.opcode = bits(opcode::CTRL as u64);
        }
        let mut verdict: PsnVerdict = random_bits(rng);
        verdict.drop = rng.random_bool(0.4);
        if rng.random_bool(0.7) {
            let special = [reasons::DUPLICATE, reasons::CONTROL, reasons::PSN_WINDOW, reasons::NO_PEER];
            verdict.reason = bits(*special.choose(rng).expect("four") as u64);
        }
        Self {
            desc,
            drop: rng.random_bool(0.2),
            reason: rng.random_range(0..reasons::DROP_COUNT),
            verdict,
            pkt: rng.random_range(0..1024),
            cells: rng.random_range(0..32),
            overflow: rng.random_bool(0.15),
        }
    }

    fn refused(&self) -> bool {
        self.drop || self.verdict.drop
    }

    /// The packet that goes on, if it does.
    fn packet(&self) -> Option<PacketDesc> {
        let desc =
            PacketDesc { sequenced: self.verdict.held, pkt: bits(self.pkt), cells: bits(self.cells), ..self.desc };
        (!self.refused() && !self.overflow).then_some(desc)
    }

    /// Cells that return, by their packet.
    fn freed(&self) -> Option<u64> {
        (self.refused() && !self.overflow).then_some(self.pkt)
    }

    fn ends(&self) -> Ends {
        let Frame { desc, verdict, .. } = self;
        let dropped = self.refused() || self.overflow;
        let reason = match () {
            () if verdict.drop => verdict.reason.to_u64() as usize,
            () if self.drop => self.reason,
            () => reasons::NO_BUFFER,
        };
        let peer = bits(desc.src_nid.to_u64() & 0xff);
        let is_control = reason == reasons::CONTROL && desc.opcode.to_u64() == opcode::CTRL as u64;
        let repeated = verdict.drop && (reason == reasons::DUPLICATE || is_control);
        let beyond = verdict.drop && reason == reasons::PSN_WINDOW;
        let stranger = verdict.drop && reason == reasons::NO_PEER;
        let named = desc.src_nid.to_u64() << 32 | desc.addr.to_u64() & 0xFFFF_FFFF;
        let code = if repeated { Some(0) } else { nack_of(reason) };
        let report = PacketReport {
            node: peer,
            src_pid: desc.src_pid,
            dst_pid: desc.dst_pid,
            addr: if stranger { bits(named) } else { desc.addr },
            msg_id: desc.msg_id,
            psn: desc.psn,
            code: bits(u64::from(code.unwrap_or(0))),
            sequenced: !stranger,
            urgent: true,
            marked: desc.ecn == bits(ECN_MARKED),
            frame: desc.frame,
            ..PacketReport::default()
        };
        let trace = JoinTrace {
            valid: true,
            frame: desc.frame,
            ruled: desc.ruled,
            rule: desc.rule,
            action: desc.action,
            context: desc.context,
            dropped,
            reason: bits(reason as u64),
        };
        let commit = PsnCommit { accepted: verdict.control, peer, psn: bits(desc.psn.to_u64() & 0x7ff) };
        Ends {
            drop: dropped.then_some(reason as u64),
            trace: Some(trace),
            commit: (dropped && verdict.held).then_some(commit),
            report: (dropped && (verdict.held || repeated || beyond || stranger) && code.is_some()).then_some(report),
        }
    }
}

/// The join alone, with any bits in its inputs: packets, freed cells, drops, commits, reports and traces.
#[test]
fn every_field_is_passed_on() {
    run_with_wave_on_failure("ingress_join_every_field_is_passed_on", |wave| {
        const CELLS: usize = 256;
        let frames = share(9000);
        let mut rng = seeded_rng("join alone");
        let dut = Dut::new(wave, IngressJoin::new(CELLS), "ingress_join");
        dut.written.valid.set(false);
        dut.matched.valid.set(false);
        dut.reset();
        // The matcher's pulse comes so many cycles after the packet buffer's.
        let mut line: VecDeque<Option<Frame>> = vec![None; ingress_join::WRITTEN_AHEAD].into();
        let (mut packets, mut frees) = (VecDeque::new(), VecDeque::new());
        let mut wanted = Ends::default();
        let (mut begun, mut passed, mut freed, mut commits, mut reports, mut quiet) = (0, 0, 0, 0, 0, 0);
        for cycle in 0.. {
            // Every frame that waits has a cell at least.
            let stored = line.iter().flatten().filter(|frame| !frame.overflow).count();
            let room = stored + packets.len() + frees.len() < CELLS;
            let busy = cycle / 500 % 3 != 0;
            let mut next =
                (begun < frames && rng.random_bool(if busy { 0.95 } else { 0.3 })).then(|| Frame::any(&mut rng));
            if let Some(frame) = &mut next {
                frame.overflow |= !room;
                begun += 1;
            }
            dut.written.valid.set(next.is_some());
            let written = next.unwrap_or_default();
            dut.written.pkt.set(written.pkt);
            dut.written.cells.set(written.cells);
            dut.written.overflow.set(written.overflow);
            line.push_back(next);
            let matched = line.pop_front().expect("the line is never empty");
            dut.matched.valid.set(matched.is_some());
            let frame = matched.unwrap_or_else(|| Frame::any(&mut rng));
            dut.matched.set(frame.desc);
            dut.matched.drop.set(frame.drop);
            dut.matched.reason.set(frame.reason as u64);
            dut.verdict.set(frame.verdict);
            let slow = cycle / 700 % 2 == 0;
            dut.packet.ready.set(rng.random_bool(if slow { 0.02 } else { 0.9 }));
            dut.free.ready.set(rng.random_bool(if slow { 0.05 } else { 0.9 }));
            dut.eval();

            let trace = dut.trace.get();
            let seen = Ends {
                drop: dut.drop.offered().map(|reason| reason.to_u64()),
                trace: trace.valid.then_some(trace),
                commit: dut.psn_commit.offered(),
                report: dut.report.offered(),
            };
            assert_eq!(seen, wanted, "cycle {cycle}");
            commits += usize::from(seen.commit.is_some());
            reports += usize::from(seen.report.is_some());
            wanted = matched.map_or_else(Ends::default, |frame| frame.ends());
            if let Some(packet) = dut.packet.taken() {
                assert_eq!(Some(packet), packets.pop_front(), "cycle {cycle}");
                assert_eq!(dut.packet_intake.number(), intake(&packet), "cycle {cycle}");
                passed += 1;
            }
            if let Some(cell) = dut.free.taken() {
                assert_eq!(Some(cell.to_u64()), frees.pop_front(), "cycle {cycle}");
                freed += 1;
            }
            packets.extend(matched.and_then(|frame| frame.packet()));
            frees.extend(matched.and_then(|frame| frame.freed()));
            dut.tick();
            let idle = begun == frames && packets.is_empty() && frees.is_empty();
            quiet = if idle { quiet + 1 } else { 0 };
            if quiet > 30 {
                break;
            }
        }
        let least = frames / 10;
        assert!(
            [passed, freed, commits, reports].iter().all(|count| *count > least),
            "{passed} passed, {freed} freed, {commits} commits and {reports} reports of {frames} frames"
        );
    });
}

/// From the only beat of a 64-byte frame to `packet_valid`, and to the drop pulse; then one frame per cycle.
#[test]
fn timing() {
    run_with_wave_on_failure("ingress_join_timing", |wave| {
        let total = (parser::LATENCY + header_matcher::LATENCY + ingress_join::LATENCY) as u64;
        assert_eq!(total, 7);
        let mut frame = vec![0x11; 64];
        frame[12..14].copy_from_slice(&[0x88, 0xB5]);
        for bad in [false, true] {
            let dut = ingress(wave, 256);
            let port = if bad { &dut.drop_valid } else { &dut.packet.valid };
            dut.packet.ready.set(true);
            for cycle in 0..2 * total {
                dut.rx.valid.set(false);
                if cycle == 0 {
                    drive_beat(&dut.rx, &frame, 0, bad, 0);
                }
                dut.eval();
                assert_eq!(port.is_high(), cycle == total, "bad: {bad}, cycle {cycle}");
                dut.tick();
            }
            // As many frames as there are cells, one per cycle: one packet or drop per cycle.
            for cycle in 0..256 + total {
                dut.rx.valid.set(false);
                if cycle < 240 {
                    drive_beat(&dut.rx, &frame, 0, bad, 0);
                }
                dut.eval();
                assert_eq!(
                    port.is_high(),
                    (total..total + 240).contains(&cycle),
                    "bad: {bad}, cycle {cycle} under load"
                );
                dut.tick();
            }
        }
    });
}
