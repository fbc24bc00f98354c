//! The procedural macros of the hardware language.
//!
//! * [`macro@block`] on a struct adds clock and reset, and derives the walk of rust-hdl's simulator, the constructor and the
//!   wiring of clocks, resets and registers that hold.
//! * [`macro@bundle`] on a struct of signals makes the type of either side and joins them.
//! * [`macro@hdl`] on `impl X` with `fn update(&mut self)` and its stages keeps the functions as they are (rust-hdl's
//!   simulator runs them) and adds `connect()` and `hdl()`. `hdl()` hands the source text of the bodies and tables of the
//!   constants, types and helper functions they name to `spindle-verilog`, which parses and lowers them when a design
//!   is emitted. On a lone `fn update(&mut self)` inside `impl Logic for X` nothing is wired implicitly.
//! * [`macro@hdl_fn`] does the same for a pure helper function.
//! * [`LogicStruct`] and [`LogicState`] replace rust-hdl's derives of the same name; they add the conversion to and from
//!   plain bits that `pack`, `unpack` and `cat` need.

mod block;
mod bundle;
mod connect;
mod derive;
mod language;
mod ports;
mod stages;
mod table;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

/// Adds clock and reset to a struct, and derives what every block needs.
///
/// | form | ports |
/// |---|---|
/// | `#[block]` | `clock`, `reset` (synchronous, active high) |
/// | `#[block(no_reset)]` | `clock` |
/// | `#[block(combinational)]` | none |
/// | `#[block(domains(write, read))]` | `write_clock`, `write_reset`, `read_clock`, `read_reset`; a clocked field has `#[domain(write)]` |
///
/// `Self::blank()` has every field as its type's default; `Default` is derived from it unless `no_default` is written.
/// Clock and reset of every register and every submodule are wired, and registers hold unless `update()` assigns `d`.
#[proc_macro_attribute]
pub fn block(attr: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attr as block::Options);
    let item = parse_macro_input!(item as syn::ItemStruct);
    block::block(&options, item).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// Makes the type of the other side of a bundle of signals, `#[bundle(mirror = Sink)]`, and the join of the two.
///
/// A signal called `payload` has the bundle's own name in the emitted Verilog, and the bundle stands for it: `self.x.val()`.
#[proc_macro_attribute]
pub fn bundle(attr: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attr as bundle::Options);
    let item = parse_macro_input!(item as syn::ItemStruct);
    bundle::bundle(&options, &item).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// Describes a block: see the crate's documentation.
#[proc_macro_attribute]
pub fn hdl(_attr: TokenStream, item: TokenStream) -> TokenStream {
    if let Ok(item) = syn::parse::<syn::ItemImpl>(item.clone()) {
        return stages::block_impl(item).unwrap_or_else(|e| e.to_compile_error()).into();
    }
    let function = parse_macro_input!(item as syn::ItemFn);
    let connect = connect::connect_fn(&function.block, &stages::Stages::default());
    let source = table::source(&function.block, &quote!(::std::any::type_name::<Self>()), &[]);
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
            ::spindle_verilog::__private::hand_over(#source, None)
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
