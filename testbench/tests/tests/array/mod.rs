//! What the clusters share, on the emitted Verilog.

mod completions;
mod dispatcher;
mod far_unit;
mod host_writer;
mod l2;
mod registers;
mod reports;
mod shapes;
mod stager;
mod tally;
