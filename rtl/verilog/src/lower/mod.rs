//! Lowers the source of an `update()` body to statements of exact width.
//!
//! Loops are unrolled and conditions on parameters decided here. `let` becomes a wire. A `let mut` that is read only after
//! its last assignment becomes a variable with one block of statements; one that is read in between is versioned: every
//! assignment makes a new wire, and branches are joined by multiplexers.

mod call;
mod expr;
mod frame;
mod intrinsics;
mod matching;
mod stages;
mod statement;
mod wiring;

use crate::build::{Body, Item, Role};
use crate::describe::{BlockSource, Source};
use crate::error::{EmitError, Result};
use crate::expr::{Expr, SigId};
use crate::stmt::Stmt;
use crate::ty::Ty;
use frame::{Binding, Frame};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use syn::spanned::Spanned;

/// What was read and lowered before of one design.
#[derive(Default)]
pub(crate) struct Memo {
    /// Texts: a block is lowered for each of its shapes, a helper function wherever it is called.
    parsed: RefCell<HashMap<&'static str, Rc<syn::Block>>>,
    /// Bodies by their block and everything they name: a processor is lowered once, not sixteen times.
    lowered: RefCell<HashMap<(&'static str, String), Body>>,
}

/// A value while lowering.
#[derive(Debug, Clone)]
pub(crate) enum Val {
    /// An integer known now, without a width.
    Int(i128),
    Hw(Expr, Ty),
    List(Vec<Val>),
}

/// Parts of signals read so far: first bit, end, line.
type Reads = HashMap<SigId, Vec<(usize, usize, u32)>>;

/// A reason to stop: a mistake in the description, or the discovery that a variable must be versioned.
pub(crate) enum Stop {
    Error(EmitError),
    Version(usize),
}

impl From<EmitError> for Stop {
    fn from(error: EmitError) -> Self {
        Stop::Error(error)
    }
}

type Lowered<T> = std::result::Result<T, Stop>;

pub(crate) struct Lower<'a> {
    memo: &'a Memo,
    block: Option<&'a BlockSource>,
    body: &'a mut Body,
    frames: Vec<Frame>,
    /// Statements of the open branches, innermost last.
    open: Vec<Vec<Stmt>>,
    reads: Reads,
    /// Variables declared so far, and those known to need versions.
    variables: usize,
    versioned: &'a HashSet<usize>,
    /// Present value of each versioned variable.
    versions: HashMap<usize, Expr>,
    /// Values of the enclosing loop variables.
    loops: Vec<i128>,
}

/// Lowers a body; `fresh` makes the symbol table anew for each attempt.
pub(crate) fn lower(
    source: &Source,
    block: Option<&BlockSource>,
    memo: &Memo,
    fresh: &dyn Fn() -> Result<Body>,
) -> Result<Body> {
    let mut body = fresh()?;
    let instances: Vec<_> = body.instances.iter().map(|i| (&i.key, &i.name, &i.pins)).collect();
    let stages: Vec<_> = block.iter().flat_map(|b| &b.stages).map(|stage| &stage.body.constants).collect();
    let named = (&source.constants, stages, &body.sigs, &body.registers, instances);
    let shape = (source.type_name, format!("{named:?}"));
    if let Some(known) = memo.lowered.borrow().get(&shape).cloned() {
        return Ok(Body { instances: body.instances, ..known });
    }
    let mut versioned = HashSet::new();
    loop {
        let mut lower = Lower {
            memo,
            block,
            body: &mut body,
            frames: vec![Frame::new(source, String::new())],
            open: vec![],
            reads: HashMap::new(),
            variables: 0,
            versioned: &versioned,
            versions: HashMap::new(),
            loops: vec![],
        };
        match lower.run() {
            Ok(()) => {
                memo.lowered.borrow_mut().insert(shape, body.clone());
                return Ok(body);
            }
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Version(variable)) => {
                versioned.insert(variable);
                body = fresh()?;
            }
        }
    }
}

