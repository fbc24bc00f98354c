//! `#[hdl] impl X`: `update()` and the stages that it calls.

use crate::{connect, table};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::HashSet;
use syn::visit::Visit;
use syn::{spanned::Spanned, Error, FnArg, ImplItem, ImplItemFn, ItemImpl, Pat, Result, ReturnType, Type};

/// A parameter of a stage.
struct Param {
    name: String,
    ty: Type,
    /// Known when the design is emitted: a loop's variable, for example.
    number: bool,
}

/// A method of the block beside `update()`.
pub(crate) struct Stage {
    name: Ident,
    /// The method that claims what the stage drives.
    pub claim: Ident,
    params: Vec<Param>,
}

impl Stage {
    /// The arguments of a call that are numbers.
    pub fn numbers<'c>(&self, call: &'c syn::ExprMethodCall) -> Vec<&'c syn::Expr> {
        self.params.iter().zip(&call.args).filter(|(param, _)| param.number).map(|(_, argument)| argument).collect()
    }
}

/// All stages of a block.
#[derive(Default)]
pub(crate) struct Stages(Vec<Stage>);

impl Stages {
    /// The stage that `self.name(..)` calls.
    pub fn called(&self, call: &syn::ExprMethodCall) -> Option<&Stage> {
        let of_self = matches!(call.receiver.as_ref(), syn::Expr::Path(p) if p.path.is_ident("self"));
        self.0.iter().find(|stage| of_self && call.method == stage.name)
    }

    /// A stage is a piece of hardware wherever it is called, so it cannot contain itself.
    fn refuse_recursion(&self, functions: &[&ImplItemFn]) -> Result<()> {
        let calls: Vec<Vec<usize>> = functions
            .iter()
            .map(|function| {
                let mut calls = Calls { stages: self, found: vec![] };
                calls.visit_block(&function.block);
                calls.found
            })
            .collect();
        for (start, stage) in self.0.iter().enumerate() {
            let (mut waiting, mut seen) = (calls[start].clone(), HashSet::new());
            while let Some(next) = waiting.pop() {
                if next == start {
                    let sentence = format!("`{}` calls itself; a stage cannot be recursive", stage.name);
                    return Err(Error::new(stage.name.span(), sentence));
                }
                if seen.insert(next) {
                    waiting.extend(&calls[next]);
                }
            }
        }
        Ok(())
    }
}

/// The stages that a body calls.
struct Calls<'s> {
    stages: &'s Stages,
    found: Vec<usize>,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some(stage) = self.stages.called(call) {
            self.found.extend(self.stages.0.iter().position(|other| other.name == stage.name));
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}

pub(crate) fn block_impl(item: ItemImpl) -> Result<TokenStream> {
    if item.trait_.is_some() {
        return Err(Error::new(item.span(), "#[hdl] stands on `impl X`, not on `impl Logic for X`; remove the trait"));
    }
    let mut update = None;
    let mut stages = vec![];
    for part in &item.items {
        let ImplItem::Fn(function) = part else {
            return Err(Error::new(part.span(), "an #[hdl] impl holds functions only; move this to another impl"));
        };
        if function.sig.ident == "update" {
            update = Some(function);
        } else {
            stages.push((stage(function)?, function));
        }
    }
    let Some(update) = update else {
        return Err(Error::new(item.span(), "an #[hdl] impl needs `fn update(&mut self)`"));
    };
    let (stages, functions): (Vec<_>, Vec<_>) = stages.into_iter().unzip();
    let stages = Stages(stages);
    stages.refuse_recursion(&functions)?;
    let body = &update.block;
    let connect = connect::connect_fn(body, &stages);
    let source = table::source(body, &quote!(::std::any::type_name::<Self>()), &[]);
    let claims = stages.0.iter().zip(&functions).map(|(stage, function)| claim(stage, function, &stages));
    let sources = stages.0.iter().zip(&functions).map(|(stage, function)| method(stage, function));
    let ty = &item.self_ty;
    let attributes = &item.attrs;
    let (impl_generics, _, where_clause) = item.generics.split_for_impl();
    Ok(quote! {
        #(#attributes)*
        #[allow(unused_mut, unused_variables, unused_assignments, unreachable_patterns, unused_parens)]
        #[allow(clippy::all)]
        impl #impl_generics #ty #where_clause {
            #(#functions)*
            #(#claims)*
        }

        impl #impl_generics ::spindle_verilog::__private::Logic for #ty #where_clause {
            #[allow(unused_mut, unused_variables, unused_assignments, unreachable_patterns, unused_parens)]
            #[allow(clippy::all)]
            fn update(&mut self) {
                ::spindle_verilog::__private::Parts::drive_parts(self);
                #body
            }

            #[automatically_derived]
            #[allow(unused_variables, unused_mut, unused_parens, clippy::all)]
            fn connect(&mut self) {
                ::spindle_verilog::__private::Parts::claim_parts(self);
                #connect
            }

            #[automatically_derived]
            #[allow(unused_parens, unused_braces, clippy::all)]
            fn hdl(&self) -> ::spindle_verilog::__private::Verilog {
                use ::spindle_verilog::__private::{DescribeNumber as _, DescribeSynth as _};
                let block = ::spindle_verilog::__private::BlockSource {
                    parts: <Self as ::spindle_verilog::__private::Parts>::parts(),
                    stages: vec![#(#sources),*],
                };
                ::spindle_verilog::__private::hand_over(#source, Some(block))
            }
        }
    })
}

