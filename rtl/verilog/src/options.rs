//! What an emission leaves out, and what it writes beside ports.

use crate::error::{EmitError, Result};
use crate::hierarchy::{Code, Node};
use crate::names::{flatten, module_name};
use rust_hdl_core::prelude::AtomKind;

/// An attribute of a port.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    block: String,
    pub port: String,
    pub name: String,
    pub value: String,
}

/// Options of [`emit_with`](crate::emit_with). The default is what [`emit`](crate::emit) does.
#[derive(Debug, Clone, Default)]
pub struct Options {
    omitted: Vec<(String, String)>,
    attributes: Vec<Attribute>,
}

impl Options {
    /// Leaves an output of a block out: the port, and what only the port reads. `block` is the name of its module
    /// (`nic`), `output` that of the port (`trace_valid`), or of an array of ports.
    #[must_use]
    pub fn without_output(mut self, block: &str, output: &str) -> Self {
        self.omitted.push((block.to_string(), output.to_string()));
        self
    }

    /// Writes `(* name = "value" *)` before a port of a block. Simulators and yosys ignore names that they do not know.
    #[must_use]
    pub fn port_attribute(mut self, block: &str, port: &str, name: &str, value: &str) -> Self {
        let [block, port, name, value] = [block, port, name, value].map(str::to_string);
        self.attributes.push(Attribute { block, port, name, value });
        self
    }

    /// The attributes of the ports of a block, in the order in which they were given.
    pub(crate) fn of_block<'a>(&'a self, block: &str) -> Vec<&'a Attribute> {
        self.attributes.iter().filter(|attribute| attribute.block == block).collect()
    }

    /// Marks the outputs that are left out, and checks that every name means something.
    pub(crate) fn apply(&self, nodes: &mut [Node]) -> Result<()> {
        let refuse = |sentence: String| Err(EmitError::new("", 0, sentence));
        for (block, output) in &self.omitted {
            let mut found = false;
            for node in nodes.iter_mut() {
                let Code::Source(source, _) = &node.code else { continue };
                if module_name(source.type_name).0 != *block {
                    continue;
                }
                let of_output = |key: &str| key.split(['$', '.']).next() == Some(output.as_str());
                let outputs = node.ports.iter_mut().filter(|port| port.kind == AtomKind::OutputParameter);
                outputs.filter(|port| of_output(&port.key)).for_each(|port| (port.omitted, found) = (true, true));
            }
            if !found {
                return refuse(format!("no block `{block}` has an output `{output}` to leave out; correct the name"));
            }
        }
        for Attribute { block, port, name, value } in &self.attributes {
            let of_block = |node: &&Node| matches!(&node.code, Code::Source(source, _) if module_name(source.type_name).0 == *block);
            let mut ports = nodes.iter().filter(of_block).flat_map(|node| &node.ports);
            if !ports.any(|known| flatten(&known.key) == *port && !known.omitted) {
                return refuse(format!(
                    "no block `{block}` has a port `{port}` for the attribute `{name}`; correct the name"
                ));
            }
            if value.contains(['"', '\\', '\n']) {
                return refuse(format!("the attribute `{name}` of `{port}` has a quote or a line end; leave it out"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::{emit, emit_with, Options};

    /// Counts, and shows the count twice: for use, and for a test bench.
    #[block]
    struct Watched {
        pub count: Signal<Out, Bits<4>>,
        pub trace_next: Signal<Out, Bits<4>>,
        held: Reg<Bits<4>>,
    }

    #[hdl]
    impl Watched {
        fn update(&mut self) {
            let doubled = self.held.q.val() + self.held.q.val();
            self.held.d.next = self.held.q.val() + 1;
            self.count.next = self.held.q.val();
            self.trace_next.next = doubled + 1;
        }
    }

    /// One inside another.
    #[block]
    struct Outer {
        pub total: Signal<Out, Bits<4>>,
        watched: Watched,
    }

    #[hdl]
    impl Outer {
        fn update(&mut self) {
            self.total.next = self.watched.count.val();
        }
    }

    #[test]
    fn an_output_goes_with_what_only_it_reads() {
        let whole = emit(&mut Watched::default(), "watched").unwrap().to_string();
        assert!(whole.contains("trace_next") && whole.contains("doubled"), "{whole}");
        let options = Options::default().without_output("watched", "trace_next");
        let text = emit_with(&mut Watched::default(), "watched", &options).unwrap().to_string();
        assert!(text.contains("count") && !text.contains("trace_next") && !text.contains("doubled"), "{text}");
        let text = emit_with(&mut Outer::default(), "outer", &options).unwrap().to_string();
        assert!(text.contains("watched") && !text.contains("trace_next"), "{text}");
    }

    #[test]
    fn attributes_stand_before_the_ports_of_one_block_alone() {
        let options = Options::default().port_attribute("outer", "total", "X_INTERFACE_INFO", "a:b:c:1.0 d E");
        let text = emit_with(&mut Outer::default(), "outer", &options).unwrap().to_string();
        assert!(text.contains("\t(* X_INTERFACE_INFO = \"a:b:c:1.0 d E\" *)\n\toutput logic [3:0] total\n"), "{text}");
        let plain = emit(&mut Outer::default(), "outer").unwrap().to_string();
        let without: String = text.split_inclusive('\n').filter(|line| !line.contains("(*")).collect();
        assert_eq!(without, plain);
    }

    #[test]
    fn names_that_mean_nothing_are_refused() {
        let refused = |options: &Options| emit_with(&mut Outer::default(), "outer", options).unwrap_err().to_string();
        let none = refused(&Options::default().without_output("watched", "trace"));
        assert!(none.contains("no block `watched` has an output `trace`"), "{none}");
        let none = refused(&Options::default().port_attribute("outer", "sum", "A", "b"));
        assert!(none.contains("has a port `sum`"), "{none}");
        let quote = refused(&Options::default().port_attribute("outer", "total", "A", "\""));
        assert!(quote.contains("quote"), "{quote}");
    }
}
