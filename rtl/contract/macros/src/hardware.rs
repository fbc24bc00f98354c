//! The hardware of a register page, as a macro that the crate of the blocks expands.
//!
//! | type | holds |
//! |---|---|
//! | `PacketStored` | the fields of control and stage registers |
//! | `PacketStatus` | what the registers read that the page does not hold itself |
//! | `PacketSelect` | a bit for each commit, trigger, pointer and window |
//! | `PacketPage` | the block: holds the stored registers, decodes addresses, chooses the word that is read |

use crate::page::{Kind, Page, Register};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The registers that the page's block holds.
fn is_stored(register: &Register) -> bool {
    matches!(register.kind, Kind::Control | Kind::Stage)
}

/// The registers whose word comes in with the status.
fn is_status(register: &Register) -> bool {
    matches!(register.kind, Kind::Counter | Kind::Status | Kind::Report | Kind::Trigger | Kind::Pointer)
}

/// The registers that the owner of the page serves, so that it wants to know of an access.
fn is_selected(register: &Register) -> bool {
    matches!(register.kind, Kind::Commit | Kind::Trigger | Kind::Pointer | Kind::Window { .. })
}

pub fn page(page: &Page) -> TokenStream {
    let name = page.camel();
    let part = |text: &str| format_ident!("{name}{text}");
    let (block, stored, status, select) = (part("Page"), part("Stored"), part("Status"), part("Select"));
    let export = format_ident!("{}_page", page.module);
    let registers = &page.registers;
    let stored_fields: Vec<_> = fields(registers, is_stored).collect();
    let status_fields: Vec<_> = fields(registers, is_status).collect();
    let [stored_type, status_type] =
        [(&stored, "What the page holds.", &stored_fields), (&status, "What the page reads.", &status_fields)]
            .map(|(name, doc, fields)| structure(name, doc, fields));
    let resets = stored_fields.iter().filter(|part| part.reset != 0).map(|part| {
        let (name, reset) = (&part.name, part.reset);
        match part.bits {
            1 => quote!(#name: true),
            _ => quote!(#name: bits(#reset)),
        }
    });
    let selected: Vec<_> = registers.iter().filter(|register| is_selected(register)).collect();
    let select_names: Vec<_> = selected.iter().map(|register| format_ident!("{}", register.lower())).collect();
    let select_docs = selected.iter().map(|register| format!("The address is that of {}.", register.name));
    let select_values = selected.iter().map(|register| within(register));
    let select_type = (!selected.is_empty()).then(|| {
        quote! {
            /// Which of the registers that the page's owner serves is accessed.
            #[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
            pub struct #select { #(#[doc = #select_docs] pub #select_names: Bit),* }
        }
    });
    let select_port = (!selected.is_empty()).then(|| {
        quote! {
            /// Which of the registers that the page's owner serves is accessed.
            pub select: Signal<Out, #select>,
        }
    });
    let select_drive =
        (!selected.is_empty()).then(|| quote!(self.select.next = #select { #(#select_names: #select_values),* };));
    let status_port = (!status_fields.is_empty()).then(|| {
        quote! {
            /// What is read of registers that the page does not hold.
            pub status: Signal<In, #status>,
        }
    });
    let status_read = (!status_fields.is_empty()).then(|| quote!(let status = self.status.val();));
    let words = registers.iter().flat_map(|register| (0..register.count).filter_map(move |word| read(register, word)));
    let writes = registers
        .iter()
        .filter(|register| is_stored(register))
        .flat_map(|register| (0..register.count).map(move |word| write(register, word)));
    let known = known(registers, "known", |_| true);
    let readable = self::known(registers, "readable", Register::reads);
    let writable = self::known(registers, "writable", Register::writes);
    let doc = format!("The register page `{}`: see `spindle_contract::registers::{}`.", page.module, page.module);
    let export_doc = format!("Hardware of the register page `{}`.", page.module);
    quote! {
        #[doc = #export_doc]
        #[macro_export]
        macro_rules! #export { () => {
            #stored_type
            #status_type
            #select_type

            #[doc = #doc]
            ///
            /// An address is decoded in the cycle in which it stands there; a write takes effect in the next one.
            #[block(no_default)]
            pub struct #block {
                /// Offset in the page.
                pub address: Signal<In, Bits<12>>,
                /// Word to write.
                pub wdata: Signal<In, Bits<32>>,
                /// Write it: a pulse. An address that cannot be written is ignored.
                pub write: Signal<In, Bit>,
                #status_port
                /// What the control and stage registers hold.
                pub stored: Signal<Out, #stored>,
                #select_port
                /// The word at the address; 0 where none can be read, and in windows and counters that the owner serves.
                pub word: Signal<Out, Bits<32>>,
                /// The address has a register.
                pub known: Signal<Out, Bit>,
                /// The address has a register that can be read.
                pub readable: Signal<Out, Bit>,
                /// The address has a register that can be written.
                pub writable: Signal<Out, Bit>,
                held: Reg<#stored>,
            }

            impl Default for #block {
                fn default() -> Self {
                    let reset = #stored { #(#resets,)* ..Default::default() };
                    Self { held: Reg::new(reset), ..Self::blank() }
                }
            }

            #[hdl]
            impl #block {
                fn update(&mut self) {
                    let address = self.address.val();
                    let stored = self.held.q.val();
                    #status_read
                    let mut word: Bits<32> = bits::<32>(0);
                    match address.to_u64() {
                        #(#words)*
                        _ => {}
                    }
                    self.word.next = word;
                    #known
                    #readable
                    #writable
                    #select_drive
                    let data = self.wdata.val();
                    if self.write.val() {
                        match address.to_u64() {
                            #(#writes)*
                            _ => {}
                        }
                    }
                    self.stored.next = stored;
                }
            }
        } }
    }
}

