//! The parser against the naive model: every field of every accepted frame, the reason of every dropped one.

use crate::packet_engine::ingress::common::get_field;
use crate::packet_engine::ingress::frames::{any, drive_beat, PORT};
use packet_engine::ingress::parser::{Parser, BEAT_LATENCY, LATENCY};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::{params::MAX_FRAME, reasons, wire::flag, VERSION};
use spindle_harness::{run_with_wave_on_failure, seeded_rng, Dut, WaveContext};
use spindle_model::packet_engine::parser::{parse_of, Parsed, SourceEntry, Verdict};
use std::collections::{HashMap, VecDeque};

/// What must come out for a frame.
struct Expected {
    /// Cycle of the pulse.
    due: u64,
    frame: u16,
    stamp: u64,
    length: usize,
    verdict: Verdict,
}

fn parser(wave: &WaveContext) -> Dut<Parser> {
    let dut = Dut::new(wave, Parser::default(), "parser");
    dut.spindle_port.set(PORT);
    dut.rx_enable.set(true);
    dut
}

fn compare(dut: &Dut<Parser>, e: &Expected) {
    let parsed = dut.parsed.bytes();
    let field = |name: &str| get_field(&parsed, "packet_desc", name);
    assert_eq!(field("version"), u64::from(VERSION));
    assert_eq!(field("frame"), u64::from(e.frame));
    assert_eq!(field("stamp"), e.stamp & 0xFFFF_FFFF, "stamp of frame {}", e.frame);
    if e.length <= MAX_FRAME {
        assert_eq!(field("length"), e.length as u64);
    }
    let p: &Parsed = match &e.verdict {
        // That comes a cycle later.
        Verdict::Drop(reasons::BAD_ICRC) => {
            assert!(!dut.parsed.drop.is_high(), "frame {} is dropped before its ICRC is compared", e.frame);
            return;
        }
        Verdict::Drop(reason) => {
            assert!(
                dut.parsed.drop.is_high(),
                "frame {} must be dropped: {}",
                e.frame,
                reasons::DROP_REASONS[*reason].0
            );
            assert_eq!(
                dut.parsed.reason.number(),
                *reason as u64,
                "frame {}: expected {}",
                e.frame,
                reasons::DROP_REASONS[*reason].0
            );
            return;
        }
        Verdict::Accept(p) => p,
    };
    assert!(
        !dut.parsed.drop.is_high(),
        "frame {} dropped for {}: {p:?}",
        e.frame,
        reasons::DROP_REASONS[dut.parsed.reason.number() as usize].0
    );
    let msg_id = if p.is_spindle { p.msg_id } else { u32::from(e.frame) };
    let expected: &[(&str, u64)] = &[
        ("is_vlan", p.is_vlan.into()),
        ("is_ipv4", p.is_ipv4.into()),
        ("is_udp", p.is_udp.into()),
        ("is_icmp", p.is_icmp.into()),
        ("is_spindle", p.is_spindle.into()),
        ("l3_offset", p.l3_offset as u64),
        ("payload_offset", p.payload_offset as u64),
        ("ip_src", p.ip_src.into()),
        ("ip_dst", p.ip_dst.into()),
        ("src_port", p.src_port.into()),
        ("dst_port", p.dst_port.into()),
        ("opcode", p.opcode.into()),
        ("flags", p.flags.into()),
        ("psn", p.psn.into()),
        ("src_nid", p.src_nid.into()),
        ("src_pid", p.src_pid.into()),
        ("dst_pid", p.dst_pid.into()),
        ("addr", p.addr),
        ("key", p.key.into()),
        ("msg_id", msg_id.into()),
        ("msg_len", p.msg_len.into()),
        ("msg_off", p.msg_off.into()),
        ("buf_off", p.buf_off.into()),
        ("payload_len", p.payload_len.into()),
        ("epoch", p.epoch.into()),
        ("ecn", p.ecn.into()),
        ("pkt", 0),
        ("cells", 0),
        ("action", 0),
        ("context", 0),
        ("per_message", 0),
        ("rule", 0),
        ("by_field", 0),
        ("ends", 0),
        ("to_host", 0),
        ("spare", 0),
    ];
    for (name, value) in expected {
        assert_eq!(field(name), *value, "{name} of frame {}: {p:?}", e.frame);
    }
}

/// An entry of the node table, as the parser gets it.
#[derive(Clone, Copy)]
struct Source {
    /// Number of the node that the parser must name.
    node: u8,
    entry: SourceEntry,
}

