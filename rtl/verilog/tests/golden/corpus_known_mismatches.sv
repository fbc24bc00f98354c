// all::verilog::arithmetic::Mismatches (rtl/verilog/tests/verilog/arithmetic.rs)
module corpus_known_mismatches (
	input logic [7:0] a,
	input logic [7:0] b,
	input logic p,
	input logic q,
	output logic distance,
	output logic wraps,
	output logic inverted,
	output logic [15:0] widened,
	output logic [7:0] carry,
	output logic [3:0] precedence,
	output logic [7:0] nested,
	output logic [11:0] borrow
);
assign distance = (a - b) > 8'h80;
assign wraps = (a + b) == 8'd0;
assign inverted = ~a == 8'd0;
assign widened = {8'd0, ~a};
assign carry = {1'b0, 7'({1'b0, 7'({1'b0, 7'({1'b0, 7'({1'b0, 7'((a + 8'hff) >> 1)})})})})};
wire equal = p & (a == b);
wire without = p | (q & !p);
wire mixed = (p ^ q) | p;
wire chained = (p && (a < b)) || q;
assign precedence = {equal, without, mixed, chained};
assign nested = (a - (b - {2'd0, a[7:2]})) - 8'd7;
assign borrow = {4'd0, a - b} - {4'd0, b};
endmodule
