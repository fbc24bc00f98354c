// all::verilog::arithmetic::Operators<5> (rtl/verilog/tests/verilog/arithmetic.rs)
module corpus_operators_at_5_bits (
	input logic [4:0] a,
	input logic [4:0] b,
	output logic [4:0] sum,
	output logic [4:0] difference,
	output logic [4:0] both,
	output logic [4:0] either,
	output logic [4:0] differ,
	output logic [4:0] inverse,
	output logic [4:0] numbers,
	output logic [11:0] tests
);
assign sum = a + b;
assign difference = a - b;
assign both = a & b;
assign either = a | b;
assign differ = a ^ b;
assign inverse = ~(a & ~b);
assign numbers = ((a + 5'd3) ^ (b - 5'd1)) | (a & 5'd5);
wire [5:0] order = {a == b, a != b, a < b, a <= b, a > b, a >= b};
wire [2:0] numbers_2 = {a == 5'd3, a >= 5'd2, b < 5'd7};
assign tests = {order, numbers_2, |a, &a, ^a};
endmodule
