// all::verilog::intrinsics::Words<5, 6> (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_words_of_5_bits (
	input logic [4:0] a,
	input logic [4:0] b,
	input logic [7:0] at,
	input logic carry,
	output logic [4:0] compared,
	output logic [1:0] apart,
	output logic [5:0] sum,
	output logic [5:0] plain_sum,
	output logic carry_out,
	output logic [7:0] number,
	output logic [8:0] number_of_sum,
	output logic [4:0] alone,
	output logic [4:0] alone_of_sum,
	output logic [7:0] ones,
	output logic [7:0] ones_of_both
);
assign compared = {a != b, a == b, (a + 5'd1) != (b ^ a), a == 5'd1, 5'd1 != b};
wire [4:0] turned = a ^ (5'd1 << at);
assign apart = {turned != a, turned == a};
wire [6:0] add_with_carry_sum = {1'b0, a, 1'b1} + {1'b0, b, carry};
wire [5:0] sum_2 = add_with_carry_sum[6:1];
assign sum = sum_2;
assign plain_sum = {1'b0, a} + {1'b0, ~b};
wire [6:0] add_with_carry_sum_2 = {1'b0, a & b, 1'b1} + {1'b0, a, 1'b1};
assign carry_out = add_with_carry_sum_2[6];
wire first_set_group = !(|a[3:0]);
assign number = {5'd0, first_set_group, first_set_group ? 2'd0 : {!(a[0] | a[1]), !a[0] & (a[1] | !a[2])}};
wire [4:0] first_set_of = a + b;
wire first_set_group_2 = !(|first_set_of[3:0]);
assign number_of_sum = {
	6'd0,
	first_set_group_2,
	first_set_group_2 ? 2'd0 : {!(first_set_of[0] | first_set_of[1]), !first_set_of[0] & (first_set_of[1] | !first_set_of[2])}
} + {1'b0, at};
wire [1:0] lowest_set_groups = {a[4], |a[3:0]};
assign alone = {
	a[4] & !lowest_set_groups[0],
	a[3] & !(a[0] | a[1] | a[2]),
	a[2] & !(a[0] | a[1]),
	a[1] & !a[0],
	a[0]
};
wire [4:0] lowest_set_of = a - b;
wire [1:0] lowest_set_groups_2 = {lowest_set_of[4], |lowest_set_of[3:0]};
wire [1:0] lowest_set_groups_3 = {b[4], |b[3:0]};
assign alone_of_sum = {
	lowest_set_of[4] & !lowest_set_groups_2[0],
	lowest_set_of[3] & !(lowest_set_of[0] | lowest_set_of[1] | lowest_set_of[2]),
	lowest_set_of[2] & !(lowest_set_of[0] | lowest_set_of[1]),
	lowest_set_of[1] & !lowest_set_of[0],
	lowest_set_of[0]
}
	| {
	b[4] & !lowest_set_groups_3[0],
	b[3] & !(b[0] | b[1] | b[2]),
	b[2] & !(b[0] | b[1]),
	b[1] & !b[0],
	b[0]
};
wire [2:0] count_ones_of_four = {
	a[0] & a[1] & (a[2] & a[3]),
	(a[0] & a[1]) ^ (a[2] & a[3]) ^ ((a[0] ^ a[1]) & (a[2] ^ a[3])),
	a[0] ^ a[1] ^ (a[2] ^ a[3])
};
wire [3:0] count_ones_sum = {1'b0, count_ones_of_four} + {3'd0, a[4]};
assign ones = {5'd0, count_ones_sum[2:0]};
wire [4:0] count_ones_of = a ^ b;
wire [2:0] count_ones_of_four_3 = {
	count_ones_of[0] & count_ones_of[1] & (count_ones_of[2] & count_ones_of[3]),
	(count_ones_of[0] & count_ones_of[1]) ^ (count_ones_of[2] & count_ones_of[3])
	^ ((count_ones_of[0] ^ count_ones_of[1]) & (count_ones_of[2] ^ count_ones_of[3])),
	count_ones_of[0] ^ count_ones_of[1] ^ (count_ones_of[2] ^ count_ones_of[3])
};
wire [3:0] count_ones_sum_2 = {1'b0, count_ones_of_four_3} + {3'd0, count_ones_of[4]};
assign ones_of_both = {5'd0, count_ones_sum_2[2:0]};
wire _unused_ok = &{1'b0, add_with_carry_sum, add_with_carry_sum_2, first_set_of, lowest_set_groups, lowest_set_groups_2, lowest_set_groups_3, count_ones_sum, count_ones_sum_2};
endmodule
