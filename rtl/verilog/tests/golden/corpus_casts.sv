// all::verilog::arithmetic::Casts (rtl/verilog/tests/verilog/arithmetic.rs)
module corpus_casts (
	input logic [8:0] a,
	input logic [8:0] b,
	input logic [39:0] wide,
	input logic p,
	output logic [2:0] signed_less,
	output logic [49:0] sign_extended,
	output logic [19:0] sign_of_sum,
	output logic [3:0] cut,
	output logic [39:0] zeros,
	output logic [17:0] product,
	output logic [6:0] low_product,
	output logic [48:0] wide_product,
	output logic [20:0] signed_product,
	output logic [16:0] copies,
	output logic [58:0] joined
);
assign signed_less = {$signed(a) < $signed(b), $signed(a + b) < $signed(b), $signed(a) < $signed(9'h100)};
assign sign_extended = {{41{a[8]}}, a};
assign sign_of_sum = $unsigned(20'($signed(a + b)));
assign cut = a[3:0] - b[3:0];
assign zeros = {31'd0, ~a} + {31'd0, b};
assign product = {9'd0, a} * {9'd0, b};
assign low_product = (a[6:0] + 7'd1) * b[6:0];
assign wide_product = {9'd0, wide} * {40'd0, a};
assign signed_product = $signed($unsigned(21'($signed(a + 9'd1)))) * $signed({{12{b[8]}}, b});
assign copies = {17{p & (a == b)}};
assign joined = {p, a, wide, b + 9'd1};
endmodule
