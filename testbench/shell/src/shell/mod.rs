//! The whole shell of an Alveo card at the ports of its vendor blocks.
//!
//! | module | what it has |
//! |---|---|
//! | [`bench`](mod@bench) | the model of `shell_<board>` with its clocks |
//! | [`xdma`], [`cmac`] | bus-functional models of the vendor blocks |
//! | [`card`] | a shell, of any board, as a card of the real driver |
//! | [`driver`] | the driver over such a card |
//! | [`line_rate`](mod@line_rate) | frames per second through the whole card at 100 Gb/s |

pub mod bench;
pub mod card;
pub mod cmac;
pub mod driver;
pub mod line_rate;
pub mod pins;
pub mod xdma;

pub use bench::Bench;
pub use card::{MessageSink, Shell, ShellCard};
pub use cmac::{Cmac, Frame};
pub use driver::Driver;
pub use xdma::Xdma;
