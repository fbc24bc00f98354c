//! A block's netlist with all its mutants, and the proofs that a mutant is no other circuit.

use super::design::Design;
use super::list::{self, Mutation};
use super::suite::{wait, Limit, Outcome};
use crate::process::quiet;
use crate::synth::Yosys;
use anyhow::{ensure, Context, Result};
use regex::Regex;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The input that chooses a mutant in what yosys writes, and its width.
const SELECT: &str = "spindle_mutant";
const SELECT_BITS: u32 = 16;

/// Processor time of one question to the solver.
const PROOF: Duration = Duration::from_secs(15);

/// So many times bits that nothing reads are removed: the stages of a pipeline through which they go.
const UNREAD: usize = 4;

/// How many mutants of a block, and which.
#[derive(Clone, Copy)]
pub struct Sampling {
    pub count: usize,
    pub seed: u64,
}

/// How a mutant was proved to be the same circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Every register, output and input of a box is the same function.
    Combinational,
    /// The outputs are equal in every cycle after a reset, by induction.
    Induction,
}

/// The mutants of a block in the folder of its module: `own` and `<module>.sv` for the harness, `work` for yosys.
pub struct Netlist {
    pub mutations: Vec<Mutation>,
    /// The number of the first mutant: those of other blocks of the group are below.
    pub first: usize,
    folder: PathBuf,
    module: String,
}

impl Netlist {
    /// Samples mutations of the block and writes the module that holds them all into the group's folder.
    pub fn make(yosys: &Yosys, design: &Design, group: &Path, sampling: Sampling, first: usize) -> Result<Netlist> {
        let Sampling { count, seed } = sampling;
        let folder = group.join(&design.module);
        let work = folder.join("work");
        std::fs::create_dir_all(&work).with_context(|| format!("cannot write {}", work.display()))?;
        design.write_own(&folder.join("own"))?;
        let module = &design.module;
        // More than wanted, since mutations of clocks are left out: a derived clock is another design. So are enables of read
        // ports without a clock, which yosys requires to be constant.
        let listed = count + count / 4 + 8;
        let script = format!(
            "{}write_rtlil base.il; select {module}; select -del {module}/t:$meminit*; \
             mutate -list {listed} -seed {seed} -o list.txt; \
             select -write unclocked.txt {module}/t:$memrd* {module}/r:CLK_ENABLE=0 %i",
            design.write(&work)?
        );
        run(yosys, &work, &script)?;
        let mut mutations = list::parse(&std::fs::read_to_string(work.join("list.txt"))?)?;
        let unclocked = std::fs::read_to_string(work.join("unclocked.txt"))?;
        mutations.retain(|mutation| !mutation.is_of_a_clock() && !mutation.enables(&unclocked));
        mutations.truncate(count);
        ensure!(!mutations.is_empty(), "yosys finds nothing to mutate in `{module}`");
        let commands: String = mutations
            .iter()
            .enumerate()
            .map(|(index, mutation)| {
                mutation.command(module, &format!(" -ctrl {SELECT} {SELECT_BITS} {}", first + index)) + "\n"
            })
            .collect();
        std::fs::write(work.join("mutants.ys"), commands)?;
        let script = format!(
            "read_rtlil base.il; script mutants.ys; opt_clean; select {module}; write_verilog -noattr -selected all.v"
        );
        run(yosys, &work, &script)?;
        let text = std::fs::read_to_string(work.join("all.v"))?;
        std::fs::write(folder.join(format!("{module}.sv")), with_own_select(&text)?)?;
        Ok(Netlist { mutations, first, folder, module: module.clone() })
    }

    /// Writes the circuit that [`Netlist::prove`] compares: boxes have the ports that their parameters make.
    pub fn prepare_proofs(&self, yosys: &Yosys, design: &Design) -> Result<()> {
        let script = format!("read_rtlil base.il; {}write_rtlil proof.il", design.widen_boxes());
        run(yosys, &self.folder.join("work"), &script)
    }

