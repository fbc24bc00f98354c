//! Writers of constraints, Tcl and pages.
