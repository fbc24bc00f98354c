//! One copy of the C++ for all instances of a large module.
//!
//! Verilator inlines modules: a processor that a design instantiates eight times becomes eight copies of machine code, each run
//! once a cycle, which is more than the instruction caches hold. The harness chooses the modules that deserve a copy of their
//! own and marks them in a configuration file as not to be inlined. Verilator then finds the functions of their instances equal
//! and merges them. The inputs of such a module are marked as readable from outside; otherwise each instance would read its
//! neighbours' signals in place of its ports, and no two functions would be equal. Clocks are not marked, because a readable
//! copy would be a clock of its own.

use crate::source::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Least size of a module's text, with all below it, that is worth its calls.
const LEAST_BYTES: usize = 4_000;
/// Least text that is saved.
const LEAST_SAVED: usize = 12_000;

/// What counts about a module.
#[derive(Default)]
struct Module {
    bytes: usize,
    inputs: Vec<String>,
    /// How often it names other modules.
    children: BTreeMap<String, usize>,
    /// It is named with parameters: instances may be different modules to Verilator.
    varies: bool,
}

/// Verilator's configuration that shares the large modules of `source`; empty if there is none.
pub(crate) fn configuration(source: &Source) -> String {
    let (modules, clocks) = read(source);
    let mut text = String::new();
    for name in shared(&modules, &source.top) {
        let _ = writeln!(text, "no_inline -module \"{name}\"");
        for input in modules[name].inputs.iter().filter(|input| !clocks.contains(*input)) {
            let _ = writeln!(text, "public_flat_rd -module \"{name}\" -var \"{input}\"");
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("`verilator_config\n{text}")
    }
}

/// The modules of the texts, and every signal with an edge-triggered process. A misread text costs speed alone.
fn read(source: &Source) -> (BTreeMap<String, Module>, BTreeSet<String>) {
    let texts: Vec<Vec<&str>> = source.files.iter().map(|(_, text)| tokens(text)).collect();
    let following = |keywords: &'static [&'static str]| {
        texts.iter().flat_map(|text| text.windows(2)).filter(|pair| keywords.contains(&pair[0])).map(|pair| pair[1])
    };
    let names: BTreeSet<&str> = following(&["module"]).collect();
    let clocks = following(&["posedge", "negedge"]).map(String::from).collect();
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    for [name, after] in texts.iter().flat_map(|text| text.array_windows()) {
        if names.contains(name) && *after == "#" {
            modules.entry(name.to_string()).or_default().varies = true;
        }
    }
    for text in &texts {
        for body in text.split(|token| *token == "endmodule") {
            let Some(start) = body.iter().position(|token| *token == "module") else { continue };
            let Some((name, body)) = body[start + 1..].split_first() else { continue };
            let module = modules.entry(name.to_string()).or_default();
            module.bytes = body.iter().map(|token| token.len()).sum();
            module.inputs = inputs(body);
            // In a generate loop, `for (genvar i = 0; i < 4; i++) begin ... end`, an instance is several.
            let mut times = 1;
            for [child, next, after] in body.array_windows() {
                match (*child, next.parse()) {
                    ("genvar", _) => times = 0,
                    ("<", Ok(bound)) if times == 0 => times = bound,
                    ("end", _) => times = 1,
                    _ => {}
                }
                // `child name (...)` or `child #(...) name (...)`; a signal may be named like a module.
                if names.contains(child) && (*next == "#" || (is_name(next) && *after == "(")) {
                    *module.children.entry(child.to_string()).or_default() += times.max(1);
                }
            }
        }
    }
    (modules, clocks)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Words and single signs, without comments and blanks.
fn tokens(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    text.lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code))
        .flat_map(|line| line.split_inclusive(|c| !word(c)))
        .flat_map(move |part| part.split_at_checked(part.trim_end_matches(|c| !word(c)).len()))
        .flat_map(|(word, sign)| [word, sign.trim()])
        .filter(|token| !token.is_empty())
        .collect()
}

/// Names in the port list `input <type> <name>, <name>, output ..` of a module.
fn inputs(body: &[&str]) -> Vec<String> {
    let ports = body.iter().position(|token| *token == ";").map_or(body, |end| &body[..end]);
    let mut input = false;
    let mut names = vec![];
    for port in ports.split(|token| *token == "," || *token == ")") {
        // A port without a direction has that of the port before it.
        if let Some(direction) = port.iter().find(|token| ["input", "output", "inout"].contains(*token)) {
            input = *direction == "input";
        }
        names.extend(port.iter().rfind(|token| is_name(token)).filter(|_| input).map(|name| name.to_string()));
    }
    names
}

