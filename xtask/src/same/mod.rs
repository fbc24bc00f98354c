//! `cargo xtask same`: whether the emitted Verilog is that of another commit, apart from the order of statements and from names.

mod colour;
mod tokens;

use crate::blocks::{self, WHOLE};
use crate::process::{cargo_command, target_folder, visible};
use anyhow::{bail, Context, Result};
use colour::{differences, Coloured};
use std::path::{absolute, Path, PathBuf};
use std::process::Command;
use tokens::{statements, Name, Statement};

/// Statements that are printed of each side of a difference.
const SHOWN: usize = 12;

/// Arguments of `cargo xtask same`.
#[derive(clap::Args)]
pub struct Options {
    /// Commit to compare the working tree with.
    #[arg(long, default_value = "HEAD")]
    base: String,
    /// Configurations: sim, alveo, alveo32, kintex7; sim, alveo and kintex7 unless given.
    #[arg(long, value_name = "NAME")]
    config: Vec<String>,
    /// Blocks; all unless given.
    #[arg(long, value_name = "NAME")]
    block: Vec<String>,
    /// Compare two folders that hold a folder for each block instead of two texts of the project: the first one.
    #[arg(long, value_name = "DIR", requires = "now_dir", conflicts_with_all = ["base", "config"])]
    base_dir: Option<PathBuf>,
    /// The second one.
    #[arg(long, value_name = "DIR", requires = "base_dir")]
    now_dir: Option<PathBuf>,
}

/// Compares; false if something differs.
pub fn run(options: &Options) -> Result<bool> {
    if let (Some(base), Some(now)) = (&options.base_dir, &options.now_dir) {
        return compare_folders(base, now, &options.block);
    }
    let all = ["sim", "alveo", "kintex7"].map(String::from);
    let configs = if options.config.is_empty() { &all[..] } else { &options.config };
    let checkout = base_checkout(&options.base)?;
    let mut same = true;
    for config in configs {
        let base = checkout.join("emitted").join(config);
        if !base.join(WHOLE).join("top.txt").exists() {
            emit_base(&checkout, config, &base)?;
        }
        let now = blocks::emit(config)?;
        println!("configuration {config}");
        same &= compare_folders(&base, &now, &options.block)?;
    }
    Ok(same)
}

/// The tree of a commit below the target folder.
fn base_checkout(commit: &str) -> Result<PathBuf> {
    let out = Command::new("git").args(["rev-parse", "--verify", &format!("{commit}^{{commit}}")]).output();
    let out = out.context("cannot start git; install it")?;
    if !out.status.success() {
        bail!("there is no commit `{commit}` in this repository; give a name that `git log` shows");
    }
    let hash = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    let folder = target_folder().join("same").join(&hash[..12]);
    let tree = folder.join("tree");
    if !tree.join("Cargo.toml").exists() {
        std::fs::create_dir_all(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
        let archive = folder.join("tree.tar");
        visible(Command::new("git").args(["archive", "--output"]).arg(&archive).arg(&hash))?;
        visible(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&tree))?;
        std::fs::remove_file(&archive)?;
    }
    Ok(folder)
}

/// Emits the base commit with its own emitter: the binary `emit`, or `spindle export` of commits before it.
fn emit_base(checkout: &Path, config: &str, out: &Path) -> Result<()> {
    let tree = checkout.join("tree");
    let has_emit = tree.join("rtl/nic/src/bin/emit.rs").exists();
    let shared = absolute(target_folder().join("same/target"))?;
    let out = &absolute(out)?;
    let cargo = || {
        let mut command = cargo_command();
        command.current_dir(&tree).env("CARGO_TARGET_DIR", &shared).args(["run", "--quiet"]);
        command
    };
    if has_emit {
        let arguments =
            ["--package", "spindle-nic", "--bin", "emit", "--", "--config", config, "--what", "all", "--out"];
        return visible(cargo().args(arguments).arg(out));
    }
    let arguments = ["--package", "spindle-cli", "--", "export", "--config", config, "--out"];
    visible(cargo().args(arguments).arg(out).arg("--blocks"))?;
    visible(cargo().args(arguments).arg(out.join(WHOLE)))?;
    std::fs::write(out.join(WHOLE).join("top.txt"), format!("{WHOLE}\n"))?;
    Ok(())
}

