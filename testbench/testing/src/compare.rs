//! `assert_eq!` whose failure explains itself.

use crate::describe::Side;
use crate::difference::{difference, equal, Words, HARDWARE, MARGIN, SOFTWARE};
use crate::place::place;
use crate::scope;
use std::fmt::Debug;

/// Compares what hardware gave with what its model says, in this order, as [`std::assert_eq`] does.
///
/// A failure names both sides: `hardware` and `model` where a model runs on the thread, else `found` and `expected`. It shows a
/// structure by its fields, bytes in hexadecimal around the first difference, each part of a tuple with the expression that gave
/// it, and names in the place of numeric reasons; then the blocks with their cycles, and the command that repeats the test.
#[macro_export]
macro_rules! assert_eq {
    (($l0:expr, $($l:expr),+ $(,)?), $right:expr $(, $($arg:tt)*)?) => {
        match (&($l0, $($l),+), &$right) {
            (found, expected) => if !(*found == *expected) {
                let names = [stringify!($l0), $(stringify!($l)),+].map(String::from);
                $crate::parts_differ(&names, found, expected, $crate::message!($($($arg)*)?))
            }
        }
    };
    ($left:expr, ($r0:expr, $($r:expr),+ $(,)?) $(, $($arg:tt)*)?) => {
        match (&$left, &($r0, $($r),+)) {
            (found, expected) => if !(*found == *expected) {
                let names = $crate::indexed(stringify!($left));
                $crate::parts_differ(&names, found, expected, $crate::message!($($($arg)*)?))
            }
        }
    };
    ($left:expr, $right:expr $(, $($arg:tt)*)?) => {
        match (&$left, &$right) {
            (found, expected) => if !(*found == *expected) {
                let sides = [$crate::Side::of(found), $crate::Side::of(expected)];
                $crate::differ(stringify!($left), stringify!($right), sides, $crate::message!($($($arg)*)?))
            }
        }
    };
}

/// The message of an assertion, if it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! message {
    () => { None };
    ($($arg:tt)+) => { Some(format!($($arg)+)) };
}

/// A tuple as its parts.
pub trait Parts {
    /// Each part, described.
    fn parts(&self) -> Vec<Side>;
}

macro_rules! parts {
    ($($name:ident)+) => {
        impl<$($name: Debug),+> Parts for ($($name,)+) {
            fn parts(&self) -> Vec<Side> {
                #[allow(non_snake_case)]
                let ($($name,)+) = self;
                vec![$(Side::of($name)),+]
            }
        }
    };
}

parts!(A B);
parts!(A B C);
parts!(A B C D);
parts!(A B C D E);
parts!(A B C D E F);
parts!(A B C D E F G);
parts!(A B C D E F G H);
parts!(A B C D E F G H I);
parts!(A B C D E F G H I J);

/// Names of the parts of a tuple that one expression gave.
#[doc(hidden)]
pub fn indexed(expression: &str) -> Vec<String> {
    (0..10).map(|part| format!("{}.{part}", short(expression))).collect()
}

/// Fails because parts of a tuple differ.
#[doc(hidden)]
#[track_caller]
pub fn parts_differ<T: Parts>(names: &[String], found: &T, expected: &T, message: Option<String>) -> ! {
    let words = words();
    let mut lines = vec![];
    let (mut differing, mut all) = (vec![], 0);
    for (name, (found, expected)) in names.iter().zip(found.parts().iter().zip(&expected.parts())) {
        let name = short(name);
        all += 1;
        if found.lines == expected.lines && found.bytes == expected.bytes {
            lines.push(equal(&name, found));
        } else {
            lines.extend(difference(Some(&name), found, expected, words));
            differing.push(format!("`{name}`"));
        }
    }
    // Values that are unequal may be written alike.
    let which = if differing.is_empty() { format!("one of {all} parts") } else { differing.join(", ") };
    fail(&which, lines, message, words)
}

/// Fails because two values differ.
#[doc(hidden)]
#[track_caller]
pub fn differ(left: &str, right: &str, [found, expected]: [Side; 2], message: Option<String>) -> ! {
    let words = words();
    let lines = difference(None, &found, &expected, words);
    fail(&format!("`{}` is not `{}`", short(left), short(right)), lines, message, words)
}

fn words() -> Words {
    if place().is_some() {
        HARDWARE
    } else {
        SOFTWARE
    }
}

#[track_caller]
fn fail(what: &str, lines: Vec<String>, message: Option<String>, words: Words) -> ! {
    let text = text(what, &lines, message, words, place(), &scope::repeat_command());
    scope::panic_is_explained();
    panic!("{text}")
}

fn text(
    what: &str,
    lines: &[String],
    message: Option<String>,
    words: Words,
    place: Option<String>,
    repeat: &str,
) -> String {
    let message = message.map_or(String::new(), |message| format!("{message}\n"));
    let place = place.map_or(String::new(), |place| format!("{MARGIN}in {place}\n"));
    format!(
        "{message}{} and {} differ: {what}\n{}\n{place}  repeat it with: {repeat}",
        words.found,
        words.expected,
        lines.join("\n")
    )
}

