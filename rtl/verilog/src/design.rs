//! Emits a whole design: one module per distinct shape, children first.

use crate::build::Body;
use crate::error::{EmitError, Result};
use crate::hierarchy::{self, Code, Node};
use crate::module;
use crate::options::Options;
use crate::types::Types;
use crate::{collapse, lower, names, sizes, stock};
use rust_hdl_core::prelude::Block;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::Path;

/// One Verilog module, or the package of types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Name of the module or package, and of its file.
    pub name: String,
    /// Complete source, from comment to `endmodule` or `endpackage`.
    pub text: String,
    /// The declaration of a module that the user's tool brings: simulators and yosys need the text, Vivado does not.
    pub black_box: bool,
}

/// A design as SystemVerilog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// The package of types, if there are any, and all modules, children before the modules that use them.
    pub modules: Vec<Module>,
    /// Name of the top module.
    pub top: String,
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, module) in self.modules.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            f.write_str(&module.text)?;
        }
        Ok(())
    }
}

impl Design {
    /// Distinct modules.
    pub fn module_count(&self) -> usize {
        self.modules.iter().filter(|module| !module.text.starts_with("package ")).count()
    }

    /// Writes one `.sv` file per module and `filelist.f`, which names them in order.
    pub fn write_dir(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        self.write(path.as_ref(), |_| true)
    }

    /// [`write_dir`](Self::write_dir) without the black boxes: for a tool that has the modules of the vendor.
    pub fn write_dir_without_black_boxes(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        self.write(path.as_ref(), |module| !module.black_box)
    }

    fn write(&self, path: &Path, wanted: impl Fn(&Module) -> bool) -> std::io::Result<()> {
        std::fs::create_dir_all(path)?;
        let mut list = String::new();
        for module in self.modules.iter().filter(|module| wanted(module)) {
            std::fs::write(path.join(format!("{}.sv", module.name)), &module.text)?;
            list.push_str(&format!("{}.sv\n", module.name));
        }
        std::fs::write(path.join("filelist.f"), list)
    }
}

/// A source path as messages and comments show it: never absolute.
pub(crate) fn relative(file: &str) -> String {
    match Path::new(file).is_absolute() {
        true => Path::new(file).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
        false => file.to_string(),
    }
}

/// A distinct shape; its source names other shapes by their number between `\u{1}` marks.
struct Shape {
    base: String,
    suffix: String,
    comment: String,
    text: String,
    /// Name fixed by a black box.
    fixed: bool,
    /// Its source was written by the back end, so another one may replace it.
    generic: bool,
    /// Its parameters, with their values when the shape is the top.
    parameters: Vec<(String, usize)>,
}

/// Emits `top` and everything below it; the top module is called `top_name`.
pub fn emit<B: Block>(top: &mut B, top_name: &str) -> Result<Design> {
    emit_with(top, top_name, &Options::default())
}

/// [`emit`], with outputs left out and attributes beside ports.
pub fn emit_with<B: Block>(top: &mut B, top_name: &str, options: &Options) -> Result<Design> {
    if names::is_keyword(top_name) || !names::is_legal(top_name) {
        return Err(EmitError::new(
            "",
            0,
            format!("`{top_name}` cannot name a module; use letters, digits and _, and no keyword"),
        ));
    }
    top.connect_all();
    let mut nodes = hierarchy::walk(top, top_name);
    options.apply(&mut nodes)?;
    let types = Types::new(top_name);
    let mut shapes: Vec<Shape> = vec![];
    let mut by_text: HashMap<(String, String), usize> = HashMap::new();
    let mut shape_of: Vec<Option<usize>> = vec![None; nodes.len()];
    let memo = lower::Memo::default();
    for id in (0..nodes.len()).rev() {
        let Some(shape) = shape(&nodes, id, &shape_of, &types, &memo, options)? else { continue };
        if id != 0 {
            if let Some(child) = collapse::stands_for(&shape.text, |n| &shapes[n].text) {
                shape_of[id] = Some(child);
                continue;
            }
        }
        let key = (shape.base.clone(), shape.text.clone());
        let number = *by_text.entry(key).or_insert_with(|| {
            shapes.push(shape);
            shapes.len() - 1
        });
        shape_of[id] = Some(number);
    }
    let Some(top_shape) = shape_of[0] else {
        return Err(EmitError::new("", 0, "the top is a register; wrap it in a block"));
    };
    let (shapes, top_shape) = share_sizes(shapes, top_shape);
    let final_names = name_shapes(&shapes, top_shape, top_name);
    let modules = shapes.iter().enumerate();
    let modules = modules.map(|(i, shape)| Module {
        name: final_names[i].clone(),
        text: substitute(shape, &final_names, i),
        black_box: shape.fixed,
    });
    let package = types.text().map(|text| Module { name: types.package().to_string(), text, black_box: false });
    let modules = package.into_iter().chain(modules).collect();
    Ok(Design { modules, top: top_name.to_string() })
}

