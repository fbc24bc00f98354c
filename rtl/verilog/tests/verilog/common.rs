//! rust-hdl's simulator against Verilator: the same random inputs in both, and every output equal in every cycle.

use spindle_harness::{lint, Model, Port, Source};
use spindle_verilog::prelude::*;

/// Vectors per block.
pub const VECTORS: usize = 2000;

/// A loaded model whose ports have the names of the emitted Verilog, which is what the corpus checks; rust-hdl's own blocks
/// have no typed ports.
pub struct NamedDut(pub Model);

impl NamedDut {
    /// Emits, compiles and loads a block with every register zero at the start, as rust-hdl's simulator has it.
    pub fn zeroed(block: &mut impl Block, top: &str) -> Self {
        let library = Model::build(&crate::source(block, top)).unwrap_or_else(|error| panic!("{top}: {error:#}"));
        Self(library.instance_zeroed())
    }

    fn port(&self, name: &str) -> Port {
        self.0.port(name).unwrap_or_else(|error| panic!("{error:#}"))
    }

    pub fn set_bytes(&mut self, name: &str, bytes: &[u8]) {
        self.0.set_bytes(self.port(name), bytes);
    }

    pub fn all_bytes(&self, name: &str) -> Vec<u8> {
        self.0.get_bytes(self.port(name)).to_vec()
    }

    pub fn eval(&mut self) {
        self.0.eval();
    }

    pub fn tick(&mut self) {
        self.0.tick();
    }
}

/// The bytes in which the harness sets and gives a port.
pub fn bytes<T: Packed>(value: T) -> Vec<u8> {
    let mut bits = vec![];
    value.write_bits(&mut bits);
    bits.chunks(8).map(|byte| byte.iter().enumerate().fold(0, |n, (i, b)| n | (*b as u8) << i)).collect()
}

/// Settles the Rust side.
pub fn settle(block: &mut impl Block) {
    assert!(simulate(block, 100), "the block does not settle in rust-hdl's simulator");
}

/// Lint with every warning on and none waived.
pub fn assert_lint_clean(source: &Source) {
    let warnings = lint(source).unwrap_or_else(|e| panic!("{e:#}"));
    let reported: Vec<String> = warnings.iter().map(|w| w.to_string()).collect();
    assert!(reported.is_empty(), "{} warnings:\n{}", reported.len(), reported.join("\n"));
}

/// Compares a block on [`VECTORS`] random vectors, after lint. `in` and `out` name ports. With `clocked` the vectors are
/// cycles: the clock rises after each, both sides start from zero, and `reset` is high at first and now and then.
macro_rules! differential {
    ($test:ident, $block:expr, in [$($input:ident)*], out [$($output:ident)*]) => {
        differential!(@test $test, $block, [$($input)*], [$($output)*], free, (|_: &mut _, _: &mut $crate::verilog::common::NamedDut| ()));
    };
    ($test:ident, $block:expr, clocked, in [$($input:ident)*], out [$($output:ident)*]) => {
        differential!(@test $test, $block, [$($input)*], [$($output)*], free, (differential!(@rise)));
    };
    ($test:ident, $block:expr, reset, in [$($input:ident)*], out [$($output:ident)*]) => {
        differential!(@test $test, $block, [reset $($input)*], [$($output)*], reset, (differential!(@rise)));
    };
    (@rise) => { |block, dut| {
        for level in [true, false] {
            block.clock.next = Clock { clk: level };
            $crate::verilog::common::settle(block);
        }
        dut.tick();
    } };
    (@adjust free $block:ident $cycle:ident) => {};
    (@adjust reset $block:ident $cycle:ident) => { $block.reset.next = $cycle < 2 || $cycle % 97 == 0; };
    (@test $test:ident, $block:expr, [$($input:ident)*], [$($output:ident)*], $adjust:ident, ($step:expr)) => {
        #[test]
        fn $test() {
            fn run<B: spindle_verilog::prelude::Block>(
                mut block: B,
                top: &mut B,
                inputs: impl Fn(&mut B, usize, &mut rand_chacha::ChaCha8Rng, &mut $crate::verilog::common::NamedDut),
                outputs: impl Fn(&B, &mut $crate::verilog::common::NamedDut) -> Vec<(&'static str, Vec<u8>, Vec<u8>)>,
                step: impl Fn(&mut B, &mut $crate::verilog::common::NamedDut),
            ) {
                let name = concat!("corpus_", stringify!($test));
                $crate::verilog::common::assert_lint_clean(&$crate::source(top, name));
                let mut rng = spindle_harness::seeded_rng(stringify!($test));
                block.connect_all();
                let mut dut = $crate::verilog::common::NamedDut::zeroed(top, name);
                let mut seen = std::collections::HashMap::<_, std::collections::HashSet<_>>::new();
                for cycle in 0..spindle_harness::share($crate::verilog::common::VECTORS) {
                    inputs(&mut block, cycle, &mut rng, &mut dut);
                    $crate::verilog::common::settle(&mut block);
                    dut.eval();
                    // Registers with a reset value have it after the first cycle in reset.
                    let known = cycle > 0 || stringify!($adjust) != "reset";
                    for (name, verilog, rust) in outputs(&block, &mut dut).into_iter().filter(|_| known) {
                        assert_eq!(verilog, rust, "vector {cycle}: {name} (Verilog left, Rust right)");
                        seen.entry(name).or_default().insert(rust);
                    }
                    step(&mut block, &mut dut);
                }
                for (name, values) in seen {
                    assert!(values.len() > 1, "{name} never changes: it proves nothing");
                }
            }
            spindle_harness::with_seeds(|| run(
                $block,
                &mut $block,
                |block, cycle, rng, dut| {
                    let _ = (&rng, cycle);
                    $(block.$input.next = spindle_harness::random_value(rng);)*
                    differential!(@adjust $adjust block cycle);
                    $(dut.set_bytes(stringify!($input), &$crate::verilog::common::bytes(block.$input.next));)*
                },
                |block, dut| vec![$((
                    stringify!($output),
                    dut.all_bytes(stringify!($output)),
                    $crate::verilog::common::bytes(block.$output.val()),
                )),*],
                $step,
            ));
        }
    };
}
pub(crate) use differential;
