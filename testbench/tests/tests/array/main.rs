//! What the clusters share, on the emitted Verilog.

mod l2;