fn shape(
    nodes: &[Node],
    id: usize,
    shape_of: &[Option<usize>],
    types: &Types,
    memo: &lower::Memo,
    options: &Options,
) -> Result<Option<Shape>> {
    let node = &nodes[id];
    let instance = node.path.rsplit('.').next().unwrap_or(&node.path);
    let instance = instance.split('$').next().unwrap_or(instance);
    let child = |n: usize| {
        let parameters = match &nodes[n].code {
            Code::Text { parameters, .. } | Code::Blackbox { parameters, .. } => parameters.instance(),
            _ => String::new(),
        };
        format!("\u{1}{}\u{1}{parameters}", shape_of[n].unwrap_or(usize::MAX))
    };
    let shape = match &node.code {
        Code::Register { .. } => return Ok(None),
        Code::Nothing => {
            return Err(EmitError::new(
                "",
                0,
                format!("the block at {} has no description; put #[hdl] on its update()", node.path),
            ));
        }
        Code::Source(source, block) => {
            let file = relative(source.file);
            let (base, suffix) = names::module_name(source.type_name);
            let fresh = || Body::new(nodes, id, &file, source.line);
            let body = lower::lower(source, block.as_ref(), memo, &fresh)?;
            let text = module::write(&body, &|n| child(n), source.line, types, &options.of_block(&base))?;
            let comment = format!("// {} ({file}:{})\n", source.type_name, source.line);
            Shape { base, suffix, comment, text, fixed: false, generic: true, parameters: vec![] }
        }
        Code::Stock(block) => {
            let body = stock::lower(block, Body::new(nodes, id, "", 0)?)
                .map_err(|e| EmitError::new("", 0, format!("{}: {}", node.path, e.message)))?;
            let text = module::write(&body, &|n| child(n), 0, types, &[])?;
            Shape {
                base: names::snake(instance),
                suffix: String::new(),
                comment: String::new(),
                text,
                fixed: false,
                generic: false,
                parameters: vec![],
            }
        }
        Code::Text { name, body, extra, parameters } => {
            let base = name.clone().unwrap_or_else(|| names::snake(instance));
            if names::is_keyword(&base) || !names::is_legal(&base) {
                return Err(EmitError::new(
                    "",
                    0,
                    format!("`{base}` ({}) cannot name a module; use letters, digits and _", node.path),
                ));
            }
            Shape {
                base,
                suffix: String::new(),
                comment: extra.clone(),
                text: module::hand_written(node, body, parameters, id == 0),
                fixed: false,
                generic: false,
                parameters: vec![],
            }
        }
        Code::Blackbox { name, text, .. } => Shape {
            base: name.clone(),
            suffix: String::new(),
            comment: String::new(),
            text: text.clone(),
            fixed: true,
            generic: false,
            parameters: vec![],
        },
    };
    Ok(Some(shape))
}

/// Shapes of one block that differ in a few sizes become one with parameters; children first, since parents may be alike only then.
fn share_sizes(mut shapes: Vec<Shape>, top: usize) -> (Vec<Shape>, usize) {
    let mut stands_for: Vec<usize> = (0..shapes.len()).collect();
    loop {
        let mut by_block: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for (i, shape) in shapes.iter().enumerate() {
            if shape.generic && i != top && stands_for[i] == i && shape.parameters.is_empty() {
                by_block.entry((shape.base.clone(), shape.place().to_string())).or_default().push(i);
            }
        }
        let mut reference: HashMap<usize, String> = HashMap::new();
        for members in by_block.values().filter(|members| members.len() > 1) {
            let texts: Vec<&str> = members.iter().map(|i| shapes[*i].text.as_str()).collect();
            for group in sizes::shared(&texts) {
                let first = members[group.members[0]];
                let suffixes: Vec<&str> = group.members.iter().map(|n| shapes[members[*n]].suffix.as_str()).collect();
                let suffix = names::common_end(&suffixes).to_string();
                for (n, values) in group.members.iter().zip(&group.values) {
                    let pins = group.names.iter().zip(values).map(|(name, value)| format!(".{name}({value})"));
                    let pins = pins.collect::<Vec<_>>().join(", ");
                    stands_for[members[*n]] = first;
                    reference.insert(members[*n], format!("\u{1}{first}\u{1} #({pins})"));
                }
                let shape = &mut shapes[first];
                shape.text = group.text;
                shape.suffix = suffix;
                shape.comment = shape.comment_of_all();
                shape.parameters = group.names.into_iter().zip(group.values[0].iter().copied()).collect();
            }
        }
        if reference.is_empty() {
            break;
        }
        for shape in &mut shapes {
            shape.text = with_references(&shape.text, |n| reference.get(&n).cloned());
        }
    }
    // Replaced shapes go; the others keep their order.
    let kept: Vec<usize> = (0..shapes.len()).filter(|i| stands_for[*i] == *i).collect();
    let number: HashMap<usize, usize> = kept.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    for shape in &mut shapes {
        shape.text = with_references(&shape.text, |n| number.get(&n).map(|new| format!("\u{1}{new}\u{1}")));
    }
    let top = number[&top];
    let mut stays = stands_for.iter().enumerate().map(|(i, by)| i == *by);
    shapes.retain(|_| stays.next().unwrap_or(false));
    (shapes, top)
}

