//! What the clusters share, on the emitted Verilog.

mod dispatcher;
mod far_unit;
mod l2;
mod registers;
mod shapes;
