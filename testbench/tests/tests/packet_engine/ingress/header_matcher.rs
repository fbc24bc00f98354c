//! The matcher against the naive model: random words, terms and rules, changed under traffic; one frame per cycle.

use crate::packet_engine::ingress::matcher_bench::{random_frame, random_set, Bench};
use packet_engine::ingress::header_matcher::rule_compiler::RuleCompiler;
use packet_engine::ingress::header_matcher::term_compiler::TermCompiler;
use rand::Rng;
use spindle_blocks::RamStyle;
use spindle_contract::descriptors::action;
use spindle_contract::params::{MATCH_BYTES, MATCH_FLAGS, MATCH_TERMS, MATCH_WORDS, MESSAGE_WORDS, WORD_TERMS};
use spindle_contract::registers::packet::RuleAction;
use spindle_harness::{run_with_wave_on_failure, share, WaveContext};
use spindle_model::packet_engine::header_matcher::{extract, Headers, Rule, RuleSet, Source, Term};

/// The most rules: every bit of the tables counts.
const RULES: usize = 64;

/// Cycles of a commit when no frame is in the way: drain, compilers, switch.
fn commit(rules: usize, style: RamStyle) -> usize {
    TermCompiler::CYCLES.max(RuleCompiler::cycles(rules, style)) + 11
}

/// One-beat and longer frames; half the time without a gap, else with gaps, now and then long ones inside a frame.
fn random_traffic(pause: &mut u64) -> impl FnMut(&mut Bench) + '_ {
    |bench| {
        let busy = bench.cycle % 3000 < 1500;
        if !busy && bench.cycle < *pause {
            return;
        }
        if !busy && bench.rng.random_bool(0.3) {
            if bench.rng.random_bool(0.01) {
                *pause = bench.cycle + bench.rng.random_range(0..1000);
            }
            return;
        }
        if !bench.busy() {
            let (frame, flags) = (random_frame(&mut bench.rng), bench.rng.random_range(0..1 << MATCH_FLAGS));
            bench.start(frame, flags);
        }
        bench.beat();
    }
}

fn run(wave: &WaveContext, rules: usize, style: RamStyle, sets: usize, host: (bool, bool)) {
    let mut bench = Bench::new(wave, &format!("header_matcher_{rules}_{}", style.attribute()), rules, style);
    bench.set_host(host.0, host.1);
    let mut pause = 0;
    for i in 0..sets {
        // Every other time only a few slots change: what is staged stays staged.
        let mut set = random_set(&mut bench.rng, rules);
        let cycles = if i % 2 == 0 {
            if i % 4 == 0 {
                // The last rule has few literals: many frames meet it.
                let last = &mut set.rules[rules - 1];
                (last.valid, last.action) = (true, action::DROP);
            }
            bench.install(&set, random_traffic(&mut pause))
        } else {
            let (t, r) = (bench.rng.random_range(0..MATCH_TERMS), bench.rng.random_range(0..rules));
            let mut mixed = bench.staged.clone();
            (mixed.terms[t], mixed.rules[r]) = (set.terms[t], set.rules[r]);
            let mut traffic = random_traffic(&mut pause);
            bench.write_term(t, mixed.terms[t]);
            traffic(&mut bench);
            bench.step();
            bench.write_rule(r, mixed.rules[r]);
            traffic(&mut bench);
            bench.step();
            bench.commit();
            let start = bench.cycle;
            while bench.committed.is_some() {
                traffic(&mut bench);
                bench.step();
            }
            (bench.cycle - start) as usize
        };
        assert!(cycles >= commit(rules, style) - 10, "a commit took {cycles} cycles");
        let mut traffic = random_traffic(&mut pause);
        for _ in 0..300 {
            traffic(&mut bench);
            bench.step();
        }
    }
    while bench.busy() {
        bench.beat();
        bench.step();
    }
    bench.drain();
    println!("{:#?}", bench.seen);
    for what in ["no_rule", "rule_drop", "runt", "bad_icrc"] {
        assert!(bench.seen.contains_key(what), "{what} never happened; the test is blind there");
    }
    assert_eq!(bench.seen.contains_key("unmatched"), host == (true, true));
    assert_eq!(bench.seen.keys().any(|k| k.starts_with("host rule ")), host.0);
    let winners = bench.seen.keys().filter_map(|k| k.trim_start_matches("host ").strip_prefix("rule "));
    let winners = winners.collect::<std::collections::HashSet<_>>().len();
    assert!(winners >= rules * 5 / 8, "few rules ever won: {winners}");
}

