//! The Python module `spindle`: cards, handlers, windows, puts, events and counters, over the driver and `librvma`.
//!
//! Every failure is an exception of `spindle.errors` with the driver's sentence. Calls that wait or touch the card release the lock of
//! the interpreter; waits look for signals, so Ctrl-C ends them. `python/spindle/_spindle.pyi` has types and documentation.
#![warn(missing_docs)]

mod arguments;
mod card;
mod context;
mod core;
mod failure;
mod memory;
mod observer;
mod opening;
mod owned;
mod pages;
mod results;
mod space;
mod transfer;
mod waiting;
mod window;

use pyo3::prelude::*;

/// What the package `spindle` has of the driver.
#[pymodule]
mod _spindle {
    #[pymodule_export]
    use crate::card::Card;
    #[pymodule_export]
    use crate::context::Handlers;
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::observer::{attach, Observer};
    #[pymodule_export]
    use crate::opening::open;
    #[pymodule_export]
    use crate::results::numbered_node;
    #[pymodule_export]
    use crate::transfer::{Operation, Stream};
    #[pymodule_export]
    use crate::window::{PostedBuffer, Window};
}
