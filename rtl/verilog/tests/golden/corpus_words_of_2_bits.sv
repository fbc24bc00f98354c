// all::verilog::intrinsics::Words<2, 3> (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_words_of_2_bits (
	input logic [1:0] a,
	input logic [1:0] b,
	input logic [7:0] at,
	input logic carry,
	output logic [4:0] compared,
	output logic [1:0] apart,
	output logic [2:0] sum,
	output logic [2:0] plain_sum,
	output logic carry_out,
	output logic [7:0] number,
	output logic [8:0] number_of_sum,
	output logic [1:0] alone,
	output logic [1:0] alone_of_sum,
	output logic [7:0] ones,
	output logic [7:0] ones_of_both
);
assign compared = {a != b, a == b, (a + 2'd1) != (b ^ a), a == 2'd1, 2'd1 != b};
wire [1:0] turned = a ^ (2'd1 << at);
assign apart = {turned != a, turned == a};
wire [3:0] add_with_carry_sum = {1'b0, a, 1'b1} + {1'b0, b, carry};
wire [2:0] sum_2 = add_with_carry_sum[3:1];
assign sum = sum_2;
assign plain_sum = {1'b0, a} + {1'b0, ~b};
wire [3:0] add_with_carry_sum_2 = {1'b0, a & b, 1'b1} + {1'b0, a, 1'b1};
assign carry_out = add_with_carry_sum_2[3];
assign number = {7'd0, !a[0]};
wire [1:0] first_set_of = a + b;
assign number_of_sum = {8'd0, !first_set_of[0]} + {1'b0, at};
assign alone = {a[1] & !a[0], a[0]};
wire [1:0] lowest_set_of = a - b;
assign alone_of_sum = {lowest_set_of[1] & !lowest_set_of[0], lowest_set_of[0]} | {b[1] & !b[0], b[0]};
assign ones = {6'd0, a[0] & a[1], a[0] ^ a[1]};
wire [1:0] count_ones_of = a ^ b;
assign ones_of_both = {6'd0, count_ones_of[0] & count_ones_of[1], count_ones_of[0] ^ count_ones_of[1]};
wire _unused_ok = &{1'b0, add_with_carry_sum, add_with_carry_sum_2, first_set_of};
endmodule
