//! Verilator harness: Verilog text in, loaded model out.
//!
//! The harness takes the text of a design, has Verilator turn it into C++, compiles that into a shared object, opens it and
//! gives its ports out by pointer. Objects are cached by content, so a test pays for a module once. [`Dut`] gives a block's
//! ports with their types; of the RTL crates the harness knows only the back end, `spindle-verilog`.
//!
//! ```no_run
//! use spindle_harness::{Model, Source};
//! let source = Source::new("counter", vec![("counter.sv".into(), std::fs::read_to_string("counter.sv")?)]);
//! let library = Model::build(&source)?;
//! let mut model = library.instance();
//! let enable = model.port("enable")?;
//! let count = model.port("count")?;
//! model.reset(2);
//! model.set(enable, 1); // inputs of this cycle
//! model.eval(); //          let combinational logic settle
//! let before = model.get(count); // outputs of this cycle
//! model.tick(); //          the rising edge: go to the next cycle
//! # let _ = before; Ok::<(), anyhow::Error>(())
//! ```
//!
//! # The sampling convention
//!
//! A cycle is: set inputs, [`Model::eval`], sample outputs, [`Model::tick`]. Between two ticks the clock is low, and
//! everything read belongs to the current cycle. `tick` takes the rising edge with the inputs as they stand, so a
//! bench that samples no combinational output may leave `eval` out.
//!
//! # Speed
//!
//! A model runs as fast as its code fits the instruction caches. A large module that stands several times in a design is
//! compiled once for all its instances, and branches are laid out for the cycle in which nothing happens. So it pays to
//! write a unit that rests as one whose registers are enabled (`if (valid) q <= d`), and to give repeated units one shape
//! and their differences as ports.
//!
//! # The model cache
//!
//! A model is machine code that the process runs. So the cache must be a folder of the user that no other user can write to, and a
//! model is loaded only if it has the hash that its build recorded; else it is built again. A cached model needs neither
//! Verilator nor a compiler: its name depends on their versions where both are installed, and is that of the last build of the same
//! text where one is missing. A build removes what killed builds have left and models that were not used for 30 days.
//!
//! # Linked models
//!
//! A build script may have compiled a model into the program ([`linked`]). A linked model is found by the fingerprint of its
//! source; its use opens no cache and looks for no tool.
//!
//! # Environment
//!
//! | variable | meaning |
//! |---|---|
//! | `VERILATOR` | the Verilator to run (default `verilator`); any from 5.006 on |
//! | `CXX` | the C++ compiler (default `g++`) |
//! | `YOSYS` | the yosys of proofs and checks (default: that of `cargo xtask setup`) |
//! | `SPINDLE_CACHE` | where compiled models are kept (default `$XDG_CACHE_HOME/spindle/verilated`, else `~/.cache/spindle/verilated`) |
//! | `SPINDLE_SEED` | the only variation of random tests: a number, or `random`; see [`spindle_testing`] |
//! | `SPINDLE_NO_SKIPS`, `CI` | a test that would be skipped fails |
//! | `SPINDLE_FULL` | tests run that take long, as in `cargo xtask test --full` |
//! | `SPINDLE_OPTIONAL_SKIPS` | how the reasons of skips begin that are allowed all the same, one a line |
//! | `SPINDLE_SKIPPED` | a file: each skipped test adds a line, for `cargo xtask test` |
//! | `SPINDLE_MODELS` | a folder: list the designs that are loaded there, for `cargo xtask mutants` |
//! | `SPINDLE_MUTANTS`, `SPINDLE_MUTANT` | mutated blocks, and which mutant acts, for `cargo xtask mutants` |
//! | `SPINDLE_VCD` | a folder: record every test into it from the start |

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

mod cache;
mod commit;
mod compile;
mod ffi;
pub mod linked;
mod lint;
mod lock;
mod model;
pub mod native;
pub mod palette;
pub mod ports;
mod progress;
mod record;
mod runtime;
mod share;
mod shim;
mod skip;
mod source;
pub mod stream;
mod substitute;
mod texts;
mod tools;
mod values;
mod versions;
mod wave;
mod wave_file;
mod wave_header;
mod wave_save;

pub use commit::present_commit;
pub use ffi::Face;
pub use lint::{lint, Warning};
pub use model::{Library, Model, Port, PortDirection, PortInfo};
pub use ports::{source_of, Dut};
pub use progress::Progress;
pub use record::{WaveGroup, WaveOptions, WaveScope};
pub use skip::{is_full_run, long_tests_run, skip, skip_part};
pub use source::{BuildOptions, Source};
pub use spindle_testing::{seed_of, seed_of_run, seeded_rng, seeds_of_run, share, with_seeds};
pub use stream::{Pace, StreamMonitor, StreamSink, StreamSource};
pub use tools::find_yosys;
pub use values::{near, random_bits, random_value};
pub use versions::verilator_version;
pub use wave::{run_with_wave_on_failure, wave_folder, WaveContext};
