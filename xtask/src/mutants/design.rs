//! A block in a design that a test has loaded: its own modules, and the modules that stay boxes.

use super::table::{Block, Table};
use anyhow::{bail, Context, Result};
use regex::Regex;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The Verilog of a block. Mutations are made in its own modules, flattened into the first one; modules that have tests
/// under another name are boxes and stay as they are.
#[derive(Debug)]
pub struct Design {
    pub module: String,
    /// Own modules by name, the block's first.
    pub own: Vec<(String, String)>,
    /// Names of boxes.
    pub boxes: Vec<String>,
    /// Every module of the design.
    texts: BTreeMap<String, String>,
    /// Packages, in the order of the list.
    packages: Vec<(String, String)>,
}

impl Design {
    /// Reads the block in the design that lies in `folder`; `None` if the block is not in it.
    pub fn read(folder: &Path, block: &Block, table: &Table) -> Result<Option<Design>> {
        let list = std::fs::read_to_string(folder.join("filelist.f"))
            .with_context(|| format!("{} holds no design", folder.display()))?;
        let (mut texts, mut packages) = (BTreeMap::new(), Vec::new());
        for file in list.lines() {
            let text = std::fs::read_to_string(folder.join(file))?;
            let name = file.trim_end_matches(".sv").to_string();
            if name.ends_with("_pkg") {
                packages.push((name, text));
            } else {
                texts.insert(name, text);
            }
        }
        if !texts.contains_key(&block.module) {
            return Ok(None);
        }
        let mut design = Design { module: block.module.clone(), own: vec![], boxes: vec![], texts, packages };
        design.divide(|name| table.is_box(name, block))?;
        Ok(Some(design))
    }

    /// Walks down from the block's module to the boxes.
    fn divide(&mut self, is_box: impl Fn(&str) -> bool) -> Result<()> {
        let mut names = self.texts.keys();
        let pattern = names.try_fold(String::new(), |all, name| -> Result<String> {
            if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                bail!("`{name}` is no name of a module");
            }
            Ok(if all.is_empty() { name.clone() } else { all + "|" + name })
        })?;
        // `child #(...) name (` or `child name (`, at the beginning of a line.
        let instance = Regex::new(&format!(r"(?m)^\s*({pattern})\s+(?:#|\w+\s*\()"))?;
        let (mut own, mut boxes) = (vec![self.module.clone()], BTreeSet::new());
        let mut next = 0;
        while next < own.len() {
            let text = self.texts.get(&own[next]).context("a module of the design has no text")?;
            for found in instance.captures_iter(text) {
                let child = found[1].to_string();
                if is_box(&child) {
                    boxes.insert(child);
                } else if !own.contains(&child) {
                    own.push(child);
                }
            }
            next += 1;
        }
        self.own = own.into_iter().map(|name| (name.clone(), self.texts[&name].clone())).collect();
        self.boxes = boxes.into_iter().collect();
        Ok(())
    }

    /// Writes what yosys reads into `folder`; the script that reads it and flattens the block. Own modules are read as for
    /// a proof and not as for a synthesis, which would leave out the start values of memories.
    pub fn write(&self, folder: &Path) -> Result<String> {
        let write = |name: &str, text: &str| {
            let path = folder.join(format!("{name}.sv"));
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        let mut script = String::new();
        for (name, text) in &self.packages {
            write(name, text)?;
            script += &format!("read_verilog -sv {name}.sv; ");
        }
        for name in &self.boxes {
            write(name, &self.texts[name])?;
            script += &format!("read_verilog -sv -lib {name}.sv; ");
        }
        for (name, text) in &self.own {
            write(name, text)?;
            script += &format!("read_verilog -sv -formal {name}.sv; ");
        }
        Ok(script
            + &format!(
                "hierarchy -check -top {0}; proc; flatten; opt -nodffe -nosdff; wreduce; opt_clean; ",
                self.module
            ))
    }

    /// The script that gives each box in a netlist of [`Design::write`] the ports that its parameters make. Yosys leaves a
    /// box as it is without parameters, and a proof would compare the first bits of its ports only.
    pub fn widen_boxes(&self) -> String {
        let names = self.packages.iter().map(|(name, _)| name).chain(&self.boxes);
        let read: String = names.map(|name| format!("read_verilog -sv {name}.sv; ")).collect();
        read + &format!("hierarchy -top {0}; blackbox * {0} %d; ", self.module)
    }

    /// Writes the own modules into `folder`, for the harness to recognise the block.
    pub fn write_own(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        for (name, text) in &self.own {
            std::fs::write(folder.join(format!("{name}.sv")), text)?;
        }
        Ok(())
    }

    /// The hash of the own modules, without comments: they have the line numbers of sources.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for (name, text) in &self.own {
            hash.update(name.as_bytes());
            text.lines().filter(|line| !line.starts_with("//")).for_each(|line| hash.update(format!("{line}\n")));
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The Rust source of the module in `file`, which the comment at its head names.
    pub fn rust_source(&self, file: &str) -> Option<&str> {
        let text = self.texts.get(file.trim_end_matches(".sv"))?;
        let head = text.lines().next()?.strip_prefix("//")?;
        head.rsplit_once('(')?.1.split(':').next()
    }
}

