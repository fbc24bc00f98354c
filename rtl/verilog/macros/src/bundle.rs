//! `#[bundle]`: several signals that belong together, seen from either side.

use crate::ports;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{spanned::Spanned, Error, Fields, ItemStruct, Result, Token, Type};

/// `mirror = Sink, part_of(Whole, WholeSink)`.
pub(crate) struct Options {
    mirror: Ident,
    /// The larger bundle that has all of this one's signals, and its mirror.
    whole: Option<(Ident, Ident)>,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let word: Ident = input.parse()?;
        if word != "mirror" {
            return Err(Error::new(word.span(), "write #[bundle(mirror = Name)]: the type of the other side"));
        }
        input.parse::<Token![=]>()?;
        let mirror = input.parse()?;
        let mut whole = None;
        if input.parse::<Option<Token![,]>>()?.is_some() {
            let word: Ident = input.parse()?;
            if word != "part_of" {
                return Err(Error::new(word.span(), "write #[bundle(mirror = Name, part_of(Whole, WholeMirror))]"));
            }
            let names;
            syn::parenthesized!(names in input);
            let source = names.parse()?;
            names.parse::<Token![,]>()?;
            whole = Some((source, names.parse()?));
        }
        Ok(Self { mirror, whole })
    }
}

/// A signal of a bundle.
pub(crate) struct Member {
    pub name: Ident,
    /// Whether the side that is written drives it.
    pub out: bool,
    value: Type,
}

