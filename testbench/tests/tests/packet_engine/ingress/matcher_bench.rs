//! The matcher with something in front of it that behaves as the parser does, and random rule sets.

use crate::packet_engine::ingress::common::{get_field, packed, set_field};
use packet_engine::ingress::header_matcher::{HeaderMatcher, LATENCY};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::RamStyle;
use spindle_contract::descriptors::action;
use spindle_contract::params::{MATCH_BYTES, MATCH_LITERALS, MATCH_TERMS, MESSAGE_WORDS};
use spindle_contract::reasons;
use spindle_contract::registers::packet::{RuleAction, WordSource};
use spindle_harness::WaveContext;
use spindle_harness::{seeded_rng, Dut};
use spindle_model::packet_engine::header_matcher::{matches, Headers, Match, Rule, RuleSet, Source, Term};
use std::collections::{HashMap, VecDeque};

/// Cycles from a frame's last beat to `parsed_valid`.
const PARSED: u64 = 3;

fn random_source(rng: &mut ChaCha8Rng) -> Source {
    if rng.random_bool(0.1) {
        return Source::Length;
    }
    let untagged = 2 * rng.random_range(0..=(MATCH_BYTES - 4) / 2);
    let tagged = match rng.random_range(0..3) {
        0 => untagged,
        1 => (untagged + 4).min(untagged % 4 + MATCH_BYTES - 8),
        _ => untagged % 4 + 4 * rng.random_range(0..MATCH_BYTES / 4 - 1),
    };
    Source::Frame { untagged, tagged }
}

/// Terms that hold about as often as not on frames of small bytes.
fn random_term(rng: &mut ChaCha8Rng) -> Term {
    let byte = 8 * rng.random_range(0..4);
    match rng.random_range(0..5) {
        // A byte, or some bits of one.
        0 | 1 => {
            let (mask, value) = (*[0xFF, 3, 1].choose(rng).expect("not empty"), rng.random_range(0..2));
            Term { mask: mask << byte, low: value << byte, high: (value + rng.random_range(0..2)) << byte }
        }
        // A range of the whole word.
        2 => {
            let (a, b) = (small_word(rng), small_word(rng));
            Term { mask: u32::MAX, low: a.min(b), high: a.max(b) }
        }
        // Anything, also an empty interval or bounds outside the mask.
        3 => Term { mask: rng.random(), low: small_word(rng), high: rng.random() },
        _ => Term { mask: u32::MAX, low: 0, high: small_word(rng) },
    }
}

fn small_byte(rng: &mut ChaCha8Rng) -> u8 {
    *[0, 0, 1, 1, 2, 3, 0x7F, 0x80, 0xFF].choose(rng).expect("not empty")
}

fn small_word(rng: &mut ChaCha8Rng) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|_| small_byte(rng)))
}

/// Low rules ask for much, so that high ones win too.
fn random_rule(rng: &mut ChaCha8Rng, most: usize) -> Rule {
    let few =
        |rng: &mut ChaCha8Rng, n: usize| (0..n).fold(0u128, |mask, _| mask | 1 << rng.random_range(0..MATCH_LITERALS));
    let (positive, negative) = (rng.random_range(most / 2..=most), rng.random_range(most / 2..=most));
    Rule {
        valid: rng.random_bool(0.8),
        positive: few(rng, positive),
        negative: few(rng, negative),
        action: *[1, 1, 1, 2, 2, 2, 0, 3].choose(rng).expect("not empty"),
        context: rng.random_range(0..16),
        message: rng.random_range(0..3),
        message_word: rng.random_range(0..MESSAGE_WORDS),
        end: rng.random_bool(0.7).then(|| rng.random_range(0..MATCH_TERMS)),
        to_host: rng.random(),
    }
}

pub fn random_set(rng: &mut ChaCha8Rng, rules: usize) -> RuleSet {
    RuleSet {
        sources: std::array::from_fn(|_| random_source(rng)),
        terms: std::array::from_fn(|_| random_term(rng)),
        rules: (0..rules)
            // Few rules get few literals, or none but the last ones would match a frame.
            .map(|r| random_rule(rng, if r + 4 < rules { 1 + (5 * (rules - r) / rules).min(rules / 4) } else { 1 }))
            .collect(),
        ..RuleSet::empty(0)
    }
}