/// Folders of the designs in `folder`, in the order in which tests have loaded them first, without repetitions.
pub fn loaded(folder: &Path) -> Vec<PathBuf> {
    listed(folder, |_| true)
}

/// Those that `test` has loaded.
pub fn loaded_by(folder: &Path, test: &str) -> Vec<PathBuf> {
    listed(folder, |name| name == test)
}

fn listed(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let loads = std::fs::read_to_string(folder.join("loads")).unwrap_or_default();
    let mut designs: Vec<PathBuf> = Vec::new();
    for (test, design) in loads.lines().filter_map(|line| line.split_once('\t')) {
        let design = folder.join(design);
        if wanted(test) && !designs.contains(&design) {
            designs.push(design);
        }
    }
    designs
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "// a::Top (a/src/top.rs:5)\nmodule top (input logic a);\npart one (\n\t.a(a)\n);\n\
                       lut_fifo #(.WIDTH(4)) queue (\n);\nwire other = part_valid;\nendmodule\n";

    fn design() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
        write("filelist.f", "top_pkg.sv\npart.sv\nlut_fifo.sv\nleaf.sv\nother.sv\ntop.sv\n");
        write("top.sv", TOP);
        write("part.sv", "module part (input logic a);\n\tleaf l (.a(a));\nendmodule\n");
        for name in ["leaf", "other", "lut_fifo"] {
            write(&format!("{name}.sv"), &format!("module {name} (input logic a);\nendmodule\n"));
        }
        write("top_pkg.sv", "package top_pkg;\nendpackage\n");
        folder
    }

    fn table() -> Table {
        let text = "boxes = ['lut_fifo(_\\d+)*']\n[[block]]\nname = 'top'\nengine = 'e'\ntests = ['t::']\n\
                    [[block]]\nname = 'leaf'\nengine = 'e'\ntests = ['l::']\n[[block]]\nname = 'absent'\nengine = 'e'\ntests = ['l::']\n";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_block_ends_at_blocks_with_tests_of_their_own() {
        let (folder, table) = (design(), table());
        let read = |index: usize| Design::read(folder.path(), &table.block[index], &table).unwrap();
        let top = read(0).unwrap();
        let own: Vec<&str> = top.own.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((own, top.boxes.clone()), (vec!["top", "part"], vec!["leaf".to_string(), "lut_fifo".into()]));
        assert_eq!(top.rust_source("top.sv"), Some("a/src/top.rs"));
        assert_eq!(read(1).unwrap().own.len(), 1);
        assert!(read(2).is_none());
    }

    #[test]
    fn the_hash_is_that_of_the_statements_of_the_block_alone() {
        let (folder, table) = (design(), table());
        let hash = || Design::read(folder.path(), &table.block[0], &table).unwrap().unwrap().hash();
        let first = hash();
        let change = |file: &str, text: String| std::fs::write(folder.path().join(file), text).unwrap();
        change("top.sv", TOP.replace("top.rs:5", "top.rs:7"));
        change("other.sv", "module other;\nendmodule\n".into());
        assert_eq!(hash(), first);
        change("top.sv", TOP.replace("part_valid", "!part_valid"));
        assert_ne!(hash(), first);
    }
}
