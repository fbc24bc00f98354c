//! Verilog back end for rust-hdl descriptions: width-exact, one module per distinct shape.
