//! Seeds: made of a name and of the variation, so tests differ from each other under every variation, and so do the batches
//! of a test that draws under several names.

use crate::scope;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::sync::OnceLock;

/// The variation under which every run tries a random test.
const FIXED: u64 = 0;

/// The seed of `name` under the variation that this thread tries. The test counts as a random one.
pub fn seed_of_run(name: &str) -> u64 {
    seed_of(name, scope::draw())
}

/// A generator seeded by [`seed_of_run`].
pub fn seeded_rng(name: &str) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed_of_run(name))
}

/// The seeds of `name` under all variations of the run, for a test that takes turns among them. The test counts as a random one.
pub fn seeds_of_run(name: &str) -> Vec<u64> {
    scope::draw();
    variations().iter().map(|variation| seed_of(name, *variation)).collect()
}

/// The part of a long test's rounds, bytes or cycles that falls to one variation, so that the sum over the variations of a run
/// is `whole`. A variation that is tried alone does the whole, which begins as its part did.
pub fn share(whole: usize) -> usize {
    whole.div_ceil(variations().len())
}

/// The variations of this run.
pub(crate) fn variations() -> &'static [u64] {
    static VARIATIONS: OnceLock<Vec<u64>> = OnceLock::new();
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
    VARIATIONS.get_or_init(|| {
        let recorded = variable("SPINDLE_VCD").is_some();
        choose(variable("SPINDLE_SEED").as_deref(), variable("SPINDLE_FRESH_SEED").as_deref(), recorded)
    })
}

/// The variations for a wish, a fresh number that was given, and a run that records waves: a wave has one variation.
fn choose(wish: Option<&str>, fresh: Option<&str>, recorded: bool) -> Vec<u64> {
    // Short enough to be copied by hand, and not the fixed one.
    let random = || u64::from(rand::random_range(1..u32::MAX));
    match wish.map(str::trim) {
        Some("random") => vec![random()],
        Some(text) => vec![number("SPINDLE_SEED", text, " or `random`")],
        None if recorded => vec![FIXED],
        None => {
            let fresh = fresh.map_or_else(random, |text| number("SPINDLE_FRESH_SEED", text, ""));
            [FIXED].into_iter().chain((fresh != FIXED).then_some(fresh)).collect()
        }
    }
}

/// The number of a variable, in decimal or with `0x`.
fn number(variable: &str, text: &str, or: &str) -> u64 {
    let text = text.trim();
    let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    hex.unwrap_or_else(|| text.parse()).unwrap_or_else(|_| panic!("{variable}={text} is no seed; give a number{or}"))
}

/// The seed of `name` under a variation.
pub fn seed_of(name: &str, variation: u64) -> u64 {
    // FNV-1a of the name; then the finaliser of SplitMix64, which leaves 0 as it is, spreads the number over all bits.
    let name =
        name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut number = variation;
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    name ^ number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::{choose, seed_of, share, variations};
    use std::collections::HashSet;

    #[test]
    fn a_run_has_a_fixed_variation_and_a_fresh_one() {
        assert_eq!(choose(None, Some("77"), false), [0, 77]);
        assert_eq!(choose(None, Some("0x10"), false), [0, 16]);
        assert_eq!(choose(None, Some("0"), false), [0], "the fixed one is tried once");
        let fresh: HashSet<u64> = (0..100).map(|_| choose(None, None, false)[1]).collect();
        assert!(fresh.len() > 90 && !fresh.contains(&0), "{fresh:?}");
    }

    #[test]
    fn a_wish_is_the_only_variation() {
        assert_eq!(choose(Some("42"), Some("77"), false), [42]);
        assert_eq!(choose(Some("0x2a"), None, true), [42]);
        assert_ne!(choose(Some("random"), Some("77"), false), choose(Some("random"), Some("77"), false));
        assert_eq!(choose(None, Some("77"), true), [0], "a wave is of one run");
    }

    #[test]
    fn the_shares_of_a_run_are_the_whole() {
        let variations = variations().len();
        for whole in [1, 2, 3, 100, 6_000] {
            assert!((whole..whole + variations).contains(&(share(whole) * variations)), "{whole}");
        }
    }

    #[test]
    fn every_test_and_every_batch_has_a_seed_of_its_own_under_every_number() {
        for variation in [0, 1, 42, u64::MAX] {
            let seeds: HashSet<u64> = (0..1000).map(|batch| seed_of(&format!("batch_{batch}"), variation)).collect();
            assert_eq!(seeds.len(), 1000, "SPINDLE_SEED={variation}");
        }
        let seeds: HashSet<u64> = (0..1000).map(|variation| seed_of("a", variation)).collect();
        assert_eq!(seeds.len(), 1000);
        assert_eq!(seed_of("a", 5), seed_of("a", 5));
    }

    #[test]
    #[should_panic(expected = "SPINDLE_SEED=forty-two is no seed; give a number or `random`")]
    fn a_bad_seed_is_refused() {
        choose(Some("forty-two"), None, false);
    }
}
