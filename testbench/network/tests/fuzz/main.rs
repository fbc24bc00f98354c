//! Fuzzing of studies: a damaged file is a study that can be cut into ranks, or a sentence with file and line. See `docs/trust.md`.

use spindle_fuzz::Source;
use spindle_network::cases::Cases;
use spindle_network::study::{Nodes, Study};

/// Values, keys and tables that come into a file.
const WORDS: [&str; 50] = [
    "0",
    "1",
    "-1",
    "3",
    "255",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "1e308",
    "1e-9",
    "nan",
    "inf",
    "true",
    "\"\"",
    "'é'",
    "[]",
    "[0]",
    "[1, 2]",
    "[4294967295, 2]",
    "{}",
    "=",
    "[",
    "]",
    "[noise]",
    "[program]",
    "[run]",
    "[[nodes]]",
    "'star'",
    "'cable'",
    "'torus'",
    "'hyperx'",
    "'dragonfly'",
    "'nic'",
    "'served'",
    "'stand_in'",
    "'puts'",
    "'asks'",
    "every_cycles = 1000",
    "pause_cycles = [1, 500]",
    "sockets = '/tmp/{node}'",
    "time = 'free'",
    "nodes = 3",
    "window_cycles = 1",
    "[sweep.a.b]",
    "'program.bytes' = 9",
    "[compare]",
    "'halo'",
    "'rendezvous'",
    "grid = [1, 3]",
];

/// Studies of the folder, and one of each topology that the folder lacks.
fn examples() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/studies");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = paths.map(|path| std::fs::read_to_string(path).unwrap());
    // Those with cases have thousands of nodes and dozens of cases; a small one with the same keys stands for them.
    let mut texts: Vec<String> = texts.filter(|text| !text.contains("[sweep.")).collect();
    texts.sort();
    texts.push(
        "[topology]\nkind = 'star'\nnodes = 4\n[nodes]\nkind = 'model'\ngbps = 400\n[program]\nkind = 'motif'\npattern = 'sweep'\n\
         grid = [2, 2]\nblocks = 2\nsweeps = 3\nbytes = 100\narm = 'rendezvous'\neager_bytes = 9\ncompute_ns = 5\n\
         copy_gb_per_s = 3\nbuffers = 1\nrestores_order = true\n[sweep.arm.rvma]\n'program.bytes' = 7\n[sweep.gbps.64]\n\
         'nodes.gbps' = 64\n[sweep.gbps.128]\n'cables.gbps' = 128\n[compare]\ngbps = '64'\n"
            .into(),
    );
    texts.push(
        "[topology]\nkind = 'star'\nnodes = 4\n[nodes]\nkind = 'nic'\n[program]\nkind = 'motif'\npattern = 'halo'\n\
         grid = [2, 2, 1]\niterations = 2\nbytes = 100\nedge_bytes = 10\ncorner_bytes = 0\narm = 'write_send'\ncopies = true\n"
            .into(),
    );
    let rest = "[nodes]\nkind = 'stand_in'\n[program]\nkind = 'asks'\nmessages = 1\nbytes = 64\n\
                [noise]\nevery_cycles = 1000\npause_cycles = [10, 20]\nseed = 5\n";
    for topology in [
        "kind = 'cable'",
        "kind = 'star'\nnodes = 3",
        "kind = 'torus'\nshape = [3, 3]\nwidth = 2\nnodes = 1",
        "kind = 'dragonfly'\ngroups = 5\nswitches = 3\nlong = 2\nnodes = 1",
    ] {
        texts.push(format!("[topology]\n{topology}\n{rest}"));
    }
    texts
}

/// A number of a file changed.
fn change_number(text: &str, source: &mut Source) -> String {
    let places = text.match_indices(" = ").map(|(at, _)| at + 3);
    let numbers: Vec<usize> = places.filter(|at| text[*at..].starts_with(char::is_numeric)).collect();
    if numbers.is_empty() {
        return text.into();
    }
    let at = *source.pick(&numbers);
    let end = text[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '.').map_or(text.len(), |end| at + end);
    format!("{}{}{}", &text[..at], source.number(), &text[end..])
}

/// The studies of a text, which may have cases.
fn parse(text: &str) -> anyhow::Result<Vec<Study>> {
    match Cases::parse("s.toml", text)? {
        Some(cases) => cases.studies(),
        None => Ok(vec![Study::parse("s.toml", text)?]),
    }
}

/// What a run relies on.
fn check(study: &Study) {
    let all = study.topology.nodes.len();
    let nodes = study.background.as_ref().map_or(all, |models| models.first as usize);
    if let Some(models) = &study.background {
        assert_eq!(models.motif.nodes(), all - nodes);
        assert!(
            models.motif.nodes() >= 2 && matches!(study.nodes, Nodes::Nics { .. } | Nodes::Motif { models: None, .. })
        );
    }
    assert!(nodes >= 2 && study.cycles > 0);
    let physics = &study.physics;
    assert!(physics.window >= 1 && physics.window as i64 * physics.cycle <= physics.cable);
    assert!((0.0..=1.0).contains(&physics.loss) && (0.0..=1.0).contains(&physics.corruption));
    if let Some(noise) = study.noise {
        assert!(noise.least >= 1 && noise.least <= noise.most && noise.most <= noise.every / 2);
        assert!(noise.goes_on(1, 12_345) >= 12_345);
    }
    match &study.nodes {
        Nodes::Nics { host_latency, .. } => assert!(nodes <= 256 && host_latency.0 >= 1),
        Nodes::Served { serving, .. } => {
            assert!(nodes <= 256);
            assert!(serving.place.starts_with("s.toml:") && !serving.socket(1).as_os_str().is_empty());
        }
        Nodes::Motif { motif, host_latency, models, .. } => {
            assert_eq!(motif.nodes(), nodes);
            assert!(models.is_some() || (nodes <= 256 && host_latency.0 >= 1));
        }
        Nodes::StandIns(options) => assert!(options.to.is_none_or(|to| (to as usize) < nodes)),
    }
    for ranks in [1, 2] {
        if let Ok(ranks) = study.topology.partition(ranks) {
            assert_eq!(ranks.len(), study.topology.switches as usize);
        }
    }
}

#[test]
fn fuzz_study() {
    let examples = examples();
    for text in &examples {
        parse(text).unwrap_or_else(|error| panic!("{error:#}\n{text}")).iter().for_each(check);
    }
    spindle_fuzz::run("study", 300, |source| {
        let mut text = source.pick(&examples).clone();
        if source.chance(2) {
            text = change_number(&text, source);
        }
        if source.chance(2) {
            text = source.mutated_text(&text, &WORDS);
        }
        match parse(&text) {
            Ok(studies) => {
                studies.iter().for_each(check);
                true
            }
            Err(error) => {
                let words = format!("{error:#}");
                assert!(words.starts_with("s.toml") && !words.contains('\n'), "{words}");
                if text.contains("sweep") || text.contains("compare") {
                    return false;
                }
                let line = words.strip_prefix("s.toml:").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
                assert!(line.is_some_and(|line| line >= 1 && line <= text.lines().count() + 1), "{words}");
                false
            }
        }
    });
}
