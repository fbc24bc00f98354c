//! Writers of constraints, Tcl and pages.

pub mod blocks;
pub mod export;
pub mod stub;
pub mod tcl;
pub mod wrapper;
pub mod xdc;
