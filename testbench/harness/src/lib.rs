//! Verilator harness: Verilog text in, loaded model out.
