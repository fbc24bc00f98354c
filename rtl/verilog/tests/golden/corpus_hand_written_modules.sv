module delay #(
	parameter int WIDTH = 2
) (
	input logic clock,
	input logic [WIDTH-1:0] x,
	output logic [WIDTH-1:0] y
);
always @(posedge clock) y <= x;
endmodule

// all::verilog::layout::Delays (rtl/verilog/tests/verilog/layout.rs)
module corpus_hand_written_modules (
	input logic clock,
	input logic [7:0] x,
	output logic [7:0] y,
	output logic [2:0] low
);
delay #(.WIDTH(8)) wide (
	.clock,
	.x,
	.y
);
delay #(.WIDTH(3)) narrow (
	.clock,
	.x(x[7:5]),
	.y(low)
);
endmodule
