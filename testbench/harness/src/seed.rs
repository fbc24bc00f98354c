//! Seeds of random tests: always printed, always repeatable.
//!
//! A seed is made of the test's name and of a number that varies all tests, `SPINDLE_SEED`. So tests differ from each
//! other under every number, and so do the batches of a test that runs under several names.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The seed of the test `name` under `SPINDLE_SEED`: a number, `random` for a new one, 0 if not set. What repeats the
/// test is printed, so the output of a failed test holds it.
pub fn seed_from_env(name: &str) -> u64 {
    let variation = variation_from_env();
    println!("{name}: repeat with SPINDLE_SEED={variation}");
    seed_of(name, variation)
}

/// A generator seeded by [`seed_from_env`].
pub fn seeded_rng(name: &str) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed_from_env(name))
}

/// The number of `SPINDLE_SEED`, one for the whole process.
pub(crate) fn variation_from_env() -> u64 {
    // One random number, so that a repetition with a wave and all batches of a test have the same.
    static VARIATION: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *VARIATION.get_or_init(|| choose(std::env::var("SPINDLE_SEED").ok().as_deref()))
}

fn choose(wish: Option<&str>) -> u64 {
    match wish.map(str::trim) {
        None | Some("") => 0,
        Some("random") => rand::random(),
        Some(text) => {
            let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
            hex.unwrap_or_else(|| text.parse())
                .unwrap_or_else(|_| panic!("SPINDLE_SEED={text} is no seed; give a number or `random`"))
        }
    }
}

/// The seed of the test `name` in the variation of this number.
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
    use super::{choose, seed_of};
    use std::collections::HashSet;

    #[test]
    fn numbers_can_be_chosen() {
        assert_eq!([choose(None), choose(Some("")), choose(Some("42")), choose(Some("0x2a"))], [0, 0, 42, 42]);
        assert_ne!(choose(Some("random")), choose(Some("random")));
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
    #[should_panic(expected = "is no seed")]
    fn a_bad_seed_is_refused() {
        choose(Some("forty-two"));
    }
}
