//! The symbol table of one module while its body is lowered.

use crate::error::{EmitError, Result};
use crate::expr::{Expr, SigId};
use crate::hierarchy::{Code, Node};
use crate::names::{flatten, reserved, reserved_for_ports, Names};
use crate::stmt::Stmt;
use crate::ty::Ty;
use num_bigint::BigUint;
use rust_hdl_core::prelude::AtomKind;
use std::collections::HashMap;

/// What a signal is in its module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Role {
    In,
    Out,
    InOut,
    Local,
    /// Input of a submodule.
    SubIn,
    /// Output of a submodule.
    SubOut,
    /// Present value of a register.
    RegQ,
    /// Next value of a register.
    RegD,
    /// Clock or reset of a register.
    RegControl,
    /// `let x = ..`.
    Let,
    /// `let mut x = ..`.
    Var,
}

#[derive(Debug, Clone)]
pub(crate) struct Sig {
    pub name: String,
    pub key: String,
    pub ty: Ty,
    pub role: Role,
    /// A local value of a loop's turn or of a helper function: one of many of its kind.
    pub step: bool,
}

impl Sig {
    pub fn width(&self) -> usize {
        self.ty.width()
    }
}

#[cfg(test)]
impl Sig {
    /// A signal of plain bits.
    pub fn of(name: &str, width: usize, role: Role) -> Sig {
        Sig { name: name.to_string(), key: name.to_string(), ty: Ty::Bits(width), role, step: false }
    }
}

/// A register inlined into this module.
#[derive(Debug, Clone)]
pub(crate) struct Register {
    pub q: SigId,
    pub d: SigId,
    pub clock: SigId,
    pub reset: Option<SigId>,
    pub init: BigUint,
    pub attributes: Vec<(String, String)>,
}

/// An instance of another module.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// Field of the struct, `units$3` in an array.
    pub key: String,
    pub name: String,
    pub node: usize,
    /// Port name in the submodule, and signal here.
    pub pins: Vec<(String, SigId)>,
}

/// What a body lowers to, in program order.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// A wire with its value.
    Wire(SigId, Expr),
    /// A statement at the top level of the body.
    Top(Stmt),
}

#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub file: String,
    /// Where `update()` starts; 0 when unknown.
    pub line: u32,
    pub sigs: Vec<Sig>,
    pub by_key: HashMap<String, SigId>,
    pub constants: HashMap<String, (BigUint, Ty)>,
    pub registers: Vec<Register>,
    pub instances: Vec<Instance>,
    pub names: Names,
    pub items: Vec<Item>,
}

impl Body {
    /// Declares everything the struct holds.
    pub fn new(nodes: &[Node], id: usize, file: &str, line: u32) -> Result<Body> {
        let node = &nodes[id];
        let mut body = Body {
            file: file.to_string(),
            line,
            sigs: vec![],
            by_key: HashMap::new(),
            constants: HashMap::new(),
            registers: vec![],
            instances: vec![],
            names: Names::default(),
            items: vec![],
        };
        for port in &node.ports {
            let role = match port.kind {
                AtomKind::InputParameter => Role::In,
                // Nothing outside reads the value: what does not read the value here either goes.
                AtomKind::OutputParameter if port.omitted => Role::Var,
                AtomKind::OutputParameter | AtomKind::OutputPassthrough => Role::Out,
                AtomKind::InOutParameter => Role::InOut,
                AtomKind::LocalSignal => Role::Local,
                AtomKind::Constant => {
                    body.constants.insert(port.key.clone(), (port.value.clone(), port.ty.clone()));
                    continue;
                }
                AtomKind::StubInputSignal | AtomKind::StubOutputSignal => continue,
            };
            let name = flatten(&port.key);
            if let (Some(reason), false) = (reserved_for_ports(&name), matches!(role, Role::Local | Role::Var)) {
                return Err(body.error(format!("`{name}` {reason}; give the port another name")));
            }
            let id = body.declare(&port.key, &name, port.ty.clone(), role)?;
            if body.sigs[id].name != name {
                // The parent connects ports by the plain name.
                return Err(body.error(format!(
                    "two signals are called `{name}` once dots and indices become `_`; rename `{}`",
                    port.key
                )));
            }
        }
        // Registers take their plain names before anything longer can.
        for (key, child) in &node.children {
            if let Code::Register { init, reset, attributes } = &nodes[*child].code {
                body.register(key, &nodes[*child], init, *reset, attributes)?;
            }
        }
        for (key, child) in &node.children {
            if !matches!(nodes[*child].code, Code::Register { .. }) {
                body.instance(key, &nodes[*child], *child)?;
            }
        }
        Ok(body)
    }