#[test]
fn sixty_four_rules() {
    run_with_wave_on_failure("header_matcher_sixty_four_rules", |wave| {
        run(wave, 64, RamStyle::Distributed, 24, (true, true));
    });
}

#[test]
fn sixty_four_rules_in_block_ram() {
    run_with_wave_on_failure("header_matcher_sixty_four_rules_in_block_ram", |wave| {
        run(wave, 64, RamStyle::Block, 8, (false, true));
    });
}

#[test]
fn thirty_two_rules() {
    run_with_wave_on_failure("header_matcher_thirty_two_rules", |wave| {
        run(wave, 32, RamStyle::Distributed, 10, (false, false));
    });
}

#[test]
fn eight_rules() {
    run_with_wave_on_failure("header_matcher_eight_rules", |wave| {
        run(wave, 8, RamStyle::Distributed, 16, (true, false));
    });
}

#[test]
fn eight_rules_in_block_ram() {
    run_with_wave_on_failure("header_matcher_eight_rules_in_block_ram", |wave| {
        run(wave, 8, RamStyle::Block, 16, (true, true));
    });
}

/// Each word of the first 128 bytes at every even place, with and without tag, of frames of all lengths; and the length.
#[test]
fn every_word() {
    run_with_wave_on_failure("header_matcher_every_word", |wave| {
        let mut bench = Bench::new(wave, "header_matcher_words", RULES, RamStyle::Distributed);
        let mut sources: Vec<Source> = (0..=(MATCH_BYTES - 4) / 2)
            .map(|half| Source::Frame {
                untagged: 2 * half,
                tagged: (2 * half + 4).min(MATCH_BYTES - 4 - half % 2 * 2),
            })
            .collect();
        sources.push(Source::Length);
        let mut set = RuleSet::empty(RULES);
        // A rule for each of the words that can be a message id, chosen by two flags.
        let first = bench.rng.random_range(0..RULES / MESSAGE_WORDS);
        let place = |n: usize| first + RULES / MESSAGE_WORDS * n;
        for n in 0..MESSAGE_WORDS {
            let flag = |f: usize, clear: usize| if n >> f & 1 == clear { 1u128 << (MATCH_TERMS + 2 + f) } else { 0 };
            set.rules[place(n)] = Rule {
                valid: true,
                action: 1,
                message: RuleAction::MESSAGE_FIELD,
                message_word: n,
                positive: flag(0, 1) | flag(1, 1),
                negative: flag(0, 0) | flag(1, 0),
                ..Rule::default()
            };
        }
        for four in sources.chunks(MESSAGE_WORDS) {
            for (n, source) in four.iter().enumerate() {
                set.sources[MATCH_WORDS - MESSAGE_WORDS + n] = *source;
            }
            bench.install(&set, |_| ());
            for length in (14..=200).rev() {
                let mut frame = vec![0; length];
                bench.rng.fill(&mut frame[..]);
                let flags = bench.rng.random_range(0..1 << MATCH_FLAGS);
                bench.start(frame, flags);
                while bench.busy() {
                    bench.beat();
                    bench.step();
                }
            }
            bench.drain();
        }
        assert!((0..4).all(|n| bench.seen[&format!("rule {}", place(n))] > 100), "{:?}", bench.seen);
    });
}

