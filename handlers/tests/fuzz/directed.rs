//! What fuzzing has found, one test each.

use spindle::Image;
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_fuzz::Program;
use spindle_sdk::Code;
use std::time::{Duration, Instant};

/// `jal ra, 4`, `jal x0, 4`, `jalr x0, x5`.
const CALL: u32 = 0x0040_00EF;
const JUMP: u32 = 0x0040_006F;
const THROUGH: u32 = 0x0002_8067;

/// The reasons for which the header handler of a program has no bound. Each word is a function of so many words. `pointers`: the
/// variables hold the addresses of all functions.
fn reasons(words: Vec<u32>, long: usize, pointers: bool) -> Vec<String> {
    let count = words.len();
    let function = |at: usize| (base(CODE) + 4 * at as u32, 4 * long.min(count - at) as u32, format!("f{at}"));
    let addresses = (0..if pointers { count } else { 0 }).flat_map(|at| (base(CODE) + 4 * at as u32).to_le_bytes());
    let file = Program {
        data: (base(CONTEXT), addresses.collect()),
        functions: (0..count).map(function).collect(),
        code: (base(CODE), words.into_iter().flat_map(u32::to_le_bytes).collect()),
        globals: vec![(base(CODE), "header_handler".into())],
        ..Program::default()
    }
    .file();
    let image = Image::parse(&file).unwrap();
    let begin = Instant::now();
    let mut handlers = Code::of(&file).unwrap().handlers(&image);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    handlers.remove(0).unbounded
}

/// Calls were followed by calls, as deep as the image is long, and each kept the names of all below.
#[test]
fn a_chain_of_calls_as_long_as_the_image_has_no_bound() {
    for word in [CALL, JUMP] {
        let reasons = reasons(vec![word; 8000], 1, false);
        assert!(reasons.iter().any(|reason| reason.contains("deep")), "{reasons:?}");
    }
}

/// Functions may overlap, as labels of assembly do. Each was walked from its start to the end of the code.
#[test]
fn functions_that_all_end_at_the_end_of_the_code_are_not_all_walked() {
    for (word, pointers) in [(CALL, false), (JUMP, false), (THROUGH, false), (THROUGH, true)] {
        reasons(vec![word; 8000], usize::MAX, pointers);
        reasons(vec![word; 8000], 1, pointers);
    }
}