    fn error(&self, message: String) -> EmitError {
        EmitError::new(&self.file, self.line, message)
    }

    fn declare(&mut self, key: &str, name: &str, ty: Ty, role: Role) -> Result<SigId> {
        if let Some(reason) = reserved(name) {
            return Err(self.error(format!("`{name}` {reason}; give the signal another name")));
        }
        if ty.width() == 0 {
            return Err(self.error(format!("the signal `{key}` has no bits; give it at least one")));
        }
        if ty.is_signed() {
            let message = "is Signed, which is not part of the language; use Bits with signed_lt, sra and sext";
            return Err(self.error(format!("the signal `{key}` {message}")));
        }
        let name = self.names.unique(name);
        let id = self.sigs.len();
        self.sigs.push(Sig { name, key: key.to_string(), ty, role, step: false });
        self.by_key.insert(key.to_string(), id);
        Ok(id)
    }

    /// A wire or variable of the body.
    pub fn wire(&mut self, name: &str, ty: Ty, role: Role, step: bool) -> SigId {
        let ty = match ty {
            Ty::Index(n) => Ty::Bits(n),
            other => other,
        };
        let unique = self.names.unique(name);
        self.sigs.push(Sig { name: unique, key: name.to_string(), ty, role, step });
        self.sigs.len() - 1
    }

    fn register(
        &mut self,
        key: &str,
        node: &Node,
        init: &BigUint,
        reset: bool,
        attributes: &[(String, String)],
    ) -> Result<()> {
        let name = flatten(key);
        let ty = node.ports.iter().find(|p| p.key == "q").map_or(Ty::Bits(1), |p| p.ty.clone());
        let q = self.declare(&format!("{key}.q"), &name, ty.clone(), Role::RegQ)?;
        let d = self.declare(&format!("{key}.d"), &format!("{name}_d"), ty, Role::RegD)?;
        let clock = self.declare(&format!("{key}.clock"), &format!("{name}_clock"), Ty::Bits(1), Role::RegControl)?;
        let reset = match reset {
            true => {
                Some(self.declare(&format!("{key}.reset"), &format!("{name}_reset"), Ty::Bits(1), Role::RegControl)?)
            }
            false => None,
        };
        self.registers.push(Register { q, d, clock, reset, init: init.clone(), attributes: attributes.to_vec() });
        Ok(())
    }

    fn instance(&mut self, key: &str, node: &Node, id: usize) -> Result<()> {
        let name = self.names.unique(&flatten(key));
        let mut pins = vec![];
        for port in node.ports.iter().filter(|port| !port.omitted) {
            let role = match port.kind {
                AtomKind::InputParameter => Role::SubIn,
                AtomKind::OutputParameter | AtomKind::OutputPassthrough => Role::SubOut,
                AtomKind::InOutParameter => Role::InOut,
                _ => continue,
            };
            let pin = flatten(&port.key);
            let sig = self.declare(&format!("{key}.{}", port.key), &format!("{name}_{pin}"), port.ty.clone(), role)?;
            pins.push((pin, sig));
        }
        self.instances.push(Instance { key: key.to_string(), name, node: id, pins });
        Ok(())
    }

    /// Reads a signal.
    pub fn read(&self, id: SigId) -> Expr {
        Expr::sig(id, self.sigs[id].width())
    }
}