pub fn random_frame(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let most = *[64, 64, 64, 128, 300].choose(rng).expect("not empty");
    (0..rng.random_range(14..=most)).map(|_| small_byte(rng)).collect()
}

/// What must come out: when, the descriptor that went in, the matcher's fields of it or the reason of the drop.
struct Expected {
    due: u64,
    desc: Vec<u8>,
    result: Result<Vec<(&'static str, u64)>, usize>,
}

/// What the parser says, when, and what must come of it.
struct Parsed {
    at: u64,
    flags: u32,
    desc: Vec<u8>,
    drop: Option<usize>,
    /// The parser says a cycle later that its ICRC is wrong.
    spoilt: bool,
}

/// A frame that is being received.
struct Incoming {
    frame: Vec<u8>,
    flags: u32,
    beat: usize,
    set: RuleSet,
}

/// A matcher, and in front of it something that behaves as the parser does.
pub struct Bench {
    dut: Dut<HeaderMatcher>,
    pub rng: ChaCha8Rng,
    pub cycle: u64,
    /// What is in the slots, and what judges frames that start now.
    pub staged: RuleSet,
    active: RuleSet,
    pub committed: Option<RuleSet>,
    incoming: Option<Incoming>,
    parsed: VecDeque<Parsed>,
    /// The frame whose `parsed` came in the last cycle has a wrong ICRC.
    spoilt: bool,
    expected: VecDeque<Expected>,
    pub seen: HashMap<String, usize>,
    /// Host window, and frames without a rule to it.
    host: (bool, bool),
}

impl Bench {
    pub fn new(wave: &WaveContext, name: &str, rules: usize, style: RamStyle) -> Self {
        let dut = format!("header_matcher_{rules}_{}", style.attribute());
        let dut = Dut::new(wave, HeaderMatcher::new(rules, style), &dut);
        dut.host_window.set(false);
        dut.host_unmatched.set(false);
        Self {
            dut,
            host: (false, false),
            rng: seeded_rng(name),
            cycle: 0,
            staged: RuleSet::empty(rules),
            active: RuleSet::empty(rules),
            committed: None,
            incoming: None,
            parsed: VecDeque::new(),
            spoilt: false,
            expected: VecDeque::new(),
            seen: HashMap::new(),
        }
    }

    pub fn start(&mut self, frame: Vec<u8>, flags: u32) {
        assert!(self.incoming.is_none());
        self.incoming = Some(Incoming { frame, flags, beat: 0, set: self.active.clone() });
    }

    /// Resets it while nothing is under way: no rule holds any more.
    pub fn reset(&mut self) {
        assert!(self.incoming.is_none() && self.expected.is_empty() && self.committed.is_none());
        self.dut.reset();
        self.active = RuleSet::empty(self.active.rules.len());
    }

    /// Host window, and frames without a rule to it; while no frame is under way.
    pub fn set_host(&mut self, window: bool, unmatched: bool) {
        assert!(self.incoming.is_none() && self.expected.is_empty());
        self.dut.host_window.set(window);
        self.dut.host_unmatched.set(unmatched);
        self.host = (window, unmatched);
    }

    /// A frame is being received.
    pub fn busy(&self) -> bool {
        self.incoming.is_some()
    }

    /// Drives the next beat of the frame that is being received.
    pub fn beat(&mut self) {
        let Some(incoming) = &mut self.incoming else { return };
        if incoming.beat == 0 {
            incoming.set = self.active.clone();
        }
        let at = 64 * incoming.beat;
        let mut bytes = incoming.frame[at..incoming.frame.len().min(at + 64)].to_vec();
        let last = at + 64 >= incoming.frame.len();
        let end = at + bytes.len() - 1;
        bytes.resize(64, 0);
        let beat = &self.dut.beat;
        beat.valid.set(true);
        beat.first.set(incoming.beat == 0);
        beat.second.set(incoming.beat == 1);
        beat.last.set(last);
        beat.vlan.set(incoming.flags & 1 == 1);
        beat.end.set(end);
        self.dut.beat.data.set_bytes(&bytes);
        incoming.beat += 1;
        if last {
            let incoming = self.incoming.take().expect("it is there");
            self.received(&incoming);
        }
    }

