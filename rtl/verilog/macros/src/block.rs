//! `#[block]`: clock and reset, the walk of rust-hdl's simulator, the constructor and the implicit wiring of a block.

use crate::ports;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{spanned::Spanned, Error, Fields, ItemStruct, Meta, Result, Token, Type};

/// The clocks of a block.
enum Clocks {
    /// `clock` and `reset`.
    Usual,
    /// `clock` alone.
    NoReset,
    /// Neither.
    None,
    /// `<name>_clock` and `<name>_reset` for each name; every clocked field names its domain.
    Domains(Vec<Ident>),
}

/// The arguments of `#[block(..)]`.
pub(crate) struct Options {
    clocks: Clocks,
    default: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Options { clocks: Clocks::Usual, default: true };
        for meta in syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated(input)? {
            match &meta {
                Meta::Path(path) if path.is_ident("no_reset") => options.clocks = Clocks::NoReset,
                Meta::Path(path) if path.is_ident("combinational") => options.clocks = Clocks::None,
                Meta::Path(path) if path.is_ident("no_default") => options.default = false,
                Meta::List(list) if list.path.is_ident("domains") => {
                    let names =
                        list.parse_args_with(syn::punctuated::Punctuated::<Ident, Token![,]>::parse_terminated)?;
                    options.clocks = Clocks::Domains(names.into_iter().collect());
                }
                _ => return Err(Error::new(
                    meta.span(),
                    "#[block] knows `no_reset`, `combinational`, `domains(a, b)` and `no_default`; remove this word",
                )),
            }
        }
        Ok(options)
    }
}

/// The clock and reset ports that drive a field: names, none where the block has no such port.
struct Drive {
    clock: Option<Ident>,
    reset: Option<Ident>,
}

