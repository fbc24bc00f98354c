// all::verilog::control::Optional (rtl/verilog/tests/verilog/control.rs)
module corpus_without_optional_hardware (
	input logic [7:0] a,
	output logic [7:0] y
);
assign y = {2'd0, a[7:2]};
wire _unused_ok = &{1'b0, a};
endmodule