fn compare_folders(base: &Path, now: &Path, names: &[String]) -> Result<bool> {
    let (base_blocks, now_blocks) = (blocks::find(base, names)?, blocks::find(now, names)?);
    let mut same = true;
    let lists = [&base_blocks, &now_blocks].map(|list| list.iter().map(|block| &block.name).collect::<Vec<_>>());
    if lists[0] != lists[1] {
        println!("  the blocks differ: {:?} and {:?}", lists[0], lists[1]);
        same = false;
    }
    for a in &base_blocks {
        let Some(b) = now_blocks.iter().find(|b| b.name == a.name) else { continue };
        let texts = [text(a)?, text(b)?];
        let verdict = compare(&texts[0], &texts[1], &a.top).with_context(|| format!("block `{}`", a.name))?;
        println!("  {:<16} {}", a.name, verdict.sentence());
        if let Verdict::Different(sides) = verdict {
            same = false;
            for (side, title) in sides.iter().zip(["only in the base", "only in this tree"]) {
                println!("    {title}: {} statements", side.len());
                for (module, text) in side.iter().take(SHOWN) {
                    println!("      {module}: {}", text.chars().take(300).collect::<String>());
                }
            }
        }
    }
    Ok(same)
}

fn text(block: &blocks::Block) -> Result<String> {
    let read = |file: &str| {
        let path = block.folder.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    block.files.split_whitespace().map(read).collect()
}

/// How two texts compare.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// Every statement has an equal one.
    Identical(usize),
    /// Statements are equal up to names.
    Renamed(usize),
    /// Module and text of the statements without a partner, of either side.
    Different([Vec<(String, String)>; 2]),
}

impl Verdict {
    fn sentence(&self) -> String {
        match self {
            Self::Identical(statements) => format!("identical ({statements} statements)"),
            Self::Renamed(statements) => format!("same up to renaming ({statements} statements)"),
            Self::Different(_) => "DIFFERENT".into(),
        }
    }
}

