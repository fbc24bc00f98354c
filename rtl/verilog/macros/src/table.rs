//! Generates what `spindle-verilog` gets besides the source of a body: the value of every constant it names, the layout of
//! every type, and the source of every helper function.
//!
//! A table is keyed by the source of the expression without white space. It is filled when the block is emitted, inside the
//! generic `impl`, so a const generic has one value per instance.

use crate::language::{assignments, INTRINSICS};
use proc_macro2::TokenStream;
use quote::{quote, ToTokens};
use std::collections::{BTreeMap, HashSet};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Error, Expr, FnArg, GenericArgument, Pat, PathArguments, Result, Type};

/// Functions that the back end knows itself.
const BUILTINS: [&str; 16] = [
    "bits",
    "bit_cast",
    "zext",
    "trunc",
    "sext",
    "signed_lt",
    "sra",
    "mul",
    "mul_signed",
    "repeat",
    "pack",
    "unpack",
    "signed_cast",
    "unsigned_cast",
    "join",
    "link",
];
fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name) || INTRINSICS.contains(&name)
}

/// Methods that the back end knows itself.
const METHODS: [&str; 23] = [
    "val",
    "vals",
    "get_bits",
    "get_bit",
    "replace_bit",
    "any",
    "all",
    "xor",
    "into",
    "index",
    "to_bits",
    "to_u8",
    "to_u16",
    "to_u32",
    "to_u64",
    "to_u128",
    "cat",
    "rev",
    "clone",
    "set_bits",
    "min",
    "max",
    "is_empty",
];

fn squash(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string().chars().filter(|c| !c.is_whitespace()).collect()
}

/// The body as the author wrote it when the compiler still has it, so that messages can name the line.
pub(crate) fn text_of(block: &Block) -> String {
    let plain = block.to_token_stream().to_string();
    let Some(text) = block.brace_token.span.span().unwrap().source_text() else { return plain };
    match syn::parse_str::<Block>(&text) {
        Ok(parsed) if squash(&parsed) == squash(block) => text,
        _ => plain,
    }
}

/// The line on which the body starts.
pub(crate) fn line_of(block: &Block) -> u32 {
    block.brace_token.span.span().unwrap().start().line() as u32
}

