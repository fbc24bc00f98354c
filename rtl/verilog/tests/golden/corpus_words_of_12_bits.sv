// all::verilog::intrinsics::Words<12, 13> (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_words_of_12_bits (
	input logic [11:0] a,
	input logic [11:0] b,
	input logic [7:0] at,
	input logic carry,
	output logic [4:0] compared,
	output logic [1:0] apart,
	output logic [12:0] sum,
	output logic [12:0] plain_sum,
	output logic carry_out,
	output logic [7:0] number,
	output logic [8:0] number_of_sum,
	output logic [11:0] alone,
	output logic [11:0] alone_of_sum,
	output logic [7:0] ones,
	output logic [7:0] ones_of_both
);
assign compared = {a != b, a == b, (a + 12'd1) != (b ^ a), a == 12'd1, 12'd1 != b};
wire [11:0] turned = a ^ (12'd1 << at);
assign apart = {turned != a, turned == a};
wire [13:0] add_with_carry_sum = {1'b0, a, 1'b1} + {1'b0, b, carry};
wire [12:0] sum_2 = add_with_carry_sum[13:1];
assign sum = sum_2;
assign plain_sum = {1'b0, a} + {1'b0, ~b};
wire [13:0] add_with_carry_sum_2 = {1'b0, a & b, 1'b1} + {1'b0, a, 1'b1};
assign carry_out = add_with_carry_sum_2[13];
wire [1:0] first_set_group = {!((|a[3:0]) | (|a[7:4])), !(|a[3:0]) & (|a[7:4])};
assign number = {
	4'd0,
	first_set_group,
	({!(a[0] | a[1]), !a[0] & (a[1] | !a[2])} & {2{first_set_group == 2'd0}})
	| ({!(a[4] | a[5]), !a[4] & (a[5] | !a[6])} & {2{first_set_group == 2'd1}})
	| ({!(a[8] | a[9]), !a[8] & (a[9] | !a[10])} & {2{first_set_group == 2'd2}})
};
wire [11:0] first_set_of = a + b;
wire [1:0] first_set_group_2 = {!((|first_set_of[3:0]) | (|first_set_of[7:4])), !(|first_set_of[3:0]) & (|first_set_of[7:4])};
assign number_of_sum = {
	5'd0,
	first_set_group_2,
	({!(first_set_of[0] | first_set_of[1]), !first_set_of[0] & (first_set_of[1] | !first_set_of[2])}
	& {2{first_set_group_2 == 2'd0}})
	| ({!(first_set_of[4] | first_set_of[5]), !first_set_of[4] & (first_set_of[5] | !first_set_of[6])}
	& {2{first_set_group_2 == 2'd1}})
	| ({!(first_set_of[8] | first_set_of[9]), !first_set_of[8] & (first_set_of[9] | !first_set_of[10])}
	& {2{first_set_group_2 == 2'd2}})
} + {1'b0, at};
wire [2:0] lowest_set_groups = {|a[11:8], |a[7:4], |a[3:0]};
wire lowest_set_before = lowest_set_groups[0] | lowest_set_groups[1];
assign alone = {
	a[11] & !(lowest_set_before | a[8] | a[9] | a[10]),
	a[10] & !(lowest_set_before | a[8] | a[9]),
	a[9] & !(lowest_set_before | a[8]),
	a[8] & !lowest_set_before,
	a[7] & !(lowest_set_groups[0] | a[4] | a[5] | a[6]),
	a[6] & !(lowest_set_groups[0] | a[4] | a[5]),
	a[5] & !(lowest_set_groups[0] | a[4]),
	a[4] & !lowest_set_groups[0],
	a[3] & !(a[0] | a[1] | a[2]),
	a[2] & !(a[0] | a[1]),
	a[1] & !a[0],
	a[0]
};
wire [11:0] lowest_set_of = a - b;
wire [2:0] lowest_set_groups_2 = {|lowest_set_of[11:8], |lowest_set_of[7:4], |lowest_set_of[3:0]};
wire lowest_set_before_2 = lowest_set_groups_2[0] | lowest_set_groups_2[1];
wire [2:0] lowest_set_groups_3 = {|b[11:8], |b[7:4], |b[3:0]};
wire lowest_set_before_3 = lowest_set_groups_3[0] | lowest_set_groups_3[1];
assign alone_of_sum = {
	lowest_set_of[11] & !(lowest_set_before_2 | lowest_set_of[8] | lowest_set_of[9] | lowest_set_of[10]),
	lowest_set_of[10] & !(lowest_set_before_2 | lowest_set_of[8] | lowest_set_of[9]),
	lowest_set_of[9] & !(lowest_set_before_2 | lowest_set_of[8]),
	lowest_set_of[8] & !lowest_set_before_2,
	lowest_set_of[7] & !(lowest_set_groups_2[0] | lowest_set_of[4] | lowest_set_of[5] | lowest_set_of[6]),
	lowest_set_of[6] & !(lowest_set_groups_2[0] | lowest_set_of[4] | lowest_set_of[5]),
	lowest_set_of[5] & !(lowest_set_groups_2[0] | lowest_set_of[4]),
	lowest_set_of[4] & !lowest_set_groups_2[0],
	lowest_set_of[3] & !(lowest_set_of[0] | lowest_set_of[1] | lowest_set_of[2]),
	lowest_set_of[2] & !(lowest_set_of[0] | lowest_set_of[1]),
	lowest_set_of[1] & !lowest_set_of[0],
	lowest_set_of[0]
}
	| {
	b[11] & !(lowest_set_before_3 | b[8] | b[9] | b[10]),
	b[10] & !(lowest_set_before_3 | b[8] | b[9]),
	b[9] & !(lowest_set_before_3 | b[8]),
	b[8] & !lowest_set_before_3,
	b[7] & !(lowest_set_groups_3[0] | b[4] | b[5] | b[6]),
	b[6] & !(lowest_set_groups_3[0] | b[4] | b[5]),
	b[5] & !(lowest_set_groups_3[0] | b[4]),
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
wire [2:0] count_ones_of_four_2 = {
	a[4] & a[5] & (a[6] & a[7]),
	(a[4] & a[5]) ^ (a[6] & a[7]) ^ ((a[4] ^ a[5]) & (a[6] ^ a[7])),
	a[4] ^ a[5] ^ (a[6] ^ a[7])
};
wire [2:0] count_ones_of_four_3 = {
	a[8] & a[9] & (a[10] & a[11]),
	(a[8] & a[9]) ^ (a[10] & a[11]) ^ ((a[8] ^ a[9]) & (a[10] ^ a[11])),
	a[8] ^ a[9] ^ (a[10] ^ a[11])
};
wire [4:0] count_ones_sum_2 = {1'b0, {1'b0, count_ones_of_four} + {1'b0, count_ones_of_four_2}} + {2'd0, count_ones_of_four_3};
assign ones = {4'd0, count_ones_sum_2[3:0]};
wire [11:0] count_ones_of = a ^ b;
wire [2:0] count_ones_of_four_4 = {
	count_ones_of[0] & count_ones_of[1] & (count_ones_of[2] & count_ones_of[3]),
	(count_ones_of[0] & count_ones_of[1]) ^ (count_ones_of[2] & count_ones_of[3])
	^ ((count_ones_of[0] ^ count_ones_of[1]) & (count_ones_of[2] ^ count_ones_of[3])),
	count_ones_of[0] ^ count_ones_of[1] ^ (count_ones_of[2] ^ count_ones_of[3])
};
wire [2:0] count_ones_of_four_5 = {
	count_ones_of[4] & count_ones_of[5] & (count_ones_of[6] & count_ones_of[7]),
	(count_ones_of[4] & count_ones_of[5]) ^ (count_ones_of[6] & count_ones_of[7])
	^ ((count_ones_of[4] ^ count_ones_of[5]) & (count_ones_of[6] ^ count_ones_of[7])),
	count_ones_of[4] ^ count_ones_of[5] ^ (count_ones_of[6] ^ count_ones_of[7])
};
wire [2:0] count_ones_of_four_6 = {
	count_ones_of[8] & count_ones_of[9] & (count_ones_of[10] & count_ones_of[11]),
	(count_ones_of[8] & count_ones_of[9]) ^ (count_ones_of[10] & count_ones_of[11])
	^ ((count_ones_of[8] ^ count_ones_of[9]) & (count_ones_of[10] ^ count_ones_of[11])),
	count_ones_of[8] ^ count_ones_of[9] ^ (count_ones_of[10] ^ count_ones_of[11])
};
wire [4:0] count_ones_sum_4 = {1'b0, {1'b0, count_ones_of_four_4} + {1'b0, count_ones_of_four_5}} + {2'd0, count_ones_of_four_6};
assign ones_of_both = {4'd0, count_ones_sum_4[3:0]};
wire _unused_ok = &{1'b0, add_with_carry_sum, add_with_carry_sum_2, first_set_of, lowest_set_groups, lowest_set_groups_2, lowest_set_groups_3, count_ones_sum_2, count_ones_sum_4};
endmodule
