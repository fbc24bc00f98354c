//! Walks a design and notes, for every block, its signals, its submodules and the origin of its source.

use crate::describe::{self, BlockSource, HandedOver, Parameters, Source};
use crate::ty::Ty;
use num_bigint::BigUint;
use rust_hdl_core::ast::VerilogBlock;
use rust_hdl_core::prelude::{Atom, AtomKind, Block, Probe, Verilog};

/// One signal of a block. `key` is the path from the block, `$` before an array index: `bus.data$3`.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub key: String,
    pub kind: AtomKind,
    pub ty: Ty,
    pub value: BigUint,
    /// An output that is left out of the module.
    pub omitted: bool,
}

/// The origin of a block's source.
#[derive(Debug, Clone)]
pub(crate) enum Code {
    /// An `#[hdl]` body; with `#[hdl] impl`, its stages and what is wired implicitly.
    Source(Source, Option<BlockSource>),
    /// A register that becomes part of its parent; reset value present for `Reg`, power-up value for `DFF`.
    Register { init: BigUint, reset: bool, attributes: Vec<(String, String)> },
    /// Hand-written source between the port list and `endmodule`; the name, if the author gave one.
    Text { name: Option<String>, body: String, extra: String, parameters: Parameters },
    /// A body described with rust-hdl's own `hdl_gen`.
    Stock(VerilogBlock),
    /// A module that a library of the user's tool brings: its declaration, and the parameters of this instance.
    Blackbox { name: String, text: String, parameters: Parameters },
    /// No description at all.
    Nothing,
}

/// One block of the design.
#[derive(Debug)]
pub(crate) struct Node {
    /// Path of instances from the top, for messages.
    pub path: String,
    pub code: Code,
    pub ports: Vec<Port>,
    /// Key of the field, and index of the block.
    pub children: Vec<(String, usize)>,
}

#[derive(Default)]
struct Walk {
    nodes: Vec<Node>,
    /// Open blocks, each with the open interface name spaces inside it.
    open: Vec<(usize, Vec<String>)>,
}

/// All blocks; the top is number 0 and every child has a larger number than its parent.
pub(crate) fn walk(top: &dyn Block, name: &str) -> Vec<Node> {
    let mut walk = Walk::default();
    top.accept(name, &mut walk);
    walk.nodes
}

fn code_of(node: &dyn Block) -> Code {
    let hdl = node.hdl();
    let handed_over = describe::take();
    match hdl {
        Verilog::Empty => Code::Nothing,
        Verilog::Combinatorial(block) => Code::Stock(block),
        Verilog::Blackbox(b) => {
            let (name, parameters) = describe::shared_parts(&b.name);
            Code::Blackbox { name, text: b.code, parameters }
        }
        Verilog::Wrapper(w) => {
            Code::Text { name: None, body: w.code, extra: w.cores, parameters: Parameters::default() }
        }
        Verilog::Custom(text) if text == describe::MARKER => match handed_over {
            Some(HandedOver::Source(source, block)) => Code::Source(source, block),
            Some(HandedOver::Register(r)) => {
                Code::Register { init: describe::literal_value(&r.init), reset: true, attributes: r.attributes }
            }
            None => Code::Nothing,
        },
        Verilog::Custom(text) => {
            if let Some(init) = dff_init(&text) {
                return Code::Register { init, reset: false, attributes: vec![] };
            }
            match text.strip_prefix(describe::NAMED).and_then(|t| t.split_once('\n')) {
                Some((line, body)) => {
                    let (name, parameters) = describe::shared_parts(line);
                    Code::Text { name: Some(name), body: body.to_string(), extra: String::new(), parameters }
                }
                None => Code::Text { name: None, body: text, extra: String::new(), parameters: Parameters::default() },
            }
        }
    }
}

/// The power-up value of rust-hdl's `DFF` widget, taken from its source.
fn dff_init(text: &str) -> Option<BigUint> {
    let rest = text.strip_prefix("initial begin\n   q = ")?;
    let (init, rest) = rest.split_once(';')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    if words != ["end", "always", "@(posedge", "clock)", "begin", "q", "<=", "d;", "end"] {
        return None;
    }
    BigUint::parse_bytes(init.split("'h").nth(1)?.as_bytes(), 16)
}

impl Probe for Walk {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let id = self.nodes.len();
        let mut path = name.to_string();
        if let Some((parent, spaces)) = self.open.last() {
            let mut key = spaces.clone();
            key.push(name.to_string());
            let key = key.join(".");
            path = format!("{}.{key}", self.nodes[*parent].path);
            self.nodes[*parent].children.push((key, id));
        }
        self.nodes.push(Node { path, code: code_of(node), ports: vec![], children: vec![] });
        self.open.push((id, vec![]));
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.open.pop();
    }

    fn visit_start_namespace(&mut self, name: &str, _node: &dyn Block) {
        if let Some((_, spaces)) = self.open.last_mut() {
            spaces.push(name.to_string());
        }
    }

    fn visit_end_namespace(&mut self, _name: &str, _node: &dyn Block) {
        if let Some((_, spaces)) = self.open.last_mut() {
            spaces.pop();
        }
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let Some((id, spaces)) = self.open.last() else { return };
        let mut key = spaces.clone();
        key.push(name.to_string());
        self.nodes[*id].ports.push(Port {
            key: key.join("."),
            kind: signal.kind(),
            ty: Ty::of(&signal.descriptor()),
            value: describe::literal_value(&signal.verilog()),
            omitted: false,
        });
    }
}
