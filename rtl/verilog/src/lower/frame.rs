//! A body being lowered: its tables and its name scopes.

use super::Val;
use crate::describe::{FnSource, Source, Value};
use crate::expr::{Expr, SigId};
use crate::ty::Ty;
use std::collections::HashMap;

/// What a local name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Binding {
    /// `let x`, a parameter, a loop variable.
    Value(Val),
    /// `let mut x` as one variable.
    Variable { number: usize, sig: SigId },
    /// `let mut x` as a chain of wires.
    Versions { number: usize, name: String, ty: Ty },
}

/// A body or an inlined helper function.
pub(crate) struct Frame {
    pub source: Source,
    pub prefix: String,
    pub constants: HashMap<&'static str, Value>,
    pub types: HashMap<&'static str, Ty>,
    pub functions: HashMap<&'static str, fn() -> FnSource>,
    pub scopes: Vec<HashMap<String, Binding>>,
}

impl Frame {
    pub fn new(source: &Source, prefix: String) -> Frame {
        Frame {
            source: source.clone(),
            prefix,
            constants: source.constants.iter().cloned().collect(),
            types: source.types.iter().map(|(key, d)| (*key, Ty::of(d))).collect(),
            functions: source.functions.iter().cloned().collect(),
            scopes: vec![HashMap::new()],
        }
    }

    pub fn find(&self, name: &str) -> Option<&Binding> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }
}

/// A table entry as a value.
pub(crate) fn value_of(value: &Value) -> Val {
    match value {
        Value::Int(n) => Val::Int(*n),
        Value::List(list) => Val::List(list.iter().map(value_of).collect()),
        Value::Bits(bits, descriptor) => {
            let ty = Ty::of(descriptor);
            Val::Hw(Expr::number(ty.width(), bits.clone()), ty)
        }
    }
}

/// The source of some tokens without white space: the key of the tables.
pub(crate) fn squash(tokens: &impl quote::ToTokens) -> String {
    tokens.to_token_stream().to_string().chars().filter(|c| !c.is_whitespace()).collect()
}