/// A field of one of the structures.
struct Part {
    name: Ident,
    bits: u32,
    reset: u32,
    doc: String,
}

fn fields<'p>(registers: &'p [Register], which: fn(&Register) -> bool) -> impl Iterator<Item = Part> + 'p {
    registers.iter().filter(move |register| which(register)).flat_map(|register| {
        (0..register.count).flat_map(move |word| {
            register.parts(word).into_iter().map(move |(name, low, bits, reset)| {
                let high = low + bits - 1;
                Part { name, bits, reset, doc: format!("{}, bits {high} to {low}.", register.name) }
            })
        })
    })
}

fn structure(name: &Ident, doc: &str, parts: &[Part]) -> Option<TokenStream> {
    if parts.is_empty() {
        return None;
    }
    let fields = parts.iter().map(|part| {
        let (name, doc, bits) = (&part.name, &part.doc, part.bits as usize);
        match bits {
            1 => quote!(#[doc = #doc] pub #name: Bit),
            _ => quote!(#[doc = #doc] pub #name: Bits<#bits>),
        }
    });
    Some(quote! {
        #[doc = #doc]
        #[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
        pub struct #name { #(#fields),* }
    })
}

fn address(register: &Register, word: u32) -> u64 {
    u64::from(register.offset + 4 * word)
}

/// The arm of the read multiplexer.
fn read(register: &Register, word: u32) -> Option<TokenStream> {
    let of = if is_stored(register) {
        format_ident!("stored")
    } else if is_status(register) {
        format_ident!("status")
    } else {
        return None;
    };
    let at = address(register, word);
    let mut parts = register.parts(word);
    parts.sort_by_key(|(_, low, ..)| std::cmp::Reverse(*low));
    if let [(name, 0, 32, _)] = parts.as_slice() {
        return Some(quote!(#at => word = #of.#name,));
    }
    let mut members = vec![];
    let mut above = 32;
    for (name, low, bits, _) in parts {
        let gap = (above - low - bits) as usize;
        if gap > 0 {
            members.push(quote!(bits::<#gap>(0)));
        }
        members.push(quote!(#of.#name));
        above = low;
    }
    if above > 0 {
        let gap = above as usize;
        members.push(quote!(bits::<#gap>(0)));
    }
    Some(quote!(#at => word = (#(#members),*).cat::<32>(),))
}

/// The arm of the write.
fn write(register: &Register, word: u32) -> TokenStream {
    let at = address(register, word);
    let assignments = register.parts(word).into_iter().map(|(name, low, bits, _)| {
        let (low, bits) = (low as usize, bits as usize);
        match bits {
            1 => quote!(self.held.d.next.#name = data.get_bit(#low);),
            32 => quote!(self.held.d.next.#name = data;),
            _ => quote!(self.held.d.next.#name = data.get_bits::<#bits>(#low);),
        }
    });
    quote!(#at => { #(#assignments)* })
}

/// The address lies in the register, or in the window.
fn within(register: &Register) -> TokenStream {
    let (first, bytes) = (register.offset, 4 * register.count);
    let words = first as u64;
    if register.count == 1 {
        return quote!(address == bits::<12>(#words));
    }
    let (low, high) = (bytes.ilog2() as usize, 12 - bytes.ilog2() as usize);
    if bytes.is_power_of_two() && first % bytes == 0 {
        let block = u64::from(first / bytes);
        return quote!(address.get_bits::<#high>(#low) == bits::<#high>(#block));
    }
    let last = u64::from(first + bytes);
    quote!((address >= bits::<12>(#words)) & (address < bits::<12>(#last)))
}

/// Drives a port: whether the address is that of a register of this sort.
fn known(registers: &[Register], port: &str, of: fn(&Register) -> bool) -> TokenStream {
    let port = format_ident!("{port}");
    let is_wide = |register: &&Register| register.count > 4;
    let single = registers.iter().filter(|register| of(register) && !is_wide(register));
    let addresses = single.flat_map(|register| (0..register.count).map(move |word| address(register, word)));
    let windows = registers.iter().filter(|register| of(register)).filter(is_wide).map(within);
    quote! {
        self.#port.next = false #(| (#windows))*;
        match address.to_u64() {
            #(#addresses)|* => self.#port.next = true,
            _ => {}
        }
    }
}
