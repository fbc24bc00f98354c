//! Seeds of random tests: always printed, always repeatable.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The seed of the test `name`: `SPINDLE_SEED` if set (`random` takes a new one), else a fixed one made from the
/// name. It is printed, so the output of a failed test says how to repeat it.
pub fn seed_from_env(name: &str) -> u64 {
    let seed = choose(name, std::env::var("SPINDLE_SEED").ok().as_deref());
    println!("{name}: repeat with SPINDLE_SEED={seed}");
    seed
}

/// A generator seeded by [`seed_from_env`].
pub fn seeded_rng(name: &str) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed_from_env(name))
}

fn choose(name: &str, wish: Option<&str>) -> u64 {
    match wish.map(str::trim) {
        None | Some("") => fixed(name),
        Some("random") => rand::random(),
        Some(text) => {
            let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
            hex.unwrap_or_else(|| text.parse())
                .unwrap_or_else(|_| panic!("SPINDLE_SEED={text} is no seed; give a number or `random`"))
        }
    }
}

/// FNV-1a, so that tests differ from each other and stay the same from run to run.
fn fixed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn seeds_are_stable_and_can_be_chosen() {
        assert_eq!(choose("a", None), choose("a", None));
        assert_ne!(choose("a", None), choose("b", None));
        assert_eq!(choose("a", Some("42")), 42);
        assert_eq!(choose("a", Some("0x2a")), 42);
        assert_ne!(choose("a", Some("random")), choose("a", Some("random")));
    }

    #[test]
    #[should_panic(expected = "is no seed")]
    fn a_bad_seed_is_refused() {
        choose("a", Some("forty-two"));
    }
}