fn stage(function: &ImplItemFn) -> Result<Stage> {
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        return Err(Error::new(signature.generics.span(), "a stage has no generics; write one per width"));
    }
    let mut inputs = signature.inputs.iter();
    if !matches!(inputs.next(), Some(FnArg::Receiver(r)) if r.reference.is_some() && r.mutability.is_some()) {
        return Err(Error::new(signature.span(), "a stage takes `&mut self`; move other functions to another impl"));
    }
    let params = inputs.map(|input| match input {
        FnArg::Typed(typed) => match typed.pat.as_ref() {
            Pat::Ident(name) => Ok(Param {
                name: name.ident.to_string(),
                ty: typed.ty.as_ref().clone(),
                number: table::is_integer_type(&typed.ty),
            }),
            other => Err(Error::new(other.span(), "a parameter of a stage is a plain name")),
        },
        FnArg::Receiver(receiver) => Err(Error::new(receiver.span(), "a stage has one `self`")),
    });
    let name = signature.ident.clone();
    Ok(Stage { claim: format_ident!("__claim_{name}"), params: params.collect::<Result<_>>()?, name })
}

/// Claims what a stage drives.
fn claim(stage: &Stage, function: &ImplItemFn, stages: &Stages) -> TokenStream {
    let signals = stage.params.iter().filter(|p| !p.number).map(|p| p.name.clone()).collect::<HashSet<_>>();
    let body = connect::connect_stage(&function.block, stages, signals);
    let numbers = stage.params.iter().filter(|p| p.number).map(|p| {
        let (name, ty) = (format_ident!("{}", p.name), &p.ty);
        quote!(#name: #ty)
    });
    let name = &stage.claim;
    quote! {
        #[doc(hidden)]
        fn #name(&mut self, #(#numbers),*) #body
    }
}

/// What the back end gets of a stage.
fn method(stage: &Stage, function: &ImplItemFn) -> TokenStream {
    let text = stage.name.to_string();
    let names: Vec<String> = stage.params.iter().map(|p| p.name.clone()).collect();
    let source = table::source(&function.block, &quote!(#text), &names);
    let descriptor = |ty: &Type| quote!(Some(<#ty as ::spindle_verilog::__private::Synth>::descriptor()));
    let params = stage.params.iter().map(|p| {
        let (name, ty) = (&p.name, if p.number { quote!(None) } else { descriptor(&p.ty) });
        quote!((#name, #ty))
    });
    let result = match &function.sig.output {
        ReturnType::Default => quote!(None),
        ReturnType::Type(_, ty) => descriptor(ty),
    };
    quote! {
        ::spindle_verilog::__private::StageSource {
            name: #text,
            params: vec![#(#params),*],
            result: #result,
            body: #source,
        }
    }
}

#[cfg(test)]
mod tests {
    fn refusal(text: &str) -> String {
        let item = syn::parse_str(text).expect("the text is an impl");
        super::block_impl(item).map_or_else(|error| error.to_string(), |_| panic!("accepted: {text}"))
    }

    #[test]
    fn what_an_hdl_impl_cannot_be() {
        let update = "fn update(&mut self) {}";
        for (text, words) in [
            (format!("impl Logic for X {{ {update} }}"), "remove the trait"),
            ("impl X { fn stage(&mut self) {} }".into(), "needs `fn update(&mut self)`"),
            (format!("impl X {{ {update} const N: usize = 3; }}"), "functions only"),
            (format!("impl X {{ {update} fn s<const N: usize>(&mut self) {{}} }}"), "no generics"),
            (format!("impl X {{ {update} fn s(&self) {{}} }}"), "takes `&mut self`"),
            (format!("impl X {{ {update} fn s(&mut self, (a, b): (Bit, Bit)) {{}} }}"), "a plain name"),
            (format!("impl X {{ {update} fn s(&mut self) {{ self.s(); }} }}"), "`s` calls itself"),
            (
                format!("impl X {{ {update} fn s(&mut self) {{ self.t(); }} fn t(&mut self) {{ self.s() }} }}"),
                "`s` calls itself",
            ),
        ] {
            let sentence = refusal(&text);
            assert!(sentence.contains(words), "{text}: {sentence}");
        }
    }
}
