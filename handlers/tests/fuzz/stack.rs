//! Stacks of handlers: of a program whose functions have frames of known sizes and call only later ones, the bound is the
//! deepest sum; whatever code lies in a damaged image, the walk through it ends.

use spindle::Image;
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_fuzz::{Program, Source};
use spindle_sdk::{Code, Sections};

const RET: u32 = 0x0000_8067;

/// `addi sp, sp, by`.
fn adjust(by: i32) -> u32 {
    (by as u32) << 20 | 2 << 15 | 2 << 7 | 0x13
}

/// `jal ra, offset`.
fn call(offset: u32) -> u32 {
    let bits = (offset >> 20 & 1) << 31 | (offset >> 1 & 0x3FF) << 21 | (offset >> 11 & 1) << 20 | (offset & 0xF_F000);
    bits | 1 << 7 | 0x6F
}

/// A function: bytes of its frame, and the functions that it calls with and without the frame.
struct Function {
    frame: i32,
    calls: Vec<usize>,
    before: Vec<usize>,
}

/// Functions, of which each calls only later ones.
fn functions(source: &mut Source) -> Vec<Function> {
    let count = 1 + source.below(7);
    let later = |source: &mut Source, at: usize| -> Vec<usize> {
        let most = if at + 1 < count { source.below(3) } else { 0 };
        (0..most).map(|_| at + 1 + source.below(count - at - 1)).collect()
    };
    (0..count)
        .map(|at| Function { frame: 16 * source.below(20) as i32, calls: later(source, at), before: later(source, at) })
        .collect()
}

/// The file, and the depth of each function.
fn program(functions: &[Function]) -> (Vec<u8>, Vec<u32>) {
    // In front of the frame the calls without it, then the frame, its calls, its end, and the return.
    let words = |function: &Function| function.before.len() + function.calls.len() + 3;
    let starts: Vec<usize> = functions
        .iter()
        .scan(0, |next, function| {
            let start = *next;
            *next += words(function);
            Some(start)
        })
        .collect();
    let mut code: Vec<u32> = Vec::new();
    for function in functions {
        let to = |code: &Vec<u32>, target: usize| call((4 * (starts[target] - code.len())) as u32);
        for target in &function.before {
            code.push(to(&code, *target));
        }
        code.push(adjust(-function.frame));
        for target in &function.calls {
            code.push(to(&code, *target));
        }
        code.extend([adjust(function.frame), RET]);
    }
    let mut depths = vec![0u32; functions.len()];
    for (at, function) in functions.iter().enumerate().rev() {
        let own = function.frame as u32;
        let below = function.calls.iter().map(|target| own + depths[*target]);
        depths[at] = below.chain(function.before.iter().map(|target| depths[*target])).max().unwrap_or(0).max(own);
    }
    let address = |at: usize| base(CODE) + 4 * starts[at] as u32;
    let names = (0..functions.len()).map(|at| (address(at), 4 * words(&functions[at]) as u32, format!("f{at}")));
    let file = Program {
        code: (base(CODE), code.iter().flat_map(|word| word.to_le_bytes()).collect()),
        data: (base(CONTEXT), vec![0; 16]),
        functions: names.collect(),
        globals: vec![(base(CODE), "header_handler".into())],
        ..Program::default()
    };
    (file.file(), depths)
}

#[test]
fn fuzz_stack() {
    spindle_fuzz::run("stack", 2000, |source| {
        let (file, depths) = program(&functions(source));
        let image = Image::parse(&file).unwrap_or_else(|error| panic!("{error}"));
        let handlers = Code::of(&file).expect("the file is good").handlers(&image);
        let [handler] = &handlers[..] else { panic!("{handlers:?}") };
        assert_eq!((handler.bytes, handler.at_least), (Some(depths[0]), depths[0]), "{handler:?}");
        let sections = Sections::of(&file).expect("the file is good");
        assert_eq!((sections.code as usize, sections.data as usize), (image.code.len(), image.state.len()));
        let damaged = source.mutated(&file);
        let Ok(image) = Image::parse(&damaged) else { return false };
        let _ = Sections::of(&damaged);
        if let Ok(code) = Code::of(&damaged) {
            for handler in code.handlers(&image) {
                assert_eq!(handler.bytes.is_some(), handler.unbounded.is_empty(), "{handler:?}");
                assert!(handler.bytes.is_none_or(|bytes| bytes == handler.at_least), "{handler:?}");
            }
        }
        true
    });
}