/// A `Source`: the source of a body and its tables.
pub(crate) fn source(block: &Block, name: &TokenStream, params: &[String]) -> TokenStream {
    let fields = source_fields(block, params);
    let (text, line) = (text_of(block), line_of(block));
    quote! {
        ::spindle_verilog::__private::Source { type_name: #name, file: file!(), line: #line, text: #text, #fields }
    }
}

/// `constants`, `types` and `functions` of a `Source`.
fn source_fields(block: &Block, params: &[String]) -> TokenStream {
    let mut locals = Locals(params.iter().cloned().collect());
    locals.visit_block(block);
    let mut table =
        Table { locals: locals.0, constants: BTreeMap::new(), types: BTreeMap::new(), functions: BTreeMap::new() };
    table.visit_block(block);
    let (const_keys, consts): (Vec<_>, Vec<_>) = table.constants.into_iter().unzip();
    let (type_keys, types): (Vec<_>, Vec<_>) = table.types.into_iter().unzip();
    let (fn_keys, fns): (Vec<_>, Vec<_>) = table.functions.into_iter().unzip();
    quote! {
        constants: vec![#((#const_keys, (&&::spindle_verilog::__private::Describe(&#consts)).describe())),*],
        types: vec![#((#type_keys, <#types as ::spindle_verilog::__private::Synth>::descriptor())),*],
        functions: vec![#((#fn_keys, #fns::__hdl_source as fn() -> ::spindle_verilog::__private::FnSource)),*],
    }
}

/// The companion module of an `#[hdl_fn]`: same name, other name space.
pub(crate) fn function_module(function: &syn::ItemFn) -> Result<TokenStream> {
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        return Err(Error::new(
            signature.generics.span(),
            "an #[hdl_fn] has no generics; write one function per width",
        ));
    }
    if is_builtin(&signature.ident.to_string()) {
        let message = format!("`{}` is a function of the language; give this one another name", signature.ident);
        return Err(Error::new(signature.ident.span(), message));
    }
    let mut params = vec![];
    let mut param_types = vec![];
    for argument in &signature.inputs {
        match argument {
            FnArg::Typed(typed) => match typed.pat.as_ref() {
                Pat::Ident(ident) => {
                    params.push(ident.ident.to_string());
                    param_types.push(typed.ty.as_ref().clone());
                }
                other => return Err(Error::new(other.span(), "an #[hdl_fn] parameter is a plain name")),
            },
            FnArg::Receiver(receiver) => {
                return Err(Error::new(receiver.span(), "an #[hdl_fn] is a free function without self"))
            }
        }
    }
    let syn::ReturnType::Type(_, result) = &signature.output else {
        return Err(Error::new(signature.span(), "an #[hdl_fn] returns a value"));
    };
    let (vis, name) = (&function.vis, &signature.ident);
    let name_text = name.to_string();
    let source = source(&function.block, &quote!(#name_text), &params);
    Ok(quote! {
        #[doc(hidden)]
        #vis mod #name {
            #[allow(unused_imports)]
            use super::*;
            #[allow(unused_parens, unused_braces, clippy::all)]
            pub fn __hdl_source() -> ::spindle_verilog::__private::FnSource {
                #[allow(unused_imports)]
                use ::spindle_verilog::__private::{DescribeNumber as _, DescribeSynth as _};
                ::spindle_verilog::__private::FnSource {
                    params: vec![#((#params, <#param_types as ::spindle_verilog::__private::Synth>::descriptor())),*],
                    result: <#result as ::spindle_verilog::__private::Synth>::descriptor(),
                    body: #source,
                }
            }
        }
    })
}

/// Every name bound by `let`, `for` or a parameter.
struct Locals(HashSet<String>);

impl<'ast> Visit<'ast> for Locals {
    fn visit_local(&mut self, node: &'ast syn::Local) {
        self.pattern(&node.pat);
        visit::visit_local(self, node);
    }
    fn visit_expr_for_loop(&mut self, node: &'ast syn::ExprForLoop) {
        self.pattern(&node.pat);
        visit::visit_expr_for_loop(self, node);
    }
}

impl Locals {
    fn pattern(&mut self, pat: &Pat) {
        match pat {
            Pat::Ident(ident) => {
                self.0.insert(ident.ident.to_string());
            }
            Pat::Type(typed) => self.pattern(&typed.pat),
            _ => {}
        }
    }
}

struct Table {
    locals: HashSet<String>,
    constants: BTreeMap<String, TokenStream>,
    types: BTreeMap<String, TokenStream>,
    functions: BTreeMap<String, TokenStream>,
}

/// Whether an expression reads a local or anything of `self` that is not a parameter field.
struct Dynamic<'a> {
    locals: &'a HashSet<String>,
    found: bool,
}

impl<'ast> Visit<'ast> for Dynamic<'_> {
    fn visit_expr(&mut self, node: &'ast Expr) {
        if parameter_field(node) {
            return;
        }
        visit::visit_expr(self, node);
    }
    fn visit_path(&mut self, node: &'ast syn::Path) {
        if let Some(ident) = node.get_ident() {
            self.found |= ident == "self" || self.locals.contains(&ident.to_string());
        }
    }
}

/// `self._n` or a field of it.
fn parameter_field(expr: &Expr) -> bool {
    let Expr::Field(field) = expr else { return false };
    if parameter_field(&field.base) {
        return true;
    }
    let named = matches!(&field.member, syn::Member::Named(n) if n.to_string().starts_with('_'));
    named && matches!(field.base.as_ref(), Expr::Path(p) if p.path.is_ident("self"))
}

pub(crate) fn is_integer_type(ty: &Type) -> bool {
    const NAMES: [&str; 11] = ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "isize"];
    matches!(ty, Type::Path(p) if p.path.get_ident().is_some_and(|i| NAMES.contains(&i.to_string().as_str())))
}

impl Table {
    fn is_static(&self, expr: &Expr) -> bool {
        let mut visitor = Dynamic { locals: &self.locals, found: false };
        visitor.visit_expr(expr);
        !visitor.found
    }

    fn constant(&mut self, tokens: &impl ToTokens) {
        self.constants.insert(squash(tokens), tokens.to_token_stream());
    }

    fn ty(&mut self, ty: &Type) {
        if !is_integer_type(ty) && !matches!(ty, Type::Infer(_)) {
            self.types.insert(squash(ty), ty.to_token_stream());
        }
    }

    fn generic_arguments(&mut self, arguments: &syn::AngleBracketedGenericArguments, first_is_type: bool) {
        for (index, argument) in arguments.args.iter().enumerate() {
            match argument {
                GenericArgument::Const(Expr::Lit(_)) | GenericArgument::Type(Type::Infer(_)) => {}
                GenericArgument::Type(ty) if first_is_type && index == 0 => self.ty(ty),
                GenericArgument::Const(expr) => self.constant(expr),
                GenericArgument::Type(ty) => self.constant(ty),
                _ => {}
            }
        }
    }

    fn pattern(&mut self, pat: &Pat) {
        match pat {
            Pat::Path(path) => self.constant(path),
            Pat::Ident(ident) if ident.ident.to_string().starts_with(char::is_uppercase) => self.constant(&ident.ident),
            Pat::Or(or) => or.cases.iter().for_each(|p| self.pattern(p)),
            Pat::Paren(inner) => self.pattern(&inner.pat),
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Table {
    fn visit_expr_path(&mut self, node: &'ast syn::ExprPath) {
        if let Some(ident) = node.path.get_ident() {
            let ident = ident.to_string();
            if ident == "self" || self.locals.contains(&ident) {
                return;
            }
        }
        self.constant(node);
    }

    fn visit_expr_field(&mut self, node: &'ast syn::ExprField) {
        if parameter_field(&Expr::Field(node.clone())) {
            self.constant(node);
        } else {
            visit::visit_expr_field(self, node);
        }
    }

    fn visit_expr_call(&mut self, node: &'ast syn::ExprCall) {
        let Expr::Path(path) = node.func.as_ref() else { return };
        let Some(last) = path.path.segments.last() else { return };
        let name = last.ident.to_string();
        let builtin = is_builtin(&name);
        let plain = path.path.segments.len() == 1;
        if matches!(name.as_str(), "join" | "link") && !plain {
            node.args.iter().for_each(|a| self.visit_indices(a));
            return;
        }
        if name == "default" && path.path.segments.first().is_some_and(|s| s.ident == "Default") {
            return;
        }
        if !builtin {
            if node.args.iter().all(|a| self.is_static(a)) {
                return self.constant(node);
            }
            self.functions.insert(squash(path), path.to_token_stream());
        } else if let PathArguments::AngleBracketed(arguments) = &last.arguments {
            self.generic_arguments(arguments, matches!(name.as_str(), "unpack" | "pack"));
        }
        node.args.iter().for_each(|a| self.visit_expr(a));
    }

    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        if node.method == "join" {
            self.visit_indices(&node.receiver);
            return node.args.iter().for_each(|a| self.visit_indices(a));
        }
        // A stage of the block: its source comes with a table of its own.
        if matches!(node.receiver.as_ref(), Expr::Path(p) if p.path.is_ident("self")) {
            return node.args.iter().for_each(|a| self.visit_expr(a));
        }
        if assignments(&node.method.to_string(), node.args.len()).is_some() {
            self.visit_indices(&node.receiver);
            return node.args.iter().for_each(|a| self.visit_expr(a));
        }
        if !METHODS.contains(&node.method.to_string().as_str()) {
            let expr = Expr::MethodCall(node.clone());
            if self.is_static(&expr) {
                self.constant(node);
            }
            return;
        }
        if let Some(turbofish) = &node.turbofish {
            self.generic_arguments(turbofish, false);
        }
        self.visit_expr(&node.receiver);
        node.args.iter().for_each(|a| self.visit_expr(a));
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        let path = &node.path;
        self.types.insert(squash(path), path.to_token_stream());
        node.fields.iter().for_each(|f| self.visit_expr(&f.expr));
        if let Some(rest) = &node.rest {
            self.visit_expr(rest);
        }
    }

    fn visit_expr_cast(&mut self, node: &'ast syn::ExprCast) {
        self.visit_expr(&node.expr);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        self.pattern(&node.pat);
        if let Some((_, guard)) = &node.guard {
            self.visit_expr(guard);
        }
        self.visit_expr(&node.body);
    }

    fn visit_local(&mut self, node: &'ast syn::Local) {
        if let Pat::Type(typed) = &node.pat {
            self.ty(&typed.ty);
        }
        if let Some(init) = &node.init {
            self.visit_expr(&init.expr);
        }
    }

    fn visit_pat(&mut self, _node: &'ast Pat) {}
}

impl Table {
    /// The constants inside the indices of `&mut self.a[i].b`.
    fn visit_indices(&mut self, expr: &Expr) {
        match expr {
            Expr::Reference(r) => self.visit_indices(&r.expr),
            Expr::Field(f) => self.visit_indices(&f.base),
            Expr::Index(i) => {
                self.visit_expr(&i.index);
                self.visit_indices(&i.expr);
            }
            _ => {}
        }
    }
}
