//! What the clusters share, on the emitted Verilog.

mod dispatcher;
mod l2;
mod registers;
mod shapes;
