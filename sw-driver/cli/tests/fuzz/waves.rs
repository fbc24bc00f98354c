//! The arguments of waves, as the command line takes them.

use clap::Parser;
use spindle_cli::waves::WaveArguments;
use spindle_harness::WaveScope;

const WORDS: [&str; 20] = [
    "..",
    "...",
    "all",
    "interfaces",
    "nic",
    "nic.parser",
    "rx_*",
    ",",
    ",,",
    " ",
    "0",
    "1",
    "_",
    "-1",
    "+1",
    "0x10",
    "18446744073709551615",
    "18446744073709551616",
    "é",
    ".",
];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    waves: WaveArguments,
}

#[test]
fn fuzz_wave() {
    spindle_fuzz::run("wave", 1000, |source| {
        let (from, to) = (source.number(), source.number());
        let window = match source.below(3) {
            0 => format!("{from}..{to}"),
            1 => format!("{from}.."),
            _ => format!("..{to}"),
        };
        let (from, to) =
            (if window.starts_with('.') { 0 } else { from }, if window.ends_with('.') { u64::MAX } else { to });
        let paths: Vec<String> =
            (0..1 + source.below(3)).map(|_| source.pick(&["nic.a", "nic.b*", "tx"]).to_string()).collect();
        let scope = match source.below(3) {
            0 => (WaveScope::All, "all".to_string()),
            1 => (WaveScope::Groups, "interfaces".to_string()),
            _ => (WaveScope::Paths(paths.clone()), paths.join(", ")),
        };
        let request = |window: &str, scope: &str| {
            let line = [
                "spindle".to_string(),
                "--vcd=x.fst".into(),
                format!("--vcd-window={window}"),
                format!("--vcd-scope={scope}"),
            ];
            let line = Line::try_parse_from(line).map_err(|error| error.to_string())?;
            let request = line.waves.request().map_err(|error| error.to_string())?;
            Ok::<_, String>(request.expect("a wave is asked for"))
        };
        match request(&window, &scope.1) {
            Ok(read) => assert_eq!((read.scope, read.window), (scope.0, from..to)),
            Err(error) => assert!(from >= to, "{window}: {error}"),
        }
        let (window, scope) = (source.mutated_text(&window, &WORDS), source.mutated_text(&scope.1, &WORDS));
        // No argument of a program has a zero.
        match request(&window.replace('\0', ""), &scope.replace('\0', "")) {
            Ok(request) => {
                assert!(request.window.start < request.window.end, "{window:?}");
                if let WaveScope::Paths(paths) = request.scope {
                    assert!(!paths.is_empty() && paths.iter().all(|path| !path.is_empty()), "{scope:?}");
                }
                true
            }
            Err(error) => {
                assert!(!error.is_empty());
                false
            }
        }
    });
}
