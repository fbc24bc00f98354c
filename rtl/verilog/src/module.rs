//! Writes one module: arranges its statements into assignments, combinational blocks and registers, and prints them.

use crate::build::{Body, Item, Role};
use crate::chains;
use crate::check::assigned;
use crate::describe::Parameters;
use crate::error::{EmitError, Result};
use crate::expr::{Expr, Kind, SigId};
use crate::hierarchy::Node;
use crate::inline::{Readers, Steps};
use crate::loops::{self, Row, Written};
use crate::names::flatten;
use crate::options::Attribute;
use crate::print::{filling, number, range, Printer};
use crate::rest;
use crate::stmt::{only, Stmt};
use crate::ty::Ty;
use crate::types::Types;
use num_bigint::BigUint;
use rust_hdl_core::prelude::AtomKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// One piece of the module, in the order of the source.
#[derive(Clone)]
pub(crate) enum Piece {
    /// `wire x = ..` or `assign x = ..`
    Value(SigId, Expr),
    /// `always_comb`
    Block(SigId, Vec<Stmt>),
}

/// Statements of this many lines share a block with others.
const FEW_LINES: usize = 3;

/// Registers that share one `always_ff`.
struct Flops {
    /// Independent registers of a few lines each share the block.
    few: bool,
    members: Vec<usize>,
    clock: Expr,
    reset: Option<Expr>,
    stmts: Vec<Stmt>,
}

/// The statements of a body, arranged.
struct Arranged<'a> {
    body: &'a Body,
    items: Vec<Item>,
    pieces: Vec<Piece>,
    flops: Vec<Flops>,
    /// Submodule inputs connected without a wire.
    direct: BTreeMap<SigId, Expr>,
    /// Submodule outputs that are nothing but the signals they drive here.
    drives: HashMap<SigId, SigId>,
    /// Bits read of each signal.
    read: Vec<Vec<bool>>,
    /// Arrays of submodules that are loops.
    rows: Vec<Row>,
}

/// The source from `module` to `endmodule`; the module's own name is an empty mark, that of a child comes from `child`.
pub(crate) fn write(
    body: &Body,
    child: &dyn Fn(usize) -> String,
    line: u32,
    types: &Types,
    attributes: &[&Attribute],
) -> Result<String> {
    let items = chains::joined(&body.items, &body.sigs);
    let mut named;
    let mut arranged = Arranged {
        body,
        items,
        pieces: vec![],
        flops: vec![],
        direct: BTreeMap::new(),
        drives: HashMap::new(),
        read: vec![],
        rows: vec![],
    };
    arranged.arrange(line)?;
    arranged.rows = loops::rows(body, child, &arranged.direct);
    arranged.drop_names();
    arranged.drop_wires();
    arranged.inline();
    arranged.drop_unread();
    arranged.rest();
    named = body.clone();
    arranged.name_rows(&mut named);
    arranged.body = &named;
    Ok(arranged.print(child, types, attributes))
}

/// A module with a hand-written body. Parameters default to 2, a legal value of each, unless the module is `top` and no instance sets
/// them.
pub(crate) fn hand_written(node: &Node, body: &str, parameters: &Parameters, top: bool) -> String {
    let ports: Vec<(&str, String, String)> = node
        .ports
        .iter()
        .filter_map(|p| {
            let direction = match p.kind {
                AtomKind::InputParameter => "input ",
                AtomKind::OutputParameter | AtomKind::OutputPassthrough => "output",
                AtomKind::InOutParameter => "inout ",
                _ => return None,
            };
            let name = flatten(&p.key);
            let width = parameters.widths.iter().find(|(port, _)| *port == name);
            let range = width.map_or_else(|| range(p.ty.width()), |(_, width)| format!("[{width}-1:0] "));
            Some((direction, format!("logic {range}"), name))
        })
        .collect();
    let list: Vec<String> = parameters
        .values
        .iter()
        .map(|(name, value)| format!("  parameter int {name} = {}", if top { value } else { "2" }))
        .collect();
    let list = if list.is_empty() { String::new() } else { format!("#(\n{}\n) ", list.join(",\n")) };
    let mut out = header(&list, &ports, &[]);
    for line in body.trim_matches('\n').lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str("endmodule\n");
    out
}

