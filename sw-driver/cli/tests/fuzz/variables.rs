//! `--set` and `--set-file`: the bytes that an option names get the values that it gives, and no other byte changes.

use spindle::Image;
use spindle_cli::run::VariableArguments;
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_fuzz::{Program, Source};
use spindle_sdk::Handler;

const NAMES: [&str; 7] = ["count", "table", "x", "a.b", "_", "é", "count2"];
const WORDS: [&str; 32] = [
    "count",
    "table",
    "x",
    "=",
    ",",
    "[",
    "]",
    ":",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "0",
    "1",
    "-1",
    "0x",
    "0b101",
    "255",
    "256",
    "-129",
    "18446744073709551615",
    "18446744073709551616",
    "170141183460469231731687303715884105727",
    "_",
    "é",
    " ",
    "[3]",
    "[-1]",
    "main",
    "+",
    "0x-1",
];

/// A handler with variables, one after another with gaps: name, offset and bytes of each.
fn handler(source: &mut Source) -> (Handler, Vec<(String, usize, usize)>) {
    let mut variables = Vec::new();
    let mut offset = 0;
    for name in &NAMES[..1 + source.below(NAMES.len())] {
        let bytes: usize = *source.pick(&[4, 1, 2, 8, 3, 12, 16, 64, 5]);
        offset += 8 * source.below(3);
        variables.push((name.to_string(), offset, bytes));
        offset += bytes.next_multiple_of(8);
    }
    let program = Program {
        code: (base(CODE), vec![0x13, 0, 0, 0]),
        data: (base(CONTEXT), (0..offset + 8).map(|byte| byte as u8).collect()),
        functions: vec![(base(CODE), 4, "main".into())],
        variables: variables
            .iter()
            .map(|(name, offset, bytes)| (base(CONTEXT) + *offset as u32, *bytes as u32, name.clone()))
            .collect(),
        globals: vec![(base(CODE), "header_handler".into())],
        ..Program::default()
    };
    let elf = program.file();
    let image = Image::parse(&elf).unwrap_or_else(|error| panic!("{error}"));
    let handler = Handler { name: "fuzz".into(), image, elf, compiler: None, stack: vec![], shipped: None };
    (handler, variables)
}

/// An option and what it changes: offset and bytes. `None`: it cannot be carried out.
fn setting(source: &mut Source, variables: &[(String, usize, usize)]) -> (String, Option<(usize, Vec<u8>)>) {
    let (name, offset, bytes) = source.pick(variables);
    let stated = source.chance(2).then(|| *source.pick(&[1usize, 2, 4, 8]));
    let most = if source.chance(4) { 9 } else { 2 };
    let index = source.chance(2).then(|| source.below(most));
    // As the manual says: a variable of the size of a number is one, any other is an array of words.
    let whole = matches!(bytes, 1 | 2 | 4 | 8) && index.is_none();
    let width = stated.unwrap_or(if whole { *bytes } else { 4 });
    let mut text = name.clone();
    if let Some(width) = stated {
        text += &format!(":u{}", 8 * width);
    }
    if let Some(index) = index {
        text += &format!("[{index}]");
    }
    text += "=";
    let count = if source.chance(3) { 1 + source.below(3) } else { 1 };
    let mut content = Vec::new();
    let mut fits = true;
    for at in 0..count {
        let value = match source.below(4) {
            0 => i128::from(source.number()),
            1 => -i128::from(source.word()),
            _ => i128::from(source.number() >> (64 - 8 * width)),
        };
        let limit = 1i128 << (8 * width);
        fits &= (-limit / 2..limit).contains(&value);
        content.extend(&value.to_le_bytes()[..width]);
        text += if at > 0 { "," } else { "" };
        text += &match (source.below(3), value >= 0) {
            (0, true) => format!("{value:#x}"),
            (1, true) => format!("{value:#b}"),
            _ => value.to_string(),
        };
    }
    let (elements, first) = (bytes / width, index.unwrap_or(0));
    let known = bytes % width == 0 && first + count <= elements && (index.is_some() || count > 1 || elements == 1);
    (text, (known && fits).then(|| (offset + first * width, content)))
}

fn arguments(set: &str) -> VariableArguments {
    VariableArguments { set: vec![set.into()], set_file: vec![], show: vec![] }
}

#[test]
fn fuzz_variable() {
    spindle_fuzz::run("variable", 3000, |source| {
        let (mut handler, variables) = handler(source);
        let before = handler.image.state.clone();
        let (text, change) = setting(source, &variables);
        match (arguments(&text).apply(&mut handler), change) {
            (Ok(()), Some((offset, bytes))) => {
                let mut wanted = before.clone();
                wanted[offset..offset + bytes.len()].copy_from_slice(&bytes);
                assert_eq!(handler.image.state, wanted, "{text}");
            }
            (Err(error), None) => {
                assert!(error.to_string().contains(&text) && handler.image.state == before, "{error:#}")
            }
            (applied, change) => panic!("{text}: {applied:?} is not {change:?}"),
        }
        let damaged = source.mutated_text(&text, &WORDS);
        let mut arguments = arguments(&damaged);
        if source.chance(3) {
            arguments.show.push(source.mutated_text(text.split('=').next().unwrap_or_default(), &WORDS));
        }
        let before = handler.image.state.clone();
        match arguments.apply(&mut handler) {
            Ok(()) => {
                let (name, values) = damaged.split_once('=').expect("a setting has two sides");
                // What changes lies in the variable.
                let name = name.split([':', '[']).next().unwrap_or_default().trim();
                let (_, offset, bytes) = variables.iter().find(|known| known.0 == name).expect("it is one of them");
                for (at, (old, new)) in before.iter().zip(&handler.image.state).enumerate() {
                    assert!(old == new || (*offset..offset + bytes).contains(&at), "{damaged}: byte {at}");
                }
                for value in values.split(',').map(str::trim) {
                    let digits = value.strip_prefix('-').unwrap_or(value);
                    assert!(digits.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{damaged:?}");
                }
                true
            }
            Err(_) => {
                assert_eq!(handler.image.state, before, "{damaged}");
                false
            }
        }
    });
}
