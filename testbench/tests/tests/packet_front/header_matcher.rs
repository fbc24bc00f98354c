//! The matcher against the naive model: random terms and rules, rewritten under traffic; one frame per cycle.

use crate::common::{get_field, packed, set_field, Dut};
use packet_engine::header_matcher::{HeaderMatcher, LATENCY};
use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{MATCH_TERMS, MATCH_WORDS};
use spindle_contract::reasons;
use spindle_harness::seeded_rng;
use spindle_model::header_matcher::{matches, Match, Rule, Term};
use std::collections::{HashMap, VecDeque};

/// Words from a small set, so that terms hold about as often as not.
fn word(rng: &mut ChaCha8Rng) -> u32 {
    match rng.random_range(0..4) {
        0 => rng.random(),
        1 => *[0, 1, u32::MAX, 0x8000_0000, 0x7FFF_FFFF].choose(rng).expect("not empty"),
        _ => rng.random_range(0..8),
    }
}

fn random_term(rng: &mut ChaCha8Rng) -> Term {
    let (a, b) = (word(rng), word(rng));
    Term {
        word: rng.random_range(0..MATCH_WORDS),
        mask: if rng.random() { u32::MAX } else { rng.random() },
        // Now and then an empty interval.
        low: if rng.random_bool(0.9) { a.min(b) } else { a.max(b) },
        high: a.max(b),
    }
}

fn random_rule(rng: &mut ChaCha8Rng) -> Rule {
    let few =
        |rng: &mut ChaCha8Rng| (0..rng.random_range(0..6)).fold(0u32, |m, _| m | 1 << rng.random_range(0..MATCH_TERMS));
    Rule {
        valid: rng.random_bool(0.5),
        positive: few(rng),
        negative: if rng.random_bool(0.3) { few(rng) } else { 0 },
        action: rng.random_range(0..4),
        context: rng.random_range(0..16),
        per_message: rng.random(),
    }
}

/// What must come out: when, the descriptor that went in, and the winning rule or the reason of the drop.
type Expected = (u64, Vec<u8>, Result<(usize, Rule), usize>);

struct Bench {
    dut: Dut,
    terms: [Term; MATCH_TERMS],
    rules: Vec<Rule>,
}

impl Bench {
    fn new(rules: usize) -> Self {
        let dut = Dut::new(&mut HeaderMatcher::new(rules), &format!("header_matcher_{rules}"));
        Self { dut, terms: [Term::default(); MATCH_TERMS], rules: vec![Rule::default(); rules] }
    }

    /// Puts a write on the configuration ports; it takes effect with the coming clock edge.
    fn write_term(&mut self, index: usize, term: Term) {
        self.terms[index] = term;
        for (port, value) in [
            ("term_index", index as u64),
            ("term_word", term.word as u64),
            ("term_mask", term.mask.into()),
            ("term_low", term.low.into()),
            ("term_high", term.high.into()),
            ("term_write", 1),
        ] {
            self.dut.set(port, value);
        }
    }

    fn write_rule(&mut self, index: usize, rule: Rule) {
        if index < self.rules.len() {
            self.rules[index] = rule;
        }
        let action = u64::from(rule.action)
            | u64::from(rule.context) << 4
            | u64::from(rule.per_message) << 8
            | u64::from(rule.valid) << 31;
        for (port, value) in [
            ("rule_index", index as u64),
            ("rule_positive", rule.positive.into()),
            ("rule_negative", rule.negative.into()),
            ("rule_action", action),
            ("rule_write", 1),
        ] {
            self.dut.set(port, value);
        }
    }
}

