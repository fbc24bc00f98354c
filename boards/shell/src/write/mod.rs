//! Writers of constraints, Tcl and pages.

pub mod stub;
pub mod xdc;
