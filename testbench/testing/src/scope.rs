//! The variation that a thread tries, and what is printed if the test fails under it.

use crate::place::place;
use crate::seed::variations;
use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

/// A variation under trial.
#[derive(Clone, Copy)]
struct Trial {
    variation: u64,
    /// A seed was drawn: the test is a random one.
    drawn: bool,
}

thread_local! {
    static TRIAL: Cell<Option<Trial>> = const { Cell::new(None) };
    /// Panics of this thread were printed before.
    static REPEATED: Cell<bool> = const { Cell::new(false) };
    /// The words of the panic that comes next name place and command.
    static EXPLAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `test` under every variation of this run; once, if it draws no seed. Inside of another `with_seeds` it runs under the
/// variation of that one.
///
/// If the test fails, the command that repeats it is printed with the panic's words.
pub fn with_seeds(test: impl Fn()) {
    if TRIAL.get().is_some() {
        return test();
    }
    explain_panics();
    for variation in variations() {
        TRIAL.set(Some(Trial { variation: *variation, drawn: false }));
        let outcome = catch_unwind(AssertUnwindSafe(&test));
        let trial = TRIAL.take();
        if let Err(failure) = outcome {
            resume_unwind(failure);
        }
        if !trial.is_some_and(|trial| trial.drawn) {
            break;
        }
    }
}

/// The variation of this thread. From now on the test counts as a random one. Outside of [`with_seeds`] it is the last of the
/// run, which is the fresh one, and the command that repeats the test is printed here, as no one else can.
pub(crate) fn draw() -> u64 {
    let trial = TRIAL.get();
    if !trial.is_some_and(|trial| trial.drawn) {
        list_random_test();
    }
    TRIAL.set(trial.map(|trial| Trial { drawn: true, ..trial }));
    if trial.is_none() {
        println!("repeat it with: {}", command(Some(variation()), &package(), &test_name()));
    }
    variation()
}

/// The variation of this thread: that of [`with_seeds`], else the last of the run.
pub fn variation() -> u64 {
    TRIAL.get().map_or_else(|| *variations().last().expect("a run has one"), |trial| trial.variation)
}

/// The command that runs this test again as it ran now.
pub fn repeat_command() -> String {
    let seed = TRIAL.get().filter(|trial| trial.drawn).map(|trial| trial.variation);
    command(seed, &package(), &test_name())
}

fn command(seed: Option<u64>, package: &str, test: &str) -> String {
    let seed = seed.map_or(String::new(), |seed| format!("SPINDLE_SEED={seed} "));
    format!("{seed}cargo test -p {package} {test} -- --exact")
}

/// The package under test: cargo and nextest name it to the test.
fn package() -> String {
    std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "PACKAGE".into())
}

/// The test that runs: the runner names threads after their tests.
pub fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_string()
}

/// Has the panics of random tests, and of threads that run models, name the blocks with their cycles and the command that
/// repeats the test.
pub(crate) fn explain_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // The variables of a thread that ends are gone.
            if REPEATED.try_with(Cell::get).unwrap_or(false) {
                return;
            }
            usual(panic);
            let explained = EXPLAINED.try_with(Cell::take).unwrap_or(true);
            let place = place();
            if !explained && (place.is_some() || TRIAL.get().is_some()) {
                place.iter().for_each(|place| eprintln!("            in {place}"));
                eprintln!("  repeat it with: {}", repeat_command());
            }
        }));
    });
}

/// The words of the panic that follows name place and command themselves.
pub(crate) fn panic_is_explained() {
    EXPLAINED.set(true);
}

/// Runs `test` again after it failed, with the panics' words suppressed, since the first run has printed them. Returns
/// whether it fails again.
pub fn repeated(test: impl FnOnce()) -> bool {
    explain_panics();
    REPEATED.set(true);
    let failed = catch_unwind(AssertUnwindSafe(test)).is_err();
    REPEATED.set(false);
    EXPLAINED.set(false);
    failed
}

/// Adds the test to the list of random tests, if `cargo xtask test` keeps one: package, test.
fn list_random_test() {
    let Some(list) = std::env::var_os("SPINDLE_RANDOM_TESTS").filter(|list| !list.is_empty()) else { return };
    // One write of one line: tests run side by side.
    let line = format!("{}\t{}\n", package(), test_name());
    let file = OpenOptions::new().create(true).append(true).open(Path::new(&list));
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        panic!("the list of random tests {} cannot be written: {error}", Path::new(&list).display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{seed_of, seed_of_run};
    use std::cell::RefCell;

    #[test]
    fn a_random_test_runs_under_every_variation_and_another_once() {
        let seeds = RefCell::new(Vec::new());
        with_seeds(|| seeds.borrow_mut().push(seed_of_run("a")));
        let wanted: Vec<u64> = variations().iter().map(|variation| seed_of("a", *variation)).collect();
        assert_eq!(seeds.into_inner(), wanted);
        let runs = Cell::new(0);
        with_seeds(|| runs.set(runs.get() + 1));
        assert_eq!(runs.get(), 1);
    }

    #[test]
    fn inside_of_another_the_variation_is_that_of_the_outer_one() {
        let seeds = RefCell::new(Vec::new());
        with_seeds(|| {
            with_seeds(|| seeds.borrow_mut().push(seed_of_run("a")));
            with_seeds(|| seeds.borrow_mut().push(seed_of_run("b")));
        });
        let wanted = variations().iter().flat_map(|variation| [seed_of("a", *variation), seed_of("b", *variation)]);
        assert_eq!(seeds.into_inner(), wanted.collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_ends_the_variations_and_leaves_the_thread_as_it_was() {
        let runs = Cell::new(0);
        let failed = repeated(|| {
            with_seeds(|| {
                seed_of_run("a");
                runs.set(runs.get() + 1);
                assert!(runs.get() < 2, "the second variation fails");
            })
        });
        let wanted = variations().len().min(2);
        assert_eq!((failed, runs.get()), (wanted == 2, wanted));
        assert!(TRIAL.get().is_none() && !REPEATED.get());
    }

    #[test]
    fn the_command_names_seed_package_and_test() {
        assert_eq!(
            command(Some(7), "spindle-tests", "a::b"),
            "SPINDLE_SEED=7 cargo test -p spindle-tests a::b -- --exact"
        );
        assert_eq!(command(None, "spindle", "c"), "cargo test -p spindle c -- --exact");
        with_seeds(|| {
            assert!(!repeat_command().contains("SPINDLE_SEED"), "nothing was drawn");
            seed_of_run("a");
            assert!(repeat_command().starts_with("SPINDLE_SEED="));
            assert!(repeat_command().ends_with(&format!("{} -- --exact", test_name())));
        });
    }
}
