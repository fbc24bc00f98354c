//! Host-side library of Spindle.