pub(crate) fn bundle(options: &Options, item: &ItemStruct) -> Result<TokenStream> {
    let Fields::Named(fields) = &item.fields else {
        return Err(Error::new(item.span(), "#[bundle] needs named fields; give each signal a name"));
    };
    let members = fields.named.iter().map(member).collect::<Result<Vec<_>>>()?;
    let mut mirror = item.clone();
    mirror.ident = options.mirror.clone();
    let note = format!("The other side of [`{}`].", item.ident);
    mirror.attrs.retain(|a| !a.path().is_ident("doc"));
    mirror.attrs.insert(0, syn::parse_quote!(#[doc = #note]));
    if let Fields::Named(fields) = &mut mirror.fields {
        for (field, member) in fields.named.iter_mut().zip(&members) {
            field.ty = signal(!member.out, &member.value);
        }
    }
    let (here, there) = (one_side(item, &members, true), one_side(&mirror, &members, false));
    let ports = [ports::bundle(item, &members, true), ports::bundle(&mirror, &members, false)];
    let (first, second) = (&item.ident, &options.mirror);
    let mut joins = vec![(first, second), (first, first), (second, second)];
    if let Some((source, sink)) = &options.whole {
        joins.extend([(first, source), (sink, second), (source, second)]);
    }
    let joins = joins.into_iter().map(|(from, to)| join(item, from, to, &members));
    Ok(quote! {
        #item
        #mirror
        #(#ports)*
        const _: () = {
            use ::spindle_verilog::__private as P;
            #here
            #there
            #(#joins)*
        };
    })
}

fn member(field: &syn::Field) -> Result<Member> {
    let name = field.ident.clone().expect("a named field");
    let refusal = || Error::new(field.span(), "a signal of a bundle is `Signal<In, T>` or `Signal<Out, T>`");
    let Type::Path(path) = &field.ty else { return Err(refusal()) };
    let Some(last) = path.path.segments.last().filter(|s| s.ident == "Signal") else { return Err(refusal()) };
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return Err(refusal()) };
    let types: Vec<&Type> = arguments
        .args
        .iter()
        .filter_map(|a| if let syn::GenericArgument::Type(ty) = a { Some(ty) } else { None })
        .collect();
    let [direction, value] = types[..] else { return Err(refusal()) };
    let out = match quote!(#direction).to_string().as_str() {
        "Out" => true,
        "In" => false,
        _ => return Err(refusal()),
    };
    Ok(Member { name, out, value: value.clone() })
}

fn signal(out: bool, value: &Type) -> Type {
    match out {
        true => syn::parse_quote!(::spindle_verilog::__private::Signal<::spindle_verilog::__private::Out, #value>),
        false => syn::parse_quote!(::spindle_verilog::__private::Signal<::spindle_verilog::__private::In, #value>),
    }
}

/// The walk of rust-hdl's simulator, the default, and the short way to a payload.
fn one_side(item: &ItemStruct, members: &[Member], first: bool) -> TokenStream {
    let name = &item.ident;
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let names: Vec<&Ident> = members.iter().map(|m| &m.name).collect();
    let rest: Vec<&Ident> = names.iter().filter(|n| **n != "payload").copied().collect();
    let texts: Vec<String> = rest.iter().map(|n| n.to_string()).collect();
    let payload = members.iter().find(|m| m.name == "payload");
    let (show, connect, deref) = match payload {
        None => (quote!(), quote!(), quote!()),
        Some(payload) => {
            let target = signal(payload.out == first, &payload.value);
            (
                quote!(P::Block::accept(&self.payload, name, probe);),
                quote!(P::Logic::connect(&mut self.payload);),
                quote! {
                    #[automatically_derived]
                    impl #impl_generics ::core::ops::Deref for #name #ty_generics #where_clause {
                        type Target = #target;
                        fn deref(&self) -> &Self::Target { &self.payload }
                    }
                    #[automatically_derived]
                    impl #impl_generics ::core::ops::DerefMut for #name #ty_generics #where_clause {
                        fn deref_mut(&mut self) -> &mut Self::Target { &mut self.payload }
                    }
                },
            )
        }
    };
    let valid = members.iter().find(|m| m.name == "valid");
    let offer = payload.filter(|payload| valid.is_some_and(|valid| valid.out == payload.out)).map(|payload| {
        let word = &payload.value;
        quote! {
            #[automatically_derived]
            #[allow(dead_code)]
            impl #impl_generics #name #ty_generics #where_clause {
                /// Assigns the payload and `valid` of this cycle.
                pub fn offer(&mut self, valid: bool, word: #word) {
                    self.payload.next = word;
                    self.valid.next = valid;
                }
            }
        }
    });
    quote! {
        #offer
        #[automatically_derived]
        impl #impl_generics ::core::default::Default for #name #ty_generics #where_clause {
            fn default() -> Self { Self { #(#names: ::core::default::Default::default()),* } }
        }
        #[automatically_derived]
        impl #impl_generics P::Logic for #name #ty_generics #where_clause {
            fn update(&mut self) {}
            fn connect(&mut self) { #connect }
        }
        #[automatically_derived]
        impl #impl_generics P::Block for #name #ty_generics #where_clause {
            fn connect_all(&mut self) { #(P::Block::connect_all(&mut self.#names);)* }
            fn update_all(&mut self) { #(P::Block::update_all(&mut self.#names);)* }
            fn has_changed(&self) -> bool { #(P::Block::has_changed(&self.#names))||* }
            fn accept(&self, name: &str, probe: &mut dyn P::Probe) {
                #show
                probe.visit_start_namespace(name, self);
                #(P::Block::accept(&self.#rest, #texts, probe);)*
                probe.visit_end_namespace(name, self);
            }
        }
        #[automatically_derived]
        impl #impl_generics P::Part for #name #ty_generics #where_clause {
            fn drive(&mut self, _clock: P::Clock, _reset: bool) {}
            fn claim(&mut self) {}
        }
        #deref
    }
}

/// `self.join(other)`: connects the outputs of `self` with the inputs of `other`, and the reverse.
fn join(item: &ItemStruct, from: &Ident, to: &Ident, members: &[Member]) -> TokenStream {
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let moves = members.iter().map(|m| {
        let name = &m.name;
        match m.out {
            true => quote!(other.#name.next = self.#name.val();),
            false => quote!(self.#name.next = other.#name.val();),
        }
    });
    let claims = members.iter().map(|m| {
        let name = &m.name;
        match m.out {
            true => quote!(P::Logic::connect(&mut other.#name);),
            false => quote!(P::Logic::connect(&mut self.#name);),
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics P::Join<#to #ty_generics> for #from #ty_generics #where_clause {
            fn join(&mut self, other: &mut #to #ty_generics) { #(#moves)* }
            fn claim_join(&mut self, other: &mut #to #ty_generics) { #(#claims)* }
        }
    }
}

#[cfg(test)]
mod tests {
    fn refusal(options: &str, text: &str) -> String {
        let item = syn::parse_str(text).expect("the text is a structure");
        let bundle = syn::parse_str(options).and_then(|options| super::bundle(&options, &item));
        bundle.map_or_else(|error| error.to_string(), |_| panic!("accepted: {text}"))
    }

    #[test]
    fn what_a_bundle_cannot_be() {
        for (options, text, words) in [
            ("Sink", "struct X { a: Signal<In, Bit> }", "write #[bundle(mirror = Name)]"),
            ("mirror = Y, whole(Z, W)", "struct X { a: Signal<In, Bit> }", "part_of(Whole, WholeMirror)"),
            ("mirror = Y", "struct X(Signal<In, Bit>);", "needs named fields"),
            ("mirror = Y", "struct X { a: Signal<Local, Bit> }", "`Signal<In, T>` or `Signal<Out, T>`"),
            ("mirror = Y", "struct X { a: Reg<Bit> }", "`Signal<In, T>` or `Signal<Out, T>`"),
        ] {
            let sentence = refusal(options, text);
            assert!(sentence.contains(words), "{text}: {sentence}");
        }
    }
}