impl Source {
    /// The entry of the node that a frame names, mostly with the frame's own address.
    fn of(frame: &[u8], rng: &mut ChaCha8Rng) -> Source {
        let tag = if frame.get(12..14) == Some(&[0x81, 0]) { 4 } else { 0 };
        let own = frame.get(26 + tag..30 + tag).map(|ip| u32::from_be_bytes(ip.try_into().unwrap()));
        let ip = match (own, rng.random_range(0..12)) {
            (Some(own), 0) => Some(own ^ 1 << rng.random_range(0..32)),
            (Some(own), 2..) => Some(own),
            _ => None,
        };
        let entry = SourceEntry { ip, requires: rng.random_bool(0.3) };
        Source { node: frame.get(53 + tag).copied().unwrap_or(0), entry }
    }
}

/// Sends frames with random gaps and compares what comes out, cycle by cycle. `busy`: no gaps at all. `check`: sources are
/// checked.
fn run(wave: &WaveContext, name: &str, frames: usize, busy: bool, check: bool) {
    let mut rng = seeded_rng(name);
    let dut = parser(wave);
    dut.check_source.set(check);
    // Sources of the frames whose first beat has not come out, and answers of the node table with their cycles.
    let (mut sources, mut answers) = (VecDeque::<Source>::new(), VecDeque::<(u64, SourceEntry)>::new());
    let mut source = Source { node: 0, entry: SourceEntry::default() };
    let mut expected: VecDeque<Expected> = VecDeque::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut beats: VecDeque<(u64, Vec<u8>, bool)> = VecDeque::new();
    let (mut cycle, mut sent, mut stamp_base) = (0u64, 0usize, None);
    let mut current: Option<(Vec<u8>, usize, bool)> = None;
    let (mut first, mut enabled) = (0, true);
    // Of the beats that come out: bytes of the frame so far, and whether the next one begins a frame.
    let (mut place, mut new) = (0, true);
    // The frame whose `parsed` came in the last cycle has a wrong ICRC.
    let mut wrong = false;
    while sent < frames || current.is_some() || !expected.is_empty() {
        if current.is_none() && sent < frames && (busy || rng.random_bool(0.7)) {
            let frame = any(&mut rng);
            source = Source::of(&frame, &mut rng);
            sources.push_back(source);
            current = Some((frame, 0, rng.random_bool(0.02)));
        }
        match &mut current {
            Some((frame, index, bad)) if busy || rng.random_bool(0.9) => {
                // Reception may be switched at any time; only the first beat of a frame counts.
                let enable = rng.random_bool(if *index == 0 { 0.98 } else { 0.5 });
                dut.rx_enable.set(enable);
                if *index == 0 {
                    (first, enabled) = (cycle, enable);
                }
                let last = drive_beat(&dut.rx, frame, *index, *bad, rng.random());
                beats.push_back((
                    cycle + BEAT_LATENCY as u64,
                    frame[64 * *index..frame.len().min(64 * *index + 64)].to_vec(),
                    last,
                ));
                *index += 1;
                if last {
                    let verdict = if !enabled {
                        Verdict::Drop(reasons::RX_DISABLED)
                    } else if *bad {
                        Verdict::Drop(reasons::BAD_FRAME)
                    } else {
                        parse_of(frame, PORT, source.entry, check)
                    };
                    let what = match &verdict {
                        Verdict::Drop(r) => reasons::DROP_REASONS[*r].0.to_string(),
                        Verdict::Accept(p) if p.is_spindle && p.flags & flag::ICRC != 0 => {
                            format!("vlan {} with ICRC", p.is_vlan)
                        }
                        Verdict::Accept(p) => format!(
                            "vlan {} spindle {} udp {} icmp {} ipv4 {}",
                            p.is_vlan, p.is_spindle, p.is_udp, p.is_icmp, p.is_ipv4
                        ),
                    };
                    *seen.entry(what).or_default() += 1;
                    expected.push_back(Expected {
                        due: cycle + LATENCY as u64,
                        frame: sent as u16,
                        stamp: first,
                        length: frame.len(),
                        verdict,
                    });
                    sent += 1;
                    current = None;
                }
            }
            _ => {
                dut.rx.valid.set(false);
                dut.rx.data.set_bytes(&[0xAA; 64]);
            }
        }
        if answers.front().is_some_and(|(due, _)| *due == cycle) {
            let SourceEntry { ip, requires } = answers.pop_front().expect("checked").1;
            dut.source.present.set(ip.is_some());
            dut.source.ip.set(ip.unwrap_or_else(|| rng.random()));
            dut.source.requires.set(requires);
        }
        dut.eval();
        if dut.source.read.is_high() {
            let Source { node, entry } = sources.pop_front().expect("one read for each frame");
            assert_eq!(dut.source.node.number(), u64::from(node), "node whose address is read in cycle {cycle}");
            answers.push_back((cycle + 2, entry));
        }
        // Flags come one cycle before the rest.
        if let Some(Expected { verdict: Verdict::Accept(p), frame, .. }) = expected.iter().find(|e| e.due == cycle + 1)
        {
            assert_eq!(dut.parsed_flags.number(), u64::from(p.flags()), "flags of frame {frame}");
        }
        assert_eq!(dut.beat.valid.is_high(), beats.front().is_some_and(|b| b.0 == cycle), "beat in cycle {cycle}");
        if dut.beat.valid.is_high() {
            let (_, mut bytes, last) = beats.pop_front().expect("checked");
            place = if new { bytes.len() } else { place + bytes.len() };
            assert_eq!(dut.beat.first.is_high(), new);
            assert_eq!(dut.beat.second.is_high(), place > 64 && place - bytes.len() == 64);
            assert_eq!(dut.beat.end.number(), (place - 1).min(255 * 64 - 1) as u64);
            if new {
                assert_eq!(dut.beat.vlan.is_high(), bytes.get(12..14) == Some(&[0x81, 0]));
            }
            new = last;
            bytes.resize(64, 0);
            assert_eq!(dut.beat.data.bytes(), &bytes[..], "0 after the end of the frame");
            assert_eq!(dut.beat.last.is_high(), last);
        }
        assert_eq!(dut.bad_icrc.is_high(), wrong, "bad_icrc in cycle {cycle}");
        wrong = false;
        let due = expected.front().is_some_and(|e| e.due == cycle);
        assert_eq!(dut.parsed.valid.is_high(), due, "parsed_valid in cycle {cycle}");
        if due {
            let mut e = expected.pop_front().expect("checked");
            // The counter has run since reset: the distance between stamps is what counts.
            let base = *stamp_base.get_or_insert(dut.parsed.get().stamp.to_u64().wrapping_sub(e.stamp));
            e.stamp = e.stamp.wrapping_add(base);
            compare(&dut, &e);
            wrong = e.verdict == Verdict::Drop(reasons::BAD_ICRC);
        }
        dut.tick();
        cycle += 1;
    }
    assert!(beats.is_empty() && expected.is_empty() && sources.is_empty());
    println!("{seen:#?}");
    if frames >= 1000 {
        // Each reason of the parser and each kind of frame must have been met.
        let mut checked = vec![reasons::BAD_ICRC, reasons::ICRC_MISSING];
        checked.extend(check.then_some(reasons::BAD_SOURCE));
        for reason in (reasons::BAD_FRAME..=reasons::BAD_TRANSPORT).chain([reasons::RX_DISABLED]).chain(checked) {
            let name = reasons::DROP_REASONS[reason].0;
            assert!(seen.contains_key(name), "no frame was dropped for {name}; the test is blind there");
        }
        for vlan in [false, true] {
            for kind in [
                "spindle true udp true icmp false ipv4 true",
                "spindle false udp true icmp false ipv4 true",
                "spindle false udp false icmp true ipv4 true",
                "spindle false udp false icmp false ipv4 true",
                "spindle false udp false icmp false ipv4 false",
                "with ICRC",
            ] {
                let what = format!("vlan {vlan} {kind}");
                assert!(seen.get(&what).is_some_and(|n| *n >= 10), "too few frames: {what}");
            }
        }
    }
}

