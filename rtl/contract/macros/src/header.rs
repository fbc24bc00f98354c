//! Headers of frames: fields in the order of the wire, big-endian.

use crate::page::camel;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{braced, Error, LitInt, LitStr, Result, Token};

/// Headers, and where each begins in a frame without VLAN tag.
pub struct Headers(Vec<Header>);

struct Header {
    name: Ident,
    start: usize,
    doc: String,
    fields: Vec<Field>,
}

struct Field {
    name: Ident,
    /// First bit, counted from the most significant bit of the header's first byte.
    at: usize,
    bits: usize,
    doc: String,
}

impl Parse for Headers {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut headers = vec![];
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            let start = input.parse::<LitInt>()?.base10_parse()?;
            let doc = input.parse::<LitStr>()?.value();
            let inner;
            braced!(inner in input);
            let mut fields: Vec<Field> = vec![];
            let mut at: usize = 0;
            while !inner.is_empty() {
                let name: Ident = inner.parse()?;
                let bits: usize = inner.parse::<LitInt>()?.base10_parse()?;
                let whole = at.is_multiple_of(8) && bits.is_multiple_of(8);
                if !whole
                    && at / 8 != (at + bits - 1) / 8
                    && !(!at.is_multiple_of(8) && (at + bits).is_multiple_of(8) && bits < 16)
                {
                    let sentence = format!("{name} is neither whole bytes nor within two bytes; reorder the fields");
                    return Err(Error::new(name.span(), sentence));
                }
                let doc = inner.parse::<LitStr>()?.value();
                inner.parse::<Token![;]>()?;
                fields.push(Field { name, at, bits, doc });
                at += bits;
            }
            if !at.is_multiple_of(8) {
                return Err(Error::new(name.span(), format!("{name} has {at} bits, not whole bytes")));
            }
            headers.push(Header { name, start, doc, fields });
        }
        Ok(Headers(headers))
    }
}

impl Header {
    fn bytes(&self) -> usize {
        self.fields.iter().map(|field| field.bits).sum::<usize>() / 8
    }
}

impl Field {
    /// The type that holds the field in software.
    fn software(&self) -> Ident {
        let bits = [8, 16, 32, 64].into_iter().find(|bits| *bits >= self.bits).expect("a field of at most 64 bits");
        format_ident!("u{bits}")
    }

    /// The bytes that the field lies in: first, count, and the bits below it.
    fn place(&self) -> (usize, usize, usize) {
        let (first, end) = (self.at / 8, (self.at + self.bits).div_ceil(8));
        (first, end - first, 8 * end - self.at - self.bits)
    }
}