/// Compares two texts. Ports of the top module `nic` keep their names: tools and boards know them.
fn compare(base: &str, now: &str, top: &str) -> Result<Verdict> {
    let (a, b) = (statements(base)?, statements(now)?);
    let sorted = |list: &[Statement]| {
        let mut lines: Vec<_> = list.iter().map(|s| (s.module.clone(), s.text())).collect();
        lines.sort();
        lines
    };
    if sorted(&a) == sorted(&b) {
        return Ok(Verdict::Identical(a.len()));
    }
    let ports = |list: &[Statement]| -> std::collections::HashSet<Name> {
        let is_port = |s: &&Statement| {
            let first = s.pieces.first().map(|piece| match piece {
                tokens::Piece::Text(text) => text.as_str(),
                tokens::Piece::Name(_) => "",
            });
            s.module == top && matches!(first, Some("input" | "output" | "inout"))
        };
        let names = list.iter().filter(is_port).filter_map(|s| match s.pieces.last() {
            Some(tokens::Piece::Name(name)) => Some(name.clone()),
            _ => None,
        });
        names.collect()
    };
    let (ports_a, ports_b) = (ports(&a), ports(&b));
    let is_fixed = |set: &std::collections::HashSet<Name>, name: &Name| top == WHOLE && set.contains(name);
    let found = differences(
        Coloured::new(&a, |name| is_fixed(&ports_a, name)),
        Coloured::new(&b, |name| is_fixed(&ports_b, name)),
    );
    Ok(match found {
        None => Verdict::Renamed(a.len()),
        Some(sides) => {
            Verdict::Different(sides.map(|side| side.into_iter().map(|s| (s.module.clone(), s.text())).collect()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "package p; typedef struct packed { logic [3:0] high; logic low; } pair_t; endpackage
        module top (input logic clock, input logic [3:0] x, y, output logic [3:0] z);
        logic [3:0] held = '0; p::pair_t pair;
        assign pair = {x, y[0]};
        child #(.W(4)) c (.clock, .a(pair.high), .b(y), .q(z));
        always_ff @(posedge clock) begin held <= x - y; end
        wire _unused_ok = &{1'b0, held, pair.low};
        endmodule
        module child #(parameter int W = 2) (input logic clock, input logic [W-1:0] a, b, output logic [W-1:0] q);
        always_ff @(posedge clock) begin
          if (a == 4'd3) q <= a - b; else q <= b;
        end
        endmodule";

    fn verdict(change: impl Fn(&str) -> String) -> Verdict {
        let now = change(BASE);
        assert_ne!(now, BASE, "the test changes something");
        compare(BASE, &now, WHOLE).expect("both texts are understood")
    }

    fn differs(from: &str, to: &str) {
        let found = verdict(|text| text.replacen(from, to, 1));
        assert!(matches!(found, Verdict::Different(_)), "`{from}` to `{to}` is seen: {found:?}");
    }

    #[test]
    fn order_and_comments_do_not_matter() {
        let declarations = "logic [3:0] held = '0; p::pair_t pair;";
        let swapped = "p::pair_t pair; // swapped\n logic [3:0] held = '0;";
        assert!(matches!(verdict(|text| text.replace(declarations, swapped)), Verdict::Identical(_)));
        assert!(matches!(
            verdict(|text| text.replace(".a(pair.high), .b(y)", ".b(y), .a(pair.high)")),
            Verdict::Identical(_)
        ));
    }

    #[test]
    fn names_of_nets_ports_modules_and_fields_do_not_matter() {
        for (from, to) in [("held", "kept"), ("pair_t", "couple_t"), ("child", "infant"), ("high", "upper")] {
            let found = verdict(|text| text.replace(from, to));
            assert!(matches!(found, Verdict::Renamed(_)), "{from}: {found:?}");
        }
        let port = |text: &str| {
            text.replace(".a(pair", ".left(pair").replace("a, b,", "left, b,").replace("(a ==", "(left ==")
        };
        assert!(matches!(verdict(|text| port(text).replace("q <= a", "q <= left")), Verdict::Renamed(_)));
    }

    #[test]
    fn fields_of_one_name_in_two_structures_are_two_names() {
        let text = |first: &str, second: &str| {
            format!(
                "package p; typedef struct packed {{ logic {first}, last; }} a_t;
                typedef struct packed {{ logic {second}; a_t inner; }} b_t; endpackage
                module top (input p::a_t x, input p::b_t y, output logic [2:0] z);
                assign z = {{x.{first}, y.{second}, y.inner.{first}}}; endmodule"
            )
        };
        let found = compare(&text("way", "way"), &text("destination", "route"), WHOLE).expect("it is understood");
        assert!(matches!(found, Verdict::Renamed(_)), "{found:?}");
        let now = text("way", "way").replace("y.inner.way", "y.inner.last");
        let found = compare(&text("way", "way"), &now, WHOLE).expect("it is understood");
        assert!(matches!(found, Verdict::Different(_)), "{found:?}");
    }

    #[test]
    fn everything_else_matters() {
        differs("x - y", "x + y");
        differs("x - y", "y - x");
        differs("[3:0] held", "[4:0] held");
        differs("4'd3", "4'd2");
        differs(".W(4)", ".W(5)");
        differs(".a(pair.high), .b(y)", ".a(y), .b(pair.high)");
        differs("q <= a - b; else q <= b", "q <= b; else q <= a - b");
        differs("held <= x", "held <= y");
        differs("&{1'b0, held, pair.low}", "&{1'b0, held}");
    }

    #[test]
    fn ports_of_the_nic_keep_their_names() {
        let rename = |text: &str| text.replace(" z)", " w)").replace("(z)", "(w)");
        let now = rename(BASE);
        assert!(matches!(compare(BASE, &now, "top").expect("it is understood"), Verdict::Renamed(_)));
        let top = |text: &str| text.replace("module top", "module nic");
        let found = compare(&top(BASE), &top(&now), WHOLE).expect("it is understood");
        assert!(matches!(found, Verdict::Different(_)), "{found:?}");
    }

    #[test]
    fn a_text_that_is_cut_off_is_refused() {
        let error = statements("module m (input logic a);").expect_err("it has no end");
        assert!(error.to_string().contains("`m` has no `endmodule`"), "{error}");
    }
}
