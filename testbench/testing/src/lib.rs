//! What a test of any crate uses: the seeds under which a random test runs, and a comparison whose failure explains itself.
//!
//! ```
//! use rand::Rng;
//! spindle_testing::with_seeds(|| {
//!     let mut rng = spindle_testing::seeded_rng("doubled");
//!     let number: u32 = rng.random_range(0..1000);
//!     assert_eq!(number + number, 2 * number);
//! });
//! ```
//!
//! # Seeds
//!
//! A variation is a number that varies every random test. [`with_seeds`] runs a test under the variations of the run: 0, which
//! never changes, and a fresh one. A test that draws no seed runs once, and so does a test that draws outside of
//! `with_seeds`, because it takes long: under the fresh one. A failure names the command that repeats it.
//!
//! | variable | meaning |
//! |---|---|
//! | `SPINDLE_SEED` | the only variation: a number, or `random` |
//! | `SPINDLE_FRESH_SEED` | the fresh variation; without it each process draws one |
//! | `SPINDLE_VCD` | waves are recorded: the variation is 0 unless `SPINDLE_SEED` names one |
//! | `SPINDLE_RANDOM_TESTS` | a file: each test that draws a seed adds a line, for `cargo xtask test --seeds` |

mod bytes;
mod compare;
mod describe;
mod difference;
mod place;
mod scope;
mod seed;

pub use compare::Parts;
#[doc(hidden)]
pub use compare::{differ, indexed, parts_differ};
pub use describe::Side;
pub use place::Live;
pub use scope::{repeat_command, repeated, test_name, variation, with_seeds};
pub use seed::{seed_of, seed_of_run, seeded_rng, seeds_of_run, share};
