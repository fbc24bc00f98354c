//! Proofs by induction on the emitted Verilog, for all lengths of time, with yosys.
//!
//! A clock is an input with an edge in each instant in which it is high, so the two clocks have any ratio, phase and
//! pauses, and a synchroniser sees the old or the new value. Each question is also asked of blocks with one line broken, and has to
//! find a run from reset there that breaks an assertion.
//!
//! | proof | shows |
//! |---|---|
//! | `fifo.sv` | an asynchronous FIFO, of LUT RAM and of block RAM, loses, doubles and overtakes no word |
//! | `rx.sv` | the receive crossing gives the FIFO no frame without end; a frame with a good end has all of its beats |
//! | `tx.sv` | the transmit crossing has a beat in every cycle from the first of a frame to its last: the MAC never starves |

use crate::yosys::yosys;
use spindle_blocks::{AsyncFifo, RamStyle};
use spindle_boards::hdl::rx_cross::RxCross;
use spindle_boards::hdl::tx_cross::TxCross;
use spindle_harness::{source_of, Source};
use spindle_verilog::prelude::{Bits, Block};
use std::path::Path;
use std::process::Command;

/// A proof: its harness, the wires of its cell `probes` by the wires of the flattened block, and modules that are
/// left out so that their outputs may do anything.
struct Proof {
    harness: &'static str,
    probes: &'static [(&'static str, &'static str)],
    free: &'static [&'static str],
}

const FIFO: Proof = Proof {
    harness: include_str!("fifo.sv"),
    probes: &[
        ("written_binary", "dut.written.binary"),
        ("written_coded", "dut.written.coded"),
        ("written_near", "dut.written.near"),
        ("written_far", "dut.written.far"),
        ("taken_binary", "dut.taken.binary"),
        ("taken_coded", "dut.taken.coded"),
        ("taken_near", "dut.taken.near"),
        ("taken_far", "dut.taken.far"),
        ("room", "dut.room"),
        ("head", "dut.head"),
        ("head_valid", "dut.head_valid"),
        ("fetching", "dut.taken.step"),
    ],
    free: &[],
};

const RX: Proof = Proof {
    harness: include_str!("rx.sv"),
    probes: &[
        ("open", "dut.open"),
        ("taking", "dut.taking"),
        ("held_valid", "dut.held_valid"),
        ("held_data", "dut.held[511:0]"),
        ("held_last", "dut.held[518]"),
        ("held_user", "dut.held[519]"),
        ("held_cut", "dut.held[520]"),
        ("fifo_ready", "dut.fifo_write_ready"),
        ("stop", "dut.pair_left_stop"),
    ],
    free: &["async_fifo", "clear_pair", "cross_count", "heartbeat"],
};

const TX: Proof = Proof {
    harness: include_str!("tx.sv"),
    probes: &[
        ("written_binary", "dut.fifo.written.binary"),
        ("written_coded", "dut.fifo.written.coded"),
        ("written_near", "dut.fifo.written.near"),
        ("written_far", "dut.fifo.written.far"),
        ("taken_binary", "dut.fifo.taken.binary"),
        ("taken_coded", "dut.fifo.taken.coded"),
        ("taken_near", "dut.fifo.taken.near"),
        ("taken_far", "dut.fifo.taken.far"),
        ("word_0", "dut.fifo.block_0.words[0][518]"),
        ("word_1", "dut.fifo.block_0.words[1][518]"),
        ("word_2", "dut.fifo.block_0.words[2][518]"),
        ("word_3", "dut.fifo.block_0.words[3][518]"),
        ("room", "dut.fifo.room"),
        ("head", "dut.fifo.head[518]"),
        ("head_valid", "dut.fifo.head_valid"),
        ("fetching", "dut.fifo.taken.step"),
        ("latch", "dut.fifo.block_0.fetched[518]"),
        ("latch_valid", "dut.fifo.fetched_0"),
        ("pushing", "dut.fifo.written.step"),
        ("push_last", "dut.fifo.write[518]"),
        ("taking", "dut.fifo_read_ready"),
        ("ended", "dut.ended"),
        ("whole_binary", "dut.whole.binary"),
        ("whole_coded", "dut.whole.coded"),
        ("whole_near", "dut.whole.near"),
        ("whole_far", "dut.whole.far"),
        ("known", "dut.known"),
        ("begun", "dut.begun"),
        ("mid_frame", "dut.mid_frame"),
        ("discarding", "dut.discarding"),
        ("out_valid", "dut.out_valid"),
        ("out_last", "dut.out[576]"),
        ("left_stop", "dut.pair_left_stop"),
        ("left_clear", "dut.pair_left_clear"),
        ("right_stop", "dut.pair_right_stop"),
        ("right_clear", "dut.pair_right_clear"),
    ],
    free: &["clear_pair", "cross_count", "heartbeat"],
};

/// Instants within which a broken block has to show its fault.
const DEPTH: u32 = 24;

/// What is asked of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Do the assertions hold in every instant? By induction over one instant.
    Always,
    /// Is there a run of [`DEPTH`] instants that breaks one?
    Ever,
}

