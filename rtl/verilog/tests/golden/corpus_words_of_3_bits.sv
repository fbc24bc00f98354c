// all::verilog::intrinsics::Words<3, 4> (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_words_of_3_bits (
	input logic [2:0] a,
	input logic [2:0] b,
	input logic [7:0] at,
	input logic carry,
	output logic [4:0] compared,
	output logic [1:0] apart,
	output logic [3:0] sum,
	output logic [3:0] plain_sum,
	output logic carry_out,
	output logic [7:0] number,
	output logic [8:0] number_of_sum,
	output logic [2:0] alone,
	output logic [2:0] alone_of_sum,
	output logic [7:0] ones,
	output logic [7:0] ones_of_both
);
assign compared = {a != b, a == b, (a + 3'd1) != (b ^ a), a == 3'd1, 3'd1 != b};
wire [2:0] turned = a ^ (3'd1 << at);
assign apart = {turned != a, turned == a};
wire [4:0] add_with_carry_sum = {1'b0, a, 1'b1} + {1'b0, b, carry};
wire [3:0] sum_2 = add_with_carry_sum[4:1];
assign sum = sum_2;
assign plain_sum = {1'b0, a} + {1'b0, ~b};
wire [4:0] add_with_carry_sum_2 = {1'b0, a & b, 1'b1} + {1'b0, a, 1'b1};
assign carry_out = add_with_carry_sum_2[4];
assign number = {6'd0, !(a[0] | a[1]), !a[0] & a[1]};
wire [2:0] first_set_of = a + b;
assign number_of_sum = {7'd0, !(first_set_of[0] | first_set_of[1]), !first_set_of[0] & first_set_of[1]} + {1'b0, at};
assign alone = {a[2] & !(a[0] | a[1]), a[1] & !a[0], a[0]};
wire [2:0] lowest_set_of = a - b;
assign alone_of_sum = {
	lowest_set_of[2] & !(lowest_set_of[0] | lowest_set_of[1]),
	lowest_set_of[1] & !lowest_set_of[0],
	lowest_set_of[0]
} | {b[2] & !(b[0] | b[1]), b[1] & !b[0], b[0]};
wire [2:0] count_ones_of_four = {1'b0, (a[0] & a[1]) ^ ((a[0] ^ a[1]) & a[2]), a[0] ^ a[1] ^ a[2]};
assign ones = {6'd0, count_ones_of_four[1:0]};
wire [2:0] count_ones_of = a ^ b;
wire [2:0] count_ones_of_four_2 = {
	1'b0,
	(count_ones_of[0] & count_ones_of[1]) ^ ((count_ones_of[0] ^ count_ones_of[1]) & count_ones_of[2]),
	count_ones_of[0] ^ count_ones_of[1] ^ count_ones_of[2]
};
assign ones_of_both = {6'd0, count_ones_of_four_2[1:0]};
wire _unused_ok = &{1'b0, add_with_carry_sum, add_with_carry_sum_2, first_set_of, count_ones_of_four, count_ones_of_four_2};
endmodule
