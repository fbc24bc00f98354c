//! Offsets, tables and typed values of a register page.

use crate::page::{camel, Field, Kind, Page, Register, Words};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

pub fn page(page: &Page) -> TokenStream {
    let Page { module, table, id, base, doc, registers } = page;
    let offsets = registers.iter().map(|register| {
        let Register { name, offset, doc, .. } = register;
        quote!(#[doc = #doc] pub const #name: u32 = #offset;)
    });
    let values = registers.iter().filter(|register| !register.fields.is_empty()).map(value);
    let rows = registers.iter().map(row);
    let name = module.to_string();
    quote! {
        #[doc = #doc]
        pub mod #module {
            /// Id in the block list.
            pub const ID: u32 = #id;
            /// Address of the page in the BAR.
            pub const BASE: u32 = #base;
            #(#offsets)*
            #(#values)*
        }

        #[doc = #doc]
        pub const #table: super::Page =
            super::Page { name: #name, id: #id, base: #base, doc: #doc, registers: &[#(#rows),*] };
    }
}

/// The register as a row of the table.
fn row(register: &Register) -> TokenStream {
    let Register { name, count, offset, doc, .. } = register;
    let name = name.to_string();
    let kind = match register.kind {
        Kind::Control => quote!(Control),
        Kind::Stage => quote!(Stage),
        Kind::Commit => quote!(Commit),
        Kind::Counter | Kind::Tally => quote!(Counter),
        Kind::Status | Kind::Report => quote!(Status),
        Kind::Pointer => quote!(Pointer),
        Kind::Trigger => quote!(Trigger),
        Kind::Window { .. } => quote!(Window),
    };
    let access = match (register.reads(), register.writes()) {
        (true, false) => quote!(ReadOnly),
        (false, _) => quote!(WriteOnly),
        _ => quote!(ReadWrite),
    };
    let fields = register.fields.iter().map(|field| field_row(field, &register.doc));
    quote! {
        super::Register {
            name: #name, offset: #offset, kind: super::Kind::#kind, access: super::Access::#access, count: #count, doc: #doc,
            fields: &[#(#fields),*],
        }
    }
}

/// The field as a row of a table.
fn field_row(field: &Field, otherwise: &String) -> TokenStream {
    let Field { name, low, bits, reset, doc, .. } = field;
    let name = name.to_string();
    let doc = if doc.is_empty() { otherwise } else { doc };
    let values = field.values.iter().map(|(name, value, doc)| {
        let name = name.to_string();
        quote!(crate::registers::Value { name: #name, value: #value, doc: #doc })
    });
    quote! {
        crate::registers::Field { name: #name, low: #low, bits: #bits, reset: #reset, doc: #doc, values: &[#(#values),*] }
    }
}

/// Words in host memory: a type each, and a table of its fields.
pub fn words(words: &Words) -> TokenStream {
    let each = words.0.iter().map(|(name, doc, fields)| {
        let ty = Ident::new(&camel(&name.to_string().to_lowercase()), name.span());
        let value = value_type(&ty, &name.to_string(), doc, fields);
        let rows = fields.iter().map(|field| field_row(field, doc));
        let (table, table_doc) = (format_ident!("{name}_FIELDS"), format!("Fields of {name}: {doc}."));
        quote!(#value #[doc = #table_doc] pub const #table: &[crate::registers::Field] = &[#(#rows),*];)
    });
    quote!(#(#each)*)
}

/// The type of a register's value, and where the register is.
fn value(register: &Register) -> TokenStream {
    let (ty, offset) = (register.value_type(), register.offset);
    let value = value_type(&ty, &register.name.to_string(), &register.doc, &register.fields);
    quote! {
        #value

        impl crate::registers::Word for #ty {
            const OFFSET: u32 = #offset;
            const BASE: u32 = BASE;
            fn from_bits(word: u32) -> Self {
                Self(word)
            }
            fn bits(self) -> u32 {
                self.0
            }
        }
    }
}

/// A word with methods for each field.
fn value_type(ty: &Ident, register: &str, register_doc: &String, fields: &[Field]) -> TokenStream {
    let doc = format!("Value of {register}: {register_doc}.");
    let reset: u32 = fields.iter().map(|field| field.reset << field.low).sum();
    let methods = fields.iter().map(|field| {
        let Field { name, low, bits, doc, .. } = field;
        let doc = format!("{}.", if doc.is_empty() { register_doc } else { doc });
        let (with, most) = (format_ident!("with_{name}"), u32::MAX >> (32 - bits));
        let set_doc = format!("The word with another `{name}`.");
        let refusal = format!("{register} has {bits} bits for {name}");
        let access = if *bits == 1 {
            quote! {
                #[doc = #doc]
                pub const fn #name(self) -> bool {
                    self.0 >> #low & 1 == 1
                }

                #[doc = #set_doc]
                pub const fn #with(self, value: bool) -> Self {
                    Self(self.0 & !(1 << #low) | (value as u32) << #low)
                }
            }
        } else {
            quote! {
                #[doc = #doc]
                pub const fn #name(self) -> u32 {
                    self.0 >> #low & #most
                }

                #[doc = #set_doc]
                pub const fn #with(self, value: u32) -> Self {
                    assert!(value <= #most, #refusal);
                    Self(self.0 & !(#most << #low) | value << #low)
                }
            }
        };
        let values = field.values.iter().map(|(value, number, doc)| {
            let (constant, doc) =
                (format_ident!("{}_{value}", name.to_string().to_uppercase()), format!("`{name}`: {doc}."));
            quote!(#[doc = #doc] pub const #constant: u32 = #number;)
        });
        quote!(#(#values)* #access)
    });
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct #ty(pub u32);

        impl #ty {
            /// All fields 0.
            pub const ZERO: Self = Self(0);
            /// The value after reset.
            pub const RESET: Self = Self(#reset);
            #(#methods)*
        }
    }
}