impl Proof {
    /// Whether the answer is yes; `more` are further probes. The log of yosys is returned with it.
    fn ask(&self, question: Question, yosys: &Path, source: &Source, more: &[(&str, &str)]) -> (bool, String) {
        // The packaged yosys sees relative paths only.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target folder can be written");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("the target folder can be written");
        };
        let mut files: Vec<&(String, String)> = source.files.iter().collect();
        // Types come first.
        files.sort_by_key(|(name, _)| !name.ends_with("_pkg.sv"));
        for (name, text) in &files {
            write(name, &text.replace(&format!("module {} ", source.top), "module dut "));
        }
        write("harness.sv", self.harness);
        write("ticks.v", include_str!("ticks.v"));
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
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
            .chain(more)
            .map(|(probe, wire)| {
                let constant = wire.starts_with(|c: char| c.is_ascii_digit());
                format!("connect -set {probe} {}{wire}; ", if constant { "" } else { "\\" })
            })
            .collect();
        let depth = match question {
            Question::Always => "-maxsteps 1".to_string(),
            Question::Ever => format!("-tempinduct-baseonly -maxsteps {DEPTH}"),
        };
        let script = format!(
            "read_verilog -sv {}; read_verilog -formal -sv harness.sv; hierarchy -check -top harness; {boxes} proc; \
             flatten; memory_collect; memory_map; opt_clean; cd harness; delete probes; {probes} {cut} cd; opt_clean; \
             chformal -lower; opt -nodffe -nosdff; dffunmap; techmap -map ticks.v; simplemap; opt_clean; \
             sat -tempinduct -prove-asserts -set-assumes {depth} -timeout 200 harness",
            names.join(" ")
        );
        let output =
            Command::new(yosys).args(["-p", &script]).current_dir(folder.path()).output().expect("yosys starts");
        let log = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let asserts = log.lines().filter(|line| line.starts_with("Import proof for assert")).count();
        assert!(output.status.success() && asserts > 0, "yosys fails before the proof:\n{log}");
        let answer = match question {
            Question::Always => log.contains("Induction step proven: SUCCESS!"),
            Question::Ever => log.contains("proof finished - model found for base case: FAIL!"),
        };
        (answer, log)
    }

    /// Proves a block, and finds the fault of each of the blocks with a piece of text `from` replaced by `to`.
    fn holds(&self, yosys: &Path, source: &Source, more: &[(&str, &str)], faults: &[(&str, &str)]) {
        let (proved, log) = self.ask(Question::Always, yosys, source, more);
        assert!(proved, "{}:\n{log}", source.top);
        for (from, to) in faults {
            let (found, log) = self.ask(Question::Ever, yosys, &broken(source, from, to), more);
            assert!(found, "{}: nothing breaks with `{to}`:\n{log}", source.top);
        }
    }
}

fn emitted(block: &mut impl Block, top: &str) -> Source {
    source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"))
}

/// The block with one piece of text changed, which must be there.
fn broken(source: &Source, from: &str, to: &str) -> Source {
    let mut source = source.clone();
    let file = source.files.iter_mut().find(|(_, text)| text.contains(from));
    let (_, text) = file.unwrap_or_else(|| panic!("the block does not contain `{from}`"));
    *text = text.replacen(from, to, 1);
    source
}

#[test]
fn fifos_lose_and_double_no_word() {
    let Some(yosys) = yosys() else {
        return;
    };
    for (style, top, memory, latch) in [
        (RamStyle::Block, "block_fifo", "block_0", ["dut.block_0.fetched", "dut.fetched_0"]),
        (RamStyle::Distributed, "lut_fifo", "lut_0", ["2'b00", "1'b0"]),
    ] {
        let source = emitted(&mut AsyncFifo::<Bits<2>, 2>::new(style), top);
        let words = ["0", "1", "2", "3"].map(|i| (format!("word_{i}"), format!("dut.{memory}.words[{i}]")));
        let mut more: Vec<(&str, &str)> = words.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        more.extend([("latch", latch[0]), ("latch_valid", latch[1])]);
        let faults = [
            ("(written_count + 2'd2)", "(written_count + 2'd1)"),
            ("wire push = write_valid & room;", "wire push = write_valid;"),
            ("next ^ {1'b0, next[1]}", "next"),
            ("wire some = taken_gray != written_seen;", "wire some = read_ready | (taken_gray != written_seen);"),
            ("!= taken_seen", "!= (write_valid ? taken_gray : taken_seen)"),
            ("read_ready | !head_valid", "1'b1"),
        ];
        FIFO.holds(&yosys, &source, &more, &faults);
    }
}

#[test]
fn the_receive_crossing_ends_every_frame() {
    let Some(yosys) = yosys() else {
        return;
    };
    let source = emitted(&mut RxCross::<4>::default(), "rx_cross_4");
    let faults = [
        ("wire broken = taking & (!aligned | (mac_valid & !moves));", "wire broken = taking & mac_valid & !moves;"),
        ("wire moves = !held_valid | fifo_write_ready;", "wire moves = 1'b1;"),
        ("closing = {aligned, 1'b1, 1'b1,", "closing = {aligned, 1'b0, 1'b1,"),
        ("wire first = !open;", "wire first = !open | mac_user;"),
        ("wire more = mac_valid & taking &", "wire more = mac_valid &"),
    ];
    RX.holds(&yosys, &source, &[], &faults);
}

#[test]
fn the_mac_never_starves() {
    let Some(yosys) = yosys() else {
        return;
    };
    let source = emitted(&mut TxCross::<2>::with_longest(3), "tx_cross_2");
    let faults = [
        // A frame begins when it is seen, while the beat after the first may still be in the block RAM.
        ("!= known)", "!= (link ? whole_seen : known))"),
        ("wire whole_2 = fifo_read_valid & ", "wire whole_2 = fifo_read_valid | "),
        ("whole_step = ended ", "whole_step = (ended | push) "),
        ("moves | !fetched_0", "moves & !fetched_0"),
    ];
    TX.holds(&yosys, &source, &[], &faults);
}