/// `parameters` is empty or ends with a space; ports are direction, type with a space after it, and name.
fn header(parameters: &str, ports: &[(&str, String, String)], attributes: &[&Attribute]) -> String {
    let mut lines: Vec<String> = vec![];
    let mut before: Option<(String, &str, usize)> = None;
    for (direction, kind, name) in ports {
        // A port is `logic`, of a structure type, or a net.
        let kind = if *direction == "inout " { kind.replacen("logic", "wire", 1) } else { kind.clone() };
        let own = attributes.iter().filter(|attribute| attribute.port == *name);
        let own = own.map(|attribute| format!("  (* {} = \"{}\" *)\n", attribute.name, attribute.value));
        let head = format!("{}  {} {kind}", own.collect::<String>(), direction.trim());
        let element = element(name);
        match (&before, lines.last_mut()) {
            // The elements of an array share a line.
            (Some((last, array, at)), Some(line))
                if *last == head && element == Some((*array, at + 1)) && line.len() + name.len() + 3 <= COLUMNS =>
            {
                line.push_str(&format!(", {name}"));
            }
            _ => lines.push(format!("{head}{name}")),
        }
        before = element.map(|(array, at)| (head, array, at));
    }
    format!("module \u{1}own\u{1} {parameters}(\n{}\n);\n", lines.join(",\n"))
}

/// `data` and 3 for `data_3`.
fn element(name: &str) -> Option<(&str, usize)> {
    let (array, at) = name.rsplit_once('_')?;
    Some((array, at.parse().ok()?))
}

