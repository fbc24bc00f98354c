//! Writers of constraints, Tcl and pages.

pub mod xdc;