pub(crate) fn block(options: &Options, mut item: ItemStruct) -> Result<TokenStream> {
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new(item.span(), "#[block] needs named fields; give each port and part a name"));
    };
    let domains = take_domains(fields)?;
    add_clocks(options, fields)?;
    let mut parts = vec![];
    let (mut names, mut inits) = (vec![], vec![]);
    for field in &fields.named {
        let name = field.ident.clone().expect("a named field");
        inits.push(initial(&field.ty));
        names.push(name.clone());
        let text = name.to_string();
        if text.starts_with('_') || is_clock(&field.ty) || options.is_reset(&text) {
            continue;
        }
        let domain = domains.iter().find(|(field, _)| *field == name).map(|(_, domain)| domain);
        parts.push((name, options.drive(domain)?));
    }
    let shown: Vec<&Ident> = names.iter().filter(|n| !n.to_string().starts_with('_')).collect();
    let ports = ports::block(&item);
    let texts: Vec<String> = shown.iter().map(|n| n.to_string()).collect();
    let changed = if shown.is_empty() { quote!(false) } else { quote!(#(P::Block::has_changed(&self.#shown))||*) };
    let (drives, claims): (Vec<_>, Vec<_>) = parts.iter().map(|(name, drive)| wiring(name, drive)).unzip();
    let table = parts.iter().filter_map(|(name, drive)| {
        let (clock, reset) = (drive.clock.as_ref()?.to_string(), drive.reset.as_ref().map(Ident::to_string));
        let (name, reset) = (name.to_string(), reset.unwrap_or_default());
        Some(quote!((#name, #clock, #reset)))
    });
    let own = options.own(&names);
    let own_claims = own.iter().map(|(_, name)| quote!(P::logic_connect_fn(&mut self.#name);));
    let own_drives = own.iter().map(|(value, name)| quote!(self.#name.next = #value;));
    let name = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let default = options.default.then(|| {
        quote! {
            #[automatically_derived]
            impl #impl_generics ::core::default::Default for #name #ty_generics #where_clause {
                fn default() -> Self { Self::blank() }
            }
        }
    });
    Ok(quote! {
        #item
        #ports

        #[automatically_derived]
        impl #impl_generics #name #ty_generics #where_clause {
            /// Every port and part as its type's default: what a constructor starts from.
            #[allow(dead_code)]
            fn blank() -> Self {
                Self { #(#names: #inits),* }
            }
        }

        #default

        const _: () = {
            use ::spindle_verilog::__private as P;

            #[automatically_derived]
            impl #impl_generics P::Block for #name #ty_generics #where_clause {
                fn connect_all(&mut self) {
                    P::Logic::connect(self);
                    #(P::Block::connect_all(&mut self.#shown);)*
                }
                fn update_all(&mut self) {
                    P::Logic::update(self);
                    #(P::Block::update_all(&mut self.#shown);)*
                }
                fn has_changed(&self) -> bool { #changed }
                fn accept(&self, name: &str, probe: &mut dyn P::Probe) {
                    probe.visit_start_scope(name, self);
                    #(P::Block::accept(&self.#shown, #texts, probe);)*
                    probe.visit_end_scope(name, self);
                }
            }

            #[automatically_derived]
            #[allow(unused_variables)]
            impl #impl_generics P::Part for #name #ty_generics #where_clause {
                fn drive(&mut self, clock: P::Clock, reset: bool) { #(#own_drives)* }
                fn claim(&mut self) { #(#own_claims)* }
            }

            #[automatically_derived]
            impl #impl_generics P::Parts for #name #ty_generics #where_clause {
                fn drive_parts(&mut self) { #(#drives)* }
                fn claim_parts(&mut self) { #(#claims)* }
                fn parts() -> &'static [(&'static str, &'static str, &'static str)] { &[#(#table),*] }
            }
        };
    })
}

impl Options {
    fn is_reset(&self, name: &str) -> bool {
        match &self.clocks {
            Clocks::Usual => name == "reset",
            Clocks::Domains(domains) => domains.iter().any(|d| name == format!("{d}_reset")),
            _ => false,
        }
    }

    /// The ports that a parent drives, with the values that it has for them.
    fn own(&self, names: &[Ident]) -> Vec<(TokenStream, Ident)> {
        let ports = [("clock", quote!(clock)), ("reset", quote!(reset))];
        let found = ports.iter().filter_map(|(port, value)| {
            names.iter().find(|name| *name == port).map(|name| (value.clone(), name.clone()))
        });
        match &self.clocks {
            Clocks::Domains(_) => vec![],
            _ => found.collect(),
        }
    }

    fn drive(&self, domain: Option<&Ident>) -> Result<Drive> {
        let ident = |text: &str| Some(format_ident!("{text}"));
        match (&self.clocks, domain) {
            (Clocks::Domains(domains), Some(domain)) if domains.contains(domain) => {
                Ok(Drive { clock: Some(format_ident!("{domain}_clock")), reset: Some(format_ident!("{domain}_reset")) })
            }
            (_, Some(domain)) => Err(Error::new(
                domain.span(),
                format!("the block has no clock domain `{domain}`; name it in #[block(domains(..))]"),
            )),
            (Clocks::Usual, None) => Ok(Drive { clock: ident("clock"), reset: ident("reset") }),
            (Clocks::NoReset, None) => Ok(Drive { clock: ident("clock"), reset: None }),
            (Clocks::None | Clocks::Domains(_), None) => Ok(Drive { clock: None, reset: None }),
        }
    }
}

/// Takes `#[domain(name)]` off the fields.
fn take_domains(fields: &mut syn::FieldsNamed) -> Result<Vec<(Ident, Ident)>> {
    let mut domains = vec![];
    for field in &mut fields.named {
        if let Some(at) = field.attrs.iter().position(|a| a.path().is_ident("domain")) {
            let attribute = field.attrs.remove(at);
            domains.push((field.ident.clone().expect("a named field"), attribute.parse_args::<Ident>()?));
        }
    }
    Ok(domains)
}

/// Adds the clock and reset ports in front of the others.
fn add_clocks(options: &Options, fields: &mut syn::FieldsNamed) -> Result<()> {
    let mut added: Vec<TokenStream> = vec![];
    let private = quote!(::spindle_verilog::__private);
    let input = |ty: TokenStream| quote!(#private::Signal<#private::In, #ty>);
    let (clock_type, reset_type) = (input(quote!(#private::Clock)), input(quote!(bool)));
    let clock = |name: &Ident, doc: &str| quote!(#[doc = #doc] pub #name: #clock_type);
    let reset = |name: &Ident, doc: &str| quote!(#[doc = #doc] pub #name: #reset_type);
    match &options.clocks {
        Clocks::None => {}
        Clocks::NoReset => added.push(clock(&format_ident!("clock"), "Clock.")),
        Clocks::Usual => {
            added.push(clock(&format_ident!("clock"), "Clock."));
            added.push(reset(&format_ident!("reset"), "Synchronous reset, active high."));
        }
        Clocks::Domains(domains) => {
            for domain in domains {
                added.push(clock(&format_ident!("{domain}_clock"), &format!("Clock of the domain `{domain}`.")));
                let doc = format!("Reset of the domain `{domain}`, synchronous to its clock, active high.");
                added.push(reset(&format_ident!("{domain}_reset"), &doc));
            }
        }
    }
    let own = std::mem::take(&mut fields.named);
    for tokens in added {
        let field = syn::parse::Parser::parse2(syn::Field::parse_named, tokens)?;
        if let Some(twice) = own.iter().find(|f| f.ident == field.ident) {
            return Err(Error::new(
                twice.span(),
                "#[block] adds this port; remove it, or write #[block(combinational)]",
            ));
        }
        fields.named.push(field);
    }
    fields.named.extend(own);
    Ok(())
}

fn is_clock(ty: &Type) -> bool {
    let text: String = quote!(#ty).to_string().chars().filter(|c| !c.is_whitespace()).collect();
    text.ends_with("Signal<In,Clock>") || text.ends_with("::Clock>")
}

/// The default of a type; arrays of any length have one.
fn initial(ty: &Type) -> TokenStream {
    match ty {
        Type::Array(array) => {
            let inner = initial(&array.elem);
            quote!(::core::array::from_fn(|_| #inner))
        }
        _ => quote!(::core::default::Default::default()),
    }
}

/// How the simulator drives a part, and how its inputs are claimed.
fn wiring(name: &Ident, drive: &Drive) -> (TokenStream, TokenStream) {
    let Some(clock) = &drive.clock else { return (quote!(), quote!()) };
    let reset = drive.reset.as_ref().map_or(quote!(false), |reset| quote!(self.#reset.val()));
    (quote!(P::Part::drive(&mut self.#name, self.#clock.val(), #reset);), quote!(P::Part::claim(&mut self.#name);))
}

#[cfg(test)]
mod tests {
    fn refusal(options: &str, text: &str) -> String {
        let item = syn::parse_str(text).expect("the text is a structure");
        let block = syn::parse_str(options).and_then(|options| super::block(&options, item));
        block.map_or_else(|error| error.to_string(), |_| panic!("accepted: {text}"))
    }

    #[test]
    fn what_a_block_cannot_be() {
        for (options, text, words) in [
            ("asynchronous", "struct X { a: Part }", "remove this word"),
            ("", "struct X(Part);", "needs named fields"),
            ("", "struct X { clock: Signal<In, Clock> }", "remove it, or write #[block(combinational)]"),
            ("", "struct X { #[domain(near)] a: Part }", "no clock domain `near`"),
            ("domains(far)", "struct X { #[domain(near)] a: Part }", "name it in #[block(domains(..))]"),
        ] {
            let sentence = refusal(options, text);
            assert!(sentence.contains(words), "{text}: {sentence}");
        }
    }
}
