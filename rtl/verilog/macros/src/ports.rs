//! The structure of typed handles that `#[block]` and `#[bundle]` make for benches.

use crate::bundle::Member;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Fields, ItemStruct, Type, Visibility};

/// A field of the structure: where it comes from, and what is added to the outer name.
struct Handle<'a> {
    name: &'a Ident,
    ty: &'a Type,
    docs: Vec<&'a Attribute>,
    /// The payload of a bundle has the bundle's own name.
    own_name: bool,
}

/// The public fields; of a bundle all of them.
fn handles(item: &ItemStruct, all: bool) -> Vec<Handle<'_>> {
    let Fields::Named(fields) = &item.fields else { return vec![] };
    let shown = fields.named.iter().filter(|field| all || matches!(field.vis, Visibility::Public(_)));
    shown
        .filter_map(|field| {
            let name = field.ident.as_ref()?;
            let docs = field.attrs.iter().filter(|a| a.path().is_ident("doc")).collect();
            (!name.to_string().starts_with('_')).then_some(Handle { name, ty: &field.ty, docs, own_name: false })
        })
        .collect()
}

/// The handles of a block: its public fields.
pub(crate) fn block(item: &ItemStruct) -> TokenStream {
    structure(item, &handles(item, false), &quote!(), &quote!(), &quote!(), &quote!())
}

/// The handles of one side of a bundle, and its channels.
pub(crate) fn bundle(item: &ItemStruct, members: &[Member], first: bool) -> TokenStream {
    let mut handles = handles(item, true);
    for handle in &mut handles {
        handle.own_name = handle.name == "payload";
    }
    let found = |name: &str| members.iter().find(|m| m.name == name);
    let mut noted = vec![];
    let mut plain = false;
    for valid in members.iter().filter(|m| m.name.to_string().ends_with("valid")) {
        let text = valid.name.to_string();
        let prefix = text.trim_end_matches("valid");
        let ready = found(&format!("{prefix}ready")).filter(|ready| ready.out != valid.out);
        let along = members.iter().filter(|m| m.out == valid.out && m.name != valid.name);
        let along: Vec<_> = along.filter(|m| m.name.to_string().starts_with(prefix)).map(|m| &m.name).collect();
        let texts: Vec<String> = along.iter().map(|name| name.to_string()).collect();
        let ready = match ready {
            Some(ready) => {
                let ready = &ready.name;
                quote!(::core::option::Option::Some(#ready.id()))
            }
            None => quote!(::core::option::Option::None),
        };
        let (valid_name, from_block) = (&valid.name, valid.out == first);
        let note =
            quote!(maker.channel(name, #prefix, #ready, #valid_name.id(), &[#((#texts, #along.id())),*], #from_block));
        noted.push(if prefix.is_empty() {
            plain = true;
            quote!(let channel = #note;)
        } else {
            quote!(#note;)
        });
    }
    let (field, value) = match plain {
        true => (quote!(channel: usize,), quote!(channel,)),
        false => (quote!(), quote!()),
    };
    let moves = (found("valid").is_some() && found("ready").is_some()).then(|| {
        quote! {
            /// Whether a word moves in this cycle.
            pub fn moves(&self) -> bool { self.valid.is_high() && self.ready.is_high() }
        }
    });
    let channel = plain.then(|| {
        quote! {
            /// The number of this channel among those of the block.
            pub fn channel(&self) -> usize { self.channel }
        }
    });
    let name = &item.ident;
    let ports = format_ident!("{name}Ports");
    let (impl_generics, ty_generics, where_clause) = item.generics.split_for_impl();
    let payload = handles.iter().find(|h| h.own_name).map(|handle| {
        let ty = handle.ty;
        quote! {
            #[automatically_derived]
            impl #impl_generics ::core::ops::Deref for #ports #ty_generics #where_clause {
                type Target = <#ty as ::spindle_verilog::ports::HasPorts>::Ports;
                fn deref(&self) -> &Self::Target { &self.payload }
            }
        }
    });
    let structure = structure(item, &handles, &field, &value, &quote!(#(#noted)*), &quote!(#moves #channel));
    quote!(#structure #payload)
}

fn structure(
    item: &ItemStruct,
    handles: &[Handle],
    field: &TokenStream,
    value: &TokenStream,
    note: &TokenStream,
    methods: &TokenStream,
) -> TokenStream {
    let (name, vis) = (&item.ident, &item.vis);
    let ports = format_ident!("{name}Ports");
    let doc = format!("The ports of [`{name}`] as a bench sees them.");
    let generics = &item.generics;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let parameters = generics.type_params().map(|p| &p.ident);
    let fields = handles.iter().map(|handle| {
        let Handle { name, ty, docs, .. } = handle;
        quote!(#(#docs)* pub #name: <#ty as ::spindle_verilog::ports::HasPorts>::Ports)
    });
    let made = handles.iter().map(|handle| {
        let (name, text) = (handle.name, handle.name.to_string());
        let path = match handle.own_name {
            true => quote!(name),
            false => quote!(&::spindle_verilog::ports::port_name(name, #text)),
        };
        quote!(let #name = ::spindle_verilog::ports::HasPorts::ports(&self.#name, #path, maker);)
    });
    let names = handles.iter().map(|handle| handle.name);
    quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        #vis struct #ports #generics #where_clause {
            #(#fields,)*
            #field
            types: ::core::marker::PhantomData<fn() -> (#(#parameters,)*)>,
        }

        #[automatically_derived]
        #[allow(unused_variables, dead_code)]
        impl #impl_generics ::spindle_verilog::ports::HasPorts for #name #ty_generics #where_clause {
            type Ports = #ports #ty_generics;
            fn ports(&self, name: &str, maker: &mut ::spindle_verilog::ports::PortMaker) -> Self::Ports {
                #(#made)*
                #note
                #ports { #(#names,)* #value types: ::core::marker::PhantomData }
            }
        }

        #[automatically_derived]
        #[allow(dead_code)]
        impl #impl_generics #ports #ty_generics #where_clause { #methods }
    }
}