    fn received(&mut self, incoming: &Incoming) {
        // The parser drops it, for the last of these a cycle later.
        let all = [(0..reasons::BAD_TRANSPORT).collect(), vec![reasons::BAD_ICRC]].concat();
        let drop = self.rng.random_bool(0.05).then(|| all[self.rng.random_range(0..all.len())]);
        let spoilt = drop == Some(reasons::BAD_ICRC);
        let mut desc = packed("packet_desc");
        let last = desc.len() - 1;
        self.rng.fill(&mut desc[..last]);
        let mine = ["action", "context", "per_message", "rule", "by_field", "ends", "to_host", "ruled", "spare"];
        for field in ["pkt", "cells", "ecn"].iter().chain(&mine) {
            set_field(&mut desc, "packet_desc", field, 0);
        }
        set_field(&mut desc, "packet_desc", "is_spindle", (incoming.flags >> 4).into());
        let (host_window, host_unmatched) = self.host;
        let set = RuleSet { host_window, host_unmatched, ..incoming.set.clone() };
        let headers = Headers { frame: &incoming.frame, vlan: incoming.flags & 1 == 1, flags: incoming.flags };
        let result = match (drop, matches(&set, &headers)) {
            (Some(reason), _) | (None, Match::Drop(reason)) => Err(reason),
            (None, Match::Unmatched) => Ok(vec![("action", action::HOST.into())]),
            (None, Match::Rule { number, message_id, ends }) => {
                let rule = &set.rules[number];
                let mut fields = vec![
                    ("action", rule.action.into()),
                    ("context", rule.context.into()),
                    ("per_message", u64::from(rule.message == RuleAction::MESSAGE_HEADER)),
                    ("by_field", u64::from(message_id.is_some())),
                    ("rule", number as u64),
                    ("ends", ends.into()),
                    ("to_host", rule.to_host.into()),
                    ("ruled", 1),
                ];
                fields.extend(message_id.map(|id| ("msg_id", id.into())));
                Ok(fields)
            }
        };
        let what = match &result {
            Err(reason) => reasons::DROP_REASONS[*reason].0.to_string(),
            Ok(fields) if fields.len() == 1 => "unmatched".to_string(),
            Ok(fields) if fields[0].1 == u64::from(action::HOST) => format!("host rule {}", fields[4].1),
            Ok(fields) => format!("rule {}", fields[4].1),
        };
        *self.seen.entry(what).or_default() += 1;
        let at = self.cycle + PARSED;
        self.expected.push_back(Expected { due: at + LATENCY as u64, desc: desc.clone(), result });
        self.parsed.push_back(Parsed { at, flags: incoming.flags, desc, drop: drop.filter(|_| !spoilt), spoilt });
    }