impl Lower<'_> {
    fn run(&mut self) -> Lowered<()> {
        self.implicit()?;
        let block = self.parse()?;
        for statement in &block.stmts {
            self.statement(statement)?;
        }
        Ok(())
    }

    fn parse(&self) -> Lowered<Rc<syn::Block>> {
        let source = &self.frame().source;
        if let Some(block) = self.memo.parsed.borrow().get(source.text) {
            return Ok(block.clone());
        }
        let block = syn::parse_str::<syn::Block>(source.text).map_err(|e| {
            Stop::Error(EmitError::new(
                &self.body.file,
                source.line,
                format!("the body cannot be read as Rust ({e}); simplify it"),
            ))
        })?;
        let block = Rc::new(block);
        self.memo.parsed.borrow_mut().insert(source.text, block.clone());
        Ok(block)
    }

    fn frame(&self) -> &Frame {
        self.frames.last().expect("a frame is always open")
    }

    fn frame_mut(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a frame is always open")
    }

    fn line(&self, at: &impl Spanned) -> u32 {
        self.frame().source.line + at.span().start().line as u32 - 1
    }

    /// A mistake in the description.
    fn refuse<T>(&self, at: &impl Spanned, message: impl Into<String>) -> Lowered<T> {
        let file = crate::design::relative(self.frame().source.file);
        Err(Stop::Error(EmitError::new(&file, self.line(at), message)))
    }

    /// Adds a statement to the open branch, or to the body.
    fn push(&mut self, stmt: Stmt) {
        match self.open.last_mut() {
            Some(branch) => branch.push(stmt),
            None => self.body.items.push(Item::Top(stmt)),
        }
    }

    /// Runs `f` with a new branch open and gives the statements it made.
    fn branch(&mut self, f: &mut dyn FnMut(&mut Self) -> Lowered<()>) -> Lowered<Vec<Stmt>> {
        self.open.push(vec![]);
        self.frame_mut().scopes.push(HashMap::new());
        let result = f(self);
        self.frame_mut().scopes.pop();
        let statements = self.open.pop().expect("the branch opened above");
        result.map(|()| statements)
    }

    /// Runs `f` inside a name scope.
    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        self.frame_mut().scopes.push(HashMap::new());
        let result = f(self);
        self.frame_mut().scopes.pop();
        result
    }

    /// Name of a wire: the Rust name, after the helper function's and before the loop indices.
    fn wire_name(&self, name: &str) -> String {
        let mut full = format!("{}{name}", self.frame().prefix);
        for index in &self.loops {
            full.push_str(&format!("_{index}"));
        }
        full
    }

    /// Whether what is declared here is one of many: in a loop or a helper function.
    fn is_step(&self) -> bool {
        !self.frame().prefix.is_empty() || !self.loops.is_empty()
    }

    /// A wire that holds an expression.
    fn wire(&mut self, name: &str, ty: Ty, value: Expr) -> SigId {
        let id = self.body.wire(&self.wire_name(name), ty, Role::Let, self.is_step());
        self.body.items.push(Item::Wire(id, value));
        id
    }

    fn bind(&mut self, name: &str, binding: Binding) {
        let scope = self.frame_mut().scopes.last_mut().expect("a scope is always open");
        scope.insert(name.to_string(), binding);
    }

    /// Notes a read, so that a later write can be refused.
    fn note_read(&mut self, id: SigId, line: u32) {
        if matches!(self.body.sigs[id].role, Role::Local | Role::Out | Role::Var) {
            let width = self.body.sigs[id].width();
            self.reads.entry(id).or_default().push((0, width, line));
        }
    }

    /// Narrows the read that `base` has just made to the bits that are used.
    ///
    /// Only a signal's own `.val()` counts: a parameter of a helper function stands for a read made once and used many
    /// times, and a variable is declared where it is last written, which is too late for a read of any part before.
    fn narrow_read(&mut self, base: &syn::Expr, value: &Expr, lo: usize, width: usize) {
        let crate::expr::Kind::Sig(id, _) = value.kind else { return };
        if !reads_anew(base) {
            return;
        }
        if let Some(read) = self.reads.get_mut(&id).and_then(|list| list.last_mut()) {
            read.0 += lo;
            read.1 = read.0 + width;
        }
    }

    /// The line of a read that a write of these bits comes too late for.
    fn read_before(&self, id: SigId, lo: usize, width: usize) -> Option<u32> {
        let reads = self.reads.get(&id)?;
        reads.iter().find(|(from, to, _)| *from < lo + width && lo < *to).map(|r| r.2)
    }
}

/// Whether an expression is `self.x.val()` or a part of it.
fn reads_anew(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Paren(inner) => reads_anew(&inner.expr),
        syn::Expr::Field(field) => reads_anew(&field.base),
        syn::Expr::MethodCall(call) if call.method == "val" => true,
        syn::Expr::MethodCall(call) => {
            matches!(call.method.to_string().as_str(), "get_bits" | "get_bit") && reads_anew(&call.receiver)
        }
        _ => false,
    }
}
