//! The declarations of `spindle-contract`: each names a register page once, and everything else is derived from it.

mod hardware;
mod page;
mod software;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse_macro_input;

/// Declares a page of registers.
///
/// ```text
/// registers! {
///     packet PACKET, id 2, at 0x0_1000: "Packet engine: match rules and frame counters.";
///     control SPINDLE_PORT 0x004 "UDP destination port of Spindle transport" { spindle_port 15:0 = 4795 }
///     counter FRAMES_IN 0x100 "frames received";
///     window(ro) DROPS[32] 0x180 "frames dropped, by reason";
/// }
/// ```
///
/// A register is `kind NAME[count] offset "doc"`, then `;` or its fields in braces, separated by `;`. A field is
/// `name high:low = reset "doc" { VALUE = number "doc", .. }`; everything but the name and the bits may be left out. The kinds are those
/// of `registers::Kind`. The declaration gives
///
/// * the module `packet`: offsets, `ID`, `BASE`, and for each register with fields a type whose methods read and set them;
/// * the constant `PACKET`: the page as a table;
/// * the macro `packet_page!`, which `spindle-blocks` expands to the hardware of the page.
#[proc_macro]
pub fn registers(input: TokenStream) -> TokenStream {
    let page = parse_macro_input!(input as page::Page);
    let (software, hardware) = (software::page(&page), hardware::page(&page));
    quote!(#software #hardware).into()
}

/// Declares words in host memory: `NAME "doc" { fields }`, with fields as those of [`registers!`]. Each gives a type
/// whose methods read and set the fields, and the table `NAME_FIELDS`.
#[proc_macro]
pub fn words(input: TokenStream) -> TokenStream {
    software::words(&parse_macro_input!(input as page::Words)).into()
}