    /// Ends the cycle: the parser's side, then what comes out.
    pub fn step(&mut self) {
        let flags = self.parsed.iter().find(|p| p.at == self.cycle + 1).map_or(0x15, |p| p.flags);
        self.dut.parsed_flags.set(flags);
        let now = self.parsed.front().is_some_and(|p| p.at == self.cycle);
        self.dut.parsed.valid.set(now);
        self.dut.bad_icrc.set(std::mem::take(&mut self.spoilt));
        if now {
            let parsed = self.parsed.pop_front().expect("checked");
            self.spoilt = parsed.spoilt;
            self.dut.parsed.set_bytes(&parsed.desc);
            self.dut.parsed.drop.set(parsed.drop.is_some());
            self.dut.parsed.reason.set(parsed.drop.unwrap_or(31));
        }
        self.dut.eval();
        let due = self.expected.front().is_some_and(|e| e.due == self.cycle);
        assert_eq!(self.dut.matched.valid.is_high(), due, "matched_valid in cycle {}", self.cycle);
        if due {
            let mut expected = self.expected.pop_front().expect("checked");
            assert_eq!(
                self.dut.matched.drop.is_high(),
                expected.result.is_err(),
                "cycle {}: {:?}",
                self.cycle,
                expected.result
            );
            match expected.result {
                Err(reason) => assert_eq!(self.dut.matched.reason.number(), reason as u64, "cycle {}", self.cycle),
                Ok(fields) => {
                    let out = self.dut.matched.bytes();
                    for (field, value) in fields {
                        assert_eq!(get_field(&out, "packet_desc", field), value, "{field} in cycle {}", self.cycle);
                        set_field(&mut expected.desc, "packet_desc", field, value);
                    }
                    assert_eq!(out, expected.desc, "cycle {}", self.cycle);
                }
            }
        }
        self.dut.tick();
        self.cycle += 1;
        let dut = &self.dut;
        for wire in [&dut.beat.valid, &dut.word_write, &dut.term_write, &dut.rule_write, &dut.commit] {
            wire.set(false);
        }
        // The sets change places in the cycle in which `committing` falls: frames that start from now on see the new one.
        self.dut.eval();
        if !self.dut.committing.is_high() {
            if let Some(set) = self.committed.take() {
                self.active = set;
            }
        }
    }

    /// Puts a write on the configuration ports; it takes effect with the coming clock edge.
    fn write_source(&mut self, word: usize, source: Source) {
        self.staged.sources[word] = source;
        let value = match source {
            Source::Length => WordSource::length(),
            Source::Frame { untagged, tagged } => WordSource::word(untagged, tagged),
        };
        self.dut.word_index.set(word);
        self.dut.word_source.set(value.0);
        self.dut.word_write.set(true);
    }

    pub fn write_term(&mut self, slot: usize, term: Term) {
        self.staged.terms[slot] = term;
        self.dut.term_index.set(slot);
        self.dut.term_mask.set(term.mask);
        self.dut.term_low.set(term.low);
        self.dut.term_high.set(term.high);
        self.dut.term_write.set(true);
    }

    pub fn write_rule(&mut self, slot: usize, rule: Rule) {
        self.staged.rules[slot] = rule;
        let action = RuleAction::ZERO
            .with_action(rule.action.into())
            .with_context(rule.context.into())
            .with_message(rule.message)
            .with_message_word(rule.message_word as u32)
            .with_end_term(rule.end.unwrap_or(0) as u32)
            .with_has_end(rule.end.is_some())
            .with_to_host(rule.to_host)
            .with_valid(rule.valid);
        self.dut.rule_index.set(slot);
        self.dut.rule_positive.set_bytes(&rule.positive.to_le_bytes()[..MATCH_LITERALS.div_ceil(8)]);
        self.dut.rule_negative.set_bytes(&rule.negative.to_le_bytes()[..MATCH_LITERALS.div_ceil(8)]);
        self.dut.rule_action.set(action.0);
        self.dut.rule_write.set(true);
    }

    pub fn commit(&mut self) {
        self.dut.commit.set(true);
        self.committed = Some(self.staged.clone());
    }

    /// A set into the slots and committed, `traffic` in every cycle; gives the cycles of the commit.
    pub fn install(&mut self, set: &RuleSet, mut traffic: impl FnMut(&mut Bench)) -> usize {
        for (w, source) in set.sources.iter().enumerate() {
            self.write_source(w, *source);
            traffic(self);
            self.step();
        }
        for (t, term) in set.terms.iter().enumerate() {
            self.write_term(t, *term);
            traffic(self);
            self.step();
        }
        for (r, rule) in set.rules.iter().enumerate() {
            self.write_rule(r, *rule);
            traffic(self);
            self.step();
        }
        self.commit();
        for cycles in 0.. {
            traffic(self);
            self.step();
            if self.committed.is_none() {
                return cycles;
            }
            assert!(cycles < 20_000, "a commit never happens");
        }
        unreachable!()
    }

    /// Lets everything come out.
    pub fn drain(&mut self) {
        for _ in 0..PARSED as usize + LATENCY + 1 {
            self.step();
        }
        assert!(self.expected.is_empty() && self.parsed.is_empty() && self.incoming.is_none());
    }
}
