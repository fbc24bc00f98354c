//! The parts of the commands of `spindle`, which the laboratory uses too.
//!
//! Without the feature `sim` there is no simulated card: handlers are compiled and judged, and nothing of the test
//! bench or of the RTL is built.

#[cfg(test)]
#[macro_use(assert_eq)]
extern crate spindle_testing;

pub mod build;
pub mod card;
pub mod config;
pub mod generate;
pub mod info;
pub mod laboratory;
pub mod message_field;
pub mod netdev;
pub mod prints;
pub mod sentence;
pub mod table;

#[cfg(feature = "sim")]
pub mod check;
#[cfg(feature = "sim")]
pub mod export;
#[cfg(feature = "sim")]
pub mod fate_file;
#[cfg(feature = "sim")]
pub mod fates;
#[cfg(feature = "sim")]
pub mod fpspin_host;
#[cfg(feature = "sim")]
pub mod konata;
#[cfg(feature = "sim")]
pub mod pictures;
#[cfg(feature = "sim")]
pub mod play;
#[cfg(feature = "sim")]
pub mod run;
#[cfg(feature = "sim")]
pub mod serve;
#[cfg(feature = "sim")]
pub mod session;
#[cfg(feature = "sim")]
pub mod source_lines;
#[cfg(feature = "sim")]
pub mod summary;
#[cfg(feature = "sim")]
pub mod unseen;
#[cfg(feature = "sim")]
pub mod waves;
