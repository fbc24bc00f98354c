// all::verilog::arithmetic::Operators<130> (rtl/verilog/tests/verilog/arithmetic.rs)
module corpus_operators_at_130_bits (
	input logic [129:0] a,
	input logic [129:0] b,
	output logic [129:0] sum,
	output logic [129:0] difference,
	output logic [129:0] both,
	output logic [129:0] either,
	output logic [129:0] differ,
	output logic [129:0] inverse,
	output logic [129:0] numbers,
	output logic [11:0] tests
);
assign sum = a + b;
assign difference = a - b;
assign both = a & b;
assign either = a | b;
assign differ = a ^ b;
assign inverse = ~(a & ~b);
assign numbers = ((a + 130'd3) ^ (b - 130'd1)) | (a & 130'd5);
wire [5:0] order = {a == b, a != b, a < b, a <= b, a > b, a >= b};
wire [2:0] numbers_2 = {a == 130'd3, a >= 130'd2, b < 130'd7};
assign tests = {order, numbers_2, |a, &a, ^a};
endmodule