fn run(rules: usize, cycles: u64) {
    let mut rng = seeded_rng(&format!("header_matcher_{rules}"));
    let mut bench = Bench::new(rules);
    for t in 0..MATCH_TERMS {
        let term = random_term(&mut rng);
        bench.write_term(t, term);
        bench.dut.tick();
    }
    let mut expected: VecDeque<Expected> = VecDeque::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let configure = cycles - 200;
    for cycle in 0..cycles {
        bench.dut.set("term_write", 0);
        bench.dut.set("rule_write", 0);
        // Configuration changes are rare against the pipeline, and frames keep away from them: a write holds for frames
        // that arrive later, and what is in the pipeline may meet either.
        let quiet = cycle % 60 < 12;
        if cycle % 60 == 6 && cycle < configure {
            if rng.random_bool(0.3) {
                let (t, term) = (rng.random_range(0..MATCH_TERMS), random_term(&mut rng));
                bench.write_term(t, term);
            } else {
                let (r, rule) = (rng.random_range(0..64usize.min(rules + 4)), random_rule(&mut rng));
                bench.write_rule(r, rule);
            }
        }
        // The first frame comes in the cycle behind a write.
        let send = if cycle % 60 == 7 {
            true
        } else {
            !quiet && cycle + (LATENCY as u64) < cycles && (cycle % 3000 < 1500 || rng.random_bool(0.6))
        };
        bench.dut.set("parsed_valid", u64::from(send));
        if send {
            let words: [u32; MATCH_WORDS] = std::array::from_fn(|_| word(&mut rng));
            let dropped = rng.random_bool(0.1).then(|| rng.random_range(0..9usize));
            let mut desc = packed("packet_desc");
            let end = desc.len() - 1;
            rng.fill(&mut desc[..end]);
            for field in ["pkt", "cells", "action", "context", "per_message", "rule", "spare", "ecn"] {
                set_field(&mut desc, "packet_desc", field, 0);
            }
            bench.dut.set_bytes("parsed", &desc);
            bench.dut.set_bytes("parsed_words", &words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>());
            bench.dut.set("parsed_drop", u64::from(dropped.is_some()));
            bench.dut.set("parsed_reason", dropped.unwrap_or(31) as u64);
            let result = match (dropped, matches(&words, &bench.terms, &bench.rules)) {
                (Some(reason), _) | (None, Match::Drop(reason)) => Err(reason),
                (None, Match::Rule(r)) => Ok((r, bench.rules[r])),
            };
            *seen
                .entry(result.map_or_else(|e| reasons::DROP_REASONS[e].0.to_string(), |(r, _)| format!("rule {r}")))
                .or_default() += 1;
            expected.push_back((cycle + LATENCY as u64, desc, result));
        }
        bench.dut.eval();
        let due = expected.front().is_some_and(|e| e.0 == cycle);
        assert_eq!(bench.dut.high("matched_valid"), due, "matched_valid in cycle {cycle}");
        if due {
            let (_, mut desc, result) = expected.pop_front().expect("checked");
            assert_eq!(bench.dut.high("matched_drop"), result.is_err(), "cycle {cycle}: {result:?}");
            match result {
                Err(reason) => assert_eq!(bench.dut.get("matched_reason"), reason as u64, "cycle {cycle}"),
                Ok((number, rule)) => {
                    set_field(&mut desc, "packet_desc", "action", rule.action.into());
                    set_field(&mut desc, "packet_desc", "context", rule.context.into());
                    set_field(&mut desc, "packet_desc", "per_message", rule.per_message.into());
                    set_field(&mut desc, "packet_desc", "rule", number as u64);
                    let out = bench.dut.bytes("matched");
                    assert_eq!(get_field(out, "packet_desc", "rule"), number as u64, "cycle {cycle}");
                    assert_eq!(out, &desc[..], "cycle {cycle}: rule {number} {rule:?}");
                }
            }
        }
        bench.dut.tick();
    }
    println!("{seen:#?}");
    assert!(expected.is_empty());
    for what in ["no_rule", "rule_drop", "runt", "rule 0"] {
        assert!(seen.contains_key(what), "{what} never happened; the test is blind there");
    }
    assert!(seen.keys().filter(|k| k.starts_with("rule ")).count() >= rules.min(8), "few rules ever won: {seen:?}");
}

#[test]
fn sixteen_rules() {
    run(16, 60_000);
}

#[test]
fn sixty_four_rules() {
    run(64, 40_000);
}

#[test]
fn eight_rules() {
    run(8, 20_000);
}

/// A rule without terms wants every frame, if it is valid; nothing is wanted after reset.
#[test]
fn empty_rule() {
    let mut bench = Bench::new(16);
    let outcome = |bench: &mut Bench| {
        bench.dut.set("rule_write", 0);
        bench.dut.set("parsed_valid", 1);
        bench.dut.tick();
        bench.dut.set("parsed_valid", 0);
        for _ in 1..LATENCY {
            bench.dut.tick();
        }
        bench.dut.eval();
        assert!(bench.dut.high("matched_valid"));
        bench.dut.high("matched_drop").then(|| bench.dut.get("matched_reason") as usize)
    };
    assert_eq!(outcome(&mut bench), Some(reasons::NO_RULE));
    bench.write_rule(5, Rule { valid: true, action: 2, ..Rule::default() });
    bench.dut.tick();
    assert_eq!(outcome(&mut bench), None);
    bench.write_rule(3, Rule { valid: true, action: 0, ..Rule::default() });
    bench.dut.tick();
    assert_eq!(outcome(&mut bench), Some(reasons::RULE_DROP), "the lower number wins");
    bench.write_rule(3, Rule::default());
    bench.dut.tick();
    assert_eq!(outcome(&mut bench), None);
}