/// A source with its references to other shapes replaced by those that `other` gives.
fn with_references(text: &str, other: impl Fn(usize) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, part) in text.split('\u{1}').enumerate() {
        match (i % 2, part.parse::<usize>().ok()) {
            (1, Some(number)) => out.push_str(&other(number).unwrap_or_else(|| format!("\u{1}{number}\u{1}"))),
            (1, None) => out.push_str(&format!("\u{1}{part}\u{1}")),
            _ => out.push_str(part),
        }
    }
    out
}

impl Shape {
    /// Where the block was written: the end of the comment.
    fn place(&self) -> &str {
        self.comment.rsplit_once(" (").map_or("", |(_, place)| place)
    }

    /// The comment without the types of one member.
    fn comment_of_all(&self) -> String {
        match (self.comment.find('<'), self.comment.rfind('>')) {
            (Some(from), Some(to)) if from < to => {
                format!("{}<_>{}", &self.comment[..from], &self.comment[to + 1..])
            }
            _ => self.comment.clone(),
        }
    }
}

/// Short names where they are unique, then names with the generic arguments, then numbered ones.
fn name_shapes(shapes: &[Shape], top: usize, top_name: &str) -> Vec<String> {
    let mut by_base: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, shape) in shapes.iter().enumerate() {
        by_base.entry(&shape.base).or_default().push(i);
    }
    let mut used: HashSet<String> = HashSet::from([top_name.to_string()]);
    let mut result = vec![String::new(); shapes.len()];
    result[top] = top_name.to_string();
    for (i, shape) in shapes.iter().enumerate().filter(|(_, s)| s.fixed) {
        used.insert(shape.base.clone());
        result[i] = shape.base.clone();
    }
    for (base, members) in by_base {
        let others: Vec<usize> = members.into_iter().filter(|i| result[*i].is_empty()).collect();
        for i in &others {
            let mut name = if others.len() == 1 { base.to_string() } else { format!("{base}{}", shapes[*i].suffix) };
            let stem = name.clone();
            let mut n = 2;
            while names::is_keyword(&name) || !used.insert(name.clone()) {
                name = format!("{stem}_{n}");
                n += 1;
            }
            result[*i] = name;
        }
    }
    result
}

fn substitute(shape: &Shape, names: &[String], own: usize) -> String {
    if shape.fixed {
        return format!("{}\n", shape.text.trim());
    }
    let mut out = shape.comment.clone();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    for (i, part) in shape.text.split('\u{1}').enumerate() {
        match (i % 2, part.parse::<usize>()) {
            (1, Ok(number)) => out.push_str(&names[number]),
            (1, Err(_)) if shape.parameters.is_empty() => out.push_str(&names[own]),
            (1, Err(_)) => {
                let list = shape.parameters.iter().map(|(name, value)| format!("  parameter int {name} = {value}"));
                out.push_str(&format!("{} #(\n{}\n)", names[own], list.collect::<Vec<_>>().join(",\n")));
            }
            _ => out.push_str(part),
        }
    }
    indented(&out)
}

/// Indents by tabs, which keeps the file small and lets a reader choose the width. The items of a module are at the margin.
fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut margin = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start_matches(' ');
        let spaces = (line.len() - code.len()).saturating_sub(margin);
        if line == ");\n" {
            margin = 2;
        }
        out.extend(std::iter::repeat_n('\t', spaces / 2));
        out.extend(std::iter::repeat_n(' ', spaces % 2));
        out.push_str(code);
    }
    out
}
