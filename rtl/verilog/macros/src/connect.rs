//! Generates `connect()`: claims every signal that `update()` drives.
//!
//! Loops stay loops, and conditions and `let`s that depend on parameters only are kept, so that an index is never
//! computed for hardware that a parameter left out. Conditions on signals are dropped: both branches are walked.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Pat, Stmt};

use crate::language::assignments;
use crate::stages::Stages;

/// The body of `connect()`.
pub(crate) fn connect_fn(block: &Block, stages: &Stages) -> TokenStream {
    connect_stage(block, stages, HashSet::new())
}

/// The same for a stage, some of whose parameters are signals.
pub(crate) fn connect_stage(block: &Block, stages: &Stages, dynamic: HashSet<String>) -> TokenStream {
    let mut walk = Walk { stages, dynamic };
    let body = walk.block(block);
    quote!({ #body })
}

struct Walk<'s> {
    stages: &'s Stages,
    /// Locals whose value depends on a signal.
    dynamic: HashSet<String>,
}

struct DependsOnSignal<'a> {
    stages: &'a Stages,
    dynamic: &'a HashSet<String>,
    found: bool,
}

impl<'ast> Visit<'ast> for DependsOnSignal<'_> {
    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        self.found |= node.method == "val" || node.method == "vals" || self.stages.called(node).is_some();
        visit::visit_expr_method_call(self, node);
    }
    fn visit_path(&mut self, node: &'ast syn::Path) {
        self.found |= node.get_ident().is_some_and(|i| self.dynamic.contains(&i.to_string()));
    }
}

/// The stages that an expression calls, in order.
struct Calls<'a> {
    stages: &'a Stages,
    claims: Vec<TokenStream>,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        visit::visit_expr_method_call(self, node);
        if let Some(stage) = self.stages.called(node) {
            let (claim, arguments) = (&stage.claim, stage.numbers(node));
            self.claims.push(quote!(self.#claim(#(#arguments),*);));
        }
    }
}

impl Walk<'_> {
    fn calls(&self, expr: &Expr) -> TokenStream {
        let mut calls = Calls { stages: self.stages, claims: vec![] };
        calls.visit_expr(expr);
        let claims = calls.claims;
        quote!(#(#claims)*)
    }

    fn depends_on_signal(&self, expr: &Expr) -> bool {
        let mut visitor = DependsOnSignal { stages: self.stages, dynamic: &self.dynamic, found: false };
        visitor.visit_expr(expr);
        visitor.found
    }

    fn block(&mut self, block: &Block) -> TokenStream {
        let statements: Vec<_> = block.stmts.iter().map(|s| self.statement(s)).collect();
        quote!(#(#statements)*)
    }

    fn statement(&mut self, statement: &Stmt) -> TokenStream {
        match statement {
            Stmt::Expr(expr, _) => self.expr(expr),
            Stmt::Macro(_) => quote!(),
            Stmt::Local(local) => {
                let Some(init) = &local.init else { return quote!() };
                let mut pat = &local.pat;
                if let Pat::Type(typed) = pat {
                    pat = &typed.pat;
                }
                let mutable = matches!(pat, Pat::Ident(i) if i.mutability.is_some());
                if mutable || self.depends_on_signal(&init.expr) {
                    if let Pat::Ident(ident) = pat {
                        self.dynamic.insert(ident.ident.to_string());
                    }
                    self.calls(&init.expr)
                } else {
                    quote!(#local)
                }
            }
            Stmt::Item(_) => quote!(),
        }
    }

    fn expr(&mut self, expr: &Expr) -> TokenStream {
        match expr {
            Expr::Assign(assign) => {
                let (calls, target) = (self.calls(&assign.right), Self::target(&assign.left));
                quote!(#calls #target)
            }
            Expr::Block(block) => self.block(&block.block),
            Expr::ForLoop(node) => {
                let (pat, range) = (&node.pat, &node.expr);
                let body = self.block(&node.body);
                quote!(for #pat in #range { #body })
            }
            Expr::If(node) => {
                let then = self.block(&node.then_branch);
                let other = node.else_branch.as_ref().map(|(_, e)| self.expr(e)).unwrap_or_default();
                if self.depends_on_signal(&node.cond) {
                    let calls = self.calls(&node.cond);
                    quote!(#calls { #then } { #other })
                } else {
                    let cond = &node.cond;
                    quote!(if #cond { #then } else { #other })
                }
            }
            Expr::Match(node) => {
                let arms: Vec<_> = node.arms.iter().map(|arm| self.expr(&arm.body)).collect();
                let calls = self.calls(&node.expr);
                quote!(#calls #({ #arms })*)
            }
            Expr::Macro(_) => quote!(),
            Expr::Call(call) => Self::call(call),
            Expr::MethodCall(call) if call.method == "join" && call.args.len() == 1 => {
                let (from, to) = (&call.receiver, &call.args[0]);
                quote!(::spindle_verilog::__private::Join::claim_join(&mut #from, #to);)
            }
            Expr::MethodCall(call) => {
                let calls = self.calls(expr);
                let claims = self.short_form(call);
                quote!(#calls #claims)
            }
            _ => quote!(),
        }
    }

    /// What a call that stands for assignments claims.
    fn short_form(&self, call: &syn::ExprMethodCall) -> TokenStream {
        let of_self = matches!(call.receiver.as_ref(), Expr::Path(_));
        let ports = assignments(&call.method.to_string(), call.args.len()).filter(|_| !of_self);
        let claims = ports.into_iter().flat_map(|(_, ports)| ports).map(|(port, _)| {
            let receiver = &call.receiver;
            let port = (!port.is_empty()).then(|| format_ident!("{port}")).into_iter();
            quote!(::spindle_verilog::__private::logic_connect_fn(&mut #receiver #(.#port)*);)
        });
        quote!(#(#claims)*)
    }

    /// `self.a.b.next.field` claims `self.a.b`.
    fn target(mut left: &Expr) -> TokenStream {
        loop {
            match left {
                Expr::Field(field) => {
                    if matches!(&field.member, syn::Member::Named(n) if n == "next") {
                        let base = &field.base;
                        return quote!(::spindle_verilog::__private::logic_connect_fn(&mut #base););
                    }
                    left = &field.base;
                }
                Expr::Index(index) => left = &index.expr,
                _ => return quote!(),
            }
        }
    }

    fn call(call: &syn::ExprCall) -> TokenStream {
        let Expr::Path(path) = call.func.as_ref() else { return quote!() };
        if path.path.segments.len() < 2 || call.args.len() != 2 {
            return quote!();
        }
        let (source, dest) = (&call.args[0], &call.args[1]);
        match path.path.segments.last().map(|s| s.ident.to_string()).as_deref() {
            Some("join") => quote!(::spindle_verilog::__private::logic_connect_join_fn(#source, #dest);),
            Some("link") => quote!(::spindle_verilog::__private::logic_connect_link_fn(#source, #dest);),
            _ => quote!(),
        }
    }
}
