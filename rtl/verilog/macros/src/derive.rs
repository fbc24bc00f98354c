//! The derives of packed structures and state enumerations.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{spanned::Spanned, Data, DeriveInput, Error, Fields, Result};

pub(crate) fn logic_struct(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(
            input.span(),
            "LogicStruct describes a struct with named fields; use LogicState for an enum",
        ));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.span(), "LogicStruct needs named fields; give each field a name"));
    };
    let names: Vec<_> = fields.named.iter().map(|f| f.ident.clone().expect("a named field")).collect();
    if let Some(name) = names.iter().find(|n| *n == "next") {
        return Err(Error::new(
            name.span(),
            "a field cannot be called `next`: assignments look for that word; give it another name",
        ));
    }
    let types: Vec<_> = fields.named.iter().map(|f| f.ty.clone()).collect();
    let texts: Vec<_> = names.iter().map(|n| n.to_string()).collect();
    let name = &input.ident;
    let name_text = name.to_string();
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    let into_bits = input.generics.params.is_empty().then(|| {
        quote! {
            impl ::core::convert::From<#name> for P::Bits<{ <#name as P::Synth>::BITS }> {
                fn from(x: #name) -> Self { P::pack(x) }
            }
        }
    });
    Ok(quote! {
        const _: () = {
            use ::spindle_verilog::__private as P;
            impl #impl_generics P::Synth for #name #ty_generics #where_clause {
                const BITS: usize = 0 #(+ <#types as P::Synth>::BITS)*;
                fn descriptor() -> P::TypeDescriptor {
                    P::TypeDescriptor {
                        name: #name_text.to_string(),
                        kind: P::TypeKind::Composite(vec![#(Box::new(P::TypeField {
                            fieldname: #texts.to_string(),
                            kind: <#types as P::Synth>::descriptor(),
                        })),*]),
                    }
                }
                fn vcd(self) -> P::VCDValue {
                    P::VCDValue::Composite(vec![#(Box::new(P::Synth::vcd(self.#names))),*])
                }
                fn verilog(self) -> P::VerilogLiteral { P::literal_of(self) }
            }
            impl #impl_generics P::Packed for #name #ty_generics #where_clause {
                fn write_bits(self, out: &mut Vec<bool>) {
                    #(P::Packed::write_bits(self.#names, out);)*
                }
                fn read_bits(bits: &mut P::BitReader<'_>) -> Self {
                    Self { #(#names: P::Packed::read_bits(bits)),* }
                }
            }
            impl #impl_generics P::Word<#name #ty_generics> for #name #ty_generics #where_clause {
                fn write(self, wires: &dyn P::Wires, wire: P::WireId) { P::write_packed(self, wires, wire) }
            }
            #into_bits
        };
    })
}

pub(crate) fn logic_state(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "LogicState describes an enum; use LogicStruct for a struct"));
    };
    for variant in &data.variants {
        if !variant.fields.is_empty() || variant.discriminant.is_some() {
            return Err(Error::new(
                variant.span(),
                "a state has no fields and no explicit number; the order gives the encoding",
            ));
        }
    }
    let variants: Vec<_> = data.variants.iter().map(|v| v.ident.clone()).collect();
    let Some(first) = variants.first() else {
        return Err(Error::new(input.span(), "LogicState needs at least one state"));
    };
    let count = variants.len();
    let numbers = 0..count;
    let bits = (usize::BITS - (count - 1).leading_zeros()).max(1) as usize;
    let name = &input.ident;
    let name_text = name.to_string();
    let short: Vec<_> = variants.iter().map(|v| v.to_string()).collect();
    let long: Vec<_> = variants.iter().map(|v| format!("{name_text}::{v}")).collect();
    let numbers: Vec<_> = numbers.map(|n| quote!(#n)).collect();
    Ok(quote! {
        const _: () = {
            use ::spindle_verilog::__private as P;
            impl P::Synth for #name {
                const BITS: usize = #bits;
                fn descriptor() -> P::TypeDescriptor {
                    P::TypeDescriptor {
                        name: #name_text.to_string(),
                        kind: P::TypeKind::Enum(vec![#(#long.to_string()),*]),
                    }
                }
                fn vcd(self) -> P::VCDValue {
                    P::VCDValue::String(match self { #(#name::#variants => #short),* }.to_string())
                }
                fn verilog(self) -> P::VerilogLiteral { P::literal_of(self) }
            }
            impl P::Packed for #name {
                fn write_bits(self, out: &mut Vec<bool>) {
                    let number: usize = match self { #(#name::#variants => #numbers),* };
                    out.extend((0..#bits).map(|i| number >> i & 1 == 1));
                }
                fn read_bits(bits: &mut P::BitReader<'_>) -> Self {
                    match bits.number(#bits) { #(#numbers => #name::#variants,)* _ => #name::#first }
                }
            }
            impl P::Word<#name> for #name {
                fn write(self, wires: &dyn P::Wires, wire: P::WireId) { P::write_packed(self, wires, wire) }
            }
            impl ::core::convert::From<#name> for P::Bits<#bits> {
                fn from(x: #name) -> Self { P::pack(x) }
            }
            impl ::core::default::Default for #name {
                fn default() -> Self { #name::#first }
            }
        };
    })
}
