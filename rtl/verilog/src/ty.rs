//! Types of values while a body is lowered.

use rust_hdl_core::prelude::{TypeDescriptor, TypeKind};
use std::rc::Rc;

/// The type of a hardware value.
#[derive(Debug, Clone)]
pub(crate) enum Ty {
    /// `Bits<N>`, `Bit`, `Clock`.
    Bits(usize),
    /// What `.index()` and `.to_u64()` give: a number that does not wrap at this many bits.
    Index(usize),
    /// A structure or state (or `Signed`, which no signal may be).
    Named(Rc<TypeDescriptor>),
}

/// Bits that a described type takes.
pub(crate) fn width_of(descriptor: &TypeDescriptor) -> usize {
    match &descriptor.kind {
        TypeKind::Bits(n) | TypeKind::Signed(n) => *n,
        TypeKind::Enum(states) => clog2(states.len()).max(1),
        TypeKind::Composite(fields) => fields.iter().map(|f| width_of(&f.kind)).sum(),
    }
}

/// Bits needed to count to `n` values.
pub(crate) fn clog2(n: usize) -> usize {
    n.max(1).next_power_of_two().trailing_zeros() as usize
}

impl Ty {
    pub fn of(descriptor: &TypeDescriptor) -> Ty {
        match &descriptor.kind {
            TypeKind::Bits(n) => Ty::Bits(*n),
            _ => Ty::Named(Rc::new(descriptor.clone())),
        }
    }

    /// Whether it is, or holds, rust-hdl's `Signed`, whose operators differ from those of `Bits`.
    pub fn is_signed(&self) -> bool {
        fn signed(kind: &TypeKind) -> bool {
            match kind {
                TypeKind::Signed(_) => true,
                TypeKind::Composite(fields) => fields.iter().any(|f| signed(&f.kind.kind)),
                TypeKind::Bits(_) | TypeKind::Enum(_) => false,
            }
        }
        matches!(self, Ty::Named(d) if signed(&d.kind))
    }

    pub fn width(&self) -> usize {
        match self {
            Ty::Bits(n) | Ty::Index(n) => *n,
            Ty::Named(d) => width_of(d),
        }
    }

    /// Offset and type of a structure field.
    pub fn field(&self, name: &str) -> Option<(usize, Ty)> {
        let Ty::Named(descriptor) = self else { return None };
        let TypeKind::Composite(fields) = &descriptor.kind else { return None };
        let mut offset = 0;
        for field in fields {
            if field.fieldname == name {
                return Some((offset, Ty::of(&field.kind)));
            }
            offset += width_of(&field.kind);
        }
        None
    }

    /// How messages name the type.
    pub fn text(&self) -> String {
        match self {
            Ty::Bits(1) => "Bit".to_string(),
            Ty::Bits(n) => format!("Bits<{n}>"),
            Ty::Index(_) => "usize".to_string(),
            Ty::Named(d) => d.name.clone(),
        }
    }
}
