//! The project of a board: its files, and every script run by `tclsh` against a Vivado that builds nothing
//! (`tcl/mock.tcl`), branches that end with a sentence included. The transcripts are in `golden/`.

mod build;
mod cable;
mod nic;

use spindle_boards::data::Board;
use spindle_boards::ip::{self, primitives, Direction, Instance};
use spindle_boards::shell::ShellDesign;
use spindle_boards::write::export;
use spindle_boards::write::xdc::{Crossing, CrossingKind, ShellClock, Timing};
use spindle_verilog::prelude::*;
use spindle_verilog::Options;
use std::path::Path;
use std::process::{Command, Output};

/// A module that stands for the NIC, with a black box beside it: as large as an export needs.
#[block(combinational)]
struct Top {
    pub perst: Signal<In, Bit>,
    pub led: Signal<Out, Bit>,
    pad: primitives::Ibuf,
    nic: Nic,
}

#[hdl]
impl Top {
    fn update(&mut self) {
        self.pad.I.next = self.perst.val();
        self.nic.reset_in.next = self.pad.O.val();
        self.led.next = self.nic.up.val();
    }
}

#[block(combinational)]
struct Nic {
    pub reset_in: Signal<In, Bit>,
    pub up: Signal<Out, Bit>,
}

#[hdl]
impl Nic {
    fn update(&mut self) {
        self.up.next = !self.reset_in.val();
    }
}

fn shell(top: &str) -> ShellDesign {
    let options = Options::default().port_attribute("nic", "reset_in", "X_INTERFACE_INFO", "a:b:c:1.0 d E");
    let crossing = Crossing {
        from: CLOCK.into(),
        to: CLOCK.into(),
        cells: "*rx_cross/*head_sync*".into(),
        kind: CrossingKind::Gray,
    };
    let clock = ShellClock { name: CLOCK.into(), pin: "host/clock".into(), mhz: 322.265625 };
    let timing = Timing { clocks: vec![clock], crossings: vec![crossing] };
    ShellDesign { design: spindle_verilog::emit_with(&mut Top::default(), top, &options).unwrap(), timing }
}

/// The clock of the shell.
const CLOCK: &str = "shell_clk";

/// The folder of a board's project.
struct Project {
    folder: tempfile::TempDir,
    board: Board,
}

impl Project {
    fn of(name: &str) -> Self {
        let board = Board::named(name).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = export::project(&board, Some(&shell(&format!("top_{name}")))).unwrap();
        export::write(&files, folder.path()).unwrap();
        Self { folder, board }
    }

    /// A folder of its own for a test that changes files.
    fn u50() -> Self {
        Self::of("u50")
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, script: &str, arguments: &[&str], fakes: &[(&str, &str)]) -> Run {
        let instances = ip::instances(&self.board).unwrap();
        let run = Run::new(self.path(), script, arguments, &[catalogue(&self.board, &instances), list(fakes)].concat());
        run.expect("tclsh is installed: run `cargo xtask setup`")
    }
}

fn list(fakes: &[(&str, &str)]) -> Vec<(String, String)> {
    fakes.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
}

/// Boards, and the names that the cable has for their dies.
const DIES: [(&str, &str); 6] = [
    ("u50", "xcu50_u55n"),
    ("u55c", "xcu280_u55c"),
    ("u280", "xcu280_u55c"),
    ("u250", "xcu250"),
    ("kcu116", "xcku5p"),
    ("kc705", "xc7k325t"),
];