    /// A proof that the mutant is no other circuit, after [`Netlist::prepare_proofs`]; `None` if there is none within the time
    /// and the depth.
    ///
    /// Boxes are taken out: what they receive counts as an output, and what they give as an input. First the registers and
    /// memories are cut too, after bits that nothing reads were removed. Then the two circuits run side by side from a reset
    /// of two cycles; a register that neither the reset nor a start value sets begins at zero, as in the devices. Registers
    /// of the same name are required to be equal as well at first, which makes the induction stronger.
    pub fn prove(&self, yosys: &Yosys, index: usize) -> Result<Option<Proof>> {
        let Netlist { module, mutations, .. } = self;
        let start = format!(
            "read_rtlil proof.il; rename {module} gold; copy gold gate; {}; ",
            mutations[index].command("gate", "")
        );
        let read = "splitcells gold gate; splitnets gold gate; opt_clean -purge gold gate; ".repeat(UNREAD);
        let cut = format!(
            "{start}{read}equiv_make gold gate equiv; hierarchy -top equiv; equiv_simple equiv; equiv_status -assert equiv"
        );
        if self.holds(yosys, &cut)? {
            return Ok(Some(Proof::Combinational));
        }
        let plain = "memory_map gold gate; async2sync gold gate; dffunmap gold gate; ";
        let cut = "expose -evert -evert-dff gold gate; miter -equiv -flatten gold gate miter; \
                   sat -verify -prove trigger 0 miter";
        if self.holds(yosys, &format!("{start}{read}{plain}{cut}"))? {
            return Ok(Some(Proof::Combinational));
        }
        for registers in ["expose -shared -dff gold gate; ", ""] {
            // Without the splitting, which may give the two circuits different wires, and with them different outputs.
            let induction = format!(
                "{start}{plain}setundef -init -zero gold gate; expose -evert gold gate; {registers}\
                 miter -equiv -flatten gold gate miter; sat -verify -tempinduct -seq 2 {}-prove trigger 0 \
                 -maxsteps 6 miter",
                if self.has_reset()? { "-set-at 1 in_reset 1 -set-at 2 in_reset 1 " } else { "" }
            );
            if self.holds(yosys, &induction)? {
                return Ok(Some(Proof::Induction));
            }
        }
        Ok(None)
    }

    fn has_reset(&self) -> Result<bool> {
        let text = std::fs::read_to_string(self.folder.join("work/all.v"))?;
        Ok(text.lines().any(|line| line.trim() == "input reset;"))
    }

