// all::verilog::hierarchy::Inverter<8> (rtl/verilog/tests/verilog/hierarchy.rs)
module inverter (
	input logic [7:0] x,
	output logic [7:0] y
);
assign y = ~x;
endmodule

// all::verilog::control::Optional (rtl/verilog/tests/verilog/control.rs)
module corpus_with_optional_hardware (
	input logic [7:0] a,
	output logic [7:0] y
);
logic [7:0] taps_0_y;
assign y = {taps_0_y[4:0], 3'd0};
inverter taps_0 (
	.x(a),
	.y(taps_0_y)
);
wire _unused_ok = &{1'b0, taps_0_y};
endmodule