/// A catalogue and a machine in which all goes well.
fn catalogue(board: &Board, instances: &[Instance]) -> Vec<(String, String)> {
    let mut fakes = list(&[
        ("slack,path_max", "0.021"),
        ("slack,path_min", "0.010"),
        ("slack,pulse", "0.000"),
        ("skew", "MET"),
        ("clock,host/clock", "3.103"),
        ("cells", "shell/rx_cross/head_sync_reg[0]"),
        ("buses", "rx tx bar host clock reset"),
        ("maps", ""),
        ("cables", "localhost:3121/xilinx_tcf/Xilinx/500202A1B"),
    ]);
    fakes.push(("parts".into(), board.part.clone()));
    fakes.push(("memories".into(), board.flash.part.clone()));
    let (_, die) = DIES.iter().find(|(name, _)| *name == board.name).expect("a new board needs its row in DIES");
    fakes.push((format!("device,{die}_0"), (*die).to_string()));
    for instance in instances {
        let names: Vec<String> =
            instance.ip.settings.iter().map(|setting| format!("CONFIG.{}", setting.name)).collect();
        fakes.push((format!("ip,{}", instance.ip.name), instance.ip.versions[0].to_string()));
        fakes.push((format!("settings,{}", instance.ip.name), names.join(" ")));
        fakes.push((format!("stub,{}", instance.module), stub(instance, |_, width| Some(width))));
    }
    fakes
}

/// Ports for the stub of an IP; `width` may change a width, or leave a port out. An output that we do not use is there too.
fn stub(instance: &Instance, width: impl Fn(&str, usize) -> Option<usize>) -> String {
    let ports = instance.ports.iter().filter_map(|port| {
        let direction = match port.direction {
            Direction::In => "input",
            Direction::Out => "output",
            Direction::InOut => "inout",
        };
        Some(format!("{} {{{direction} {}}}", port.name, width(port.name, port.width)?))
    });
    ports.chain(["stat_unused {output 3}".to_string()]).collect::<Vec<_>>().join(" ")
}

/// How a script ended.
struct Run {
    output: Output,
    /// The commands that the mocked Vivado received, with the paths of this run taken out.
    transcript: String,
}

impl Run {
    /// `None` if there is no `tclsh`.
    fn new(folder: &Path, script: &str, arguments: &[&str], fakes: &[(String, String)]) -> Option<Self> {
        let mock = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/boards/tcl/mock.tcl");
        let transcript = folder.join("transcript.txt");
        let mut text = format!("set transcript [open {{{}}} w]\n", transcript.display());
        // Later rows stand for earlier ones; a value of `-` takes a row away.
        for (name, value) in fakes {
            match value.as_str() {
                "-" => text.push_str(&format!("unset fake({name})\n")),
                value => text.push_str(&format!("set {{fake({name})}} {{{value}}}\n")),
            }
        }
        text.push_str(&format!("set argv [list {}]\n", arguments.join(" ")));
        text.push_str(&format!("source {{{}}}\nsource {{{}}}\n", mock.display(), folder.join(script).display()));
        let driver = folder.join("driver.tcl");
        std::fs::write(&driver, text).unwrap();
        let output = Command::new("tclsh").current_dir(folder).arg(&driver).output().ok()?;
        let received = std::fs::read_to_string(&transcript).unwrap_or_default();
        let real = std::fs::canonicalize(folder).unwrap();
        let transcript = received.replace(&real.display().to_string(), "@").replace(&folder.display().to_string(), "@");
        Some(Self { output, transcript })
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    fn complained(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn succeeded(&self) -> &Self {
        assert!(self.output.status.success(), "{}\n{}", self.said(), self.complained());
        self
    }

    /// The script ended with this sentence, and Vivado received no command that begins with `never`.
    fn refused(&self, sentence: &str, never: &str) {
        let complained = self.complained();
        assert!(!self.output.status.success(), "{}", self.said());
        assert!(complained.starts_with("spindle: ") && complained.contains(sentence), "{complained}");
        assert!(
            !self.transcript.lines().any(|line| line.starts_with(never)),
            "Vivado received {never}:\n{}",
            self.transcript
        );
    }
}

/// Compares a text with a file of `golden/`; `SPINDLE_BLESS=1` writes the file anew.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/boards/golden").join(name);
    if std::env::var_os("SPINDLE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(known, text, "{} differs; run the test with SPINDLE_BLESS=1, and read the difference", path.display());
}
