//! The package of structure types.
//!
//! A signal of a structure type is declared with that type in a module that names its fields. Where it only passes through, it is a plain
//! vector, so that a FIFO is the same module whatever it holds.

use crate::names::{module_name, reserved_for_ports, Names};
use crate::print::range;
use crate::ty::{width_of, Ty};
use rust_hdl_core::prelude::{TypeDescriptor, TypeKind};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write;

/// A structure of which fields are named.
struct Known {
    descriptor: TypeDescriptor,
    /// The structure's declaration, by which it is recognised.
    structure: String,
    name: String,
}

/// All structures of which fields are named.
#[derive(Default)]
pub(crate) struct Types {
    package: String,
    known: RefCell<Vec<Known>>,
    names: RefCell<Names>,
}

impl Types {
    /// The package of the design with this top.
    pub fn new(top: &str) -> Types {
        Types { package: format!("{top}_pkg"), ..Types::default() }
    }

    /// Name of the package.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// Name of a structure type, as a module writes it.
    pub fn of(&self, descriptor: &TypeDescriptor) -> String {
        format!("{}::{}", self.package, self.define(descriptor))
    }

    fn define(&self, descriptor: &TypeDescriptor) -> String {
        let structure = format!("{descriptor:?}");
        if let Some(known) = find(&self.known.borrow(), &structure) {
            return known.name.clone();
        }
        let name = self.names.borrow_mut().unique(&format!("{}_t", module_name(&descriptor.name).0));
        self.known.borrow_mut().push(Known { descriptor: descriptor.clone(), structure, name: name.clone() });
        name
    }

    /// Whether [`path`] names these bits; then the structures on the way are noted.
    pub fn note(&self, ty: &Ty, lo: usize, width: usize) -> bool {
        let Ty::Named(descriptor) = ty else { return false };
        let mut opened = vec![];
        let named = path_in(descriptor, lo, width, &mut opened).is_some();
        if named {
            opened.into_iter().for_each(|descriptor| _ = self.define(descriptor));
        }
        named
    }

    /// The package's source; none without types.
    pub fn text(&self) -> Option<String> {
        let known = self.known.borrow();
        let mut out = format!("package {};\n", self.package);
        let mut written = HashSet::new();
        known.iter().for_each(|one| write(one, &known, &mut written, &mut out));
        out.push_str("endpackage\n");
        (!known.is_empty()).then_some(out)
    }
}

fn find<'a>(known: &'a [Known], structure: &str) -> Option<&'a Known> {
    known.iter().find(|known| known.structure == structure)
}

/// Writes a type after those of its fields. An inner structure whose fields are not named is a vector.
fn write<'a>(one: &'a Known, known: &'a [Known], written: &mut HashSet<&'a str>, out: &mut String) {
    let TypeKind::Composite(fields) = &one.descriptor.kind else { return };
    if !written.insert(&one.name) {
        return;
    }
    // The last field of the description is the most significant one. Neighbours of one type share a line.
    let mut lines: Vec<(String, Vec<String>)> = vec![];
    for field in fields.iter().rev() {
        let kind = match find(known, &format!("{:?}", field.kind)) {
            Some(inner) => {
                write(inner, known, written, out);
                format!("{} ", inner.name)
            }
            None => format!("logic {}", range(width_of(&field.kind))),
        };
        match lines.last_mut() {
            Some((last, names)) if *last == kind => names.push(field_name(&field.fieldname)),
            _ => lines.push((kind, vec![field_name(&field.fieldname)])),
        }
    }
    out.push_str("typedef struct packed {\n");
    for (kind, names) in lines {
        let _ = writeln!(out, "\t{kind}{};", names.join(", "));
    }
    let _ = writeln!(out, "}} {};", one.name);
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
    path_in(descriptor, lo, width, &mut vec![])
}

/// [`path`], and the structures on the way.
fn path_in<'a>(
    descriptor: &'a TypeDescriptor,
    lo: usize,
    width: usize,
    opened: &mut Vec<&'a TypeDescriptor>,
) -> Option<String> {
    let TypeKind::Composite(fields) = &descriptor.kind else { return None };
    opened.push(descriptor);
    let mut offset = 0;
    for field in fields {
        let size = width_of(&field.kind);
        if (offset..offset + size).contains(&lo) {
            let at = lo - offset;
            let name = field_name(&field.fieldname);
            return match &field.kind.kind {
                _ if at == 0 && width == size => Some(format!(".{name}")),
                TypeKind::Composite(_) => {
                    path_in(&field.kind, at, width, opened).map(|inner| format!(".{name}{inner}"))
                }
                _ if at + width > size => None,
                _ if width == 1 => Some(format!(".{name}[{at}]")),
                _ => Some(format!(".{name}[{}:{at}]", at + width - 1)),
            };
        }
        offset += size;
    }
    None
}
