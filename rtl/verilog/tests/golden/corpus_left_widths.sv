// all::verilog::operands::LeftWidths (rtl/verilog/tests/verilog/operands.rs)
module corpus_left_widths (
	input logic [7:0] a,
	input logic [3:0] b,
	input logic p,
	input logic [1:0] at,
	output logic [6:0] numbers,
	output logic [8:0] calls,
	output logic [2:0] parts
);
wire choice = (p ? 8'd3 : 8'hc8) <= a;
wire arm = ((at == 2'd0) ? 8'd1 :
	(at == 2'd1) ? 8'h46 : 8'hbe) < a;
wire block = a[3:0] > b;
wire inverse = 4'ha == b;
wire sum = (a[3:0] + 4'd2) <= b;
wire closed = a[3:0] < b;
wire mixed = (8'd1 + a) < a;
assign numbers = {choice, arm, block, inverse, sum, closed, mixed};
wire wider = {4'd0, b} < a;
wire zeros = {4'd0, b} < a;
wire low = a[3:0] < b;
wire sign = {{4{b[3]}}, b} < a;
wire copies = {4{p}} < b;
wire product = ({4'd0, b} * {4'd0, b}) < a;
wire signed_product = ($signed({{4{b[3]}}, b}) * $signed({{4{b[3]}}, b})) < a;
wire first_set_group = !(|a[3:0]);
wire first = {
	1'b0,
	first_set_group,
	first_set_group ? {!(a[4] | a[5]), !a[4] & (a[5] | !a[6])} : {!(a[0] | a[1]), !a[0] & (a[1] | !a[2])}
} < b;
wire [2:0] count_ones_of_four = {
	a[0] & a[1] & (a[2] & a[3]),
	(a[0] & a[1]) ^ (a[2] & a[3]) ^ ((a[0] ^ a[1]) & (a[2] ^ a[3])),
	a[0] ^ a[1] ^ (a[2] ^ a[3])
};
wire [2:0] count_ones_of_four_2 = {
	a[4] & a[5] & (a[6] & a[7]),
	(a[4] & a[5]) ^ (a[6] & a[7]) ^ ((a[4] ^ a[5]) & (a[6] ^ a[7])),
	a[4] ^ a[5] ^ (a[6] ^ a[7])
};
wire ones = ({1'b0, count_ones_of_four} + {1'b0, count_ones_of_four_2}) < b;
assign calls = {wider, zeros, low, sign, copies, product, signed_product, first, ones};
wire middle = a[5:2] < b;
wire joined = {at, at} < b;
wire index = {6'd0, at} < a;
assign parts = {middle, joined, index};
endmodule
