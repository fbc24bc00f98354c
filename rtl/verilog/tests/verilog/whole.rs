//! Whole designs: the same text every time, modules shared by shape, files on disk, lint over a sweep of parameters.

use crate::verilog::common::{assert_lint_clean, differential};
use crate::verilog::hierarchy::Inverter;
use spindle_harness::Source;
use spindle_verilog::prelude::*;

/// A pipeline of `_n` stages of `W` bits, each with an inverter.
#[block]
struct Pipeline<const W: usize> {
    pub x: Signal<In, Bits<W>>,
    pub y: Signal<Out, Bits<W>>,
    stages: Vec<Stage<W>>,
    narrow: Inverter<1>,
    _n: usize,
}

/// A register after an inverter.
#[block]
struct Stage<const W: usize> {
    pub x: Signal<In, Bits<W>>,
    pub y: Signal<Out, Bits<W>>,
    inverter: Inverter<W>,
    held: Reg<Bits<W>>,
}

#[hdl]
impl<const W: usize> Stage<W> {
    fn update(&mut self) {
        self.inverter.x.next = self.x.val();
        self.held.d.next = self.inverter.y.val();
        self.y.next = self.held.q.val();
    }
}

impl<const W: usize> Pipeline<W> {
    fn new(n: usize) -> Self {
        Self { stages: (0..n).map(|_| Stage::default()).collect(), _n: n, ..Self::blank() }
    }
}

#[hdl]
impl<const W: usize> Pipeline<W> {
    fn update(&mut self) {
        self.narrow.x.next = bit_cast(self.x.val().get_bits::<1>(0));
        for i in 0..self._n {
            if i == 0 {
                self.stages[i].x.next = self.x.val() ^ bit_cast::<W, 1>(self.narrow.y.val());
            } else {
                self.stages[i].x.next = self.stages[i - 1].y.val();
            }
        }
        self.y.next = self.stages[self._n - 1].y.val();
    }
}

differential!(pipelines, Pipeline::<24>::new(3), reset, in [x], out [y]);

fn emit(block: &mut impl Block) -> spindle_verilog::Design {
    spindle_verilog::emit(block, "pipeline").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn two_emissions_are_equal() {
    let (mut one, mut two) = (Pipeline::<24>::new(5), Pipeline::<24>::new(5));
    let first = emit(&mut one);
    assert_eq!(first, emit(&mut two));
    assert_eq!(first, emit(&mut one), "emitting twice from one design");
}

#[test]
fn modules_are_shared_by_shape() {
    let names = |n| emit(&mut Pipeline::<24>::new(n)).modules.into_iter().map(|m| m.name).collect::<Vec<_>>();
    let four = names(4);
    assert_eq!(four, names(16), "more instances, same modules");
    // Two shapes of one type carry their parameters in the name; children come first and the top last.
    assert_eq!(four.len(), 4, "{four:?}");
    assert!(four.contains(&"inverter_1".to_string()) && four.contains(&"inverter_24".to_string()), "{four:?}");
    assert_eq!(four.last().map(String::as_str), Some("pipeline"));
    assert_eq!(emit(&mut Pipeline::<24>::new(4)).module_count(), 4);
}

#[test]
fn a_sweep_of_parameters_is_lint_clean() {
    fn check<const W: usize>(stages: &[usize]) {
        for n in stages {
            let design = emit(&mut Pipeline::<W>::new(*n));
            assert_lint_clean(&Source::from_text("pipeline", design.to_string()));
        }
    }
    check::<1>(&[1, 3]);
    check::<2>(&[2]);
    check::<32>(&[1]);
    check::<33>(&[2, 5]);
    check::<577>(&[1, 4]);
}

#[test]
fn one_file_per_module_and_a_list() {
    let folder = std::env::temp_dir().join(format!("spindle-emit-{}", std::process::id()));
    let design = emit(&mut Pipeline::<4>::new(2));
    design.write_dir(&folder).unwrap();
    let list = std::fs::read_to_string(folder.join("filelist.f")).unwrap();
    let together: Vec<String> = list.lines().map(|f| std::fs::read_to_string(folder.join(f)).unwrap()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(together, design.modules.iter().map(|m| m.text.clone()).collect::<Vec<_>>());
}

#[test]
fn the_top_needs_a_legal_name() {
    for name in ["module", "two words", "", "mailbox"] {
        let error = spindle_verilog::emit(&mut Inverter::<4>::default(), name).unwrap_err().to_string();
        assert!(error.contains("cannot name a module"), "{error}");
    }
}