/// Modules to share: large ones with several instances of the same shape. The contents of a shared module count once.
fn shared<'a>(modules: &'a BTreeMap<String, Module>, top: &'a str) -> Vec<&'a str> {
    let mut flat = BTreeMap::new();
    flat_bytes(modules, top, &mut flat);
    // A module is larger than those it contains: parents come first.
    let mut order: Vec<(&str, usize)> = flat.into_iter().collect();
    order.sort_by_key(|(name, bytes)| (std::cmp::Reverse(*bytes), *name));
    let mut copies: BTreeMap<&str, usize> = BTreeMap::from([(top, 1)]);
    let mut shared = Vec::new();
    for (name, bytes) in order {
        let mut here = copies.get(name).copied().unwrap_or(0);
        if !modules[name].varies && bytes >= LEAST_BYTES && here.saturating_sub(1) * bytes >= LEAST_SAVED {
            shared.push(name);
            here = 1;
        }
        for (child, count) in &modules[name].children {
            *copies.entry(child).or_default() += here * count;
        }
    }
    shared
}

/// Fills `flat` with the size of `name` and of its contents.
fn flat_bytes<'a>(modules: &'a BTreeMap<String, Module>, name: &'a str, flat: &mut BTreeMap<&'a str, usize>) -> usize {
    if let Some(bytes) = flat.get(name) {
        return *bytes;
    }
    let Some(module) = modules.get(name) else { return 0 };
    // A preliminary value: a module that contains itself ends the recursion here, and Verilator refuses the design.
    flat.insert(name, module.bytes);
    let below: usize = module.children.iter().map(|(child, count)| count * flat_bytes(modules, child, flat)).sum();
    flat.insert(name, module.bytes + below);
    module.bytes + below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two leaves each, of `bytes` bytes.
    fn design(bytes: usize) -> Source {
        let filler = "x".repeat(bytes);
        let leaf = format!(
            "// module of comments\nmodule leaf (input logic clk, input logic [3:0] a, output logic q); wire {filler}; \
             always_ff @(posedge clk) q <= a[0]; endmodule\n"
        );
        let node = "module node (input logic clk, input logic [3:0] a, output logic q, r);
            leaf l0 (.clk(clk), .a(a), .q(q)); leaf l1 (.clk(clk), .a(a), .q(r)); endmodule";
        let top = "module top (input logic clk, input logic [3:0] a, output logic [3:0] q);
            node n0 (.clk, .a, .q(q[0]), .r(q[1])); node n1 (.clk, .a, .q(q[2]), .r(q[3])); endmodule";
        let files = [("leaf.sv", leaf.as_str()), ("node.sv", node), ("top.sv", top)];
        Source::new("top", files.map(|(name, text)| (name.to_string(), text.to_string())).to_vec())
    }

    #[test]
    fn large_modules_that_repeat_are_shared_with_their_inputs_but_the_clock() {
        let text = configuration(&design(20_000));
        let wanted = "`verilator_config\nno_inline -module \"node\"\npublic_flat_rd -module \"node\" -var \"a\"\n\
                      no_inline -module \"leaf\"\npublic_flat_rd -module \"leaf\" -var \"a\"\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn what_lies_in_a_shared_module_counts_once() {
        // The node saves enough; then two leaves are left, which do not.
        let text = configuration(&design(10_000));
        assert!(text.contains("\"node\"") && !text.contains("\"leaf\""), "{text}");
    }

    #[test]
    fn an_instance_in_a_loop_counts_as_often_as_the_loop_goes_round() {
        let mut looped = design(20_000);
        let (_, top) = looped.files.last_mut().unwrap();
        let from = top.find("node n0").unwrap();
        let row =
            "for (genvar i = 0; i < 2; i++) begin : n node unit (.clock, .a, .q(q[i]), .r(q[i + 2])); end endmodule";
        top.replace_range(from.., row);
        assert_eq!(configuration(&looped), configuration(&design(20_000)));
    }

    #[test]
    fn modules_with_parameters_are_not_shared() {
        let mut varied = design(20_000);
        for (_, text) in &mut varied.files {
            *text = text.replace("node n0", "node #(.WIDTH(4)) n0");
        }
        let text = configuration(&varied);
        assert!(text.contains("\"leaf\"") && !text.contains("\"node\""), "{text}");
    }

    #[test]
    fn small_designs_are_left_alone() {
        assert_eq!(configuration(&design(100)), "");
    }
}
