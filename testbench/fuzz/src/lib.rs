//! Property tests of the parsers of outside data, without a nightly compiler.
//!
//! [`run`] gives a property so many cases. A case is a [`Source`] of choices: the property makes its input of them, by a
//! grammar or by mutations of an example ([`Source::mutated`]), hands it to the parser, and says whether the parser took
//! it. A panic is a failure, and so is a case that does not end within [`CASE_LIMIT`]. A run in which the parser took
//! nothing, or refused nothing, fails as well: its generator has missed the parser.
//!
//! | variable | meaning |
//! |---|---|
//! | `SPINDLE_SEED` | another set of cases, or `random`; without it those of two fixed seeds and of a fresh one |
//! | `SPINDLE_FUZZ_CASES` | number of cases, instead of the test's own |
//! | `SPINDLE_FUZZ_CASE` | one case, by the seed that a failure prints |
//! | `SPINDLE_FUZZ_MINIMIZE` | with that: look for a shorter one for so many seconds |
//! | `SPINDLE_FUZZ_REPORT` | folder for the counts, a file for each parser |
//!
//! ```
//! spindle_fuzz::run("number", 100, |source| {
//!     let text = source.text(&["1", "20", "x"]);
//!     let number = text.parse::<u32>();
//!     number.map(|number| assert_eq!(number.to_string().parse(), Ok(number))).is_ok()
//! });
//! ```
#![warn(missing_docs)]

mod mutation;
mod program;
mod source;
mod watch;

pub use program::Program;
pub use source::Source;
pub use watch::CASE_LIMIT;

use arbtest::arbtest;
use serde::{Deserialize, Serialize};
use spindle_testing::seeds_of_run;
use std::path::Path;
use std::time::{Duration, Instant};
use watch::Watch;

/// Fewest and most bytes of choices in a case.
const BYTES: std::ops::Range<u64> = 16..768;

/// What a run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Cases.
    pub cases: u64,
    /// Those of them that the parser took.
    pub taken: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Gives `property` `quick` cases, or as many as `SPINDLE_FUZZ_CASES` says. It returns whether the parser took its input.
///
/// # Panics
/// The property panics; or the parser took all inputs, or none.
pub fn run(parser: &str, quick: u64, property: impl FnMut(&mut Source) -> bool) {
    let counts = cases(parser, quick, property);
    if counts.cases > 1 {
        let Counts { cases, taken, .. } = counts;
        assert!(taken > 0, "{parser} took none of {cases} inputs: the generator does not know its language");
        assert!(taken < cases, "{parser} took all of {cases} inputs: the generator makes no mistakes");
    }
}

/// As [`run`], of a parser that takes everything.
///
/// # Panics
/// The property panics.
pub fn run_total(parser: &str, quick: u64, mut property: impl FnMut(&mut Source)) {
    cases(parser, quick, |source| {
        property(source);
        true
    });
}

fn cases(parser: &str, quick: u64, mut property: impl FnMut(&mut Source) -> bool) -> Counts {
    let begin = Instant::now();
    let mut counts = Counts::default();
    let watch = Watch::begin(parser);
    let mut case = |seed: u64, counts: &mut Counts| {
        watch.next(seed);
        let taken = |u: &mut arbtest::arbitrary::Unstructured| {
            counts.cases += 1;
            counts.taken += u64::from(property(&mut Source::new(u)));
            Ok(())
        };
        match number("SPINDLE_FUZZ_MINIMIZE") {
            Some(seconds) => arbtest(taken).seed(seed).budget(Duration::from_secs(seconds)).minimize().run(),
            None => arbtest(taken).seed(seed).run(),
        }
    };
    if let Some(seed) = number("SPINDLE_FUZZ_CASE") {
        case(seed, &mut counts);
        return counts;
    }
    // The seeds of the run take turns.
    let bases = seeds_of_run(&format!("fuzz_{parser}"));
    for at in 0..number("SPINDLE_FUZZ_CASES").unwrap_or(quick) {
        let seed = seed_of(bases[at as usize % bases.len()], at);
        let failed = Failed { parser, seed };
        case(seed, &mut counts);
        std::mem::forget(failed);
    }
    counts.seconds = begin.elapsed().as_secs_f64();
    if let Some(folder) = std::env::var_os("SPINDLE_FUZZ_REPORT") {
        let text = serde_json::to_string(&counts).expect("numbers are JSON");
        let path = Path::new(&folder).join(format!("{parser}.json"));
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
    counts
}

/// The seed of a case: arbtest takes the number of bytes from its low half, and what they are from its high half.
fn seed_of(base: u64, case: u64) -> u64 {
    // SplitMix64: neighbouring cases share nothing.
    let mut number = base.wrapping_add(case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^= number >> 31;
    // Short cases are as likely as long ones of twice the length.
    let span = (BYTES.end / BYTES.start).ilog2();
    let bytes = BYTES.start << (number % u64::from(span + 1));
    let bytes = (bytes + (number >> 8) % bytes).min(BYTES.end);
    (number >> 32 << 32) | bytes
}

/// A number of the environment, decimal or hexadecimal.
///
/// # Panics
/// The variable is set to something else.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let digits = text.strip_prefix("0x");
    let number = digits.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
    Some(number.unwrap_or_else(|_| panic!("{name}={text} is no number; give one such as 1000 or 0x1f")))
}

/// Says how a failed case is repeated.
struct Failed<'a> {
    parser: &'a str,
    seed: u64,
}

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        eprintln!("{}", repetition(self.parser, self.seed));
    }
}

fn repetition(parser: &str, seed: u64) -> String {
    format!("fuzz_{parser}: repeat with SPINDLE_FUZZ_CASE={seed:#x}; SPINDLE_FUZZ_MINIMIZE=10 looks for a shorter case")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn cases_differ_in_bytes_and_length() {
        let seeds: Vec<u64> = (0..1000).map(|case| seed_of(5, case)).collect();
        assert_eq!(seeds.iter().collect::<HashSet<_>>().len(), 1000);
        let lengths: Vec<u64> = seeds.iter().map(|seed| seed & 0xFFFF_FFFF).collect();
        assert!(lengths.iter().all(|length| (BYTES.start..=BYTES.end).contains(length)));
        let short = lengths.iter().filter(|length| **length < 64).count();
        assert!((200..500).contains(&short), "{short} of 1000 cases have less than 64 bytes");
    }

    #[test]
    fn the_same_cases_come_again() {
        let inputs = || {
            let mut inputs = Vec::new();
            run("example", 50, |source| {
                inputs.push((source.number(), source.bytes(20)));
                source.chance(2)
            });
            inputs
        };
        let first = inputs();
        assert_eq!(first.len(), 50);
        assert_eq!(first, inputs());
    }

    #[test]
    #[should_panic(expected = "took none")]
    fn a_generator_that_misses_the_parser_fails() {
        run("nothing", 10, |_| false);
    }

    #[test]
    #[should_panic(expected = "took all")]
    fn a_generator_without_mistakes_fails() {
        run("all", 10, |_| true);
    }

    #[test]
    #[should_panic(expected = "found")]
    fn a_panic_of_the_parser_fails() {
        run("panic", 1000, |source| {
            assert!(source.number() != 4096, "found");
            source.chance(2)
        });
    }
}