#[test]
fn random_frames_with_gaps() {
    run_with_wave_on_failure("parser_random_frames_with_gaps", |wave| {
        run(wave, "parser_gaps", 6000, false, true);
    });
}

#[test]
fn random_frames_without_gaps() {
    run_with_wave_on_failure("parser_random_frames_without_gaps", |wave| {
        run(wave, "parser_busy", 4000, true, true);
    });
}

#[test]
fn random_frames_of_any_source() {
    run_with_wave_on_failure("parser_random_frames_of_any_source", |wave| {
        run(wave, "parser_any_source", 2000, true, false);
    });
}

/// A frame number space that wraps, one beat each, one per cycle: one pulse per cycle.
#[test]
fn one_beat_frames_every_cycle() {
    run_with_wave_on_failure("parser_one_beat_frames_every_cycle", |wave| {
        let dut = parser(wave);
        let frame = [0x5A; 60];
        for cycle in 0..70_000u64 {
            drive_beat(&dut.rx, &frame, 0, false, 0);
            dut.eval();
            let parsed = cycle >= LATENCY as u64;
            assert_eq!(dut.parsed.valid.is_high(), parsed, "cycle {cycle}");
            assert_eq!(dut.started.valid.is_high(), cycle >= BEAT_LATENCY as u64);
            if parsed {
                assert_eq!(dut.parsed.get().frame.to_u64(), (cycle - LATENCY as u64) & 0xFFFF);
            }
            if cycle >= 1 {
                assert_eq!(dut.started.number(), (cycle - 1) & 0xFFFF);
            }
            dut.tick();
        }
    });
}