/// An expression of the source on one line of some length.
fn short(expression: &str) -> String {
    const MOST: usize = 60;
    let text = expression.split_whitespace().collect::<Vec<_>>().join(" ").replace(".clone()", "");
    if text.chars().count() <= MOST {
        return text;
    }
    text.chars().take(MOST).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Live;
    use crate::repeated;

    /// The words of the panic of `test`.
    fn words_of(test: impl FnOnce()) -> String {
        let words = std::cell::RefCell::new(String::new());
        repeated(|| {
            let failure = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test)).unwrap_err();
            *words.borrow_mut() = failure.downcast_ref::<String>().expect("a formatted message").clone();
            panic!();
        });
        let command = format!("cargo test -p spindle-testing {} -- --exact", crate::test_name());
        words.into_inner().replace(&command, "COMMAND")
    }

    #[derive(Debug, PartialEq)]
    struct Packet {
        frame: u16,
        reason: usize,
        cells: Vec<u32>,
        end: Option<Ends>,
    }

    #[derive(Debug, PartialEq)]
    struct Ends {
        first: u64,
        last: u64,
    }

    #[test]
    fn a_structure_is_compared_field_by_field() {
        let packet = |reason, last| Packet { frame: 3, reason, cells: vec![1, 2], end: Some(Ends { first: 7, last }) };
        let live = Live::new("parser");
        live.at(1234);
        let wanted = "frame 3
hardware and model differ: `packet(9, 8)` is not `packet(10, 9)`
            Packet {
                frame: 3,
  hardware      reason: no_rule (9),
  model         reason: rule_drop (10),
                cells: [1, 2],
                end: Some(
                    Ends {
                        first: 7,
  hardware              last: 8,
  model                 last: 9,
                    },
                ),
            ...
            in `parser` in cycle 1234
  repeat it with: COMMAND";
        let seen = words_of(|| crate::assert_eq!(packet(9, 8), packet(10, 9), "frame {}", 3));
        assert_eq!(seen, wanted);
    }

    #[test]
    fn what_is_equal_far_from_a_difference_is_left_out() {
        let mut found: Vec<Ends> = (0..20).map(|first| Ends { first, last: first + 1 }).collect();
        let expected: Vec<Ends> = (0..20).map(|first| Ends { first, last: first + 1 }).collect();
        found[12].last = 99;
        let wanted = "found and expected differ: `found` is not `expected`
            [
            ...
                Ends {
                    first: 12,
  found             last: 99,
  expected          last: 13,
                },
                Ends {
            ...
  repeat it with: COMMAND";
        assert_eq!(words_of(|| crate::assert_eq!(found, expected)), wanted);
    }

    #[test]
    fn parts_of_a_tuple_have_the_names_of_their_expressions() {
        struct Stats {
            done: u32,
            drop_reason: usize,
        }
        let stats = Stats { done: 17, drop_reason: 9 };
        let wanted = "found and expected differ: `stats.done`, `stats.drop_reason`, `bytes`
  found     stats.done: 17 (0x11)
  expected  stats.done: 16 (0x10)
  found     stats.drop_reason: no_rule (9)
  expected  stats.drop_reason: rule_drop (10)
            \"x\": \"x\"
            bytes:
            17 bytes; 1 differ; the first difference is at 0x10 (16)
            0x0000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
  found     0x0010: 01
  expected  0x0010: 00
                    ^^
  repeat it with: COMMAND";
        let mut bytes = vec![0u8; 17];
        bytes[16] = 1;
        let seen = words_of(|| {
            let bytes = bytes.clone();
            crate::assert_eq!((stats.done, stats.drop_reason, "x", bytes), (16, 10, "x", vec![0; 17]))
        });
        assert_eq!(seen, wanted);
        let pair = (1, 2);
        let wanted = "found and expected differ: `pair.1`
            pair.0: 1
  found     pair.1: 2
  expected  pair.1: 3
  repeat it with: COMMAND";
        assert_eq!(words_of(|| crate::assert_eq!(pair, (1, 3))), wanted);
    }

    #[test]
    fn texts_of_several_lines_are_compared_line_by_line() {
        let wanted = "found and expected differ: `text` is not `\"a\\nc\"`
            a
  found     b
  expected  c
  repeat it with: COMMAND";
        let text = "a\nb".to_owned();
        assert_eq!(words_of(|| crate::assert_eq!(text, "a\nc")), wanted);
    }

    #[test]
    fn what_std_compares_is_compared() {
        crate::assert_eq!(1, 1);
        crate::assert_eq!((1, 2), (1, 2));
        crate::assert_eq!((1, 2).1, 2, "a message {}", 1);
        crate::assert_eq!((1 + 1) * 2, 4,);
        crate::assert_eq!((), ());
        crate::assert_eq!(vec!["a"], ["a".to_owned()]);
        crate::assert_eq!([1u8, 2][..], *vec![1, 2]);
        crate::assert_eq!(Some((1, "b")), Some((1, "b")),);
        let pairs = [(1, 2)];
        for pair in &pairs {
            crate::assert_eq!(*pair, (1, 2));
        }
    }
}
