//! The package of structure types.
//!
//! A signal of a structure type is declared with that type in a module that names its fields, and is a plain vector where it only passes through:
//! so a FIFO of descriptors stays the same module whatever it holds.

use crate::names::{module_name, reserved_for_ports, Names};
use crate::print::range;
use crate::ty::{width_of, Ty};
use rust_hdl_core::prelude::{TypeDescriptor, TypeKind};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// All types that have been asked for, in the order of their text.
#[derive(Default)]
pub(crate) struct Types {
    package: String,
    /// Each with its structure as a text, by which it is known again, and its name.
    known: RefCell<Vec<(TypeDescriptor, String, String)>>,
    names: RefCell<Names>,
}

impl Types {
    /// The package of the design with this top.
    pub fn new(top: &str) -> Types {
        Types { package: format!("{top}_types"), ..Types::default() }
    }

    /// Name of the package.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// Name of a structure type, as a module writes it.
    pub fn of(&self, descriptor: &Rc<TypeDescriptor>) -> String {
        format!("{}::{}", self.package, self.define(descriptor))
    }

    fn define(&self, descriptor: &TypeDescriptor) -> String {
        let structure = format!("{descriptor:?}");
        if let Some((.., name)) = self.known.borrow().iter().find(|known| known.1 == structure) {
            return name.clone();
        }
        // What it holds stands before it.
        if let TypeKind::Composite(fields) = &descriptor.kind {
            let structures = fields.iter().filter(|f| matches!(f.kind.kind, TypeKind::Composite(_)));
            structures.for_each(|field| _ = self.define(&field.kind));
        }
        let name = self.names.borrow_mut().unique(&format!("{}_t", module_name(&descriptor.name).0));
        self.known.borrow_mut().push((descriptor.clone(), structure, name.clone()));
        name
    }

    /// The package's text; none without types.
    pub fn text(&self) -> Option<String> {
        let known = self.known.borrow();
        if known.is_empty() {
            return None;
        }
        let mut out = format!("package {};\n", self.package);
        for (descriptor, _, name) in known.iter() {
            let TypeKind::Composite(fields) = &descriptor.kind else { continue };
            out.push_str("typedef struct packed {\n");
            // The last field of the description is the most significant one. Neighbours of one type share a line.
            let mut line = String::new();
            for field in fields.iter().rev() {
                let kind = match &field.kind.kind {
                    TypeKind::Composite(_) => format!("\t{} ", name_in(&known, &field.kind)),
                    _ => format!("\tlogic {}", range(width_of(&field.kind))),
                };
                let name = field_name(&field.fieldname);
                match line.strip_prefix(&kind) {
                    Some(names) if !names.starts_with('[') => line.push_str(&format!(", {name}")),
                    _ => {
                        end_line(&mut line, &mut out);
                        line = format!("{kind}{name}");
                    }
                }
            }
            end_line(&mut line, &mut out);
            let _ = writeln!(out, "}} {name};");
        }
        out.push_str("endpackage\n");
        Some(out)
    }
}

fn end_line(line: &mut String, out: &mut String) {
    if !line.is_empty() {
        let _ = writeln!(out, "{line};");
        line.clear();
    }
}

fn name_in(known: &[(TypeDescriptor, String, String)], descriptor: &TypeDescriptor) -> String {
    let structure = format!("{descriptor:?}");
    known.iter().find(|known| known.1 == structure).map_or_else(String::new, |known| known.2.clone())
}

/// A field as Verilog and the model in C++ name it.
fn field_name(name: &str) -> String {
    match reserved_for_ports(name) {
        Some(_) => format!("{name}_"),
        None => name.to_string(),
    }
}

/// Path of the field that has exactly these bits, or a part of a field without fields of its own; none for what spans fields.
pub(crate) fn path(ty: &Ty, lo: usize, width: usize) -> Option<String> {
    let Ty::Named(descriptor) = ty else { return None };
    path_in(descriptor, lo, width)
}

fn path_in(descriptor: &TypeDescriptor, lo: usize, width: usize) -> Option<String> {
    let TypeKind::Composite(fields) = &descriptor.kind else { return None };
    let mut offset = 0;
    for field in fields {
        let size = width_of(&field.kind);
        if (offset..offset + size).contains(&lo) {
            let at = lo - offset;
            let name = field_name(&field.fieldname);
            return match &field.kind.kind {
                _ if at == 0 && width == size => Some(format!(".{name}")),
                TypeKind::Composite(_) => path_in(&field.kind, at, width).map(|inner| format!(".{name}{inner}")),
                _ if at + width > size => None,
                _ if width == 1 => Some(format!(".{name}[{at}]")),
                _ => Some(format!(".{name}[{}:{at}]", at + width - 1)),
            };
        }
        offset += size;
    }
    None
}