pub fn headers(headers: &Headers) -> TokenStream {
    let software = headers.0.iter().map(software);
    // What follows the Spindle header is payload to the hardware.
    let read = headers.0.iter().filter(|header| header.name != "get_reply");
    let extractors = read.flat_map(|header| header.fields.iter().map(|field| extractor(header, field)));
    let packer = packer(&headers.0);
    quote! {
        #(#software)*

        /// Extractors of the fields of headers: functions of the first bytes of a frame without VLAN tag, byte 0 in bits 7:0.
        /// `HeaderFields` and `header_bytes` go the other way, for a frame of the Spindle transport.
        #[macro_export]
        macro_rules! header_fields { ($bits:tt) => { #(#extractors)* #packer } }
    }
}

/// The structure of all header fields of a Spindle frame, and the function that gives their bytes.
fn packer(headers: &[Header]) -> TokenStream {
    let packed: Vec<_> = headers.iter().filter(|header| header.name != "icmp" && header.name != "get_reply").collect();
    let fields = packed.iter().flat_map(|header| {
        header.fields.iter().map(|field| {
            let (name, bits) = (format_ident!("{}_{}", header.name, field.name), field.bits);
            let doc = format!("{}: {}.", header.doc, field.doc);
            quote!(#[doc = #doc] pub #name: Bits<#bits>)
        })
    });
    // The last byte on the wire has the highest bits. A tuple has at most a dozen members, so eight bytes are joined at a time.
    let bytes: Vec<_> =
        packed.iter().flat_map(|header| (0..header.bytes()).map(|byte| byte_of(header, byte))).collect();
    let words = bytes.chunks(8).rev().map(|word| {
        let (members, bits) = (word.iter().rev().flatten(), 8 * word.len());
        quote!((#(#members),*).cat::<#bits>())
    });
    quote! {
        /// Fields of the headers of a Spindle frame without VLAN tag.
        #[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
        pub struct HeaderFields { #(#fields),* }

        /// The headers, byte 0 in bits 7:0.
        #[hdl_fn]
        pub fn header_bytes(fields: HeaderFields) -> Bits<$bits> {
            (#(#words),*).cat::<$bits>()
        }
    }
}

/// The parts of a byte of a header, the highest first.
fn byte_of(header: &Header, byte: usize) -> Vec<TokenStream> {
    let (first, end) = (8 * byte, 8 * byte + 8);
    let fields = header.fields.iter().filter(|field| field.at < end && field.at + field.bits > first);
    let part = |field: &Field| {
        let name = format_ident!("{}_{}", header.name, field.name);
        let (from, to) = (field.at.max(first), (field.at + field.bits).min(end));
        let (bits, low) = (to - from, field.at + field.bits - to);
        if bits == field.bits {
            quote!(fields.#name)
        } else {
            quote!(fields.#name.get_bits::<#bits>(#low))
        }
    };
    fields.map(part).collect()
}

fn software(header: &Header) -> TokenStream {
    let Header { name, start, doc, fields } = header;
    let (ty, table) = (Ident::new(&camel(&name.to_string()), name.span()), name.to_string().to_uppercase());
    let (table_name, bytes) = (format_ident!("{table}_FIELDS"), header.bytes());
    let offsets = fields.iter().filter(|field| field.at.is_multiple_of(8)).map(|field| {
        let (constant, at) = (format_ident!("{}", field.name.to_string().to_uppercase()), field.at / 8);
        let doc = format!("Byte offset of `{}`: {}.", field.name, field.doc);
        quote!(#[doc = #doc] pub const #constant: usize = #at;)
    });
    let rows = fields.iter().map(|field| {
        let (name, at, bits, doc) = (field.name.to_string(), field.at, field.bits, &field.doc);
        quote!(Field { name: #name, at: #at, bits: #bits, doc: #doc })
    });
    let members = fields.iter().map(|field| {
        let (name, ty, doc) = (&field.name, field.software(), format!("{}.", field.doc));
        quote!(#[doc = #doc] pub #name: #ty)
    });
    let parses = fields.iter().map(|field| {
        let (name, ty, at, bits) = (&field.name, field.software(), field.at, field.bits);
        quote!(#name: get(bytes, #at, #bits) as #ty)
    });
    let emits = fields.iter().map(|field| {
        let (name, at, bits) = (&field.name, field.at, field.bits);
        quote!(put(bytes, #at, #bits, u64::from(self.#name));)
    });
    let (module_doc, table_doc) = (format!("Byte offsets of {doc}."), format!("Fields of {doc}."));
    let (value_doc, bytes_doc) = (format!("The fields of {doc}."), "Bytes of the header.");
    quote! {
        #[doc = #module_doc]
        pub mod #name {
            #[doc = #bytes_doc]
            pub const BYTES: usize = #bytes;
            /// Byte of a frame without VLAN tag at which the header begins.
            pub const START: usize = #start;
            #(#offsets)*
        }

        #[doc = #table_doc]
        pub const #table_name: &[Field] = &[#(#rows),*];

        #[doc = #value_doc]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct #ty { #(#members),* }

        impl #ty {
            /// Reads the header at the start of `bytes`.
            ///
            /// # Panics
            /// If there are fewer bytes than the header has.
            pub fn parse(bytes: &[u8]) -> Self {
                Self { #(#parses),* }
            }

            /// Writes the header to the start of `bytes`.
            ///
            /// # Panics
            /// If there are fewer bytes than the header has.
            pub fn emit(&self, bytes: &mut [u8]) {
                #(#emits)*
            }
        }
    }
}

/// The function that reads a field in hardware.
fn extractor(header: &Header, field: &Field) -> TokenStream {
    let function = format_ident!("{}_{}", header.name, field.name);
    let (first, count, below) = field.place();
    let (width, low) = (field.bits, 8 * (header.start + first));
    let doc = format!("{}: {}.", header.doc, field.doc);
    // The first byte on the wire has the highest bits of a field and the lowest of the window.
    let bytes = (0..count).map(|byte| {
        let at = low + 8 * byte;
        quote!(header.get_bits::<8>(#at))
    });
    let value = match (count, field.bits % 8) {
        (1, _) => {
            let at = low + below;
            quote!(header.get_bits::<#width>(#at))
        }
        (_, 0) => quote!((#(#bytes),*).cat::<#width>()),
        _ => {
            let (rest, last) = (width - 8 * (count - 1), low + 8 * (count - 1));
            let middle = (1..count - 1).map(|byte| {
                let at = low + 8 * byte;
                quote!(header.get_bits::<8>(#at),)
            });
            quote!((header.get_bits::<#rest>(#low), #(#middle)* header.get_bits::<8>(#last)).cat::<#width>())
        }
    };
    quote! {
        #[doc = #doc]
        #[hdl_fn]
        pub fn #function(header: Bits<$bits>) -> Bits<#width> {
            #value
        }
    }
}
