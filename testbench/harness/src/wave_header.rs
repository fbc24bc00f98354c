//! The header of the VCD text that Verilator writes.

use anyhow::{bail, ensure, Context, Result};
use std::io::BufRead;

/// A step of the header, in order.
pub(crate) enum Item {
    /// `$scope`: its kind and name.
    Scope { kind: String, name: String },
    /// A variable, as an index into [`Header::variables`].
    Variable(usize),
    /// `$upscope`.
    Up,
}

/// A variable; several may share a code.
pub(crate) struct Variable {
    /// Instances from the top module on, and its own name.
    pub path: Vec<String>,
    /// `[511:0]`, or nothing.
    pub range: String,
    /// Width in bits.
    pub width: u32,
    /// Verilog's kind, such as `wire`.
    pub kind: String,
    /// Its code in the list of changes.
    pub code: String,
}

/// The declarations.
pub(crate) struct Header {
    pub items: Vec<Item>,
    pub variables: Vec<Variable>,
}

impl Header {
    /// Reads a header to its end. Verilator puts everything into a scope `TOP`, which also repeats the ports of the top
    /// module: it is left out.
    pub fn read(reader: &mut impl BufRead) -> Result<Header> {
        let (mut items, mut variables) = (Vec::new(), Vec::new());
        // Names of the open scopes, and whether they are kept. Scopes of `TOP` that are no modules are its ports.
        let (mut path, mut kept) = (Vec::<String>::new(), Vec::<bool>::new());
        let mut text = String::new();
        loop {
            text.clear();
            ensure!(reader.read_line(&mut text)? > 0, "the model's wave ends within its header");
            let words: Vec<&str> = text.split_whitespace().collect();
            match words[..] {
                ["$enddefinitions", ..] => return Ok(Header { items, variables }),
                ["$scope", kind, name, "$end"] => {
                    path.push(name.into());
                    kept.push(kept.len() == 1 && kind == "module" || kept.len() > 1 && kept.last() == Some(&true));
                    if kept.last() == Some(&true) {
                        items.push(Item::Scope { kind: kind.into(), name: name.into() });
                    }
                }
                ["$upscope", "$end"] => {
                    path.pop();
                    if kept.pop().context("a scope of the model's wave ends that has not begun")? {
                        items.push(Item::Up);
                    }
                }
                ["$var", kind, width, code, name, ref rest @ .., "$end"] => {
                    if kept.last() == Some(&true) {
                        let path = path[1..].iter().cloned().chain([name.to_string()]).collect();
                        let width = width.parse().context("a variable of the model's wave has no width")?;
                        let (kind, code) = (kind.to_string(), code.to_string());
                        items.push(Item::Variable(variables.len()));
                        variables.push(Variable { path, range: rest.concat(), width, kind, code });
                    }
                }
                [] | ["$version" | "$timescale" | "$date", ..] => {}
                _ => bail!("the model's wave has a header that the harness does not know: {}", text.trim_end()),
            }
        }
    }

    /// Names and widths of the chosen variables, as viewers show them.
    pub fn chosen_names(&self, chosen: &[bool]) -> Vec<(Vec<String>, String, u32)> {
        let kept = self.variables.iter().zip(chosen).filter(|(_, chosen)| **chosen);
        kept.map(|(variable, _)| (variable.path.clone(), variable.range.clone(), variable.width)).collect()
    }

    /// What there is where a path ends to be right.
    pub fn advice(&self, path: &str) -> String {
        let names: Vec<&str> = path.split('.').collect();
        for depth in (0..names.len()).rev() {
            let mut there: Vec<&str> = Vec::new();
            for variable in &self.variables {
                let right = depth == 0 || crate::record::matches(&names[..depth].join("."), &variable.path);
                if let (true, Some(next)) = (right, variable.path.get(depth)) {
                    // Instances alone: a module has hundreds of signals.
                    if variable.path.len() > depth + 1 && !there.contains(&next.as_str()) {
                        there.push(next);
                    }
                }
            }
            if !there.is_empty() {
                let place = if depth == 0 { "at its top".into() } else { format!("in `{}`", names[..depth].join(".")) };
                return format!("{place} there are the instances {}", there.join(", "));
            }
        }
        "it has no instances".into()
    }
}