impl Arranged<'_> {
    fn latch(&self, sig: SigId, stmts: &[Stmt], line: u32) -> EmitError {
        let key = &self.body.sigs[sig].key;
        let mut at = 0;
        stmts.iter().for_each(|s| s.targets(&mut |id, line| at = if id == sig { line } else { at }));
        if at == 0 {
            return EmitError::new(&self.body.file, line, format!("`{key}` is never assigned; give it a value"));
        }
        let advice = match self.body.sigs[sig].role {
            Role::RegD => "write #[block], whose registers hold, or assign the present value first",
            _ => "give it a default before the condition",
        };
        EmitError::new(
            &self.body.file,
            at,
            format!("`{key}` is not assigned on every path, which would make a latch; {advice}"),
        )
    }

    fn arrange(&mut self, line: u32) -> Result<()> {
        let body = self.body;
        let items = std::mem::take(&mut self.items);
        let top: Vec<Stmt> =
            items.iter().filter_map(|i| if let Item::Top(s) = i { Some(s.clone()) } else { None }).collect();
        let mut by_target: BTreeMap<SigId, Vec<usize>> = BTreeMap::new();
        let mut noted: HashSet<(SigId, usize)> = HashSet::new();
        for (n, stmt) in top.iter().enumerate() {
            stmt.targets(&mut |sig, _| {
                if noted.insert((sig, n)) {
                    by_target.entry(sig).or_default().push(n);
                }
            });
        }
        let mut read = vec![false; body.sigs.len()];
        let mut note = |e: &Expr| e.reads(&mut |id, _, _| read[id] = true);
        items.iter().for_each(|item| match item {
            Item::Wire(_, e) => note(e),
            Item::Top(s) => s.exprs(&mut note),
        });
        let of = |sig: SigId| -> Vec<Stmt> {
            let numbers = by_target.get(&sig).cloned().unwrap_or_default();
            let stmts: Vec<Stmt> = numbers.iter().map(|n| top[*n].clone()).collect();
            only(&stmts, &|id| id == sig)
        };
        // Combinational targets, each where its last statement is.
        let mut at_end: BTreeMap<usize, Vec<SigId>> = BTreeMap::new();
        let mut inlined = vec![];
        let inline_d: HashSet<SigId> = body.registers.iter().filter(|r| !read[r.d]).map(|r| r.d).collect();
        for (sig, info) in body.sigs.iter().enumerate() {
            let stmts = match info.role {
                Role::Out | Role::Local | Role::SubIn | Role::Var => of(sig),
                Role::RegD if !inline_d.contains(&sig) => of(sig),
                Role::RegD => {
                    inlined.push(sig);
                    continue;
                }
                _ => continue,
            };
            if !assigned(&stmts, sig, info.width()).iter().all(|b| *b) {
                return Err(self.latch(sig, &stmts, line));
            }
            if let (Role::SubIn, false, Some(expr)) = (&info.role, read[sig], plain(&stmts, sig, info.width())) {
                if expr.is_plain() {
                    self.direct.insert(sig, expr);
                    continue;
                }
            }
            let last = by_target.get(&sig).and_then(|n| n.last()).copied().unwrap_or(0);
            at_end.entry(last).or_default().push(sig);
        }
        let mut n = 0;
        for item in &items {
            match item {
                Item::Wire(sig, expr) => self.pieces.push(Piece::Value(*sig, expr.clone())),
                Item::Top(_) => {
                    for sig in at_end.remove(&n).unwrap_or_default() {
                        let stmts = of(sig);
                        self.pieces.push(match plain(&stmts, sig, body.sigs[sig].width()) {
                            Some(expr) => Piece::Value(sig, expr),
                            None => Piece::Block(sig, stmts),
                        });
                    }
                    n += 1;
                }
            }
        }
        self.arrange_flops(&top, &inlined, &of, line)
    }

    /// Groups registers whose next values are set in common statements.
    fn arrange_flops(
        &mut self,
        top: &[Stmt],
        inlined: &[SigId],
        of: &dyn Fn(SigId) -> Vec<Stmt>,
        line: u32,
    ) -> Result<()> {
        let body = self.body;
        let number: HashMap<SigId, usize> = body.registers.iter().enumerate().map(|(i, r)| (r.d, i)).collect();
        let mut controls: Vec<(Expr, Option<Expr>)> = vec![];
        for register in &body.registers {
            let control = |sig: SigId| -> Result<Expr> {
                let stmts = of(sig);
                match plain(&stmts, sig, 1) {
                    Some(expr) => Ok(expr),
                    None => Err(self.latch(sig, &stmts, line)),
                }
            };
            let clock = control(register.clock)?;
            if !matches!(clock.kind, Kind::Sig(..)) {
                let key = &body.sigs[register.clock].key;
                return Err(EmitError::new(
                    &body.file,
                    line,
                    format!("`{key}` is not a clock signal; connect a clock input straight to it"),
                ));
            }
            controls.push((clock, register.reset.map(control).transpose()?));
        }
        let mut group: Vec<usize> = (0..body.registers.len()).collect();
        for stmt in top {
            if matches!(stmt, Stmt::Assign { .. }) {
                continue;
            }
            let mut members = BTreeSet::new();
            stmt.targets(&mut |sig, _| {
                if inlined.contains(&sig) {
                    members.insert(number[&sig]);
                }
            });
            for a in &members {
                for b in members.iter().filter(|b| controls[**b] == controls[*a]) {
                    let (from, to) = (group[*a].max(group[*b]), group[*a].min(group[*b]));
                    group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
                }
            }
        }
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (i, g) in group.iter().enumerate() {
            groups.entry(*g).or_default().push(i);
        }
        for members in groups.into_values() {
            let ds: HashSet<SigId> = members.iter().map(|m| body.registers[*m].d).collect();
            let mut held: HashSet<SigId> = HashSet::new();
            let mut stmts = vec![];
            for stmt in only(top, &|sig| ds.contains(&sig)) {
                if let Stmt::Assign { sig, lo: 0, value, .. } = &stmt {
                    let q = body.registers[number[sig]].q;
                    if inlined.contains(sig) && *value == body.read(q) && held.insert(*sig) {
                        continue;
                    }
                }
                stmt.targets(&mut |sig, _| {
                    held.insert(sig);
                });
                stmts.push(stmt);
            }
            for member in &members {
                let register = &body.registers[*member];
                let own = of(register.d);
                if !inlined.contains(&register.d) {
                    // The next value is read: it is a wire of its own.
                    stmts.retain(|s| {
                        !matches!(only(std::slice::from_ref(s), &|sig| sig == register.d).as_slice(), [_, ..])
                    });
                    stmts.push(Stmt::Assign { sig: register.d, lo: 0, value: body.read(register.d), line });
                } else if !assigned(&own, register.d, body.sigs[register.d].width()).iter().all(|b| *b) {
                    return Err(self.latch(register.d, &own, line));
                }
            }
            let (clock, reset) = controls[members[0]].clone();
            // A few lines do not want a block of their own.
            let few = |stmts: &[Stmt]| stmts.iter().map(Stmt::lines).sum::<usize>() <= FEW_LINES;
            let beside = self.flops.iter_mut().find(|f| f.few && (&f.clock, &f.reset) == (&clock, &reset));
            match beside.filter(|_| few(&stmts)) {
                Some(flops) => {
                    flops.members.extend(members);
                    flops.stmts.extend(stmts);
                }
                None => self.flops.push(Flops { few: few(&stmts), members, clock, reset, stmts }),
            }
        }
        Ok(())
    }

    /// Calls `f` for every expression of the module.
    fn exprs(&self, f: &mut dyn FnMut(&Expr)) {
        self.pieces.iter().for_each(|piece| piece.exprs(f));
        for flops in &self.flops {
            flops.reset.iter().chain([&flops.clock]).for_each(&mut *f);
            flops.stmts.iter().for_each(|s| s.exprs(f));
        }
        self.direct.values().for_each(f);
    }

    /// Every statement at the top of a block.
    fn stmts(&self) -> impl Iterator<Item = &Stmt> {
        let blocks = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Block(_, stmts) => Some(stmts),
            Piece::Value(..) => None,
        });
        blocks.chain(self.flops.iter().map(|flops| &flops.stmts)).flatten()
    }

    fn count_reads(&mut self) {
        let body = self.body;
        let mut read: Vec<Vec<bool>> = body.sigs.iter().map(|s| vec![false; s.width()]).collect();
        self.exprs(&mut |e| {
            e.reads(&mut |id, lo, width| {
                let end = lo.saturating_add(width).min(read[id].len());
                read[id][lo..end].fill(true);
            })
        });
        self.read = read;
    }

    /// Reads a signal by its own name where a `let` gave it a second one.
    fn drop_names(&mut self) {
        let body = self.body;
        let mut names: HashMap<SigId, SigId> = HashMap::new();
        for piece in &self.pieces {
            let Piece::Value(sig, Expr { kind: Kind::Sig(of, 0), .. }) = piece else { continue };
            if body.sigs[*sig].role == Role::Let && body.sigs[*of].width() == body.sigs[*sig].width() {
                names.insert(*sig, *names.get(of).unwrap_or(of));
            }
        }
        let rename = |e: &Expr| e.renamed(&|sig| names.get(&sig).copied());
        self.change(&rename);
    }

    /// Replaces every expression.
    fn change(&mut self, f: &dyn Fn(&Expr) -> Expr) {
        for piece in &mut self.pieces {
            match piece {
                Piece::Value(_, e) => *e = f(e),
                Piece::Block(_, stmts) => stmts.iter_mut().for_each(|s| s.change(f)),
            }
        }
        self.flops.iter_mut().flat_map(|f| &mut f.stmts).for_each(|s| s.change(f));
        self.direct.values_mut().for_each(|e| *e = f(e));
    }

    /// Writes steps of loops and helper functions where they are read, if that is shorter.
    fn inline(&mut self) {
        for only_parts in [true, true, false] {
            self.drop_unread();
            let mut readers = Readers::default();
            self.exprs(&mut |e| readers.note(e));
            let steps = Steps::new(&self.pieces, &self.body.sigs, &readers, only_parts);
            for piece in &mut self.pieces {
                if let Piece::Value(_, e) = piece {
                    *e = steps.standing_for(e);
                }
            }
            self.change(&|e| steps.written_out(e));
        }
    }

    /// Names the signals of loops, in the symbols that are printed.
    fn name_rows(&mut self, named: &mut Body) {
        let read = |sig: SigId| self.read[sig].contains(&true);
        let of_rows = self.rows.iter().flat_map(|row| row.instances(self.body)).flat_map(|instance| &instance.pins);
        let outputs: HashSet<SigId> = of_rows.map(|(_, sig)| *sig).collect();
        let mut taken = HashSet::new();
        let (index, unit) = (named.names.unique("i"), named.names.unique("unit"));
        self.rows.iter_mut().for_each(|row| row.name(named, &index, &unit));
        for row in &mut self.rows {
            row.name_signals(named, &self.direct, &read, &outputs, &mut taken);
        }
    }

    /// Connects submodule outputs straight to the one signal that they are for.
    fn drop_wires(&mut self) {
        let body = self.body;
        let of_rows = self.rows.iter().flat_map(|row| row.instances(body)).flat_map(|instance| &instance.pins);
        let of_rows: HashSet<SigId> = of_rows.map(|(_, sig)| *sig).collect();
        let mut readers = vec![0usize; body.sigs.len()];
        self.exprs(&mut |e| e.reads(&mut |sig, _, _| readers[sig] += 1));
        let drives = &mut self.drives;
        self.pieces.retain(|piece| {
            let Piece::Value(sig, Expr { kind: Kind::Sig(of, 0), .. }) = piece else { return true };
            let (to, from) = (&body.sigs[*sig], &body.sigs[*of]);
            let straight = matches!(to.role, Role::Out | Role::Local)
                && from.role == Role::SubOut
                && !of_rows.contains(of)
                && to.width() == from.width()
                && readers[*of] == 1;
            if straight {
                drives.insert(*of, *sig);
            }
            !straight
        });
    }

    /// Removes locals that nothing reads.
    fn drop_unread(&mut self) {
        loop {
            self.count_reads();
            let (body, read) = (self.body, &self.read);
            let before = self.pieces.len();
            self.pieces.retain(|piece| {
                let (Piece::Value(sig, _) | Piece::Block(sig, _)) = piece;
                !matches!(body.sigs[*sig].role, Role::Let | Role::Var) || read[*sig].contains(&true)
            });
            if self.pieces.len() == before {
                return;
            }
        }
    }

    /// Puts values under the conditions of their readers.
    fn rest(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        let controls = self.flops.iter().flat_map(|f| f.reset.iter().chain([&f.clock]));
        let stmts = self.flops.iter().flat_map(|f| &f.stmts);
        self.pieces = rest::rested(pieces, &self.body.sigs, stmts, controls.chain(self.direct.values()));
    }

    fn print(&self, child: &dyn Fn(usize) -> String, types: &Types, attributes: &[&Attribute]) -> String {
        let body = self.body;
        let kind_of = |sig: SigId, typed: bool| match &body.sigs[sig].ty {
            Ty::Named(descriptor) if typed => format!("{} ", types.of(descriptor)),
            ty => format!("logic {}", range(ty.width())),
        };
        let mut typed = self.typed(types);
        self.rows.iter().for_each(|row| row.unify(&mut typed, &kind_of));
        let printer = Printer { sigs: &body.sigs, typed };
        let kind = |sig: SigId| kind_of(sig, printer.typed[sig]);
        let loops: Vec<Written> =
            self.rows.iter().map(|row| row.written(body, &printer, child, &self.direct)).collect();
        // Local values that a loop reads are declared before it.
        let mut ahead: BTreeSet<SigId> = BTreeSet::new();
        let local = |sig: SigId| matches!(body.sigs[sig].role, Role::Let | Role::Var);
        let mut note = |sig: SigId| _ = local(sig) && ahead.insert(sig);
        loops.iter().flat_map(|one| &one.reads).for_each(|e| e.reads(&mut |sig, _, _| note(sig)));
        let ports: Vec<(&str, String, String)> = body
            .sigs
            .iter()
            .enumerate()
            .filter_map(|(id, s)| {
                let direction = match s.role {
                    Role::In => "input ",
                    Role::Out => "output",
                    Role::InOut
                        if !body.instances.iter().any(|i| i.pins.iter().any(|p| body.sigs[p.1].key == s.key)) =>
                    {
                        "inout "
                    }
                    _ => return None,
                };
                Some((direction, kind(id), s.name.clone()))
            })
            .collect();
        let mut out = header("", &ports, attributes);
        self.print_states(&mut out);
        self.print_declarations(&kind, &ahead, &mut out);
        let mut unused = self.unused();
        let open = self.print_loops(&loops, &kind, &mut unused, &mut out);
        let same = |sig: SigId| sig;
        for piece in &self.pieces {
            match piece {
                Piece::Value(sig, expr) => {
                    let info = &body.sigs[*sig];
                    let head = match info.role {
                        Role::Let | Role::Var if !ahead.contains(sig) => {
                            format!("wire {}", kind(*sig).trim_start_matches("logic "))
                        }
                        _ => "assign ".to_string(),
                    };
                    let _ = writeln!(out, "  {head}{} = {};", info.name, printer.whole(expr));
                }
                Piece::Block(sig, stmts) => {
                    let info = &body.sigs[*sig];
                    if local(*sig) && !ahead.contains(sig) {
                        let _ = writeln!(out, "  {}{};", kind(*sig), info.name);
                    }
                    let _ = writeln!(out, "  always_comb begin");
                    printer.stmts(stmts, 4, "=", &same, &mut out);
                    let _ = writeln!(out, "  end");
                }
            }
        }
        for (target, value) in loops.iter().flat_map(|one| &one.assigned) {
            let _ = writeln!(out, "  assign {target} = {value};");
        }
        self.print_flops(&printer, &mut out);
        self.print_instances(&printer, child, open, &mut out);
        print_unused(&unused, 2, &mut out);
        out.push_str("endmodule\n");
        out
    }

    /// Signals of which a field is named, and no computed bit.
    fn typed(&self, types: &Types) -> Vec<bool> {
        let sigs = &self.body.sigs;
        let mut parts: Vec<(SigId, usize, usize)> = vec![];
        self.exprs(&mut |e| e.reads(&mut |sig, lo, width| parts.push((sig, lo, width))));
        let to_q: HashMap<SigId, SigId> = self.body.registers.iter().map(|r| (r.d, r.q)).collect();
        for stmt in self.stmts() {
            stmt.parts(&mut |sig, lo, width| parts.push((*to_q.get(&sig).unwrap_or(&sig), lo, width)));
        }
        let picked: HashSet<SigId> = parts.iter().filter(|part| part.2 == usize::MAX).map(|part| part.0).collect();
        parts.retain(|(sig, _, width)| *width < sigs[*sig].width() && !picked.contains(sig));
        let mut typed = vec![false; sigs.len()];
        for (sig, lo, width) in parts {
            typed[sig] |= types.note(&sigs[sig].ty, lo, width);
        }
        typed
    }

    fn print_states(&self, out: &mut String) {
        let mut states: BTreeMap<(usize, BigUint, String), ()> = BTreeMap::new();
        let mut add = |name: &str, width: usize, value: &BigUint| {
            states.insert((width, value.clone(), name.to_string()), ());
        };
        self.exprs(&mut |e| e.states(&mut add));
        self.stmts().for_each(|stmt| stmt.labels(&mut |name, width, value| add(name, width, value)));
        let states = states.into_keys().map(|(width, value, name)| {
            (format!("localparam logic {}", range(width)), format!("{name} = {}", number(width, &value)))
        });
        print_declared(&mut states.collect(), out);
    }

    /// Prints the loops of submodules; returns whether they leave an output open.
    fn print_loops(
        &self,
        loops: &[Written],
        kind: &dyn Fn(SigId) -> String,
        unused: &mut Vec<String>,
        out: &mut String,
    ) -> bool {
        let mut waived = false;
        for (row, one) in self.rows.iter().zip(loops) {
            if one.open && !waived {
                out.push_str(OPEN_PINS);
                waived = true;
            }
            out.push_str(&one.head);
            let mut inside = String::new();
            let declared = one.declared.iter().map(|(sig, name)| (kind(*sig), name.clone()));
            print_declared(&mut declared.collect(), &mut inside);
            inside.lines().for_each(|line| _ = writeln!(out, "  {line}"));
            out.push_str(&one.instance);
            print_unused(&row.in_all(self.body, unused), 4, out);
            out.push_str("  end\n");
        }
        waived
    }

    fn print_declarations(&self, kind: &dyn Fn(SigId) -> String, ahead: &BTreeSet<SigId>, out: &mut String) {
        let body = self.body;
        let in_loops: HashSet<SigId> = self.rows.iter().flat_map(Row::declared).collect();
        let mut declared = vec![];
        for register in &body.registers {
            let q = &body.sigs[register.q];
            if !register.attributes.is_empty() {
                print_declared(&mut declared, out);
                for (name, value) in &register.attributes {
                    let _ = writeln!(out, "  (* {name} = \"{value}\" *)");
                }
            }
            // A register without reset starts from its power-up value.
            let init = match register.reset {
                None => format!(" = {}", filling(q.width(), &register.init)),
                Some(_) => String::new(),
            };
            declared.push((kind(register.q), format!("{}{init}", q.name)));
            if !register.attributes.is_empty() {
                print_declared(&mut declared, out);
            }
        }
        let placed: HashSet<SigId> = self
            .pieces
            .iter()
            .map(|p| {
                let (Piece::Value(s, _) | Piece::Block(s, _)) = p;
                *s
            })
            .collect();
        for (id, sig) in body.sigs.iter().enumerate() {
            let wanted = match sig.role {
                _ if in_loops.contains(&id) => false,
                Role::Local => true,
                Role::Let | Role::Var => ahead.contains(&id),
                Role::RegD | Role::SubIn => placed.contains(&id),
                Role::SubOut => self.read[id].contains(&true),
                _ => false,
            };
            if wanted {
                declared.push((kind(id), sig.name.clone()));
            }
        }
        print_declared(&mut declared, out);
    }

    fn print_flops(&self, printer: &Printer, out: &mut String) {
        let body = self.body;
        let to_q: HashMap<SigId, SigId> = body.registers.iter().map(|r| (r.d, r.q)).collect();
        let rename = |sig: SigId| to_q.get(&sig).copied().unwrap_or(sig);
        for flops in &self.flops {
            if flops.stmts.is_empty() && flops.reset.is_none() {
                continue;
            }
            let clock = printer.expr(&flops.clock);
            let mut text = String::new();
            match (&flops.reset, flops.stmts.as_slice()) {
                (None, [one @ (Stmt::Assign { .. } | Stmt::If { .. })]) => {
                    printer.one(one, 2, "<=", &rename, &mut text);
                    let _ = write!(out, "  always_ff @(posedge {clock}) {text}");
                    continue;
                }
                (None, stmts) => printer.stmts(stmts, 4, "<=", &rename, &mut text),
                (Some(reset), stmts) => {
                    let _ = writeln!(text, "    if ({}) begin", printer.expr(reset));
                    for member in &flops.members {
                        let register = &body.registers[*member];
                        let q = &body.sigs[register.q];
                        let _ = writeln!(text, "      {} <= {};", q.name, filling(q.width(), &register.init));
                    }
                    match stmts {
                        [] => text.push_str("    end\n"),
                        [one @ (Stmt::Assign { .. } | Stmt::If { .. })] => {
                            text.push_str("    end else ");
                            printer.one(one, 4, "<=", &rename, &mut text);
                        }
                        stmts => {
                            text.push_str("    end else begin\n");
                            printer.stmts(stmts, 6, "<=", &rename, &mut text);
                            text.push_str("    end\n");
                        }
                    }
                }
            }
            let _ = write!(out, "  always_ff @(posedge {clock}) begin\n{text}  end\n");
        }
    }

    /// `waived`: whether open pins are allowed already.
    fn print_instances(&self, printer: &Printer, child: &dyn Fn(usize) -> String, mut waived: bool, out: &mut String) {
        let body = self.body;
        for (number, instance) in body.instances.iter().enumerate() {
            if self.rows.iter().any(|row| row.holds(number)) {
                continue;
            }
            let pins: Vec<String> = instance
                .pins
                .iter()
                .map(|(pin, sig)| {
                    let info = &self.body.sigs[*sig];
                    let value = match (&info.role, self.direct.get(sig)) {
                        (_, Some(expr)) => printer.expr(expr),
                        _ if self.drives.contains_key(sig) => body.sigs[self.drives[sig]].name.clone(),
                        (Role::SubOut, None) if !self.read[*sig].contains(&true) => String::new(),
                        _ => info.name.clone(),
                    };
                    match value == *pin {
                        true => format!("    .{pin}"),
                        false => format!("    .{pin}({value})"),
                    }
                })
                .collect();
            let open = pins.iter().any(|p| p.ends_with("()"));
            if open && !waived {
                out.push_str(OPEN_PINS);
                waived = true;
            }
            let _ = writeln!(out, "  {} {} (\n{}\n  );", child(instance.node), instance.name, pins.join(",\n"));
        }
        if waived {
            let _ = writeln!(out, "  /* verilator lint_on PINCONNECTEMPTY */");
        }
    }

    /// Signals with bits that nothing reads.
    fn unused(&self) -> Vec<String> {
        let in_loops: HashSet<SigId> = self.rows.iter().flat_map(Row::declared).collect();
        let mut unused = vec![];
        for (id, sig) in self.body.sigs.iter().enumerate() {
            let any = self.read[id].contains(&true);
            let wanted = match sig.role {
                Role::In | Role::Local | Role::RegQ => true,
                Role::SubOut | Role::Let | Role::Var => any || in_loops.contains(&id),
                _ => false,
            };
            if wanted && self.read[id].contains(&false) {
                unused.push(sig.name.clone());
            }
        }
        unused
    }
}

