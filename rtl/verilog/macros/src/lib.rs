//! The procedural macros of the hardware language.
//!
//! * [`macro@hdl`] on `fn update(&mut self)` inside `impl Logic for X` keeps the function as it is (rust-hdl's simulator runs
//!   it) and adds `connect()` and `hdl()`. `hdl()` hands the source text of the body and a table of the constants, types
//!   and helper functions it names to `spindle-verilog`, which parses and lowers the text when a design is emitted.
//! * [`macro@hdl_fn`] does the same for a pure helper function.
//! * [`LogicStruct`] and [`LogicState`] replace rust-hdl's derives of the same name; they add the conversion to and from
//!   plain bits that `pack`, `unpack` and `cat` need.

mod connect;
mod derive;
mod table;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

/// Describes a block: see the crate's documentation.
#[proc_macro_attribute]
pub fn hdl(_attr: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    let connect = connect::connect_fn(&function.block);
    let fields = table::source_fields(&function.block, &[]);
    let text = table::text_of(&function.block);
    let line = table::line_of(&function.block);
    quote! {
        #[allow(unused_mut, unused_variables, unused_assignments, unreachable_patterns, unused_parens)]
        #[allow(clippy::all)]
        #function

        #[automatically_derived]
        #[allow(unused_variables, unused_mut, unused_parens, clippy::all)]
        fn connect(&mut self) #connect

        #[automatically_derived]
        #[allow(unused_parens, unused_braces, clippy::all)]
        fn hdl(&self) -> ::spindle_verilog::__private::Verilog {
            use ::spindle_verilog::__private::{DescribeNumber as _, DescribeSynth as _};
            ::spindle_verilog::__private::hand_over(::spindle_verilog::__private::Source {
                type_name: ::std::any::type_name::<Self>(),
                file: file!(),
                line: #line,
                text: #text,
                #fields
            })
        }
    }
    .into()
}

/// Marks a pure function of bits as usable inside `#[hdl]` bodies and other `#[hdl_fn]` functions.
#[proc_macro_attribute]
pub fn hdl_fn(_attr: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    match table::function_module(&function) {
        Ok(module) => quote! {
            #[allow(unused_mut, unused_parens, clippy::all)]
            #function
            #module
        }
        .into(),
        Err(error) => error.to_compile_error().into(),
    }
}

/// A packed structure of hardware values; the first field holds the least significant bits.
#[proc_macro_derive(LogicStruct)]
pub fn logic_struct(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as syn::DeriveInput);
    derive::logic_struct(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// A state enumeration, binary encoded in the order of the variants; the first variant is the default.
#[proc_macro_derive(LogicState)]
pub fn logic_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as syn::DeriveInput);
    derive::logic_state(&input).unwrap_or_else(|e| e.to_compile_error()).into()
}
