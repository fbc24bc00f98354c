// all::verilog::arithmetic::Shifts (rtl/verilog/tests/verilog/arithmetic.rs)
module corpus_shifts (
	input logic [12:0] a,
	input logic [69:0] wide,
	input logic [1:0] few,
	input logic [3:0] exact,
	input logic [8:0] long_way,
	output logic [38:0] left,
	output logic [38:0] right,
	output logic [38:0] arithmetic,
	output logic [69:0] wide_left,
	output logic [69:0] wide_right,
	output logic [69:0] wide_arithmetic,
	output logic [38:0] constant,
	output logic [12:0] sum
);
assign left = {a << few, a << exact, a << long_way};
assign right = {a >> few, a >> exact, a >> long_way};
assign arithmetic = {$unsigned($signed(a) >>> few), $unsigned($signed(a) >>> exact), $unsigned($signed(a) >>> long_way)};
assign wide_left = wide << long_way;
assign wide_right = wide >> long_way;
assign wide_arithmetic = $unsigned($signed(wide) >>> long_way);
assign constant = {a[9:0], 15'd0, a[12], {5{a[12]}}, a[12:5]};
assign sum = (a + 13'h1fff) >> few;
endmodule
