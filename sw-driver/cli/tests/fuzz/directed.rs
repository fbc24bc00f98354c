//! What fuzzing has found, one test each.

use spindle::Image;
use spindle_cli::card::network::Numbered;
use spindle_cli::card::values::{bytes, number};
use spindle_cli::run::VariableArguments;
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_fuzz::Program;
use spindle_sdk::Handler;

/// Sets a variable of a handler that has one of four bytes, `count`.
fn set(text: &str) -> anyhow::Result<()> {
    let program = Program {
        code: (base(CODE), vec![0x13, 0, 0, 0]),
        data: (base(CONTEXT), vec![0; 4]),
        variables: vec![(base(CONTEXT), 4, "count".into())],
        globals: vec![(base(CODE), "header_handler".into())],
        ..Program::default()
    };
    let elf = program.file();
    let image = Image::parse(&elf).unwrap();
    let mut handler = Handler { name: "h".into(), image, elf, compiler: None, stack: vec![], shipped: None };
    VariableArguments { set: vec![text.into()], set_file: vec![], show: vec![] }.apply(&mut handler)
}

/// `from_str_radix` takes a sign, also after 0x.
#[test]
fn a_sign_is_no_digit() {
    for text in ["+5", "0x+5", "0x-0", "_", "0x_", ""] {
        assert!(number(text).is_err(), "{text}");
    }
    assert!(bytes("+1K").is_err());
    for value in ["+5", "0x-5", "0x+5", "--5", "-0x5", "0b-1"] {
        let error = format!("{:#}", set(&format!("count={value}")).unwrap_err());
        assert!(error.contains("is no number"), "{error}");
    }
    set("count=-5").unwrap();
    set("count=0x5").unwrap();
    for text in ["+1", "1=+2:00:00:00:00:01,10.0.0.1", "1=02:00:00:00:00:01,10.0.0.1:+9"] {
        assert!(text.parse::<Numbered>().is_err(), "{text}");
    }
}
