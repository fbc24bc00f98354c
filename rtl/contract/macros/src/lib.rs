//! The declarations of `spindle-contract`: each names a register page once, and everything else is derived from it.

mod hardware;
mod header;
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
/// `name high:low = reset "doc" { VALUE = number "doc", .. }`; everything but the name and the bits may be left out. The
/// kinds are those of `registers::Kind`; a `tally` is a counter that its page's owner keeps in a memory, a `report` a status
/// that the owner has as one word. The declaration gives
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

/// Declares headers of frames: `name start "doc" { field bits "doc"; .. }`, the fields in the order of the wire, `start` the byte of
/// a frame without VLAN tag. Each gives the module `name` with byte offsets, the table `NAME_FIELDS`, and a type whose `parse` and
/// `emit` read and write the header. The macro `header_fields!` has an extractor in hardware for each field.
#[proc_macro]
pub fn headers(input: TokenStream) -> TokenStream {
    header::headers(&parse_macro_input!(input as header::Headers)).into()
}