/// All words at once, with and without tag: a rule wins if every word is exactly that of one frame, so that a bit of any word that
/// differs changes the rule. In the course of the test each word comes to each even place.
#[test]
fn every_bit_of_every_word() {
    const HALVES: usize = (MATCH_BYTES - 4) / 2 + 1;
    run_with_wave_on_failure("header_matcher_every_bit", |wave| {
        let mut bench = Bench::new(wave, "header_matcher_bits", RULES, RamStyle::Distributed);
        let rounds = share(4 * HALVES);
        let start = bench.rng.random_range(0..2 * HALVES);
        for round in start..start + rounds {
            let length = if round % 4 == 3 { bench.rng.random_range(14..=200) } else { MATCH_BYTES + round % 70 };
            let mut frame = vec![0; length];
            bench.rng.fill(&mut frame[..]);
            let mut set = RuleSet::empty(RULES);
            let first = 2 * bench.rng.random_range(0..RULES / 2);
            for (word, source) in set.sources.iter_mut().enumerate() {
                let half = (round + 7 * word) % HALVES;
                // The places of a word with and without tag are both odd halves or both even ones.
                let other = half % 2 + 2 * ((round / 2 + 3 * word) % (HALVES.div_ceil(2) - half % 2));
                *source = Source::Frame { untagged: 2 * half, tagged: 2 * other };
            }
            set.sources[round % MATCH_WORDS] = Source::Length;
            for (rule, vlan) in [false, true].into_iter().enumerate() {
                let headers = Headers { frame: &frame, vlan, flags: 0 };
                // The vlan flag is the first literal after the terms.
                let flag = 1 << MATCH_TERMS;
                let mut positive = if vlan { flag } else { 0 };
                for word in 0..MATCH_WORDS {
                    let slot = word * WORD_TERMS + (round + rule) % WORD_TERMS;
                    let value = extract(set.sources[word], &headers);
                    set.terms[slot] = Term { mask: u32::MAX, low: value, high: value };
                    positive |= 1 << slot;
                }
                set.rules[first + rule] =
                    Rule { valid: true, action: 1, positive, negative: if vlan { 0 } else { flag }, ..Rule::default() };
            }
            bench.install(&set, |_| ());
            for n in 0..8 {
                let mut frame = frame.clone();
                // Most frames differ in one bit of a word.
                let source = set.sources[bench.rng.random_range(0..MATCH_WORDS)];
                if let (2.., Source::Frame { untagged, tagged }) = (n, source) {
                    let place = if n % 2 == 1 { tagged } else { untagged };
                    let at = (place + bench.rng.random_range(0..4)).min(length - 1);
                    frame[at] ^= 1 << bench.rng.random_range(0..8);
                }
                let flags = (bench.rng.random_range(0..1 << MATCH_FLAGS) & !1) + n % 2;
                bench.start(frame, flags);
                while bench.busy() {
                    bench.beat();
                    bench.step();
                }
            }
            bench.drain();
        }
        // One frame in twenty is dropped for a reason of the parser.
        let won = |parity: usize| -> usize {
            let of = |rule: usize| bench.seen.get(&format!("rule {rule}")).copied().unwrap_or(0);
            (parity..RULES).step_by(2).map(of).sum()
        };
        assert!((0..2).all(|parity| 5 * won(parity) > 4 * rounds), "{:?}", bench.seen);
        assert!(bench.seen["no_rule"] > 3 * rounds, "{:?}", bench.seen);
    });
}

/// A frame that stays open is judged by the set of its first beat, however many commits follow; the second one waits for it.
fn an_open_frame(wave: &WaveContext, style: RamStyle) {
    let cycles = commit(8, style);
    let mut bench = Bench::new(wave, "header_matcher_open", 8, style);
    let mut set = RuleSet::empty(8);
    set.rules[2] = Rule { valid: true, action: 1, context: 3, ..Rule::default() };
    assert_eq!(bench.install(&set, |_| ()), cycles, "cycles of a commit");
    bench.start(vec![1; 100], 0);
    bench.beat();
    bench.step();
    set.rules[2] = Rule::default();
    set.rules[1] = Rule { valid: true, action: 1, context: 4, ..Rule::default() };
    bench.install(&set, |_| ());
    bench.write_rule(1, Rule { valid: true, action: 2, ..Rule::default() });
    bench.step();
    bench.commit();
    for _ in 0..3 * cycles {
        bench.step();
        assert!(bench.committed.is_some(), "the tables of an open frame were written");
    }
    bench.beat();
    bench.step();
    while bench.committed.is_some() {
        bench.step();
    }
    bench.start(vec![1; 60], 0);
    bench.beat();
    bench.step();
    bench.drain();
    assert_eq!((bench.seen["rule 2"], bench.seen["rule 1"]), (1, 1), "{:?}", bench.seen);
}