    /// Whether `script` ends well within the time.
    fn holds(&self, yosys: &Yosys, script: &str) -> Result<bool> {
        let mut command = Command::new(yosys.program());
        command.current_dir(self.folder.join("work")).args(["-q", "-p", script]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(wait(child, Limit::cpu(PROOF))?.0 == Outcome::Passed)
    }
}

/// Runs yosys in `folder`; it sees relative paths only.
fn run(yosys: &Yosys, folder: &Path, script: &str) -> Result<()> {
    quiet(Command::new(yosys.program()).current_dir(folder).args(["-q", "-p", script])).map(|_| ())
}

/// Turns the input that chooses the mutant into a register that reads its value from the environment when the model
/// starts: the ports stay those of the block, so that every test and every larger design takes the module.
fn with_own_select(text: &str) -> Result<String> {
    let port = Regex::new(&format!(r",\s*{SELECT}\s*\)"))?;
    let input = format!("  input [{}:0] {SELECT};\n", SELECT_BITS - 1);
    let wire = format!("  wire [{}:0] {SELECT};\n", SELECT_BITS - 1);
    for part in [input.as_str(), &wire] {
        ensure!(text.matches(part).count() == 1, "yosys declares `{SELECT}` in another way: `{}`", part.trim());
    }
    ensure!(port.find_iter(text).count() == 1, "yosys lists the port `{SELECT}` in another way");
    let value = "std::getenv(\\\"SPINDLE_MUTANT\\\")";
    let register = format!(
        "  reg [{}:0] {SELECT};\n  initial {SELECT} = $c32(\"({value} ? std::atoi({value}) : 0)\");\n",
        SELECT_BITS - 1
    );
    Ok(port.replace(text, ")").replace(&input, "").replace(&wire, &register))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::table::Table;

    #[test]
    fn the_module_keeps_the_ports_of_the_block() {
        let text = "module m(a, y,\n spindle_mutant);\n  input a;\n  input [15:0] spindle_mutant;\n  \
                    wire [15:0] spindle_mutant;\n  assign y = spindle_mutant == 16'h1 ? !a : a;\nendmodule\n";
        let own = with_own_select(text).unwrap();
        assert!(own.contains("module m(a, y);") && !own.contains("input [15:0]"), "{own}");
        assert!(own.contains("  initial spindle_mutant = $c32(\"(std::getenv(\\\"SPINDLE_MUTANT\\\")"), "{own}");
        // A long list of ports.
        let own = with_own_select(&text.replace("mutant)", "mutant\n)")).unwrap();
        assert!(own.contains("module m(a, y);"), "{own}");
        assert!(with_own_select("module m(a);\nendmodule\n").is_err());
    }

    /// `y` is `a` in a roundabout way, `never` is a register that no cycle sets, and `z` is neither. Of `pair` one bit is read,
    /// and so is one of the box; the highest bit of `held` is always zero.
    const BLOCK: &str = "module top (input logic clock, input logic reset, input logic a, b, output logic y, z, w,\n\
        output logic [4:0] held);\n\
        logic [1:0] state;\nlogic never;\nlogic [1:0] pair, later;\n\
        always_ff @(posedge clock) begin pair <= {a, b}; later <= pair; end\n\
        always_ff @(posedge clock) if (reset) begin state <= 0; never <= 0; end\n\
        else begin state <= state == 2 ? 0 : state + 1; never <= state == 3; end\n\
        logic [3:0] read;\nwide #(.WIDTH(4)) store (.write({a, b, a, b}), .read(read));\nassign w = read[2];\n\
        always_ff @(posedge clock) if (a) held <= {1'b0, state, a, b};\n\
        assign y = (a & b) | (a & ~b);\nassign z = (never & b) | a | later[1];\nendmodule\n";

    /// A box, of four bits in the block and of one without a parameter.
    const WIDE: &str =
        "module wide #(parameter WIDTH = 1) (input logic [WIDTH-1:0] write, output logic [WIDTH-1:0] read);\n\
        assign read = ~write;\nendmodule\n";

    #[test]
    fn mutants_that_change_nothing_are_proved_and_others_are_not() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        let Ok(yosys) = Yosys::find() else { return crate::skips::skip("there is no yosys; run `cargo xtask setup`") };
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("top.sv"), BLOCK).unwrap();
        std::fs::write(folder.path().join("wide.sv"), WIDE).unwrap();
        std::fs::write(folder.path().join("filelist.f"), "wide.sv\ntop.sv\n").unwrap();
        let table: Table =
            toml::from_str("boxes = ['wide']\n[[block]]\nname = 'top'\nengine = 'e'\ntests = ['t']\n").unwrap();
        let design = Design::read(folder.path(), &table.block[0], &table).unwrap().unwrap();
        let mut netlist =
            Netlist::make(&yosys, &design, &folder.path().join("made"), Sampling { count: 1000, seed: 1 }, 1).unwrap();
        netlist.prepare_proofs(&yosys, &design).unwrap();
        let mut verdict = |kind: &str, mode: &str| {
            let found = netlist
                .mutations
                .iter()
                .position(|mutation| mutation.what().starts_with(mode) && mutation.what().contains(kind));
            let index = found.unwrap_or_else(|| panic!("no {mode} of {kind} among {:#?}", netlist.mutations));
            let mutation = netlist.mutations.swap_remove(index);
            netlist.mutations.push(mutation);
            netlist.prove(&yosys, netlist.mutations.len() - 1).unwrap()
        };
        assert_eq!(verdict("Y[0] of not", "const1"), Some(Proof::Combinational));
        assert_eq!(verdict("wire never[0]", "const0 of A"), Some(Proof::Induction));
        assert_eq!(verdict("wire pair[0]", "inv of Q"), Some(Proof::Combinational));
        assert_eq!(verdict("wire pair[1]", "inv of Q"), None);
        assert_eq!(verdict("wire later[1]", "const1 of Q"), None);
        assert_eq!(verdict("Y[0] of not", "const0"), None);
        assert_eq!(verdict("wire never[0]", "const1 of A"), None);
        assert_eq!(verdict("D[4] of register", "const0"), Some(Proof::Induction));
        // What a box is given is compared, whatever it does with it, and what it gives if it is read.
        assert_eq!(verdict("write[3] of store", "inv"), None);
        assert_eq!(verdict("read[2] of store", "const0"), None);
        assert_eq!(verdict("read[3] of store", "const0"), Some(Proof::Combinational));
    }
}