/// From here on outputs may be left open.
const OPEN_PINS: &str = "  /* verilator lint_off PINCONNECTEMPTY */\n";

/// Collects what nothing reads, so that lint reports only what was not meant.
fn print_unused(unused: &[String], indent: usize, out: &mut String) {
    if !unused.is_empty() {
        let _ = writeln!(out, "{}wire _unused_ok = &{{1'b0, {}}};", " ".repeat(indent), unused.join(", "));
    }
}

/// Longest line of declarations.
const COLUMNS: usize = 120;

/// Declarations of type and name, those of one type in a row on one line. A declaration with attributes has a line of its own.
fn print_declared(declared: &mut Vec<(String, String)>, out: &mut String) {
    let mut line = String::new();
    let mut of = None;
    for (kind, name) in declared.drain(..) {
        // Signals with an initial value are apart, so that the lines do not depend on equal widths.
        let key = Some((kind.clone(), name.contains(" = ")));
        if of == key && line.len() + name.len() + 3 <= COLUMNS {
            line.push_str(&format!(", {name}"));
        } else {
            if of.is_some() {
                let _ = writeln!(out, "{line};");
            }
            line = format!("  {kind}{name}");
            of = key;
        }
    }
    if of.is_some() {
        let _ = writeln!(out, "{line};");
    }
}

/// The value of a signal that is assigned unconditionally only.
fn plain(stmts: &[Stmt], sig: SigId, width: usize) -> Option<Expr> {
    let mut value: Option<Expr> = None;
    let mut covered = vec![false; width];
    for stmt in stmts {
        let Stmt::Assign { sig: target, lo, value: part, .. } = stmt else { return None };
        debug_assert_eq!(*target, sig);
        covered[*lo..lo + part.width].fill(true);
        let before = value.unwrap_or_else(|| Expr::number(width, 0u8));
        value = Some(Expr::splice(before, *lo, part.clone()));
    }
    value.filter(|_| covered.iter().all(|b| *b))
}

#[cfg(test)]
mod tests;