#[test]
fn an_open_frame_keeps_its_set() {
    run_with_wave_on_failure("header_matcher_an_open_frame_keeps_its_set", |wave| {
        an_open_frame(wave, RamStyle::Distributed);
        an_open_frame(wave, RamStyle::Block);
    });
}

/// A frame that began after a reset and before the first set is wanted by no rule, whatever the tables hold from before the reset.
#[test]
fn a_reset_forgets_both_sets() {
    run_with_wave_on_failure("header_matcher_reset", |wave| {
        let mut bench = Bench::new(wave, "header_matcher_reset", RULES, RamStyle::Distributed);
        let mut set = RuleSet::empty(RULES);
        set.rules[2] = Rule { valid: true, action: 1, context: 3, ..Rule::default() };
        for _ in 0..2 {
            bench.install(&set, |_| ());
        }
        for _ in 0..8 {
            bench.reset();
            bench.start(vec![1; 100], 0);
            bench.beat();
            bench.step();
            bench.install(&set, |_| ());
            bench.beat();
            bench.step();
            bench.drain();
        }
        assert!(bench.seen["no_rule"] > 4 && !bench.seen.contains_key("rule 2"), "{:?}", bench.seen);
    });
}

/// A rule without literals wants every frame, if it is valid; the lowest number wins; nothing is wanted after reset.
fn empty(wave: &WaveContext, style: RamStyle) {
    let mut bench = Bench::new(wave, "header_matcher_empty", RULES, style);
    let mut rng = wave.rng();
    let mut outcome = |rules: &[(usize, Rule)]| {
        let mut set = RuleSet::empty(RULES);
        rules.iter().for_each(|(r, rule)| set.rules[*r] = *rule);
        if !rules.is_empty() {
            bench.install(&set, |_| ());
        }
        bench.seen.clear();
        for _ in 0..20 {
            bench.start(vec![0; 60], 0);
            bench.beat();
            bench.step();
        }
        bench.drain();
        bench.seen.remove("runt");
        let mut seen: Vec<(String, usize)> = bench.seen.drain().collect();
        seen.sort_by_key(|(_, times)| *times);
        seen.pop().expect("something happens").0
    };
    let context = Rule { valid: true, action: 1, ..Rule::default() };
    assert_eq!(outcome(&[]), "no_rule");
    assert_eq!(outcome(&[(63, context)]), "rule 63");
    assert_eq!(outcome(&[(63, context), (51, context)]), "rule 51");
    assert_eq!(outcome(&[(63, context), (51, context), (3, Rule { action: 0, ..context })]), "rule_drop");
    assert_eq!(outcome(&[(63, context), (51, Rule { valid: false, ..context })]), "rule 63");
    // Each rule, with any rules after it that are valid and any before it that are not.
    for r in 0..RULES {
        let valid = |other: usize, any: bool| other == r || other > r && any;
        let rules: Vec<(usize, Rule)> =
            (0..RULES).map(|other| (other, Rule { valid: valid(other, rng.random_bool(0.2)), ..context })).collect();
        assert_eq!(outcome(&rules), format!("rule {r}"));
    }
}

#[test]
fn empty_rule() {
    run_with_wave_on_failure("header_matcher_empty_rule", |wave| {
        empty(wave, RamStyle::Distributed);
        empty(wave, RamStyle::Block);
    });
}
