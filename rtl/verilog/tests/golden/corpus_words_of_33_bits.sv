// all::verilog::intrinsics::Words<33, 34> (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_words_of_33_bits (
	input logic [32:0] a,
	input logic [32:0] b,
	input logic [7:0] at,
	input logic carry,
	output logic [4:0] compared,
	output logic [1:0] apart,
	output logic [33:0] sum,
	output logic [33:0] plain_sum,
	output logic carry_out,
	output logic [7:0] number,
	output logic [8:0] number_of_sum,
	output logic [32:0] alone,
	output logic [32:0] alone_of_sum,
	output logic [7:0] ones,
	output logic [7:0] ones_of_both
);
wire [32:0] ne_difference = a ^ b;
wire [11:0] ne_chain = {
	1'b0,
	|ne_difference[32:30],
	|ne_difference[29:27],
	|ne_difference[26:24],
	|ne_difference[23:21],
	|ne_difference[20:18],
	|ne_difference[17:15],
	|ne_difference[14:12],
	|ne_difference[11:9],
	|ne_difference[8:6],
	|ne_difference[5:3],
	|ne_difference[2:0]
} + 12'h7ff;
wire [32:0] eq_difference = a ^ b;
wire [11:0] eq_chain = {
	1'b0,
	|eq_difference[32:30],
	|eq_difference[29:27],
	|eq_difference[26:24],
	|eq_difference[23:21],
	|eq_difference[20:18],
	|eq_difference[17:15],
	|eq_difference[14:12],
	|eq_difference[11:9],
	|eq_difference[8:6],
	|eq_difference[5:3],
	|eq_difference[2:0]
} + 12'h7ff;
wire [32:0] ne_difference_2 = (a + 33'd1) ^ (b ^ a);
wire [11:0] ne_chain_2 = {
	1'b0,
	|ne_difference_2[32:30],
	|ne_difference_2[29:27],
	|ne_difference_2[26:24],
	|ne_difference_2[23:21],
	|ne_difference_2[20:18],
	|ne_difference_2[17:15],
	|ne_difference_2[14:12],
	|ne_difference_2[11:9],
	|ne_difference_2[8:6],
	|ne_difference_2[5:3],
	|ne_difference_2[2:0]
} + 12'h7ff;
assign compared = {ne_chain[11], !eq_chain[11], ne_chain_2[11], a == 33'd1, 33'd1 != b};
wire [32:0] turned = a ^ (33'd1 << at);
wire [32:0] ne_difference_3 = turned ^ a;
wire [11:0] ne_chain_3 = {
	1'b0,
	|ne_difference_3[32:30],
	|ne_difference_3[29:27],
	|ne_difference_3[26:24],
	|ne_difference_3[23:21],
	|ne_difference_3[20:18],
	|ne_difference_3[17:15],
	|ne_difference_3[14:12],
	|ne_difference_3[11:9],
	|ne_difference_3[8:6],
	|ne_difference_3[5:3],
	|ne_difference_3[2:0]
} + 12'h7ff;
wire [32:0] eq_difference_2 = turned ^ a;
wire [11:0] eq_chain_2 = {
	1'b0,
	|eq_difference_2[32:30],
	|eq_difference_2[29:27],
	|eq_difference_2[26:24],
	|eq_difference_2[23:21],
	|eq_difference_2[20:18],
	|eq_difference_2[17:15],
	|eq_difference_2[14:12],
	|eq_difference_2[11:9],
	|eq_difference_2[8:6],
	|eq_difference_2[5:3],
	|eq_difference_2[2:0]
} + 12'h7ff;
assign apart = {ne_chain_3[11], !eq_chain_2[11]};
wire [34:0] add_with_carry_sum = {1'b0, a, 1'b1} + {1'b0, b, carry};
wire [33:0] sum_2 = add_with_carry_sum[34:1];
assign sum = sum_2;
assign plain_sum = {1'b0, a} + {1'b0, ~b};
wire [34:0] add_with_carry_sum_2 = {1'b0, a & b, 1'b1} + {1'b0, a, 1'b1};
assign carry_out = add_with_carry_sum_2[34];
wire [1:0] first_set_group = {
	!((|{|a[15:12], |a[11:8], |a[7:4], |a[3:0]}) | (|{|a[31:28], |a[27:24], |a[23:20], |a[19:16]})),
	!(|{|a[15:12], |a[11:8], |a[7:4], |a[3:0]}) & (|{|a[31:28], |a[27:24], |a[23:20], |a[19:16]})
};
wire [3:0] first_set_group_2 = {
	first_set_group,
	({!((|a[3:0]) | (|a[7:4])), !(|a[3:0]) & ((|a[7:4]) | !(|a[11:8]))} & {2{first_set_group == 2'd0}})
	| ({!((|a[19:16]) | (|a[23:20])), !(|a[19:16]) & ((|a[23:20]) | !(|a[27:24]))}
	& {2{first_set_group == 2'd1}})
};
wire [1:0] select_group = ({!(a[0] | a[1]), !a[0] & (a[1] | !a[2])} & {2{first_set_group_2[1:0] == 2'd0}})
	| ({!(a[4] | a[5]), !a[4] & (a[5] | !a[6])} & {2{first_set_group_2[1:0] == 2'd1}})
	| ({!(a[8] | a[9]), !a[8] & (a[9] | !a[10])} & {2{first_set_group_2[1:0] == 2'd2}})
	| ({!(a[12] | a[13]), !a[12] & (a[13] | !a[14])} & {2{first_set_group_2[1:0] == 2'd3}});
wire [1:0] select_group_2 = ({!(a[16] | a[17]), !a[16] & (a[17] | !a[18])} & {2{first_set_group_2[1:0] == 2'd0}})
	| ({!(a[20] | a[21]), !a[20] & (a[21] | !a[22])} & {2{first_set_group_2[1:0] == 2'd1}})
	| ({!(a[24] | a[25]), !a[24] & (a[25] | !a[26])} & {2{first_set_group_2[1:0] == 2'd2}})
	| ({!(a[28] | a[29]), !a[28] & (a[29] | !a[30])} & {2{first_set_group_2[1:0] == 2'd3}});
assign number = {
	2'd0,
	first_set_group_2,
	(select_group & {2{first_set_group_2[3:2] == 2'd0}})
	| (select_group_2 & {2{first_set_group_2[3:2] == 2'd1}})
};
wire [32:0] first_set_of = a + b;
wire [1:0] first_set_group_3 = {
	!((|{|first_set_of[15:12], |first_set_of[11:8], |first_set_of[7:4], |first_set_of[3:0]})
	| (|{|first_set_of[31:28], |first_set_of[27:24], |first_set_of[23:20], |first_set_of[19:16]})),
	!(|{|first_set_of[15:12], |first_set_of[11:8], |first_set_of[7:4], |first_set_of[3:0]})
	& (|{|first_set_of[31:28], |first_set_of[27:24], |first_set_of[23:20], |first_set_of[19:16]})
};
wire [3:0] first_set_group_4 = {
	first_set_group_3,
	({
	!((|first_set_of[3:0]) | (|first_set_of[7:4])),
	!(|first_set_of[3:0]) & ((|first_set_of[7:4]) | !(|first_set_of[11:8]))
} & {2{first_set_group_3 == 2'd0}})
	| ({
	!((|first_set_of[19:16]) | (|first_set_of[23:20])),
	!(|first_set_of[19:16]) & ((|first_set_of[23:20]) | !(|first_set_of[27:24]))
} & {2{first_set_group_3 == 2'd1}})
};
wire [1:0] select_group_3 = ({!(first_set_of[0] | first_set_of[1]), !first_set_of[0] & (first_set_of[1] | !first_set_of[2])}
	& {2{first_set_group_4[1:0] == 2'd0}})
	| ({!(first_set_of[4] | first_set_of[5]), !first_set_of[4] & (first_set_of[5] | !first_set_of[6])}
	& {2{first_set_group_4[1:0] == 2'd1}})
	| ({!(first_set_of[8] | first_set_of[9]), !first_set_of[8] & (first_set_of[9] | !first_set_of[10])}
	& {2{first_set_group_4[1:0] == 2'd2}})
	| ({!(first_set_of[12] | first_set_of[13]), !first_set_of[12] & (first_set_of[13] | !first_set_of[14])}
	& {2{first_set_group_4[1:0] == 2'd3}});
wire [1:0] select_group_4 = ({!(first_set_of[16] | first_set_of[17]), !first_set_of[16] & (first_set_of[17] | !first_set_of[18])}
	& {2{first_set_group_4[1:0] == 2'd0}})
	| ({!(first_set_of[20] | first_set_of[21]), !first_set_of[20] & (first_set_of[21] | !first_set_of[22])}
	& {2{first_set_group_4[1:0] == 2'd1}})
	| ({!(first_set_of[24] | first_set_of[25]), !first_set_of[24] & (first_set_of[25] | !first_set_of[26])}
	& {2{first_set_group_4[1:0] == 2'd2}})
	| ({!(first_set_of[28] | first_set_of[29]), !first_set_of[28] & (first_set_of[29] | !first_set_of[30])}
	& {2{first_set_group_4[1:0] == 2'd3}});
assign number_of_sum = {
	3'd0,
	first_set_group_4,
	(select_group_3 & {2{first_set_group_4[3:2] == 2'd0}})
	| (select_group_4 & {2{first_set_group_4[3:2] == 2'd1}})
} + {1'b0, at};
wire [8:0] lowest_set_groups = {a[32], |a[31:28], |a[27:24], |a[23:20], |a[19:16], |a[15:12], |a[11:8], |a[7:4], |a[3:0]};
wire [2:0] lowest_set_groups_2 = {lowest_set_groups[8], |lowest_set_groups[7:4], |lowest_set_groups[3:0]};
wire lowest_set_before_2 = lowest_set_groups[0] | lowest_set_groups[1];
wire lowest_set_before_3 = lowest_set_groups[0] | lowest_set_groups[1] | lowest_set_groups[2];
wire lowest_set_before_4 = lowest_set_groups_2[0] | lowest_set_groups[4];
wire lowest_set_before_5 = lowest_set_groups_2[0] | lowest_set_groups[4] | lowest_set_groups[5];
wire lowest_set_before_6 = lowest_set_groups_2[0] | lowest_set_groups[4] | lowest_set_groups[5] | lowest_set_groups[6];
assign alone = {
	a[32] & !(lowest_set_groups_2[0] | lowest_set_groups_2[1]),
	a[31] & !(lowest_set_before_6 | a[28] | a[29] | a[30]),
	a[30] & !(lowest_set_before_6 | a[28] | a[29]),
	a[29] & !(lowest_set_before_6 | a[28]),
	a[28] & !lowest_set_before_6,
	a[27] & !(lowest_set_before_5 | a[24] | a[25] | a[26]),
	a[26] & !(lowest_set_before_5 | a[24] | a[25]),
	a[25] & !(lowest_set_before_5 | a[24]),
	a[24] & !lowest_set_before_5,
	a[23] & !(lowest_set_before_4 | a[20] | a[21] | a[22]),
	a[22] & !(lowest_set_before_4 | a[20] | a[21]),
	a[21] & !(lowest_set_before_4 | a[20]),
	a[20] & !lowest_set_before_4,
	a[19] & !(lowest_set_groups_2[0] | a[16] | a[17] | a[18]),
	a[18] & !(lowest_set_groups_2[0] | a[16] | a[17]),
	a[17] & !(lowest_set_groups_2[0] | a[16]),
	a[16] & !lowest_set_groups_2[0],
	a[15] & !(lowest_set_before_3 | a[12] | a[13] | a[14]),
	a[14] & !(lowest_set_before_3 | a[12] | a[13]),
	a[13] & !(lowest_set_before_3 | a[12]),
	a[12] & !lowest_set_before_3,
	a[11] & !(lowest_set_before_2 | a[8] | a[9] | a[10]),
	a[10] & !(lowest_set_before_2 | a[8] | a[9]),
	a[9] & !(lowest_set_before_2 | a[8]),
	a[8] & !lowest_set_before_2,
	a[7] & !(lowest_set_groups[0] | a[4] | a[5] | a[6]),
	a[6] & !(lowest_set_groups[0] | a[4] | a[5]),
	a[5] & !(lowest_set_groups[0] | a[4]),
	a[4] & !lowest_set_groups[0],
	a[3] & !(a[0] | a[1] | a[2]),
	a[2] & !(a[0] | a[1]),
	a[1] & !a[0],
	a[0]
};
wire [32:0] lowest_set_of = a - b;
wire [8:0] lowest_set_groups_3 = {
	lowest_set_of[32],
	|lowest_set_of[31:28],
	|lowest_set_of[27:24],
	|lowest_set_of[23:20],
	|lowest_set_of[19:16],
	|lowest_set_of[15:12],
	|lowest_set_of[11:8],
	|lowest_set_of[7:4],
	|lowest_set_of[3:0]
};
wire [2:0] lowest_set_groups_4 = {lowest_set_groups_3[8], |lowest_set_groups_3[7:4], |lowest_set_groups_3[3:0]};
wire lowest_set_before_8 = lowest_set_groups_3[0] | lowest_set_groups_3[1];
wire lowest_set_before_9 = lowest_set_groups_3[0] | lowest_set_groups_3[1] | lowest_set_groups_3[2];
wire lowest_set_before_10 = lowest_set_groups_4[0] | lowest_set_groups_3[4];
wire lowest_set_before_11 = lowest_set_groups_4[0] | lowest_set_groups_3[4] | lowest_set_groups_3[5];
wire lowest_set_before_12 = lowest_set_groups_4[0] | lowest_set_groups_3[4] | lowest_set_groups_3[5] | lowest_set_groups_3[6];
wire [8:0] lowest_set_groups_5 = {b[32], |b[31:28], |b[27:24], |b[23:20], |b[19:16], |b[15:12], |b[11:8], |b[7:4], |b[3:0]};
wire [2:0] lowest_set_groups_6 = {lowest_set_groups_5[8], |lowest_set_groups_5[7:4], |lowest_set_groups_5[3:0]};
wire lowest_set_before_14 = lowest_set_groups_5[0] | lowest_set_groups_5[1];
wire lowest_set_before_15 = lowest_set_groups_5[0] | lowest_set_groups_5[1] | lowest_set_groups_5[2];
wire lowest_set_before_16 = lowest_set_groups_6[0] | lowest_set_groups_5[4];
wire lowest_set_before_17 = lowest_set_groups_6[0] | lowest_set_groups_5[4] | lowest_set_groups_5[5];
wire lowest_set_before_18 = lowest_set_groups_6[0] | lowest_set_groups_5[4] | lowest_set_groups_5[5] | lowest_set_groups_5[6];
assign alone_of_sum = {
	lowest_set_of[32] & !(lowest_set_groups_4[0] | lowest_set_groups_4[1]),
	lowest_set_of[31] & !(lowest_set_before_12 | lowest_set_of[28] | lowest_set_of[29] | lowest_set_of[30]),
	lowest_set_of[30] & !(lowest_set_before_12 | lowest_set_of[28] | lowest_set_of[29]),
	lowest_set_of[29] & !(lowest_set_before_12 | lowest_set_of[28]),
	lowest_set_of[28] & !lowest_set_before_12,
	lowest_set_of[27] & !(lowest_set_before_11 | lowest_set_of[24] | lowest_set_of[25] | lowest_set_of[26]),
	lowest_set_of[26] & !(lowest_set_before_11 | lowest_set_of[24] | lowest_set_of[25]),
	lowest_set_of[25] & !(lowest_set_before_11 | lowest_set_of[24]),
	lowest_set_of[24] & !lowest_set_before_11,
	lowest_set_of[23] & !(lowest_set_before_10 | lowest_set_of[20] | lowest_set_of[21] | lowest_set_of[22]),
	lowest_set_of[22] & !(lowest_set_before_10 | lowest_set_of[20] | lowest_set_of[21]),
	lowest_set_of[21] & !(lowest_set_before_10 | lowest_set_of[20]),
	lowest_set_of[20] & !lowest_set_before_10,
	lowest_set_of[19]
	& !(lowest_set_groups_4[0] | lowest_set_of[16] | lowest_set_of[17] | lowest_set_of[18]),
	lowest_set_of[18] & !(lowest_set_groups_4[0] | lowest_set_of[16] | lowest_set_of[17]),
	lowest_set_of[17] & !(lowest_set_groups_4[0] | lowest_set_of[16]),
	lowest_set_of[16] & !lowest_set_groups_4[0],
	lowest_set_of[15] & !(lowest_set_before_9 | lowest_set_of[12] | lowest_set_of[13] | lowest_set_of[14]),
	lowest_set_of[14] & !(lowest_set_before_9 | lowest_set_of[12] | lowest_set_of[13]),
	lowest_set_of[13] & !(lowest_set_before_9 | lowest_set_of[12]),
	lowest_set_of[12] & !lowest_set_before_9,
	lowest_set_of[11] & !(lowest_set_before_8 | lowest_set_of[8] | lowest_set_of[9] | lowest_set_of[10]),
	lowest_set_of[10] & !(lowest_set_before_8 | lowest_set_of[8] | lowest_set_of[9]),
	lowest_set_of[9] & !(lowest_set_before_8 | lowest_set_of[8]),
	lowest_set_of[8] & !lowest_set_before_8,
	lowest_set_of[7] & !(lowest_set_groups_3[0] | lowest_set_of[4] | lowest_set_of[5] | lowest_set_of[6]),
	lowest_set_of[6] & !(lowest_set_groups_3[0] | lowest_set_of[4] | lowest_set_of[5]),
	lowest_set_of[5] & !(lowest_set_groups_3[0] | lowest_set_of[4]),
	lowest_set_of[4] & !lowest_set_groups_3[0],
	lowest_set_of[3] & !(lowest_set_of[0] | lowest_set_of[1] | lowest_set_of[2]),
	lowest_set_of[2] & !(lowest_set_of[0] | lowest_set_of[1]),
	lowest_set_of[1] & !lowest_set_of[0],
	lowest_set_of[0]
}
	| {
	b[32] & !(lowest_set_groups_6[0] | lowest_set_groups_6[1]),
	b[31] & !(lowest_set_before_18 | b[28] | b[29] | b[30]),
	b[30] & !(lowest_set_before_18 | b[28] | b[29]),
	b[29] & !(lowest_set_before_18 | b[28]),
	b[28] & !lowest_set_before_18,
	b[27] & !(lowest_set_before_17 | b[24] | b[25] | b[26]),
	b[26] & !(lowest_set_before_17 | b[24] | b[25]),
	b[25] & !(lowest_set_before_17 | b[24]),
	b[24] & !lowest_set_before_17,
	b[23] & !(lowest_set_before_16 | b[20] | b[21] | b[22]),
	b[22] & !(lowest_set_before_16 | b[20] | b[21]),
	b[21] & !(lowest_set_before_16 | b[20]),
	b[20] & !lowest_set_before_16,
	b[19] & !(lowest_set_groups_6[0] | b[16] | b[17] | b[18]),
	b[18] & !(lowest_set_groups_6[0] | b[16] | b[17]),
	b[17] & !(lowest_set_groups_6[0] | b[16]),
	b[16] & !lowest_set_groups_6[0],
	b[15] & !(lowest_set_before_15 | b[12] | b[13] | b[14]),
	b[14] & !(lowest_set_before_15 | b[12] | b[13]),
	b[13] & !(lowest_set_before_15 | b[12]),
	b[12] & !lowest_set_before_15,
	b[11] & !(lowest_set_before_14 | b[8] | b[9] | b[10]),
	b[10] & !(lowest_set_before_14 | b[8] | b[9]),
	b[9] & !(lowest_set_before_14 | b[8]),
	b[8] & !lowest_set_before_14,
	b[7] & !(lowest_set_groups_5[0] | b[4] | b[5] | b[6]),
	b[6] & !(lowest_set_groups_5[0] | b[4] | b[5]),
	b[5] & !(lowest_set_groups_5[0] | b[4]),
	b[4] & !lowest_set_groups_5[0],
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
wire [2:0] count_ones_of_four_4 = {
	a[12] & a[13] & (a[14] & a[15]),
	(a[12] & a[13]) ^ (a[14] & a[15]) ^ ((a[12] ^ a[13]) & (a[14] ^ a[15])),
	a[12] ^ a[13] ^ (a[14] ^ a[15])
};
wire [2:0] count_ones_of_four_5 = {
	a[16] & a[17] & (a[18] & a[19]),
	(a[16] & a[17]) ^ (a[18] & a[19]) ^ ((a[16] ^ a[17]) & (a[18] ^ a[19])),
	a[16] ^ a[17] ^ (a[18] ^ a[19])
};
wire [2:0] count_ones_of_four_6 = {
	a[20] & a[21] & (a[22] & a[23]),
	(a[20] & a[21]) ^ (a[22] & a[23]) ^ ((a[20] ^ a[21]) & (a[22] ^ a[23])),
	a[20] ^ a[21] ^ (a[22] ^ a[23])
};
wire [2:0] count_ones_of_four_7 = {
	a[24] & a[25] & (a[26] & a[27]),
	(a[24] & a[25]) ^ (a[26] & a[27]) ^ ((a[24] ^ a[25]) & (a[26] ^ a[27])),
	a[24] ^ a[25] ^ (a[26] ^ a[27])
};
wire [2:0] count_ones_of_four_8 = {
	a[28] & a[29] & (a[30] & a[31]),
	(a[28] & a[29]) ^ (a[30] & a[31]) ^ ((a[28] ^ a[29]) & (a[30] ^ a[31])),
	a[28] ^ a[29] ^ (a[30] ^ a[31])
};
wire [4:0] count_ones_sum_5 = {1'b0, {1'b0, count_ones_of_four} + {1'b0, count_ones_of_four_2}}
	+ {1'b0, {1'b0, count_ones_of_four_3} + {1'b0, count_ones_of_four_4}};
wire [4:0] count_ones_sum_6 = {1'b0, {1'b0, count_ones_of_four_5} + {1'b0, count_ones_of_four_6}}
	+ {1'b0, {1'b0, count_ones_of_four_7} + {1'b0, count_ones_of_four_8}};
wire [6:0] count_ones_sum_8 = {1'b0, {1'b0, count_ones_sum_5} + {1'b0, count_ones_sum_6}} + {6'd0, a[32]};
assign ones = {2'd0, count_ones_sum_8[5:0]};
wire [32:0] count_ones_of = a ^ b;
wire [2:0] count_ones_of_four_10 = {
	count_ones_of[0] & count_ones_of[1] & (count_ones_of[2] & count_ones_of[3]),
	(count_ones_of[0] & count_ones_of[1]) ^ (count_ones_of[2] & count_ones_of[3])
	^ ((count_ones_of[0] ^ count_ones_of[1]) & (count_ones_of[2] ^ count_ones_of[3])),
	count_ones_of[0] ^ count_ones_of[1] ^ (count_ones_of[2] ^ count_ones_of[3])
};
wire [2:0] count_ones_of_four_11 = {
	count_ones_of[4] & count_ones_of[5] & (count_ones_of[6] & count_ones_of[7]),
	(count_ones_of[4] & count_ones_of[5]) ^ (count_ones_of[6] & count_ones_of[7])
	^ ((count_ones_of[4] ^ count_ones_of[5]) & (count_ones_of[6] ^ count_ones_of[7])),
	count_ones_of[4] ^ count_ones_of[5] ^ (count_ones_of[6] ^ count_ones_of[7])
};
wire [2:0] count_ones_of_four_12 = {
	count_ones_of[8] & count_ones_of[9] & (count_ones_of[10] & count_ones_of[11]),
	(count_ones_of[8] & count_ones_of[9]) ^ (count_ones_of[10] & count_ones_of[11])
	^ ((count_ones_of[8] ^ count_ones_of[9]) & (count_ones_of[10] ^ count_ones_of[11])),
	count_ones_of[8] ^ count_ones_of[9] ^ (count_ones_of[10] ^ count_ones_of[11])
};
wire [2:0] count_ones_of_four_13 = {
	count_ones_of[12] & count_ones_of[13] & (count_ones_of[14] & count_ones_of[15]),
	(count_ones_of[12] & count_ones_of[13]) ^ (count_ones_of[14] & count_ones_of[15])
	^ ((count_ones_of[12] ^ count_ones_of[13]) & (count_ones_of[14] ^ count_ones_of[15])),
	count_ones_of[12] ^ count_ones_of[13] ^ (count_ones_of[14] ^ count_ones_of[15])
};
wire [2:0] count_ones_of_four_14 = {
	count_ones_of[16] & count_ones_of[17] & (count_ones_of[18] & count_ones_of[19]),
	(count_ones_of[16] & count_ones_of[17]) ^ (count_ones_of[18] & count_ones_of[19])
	^ ((count_ones_of[16] ^ count_ones_of[17]) & (count_ones_of[18] ^ count_ones_of[19])),
	count_ones_of[16] ^ count_ones_of[17] ^ (count_ones_of[18] ^ count_ones_of[19])
};
wire [2:0] count_ones_of_four_15 = {
	count_ones_of[20] & count_ones_of[21] & (count_ones_of[22] & count_ones_of[23]),
	(count_ones_of[20] & count_ones_of[21]) ^ (count_ones_of[22] & count_ones_of[23])
	^ ((count_ones_of[20] ^ count_ones_of[21]) & (count_ones_of[22] ^ count_ones_of[23])),
	count_ones_of[20] ^ count_ones_of[21] ^ (count_ones_of[22] ^ count_ones_of[23])
};
wire [2:0] count_ones_of_four_16 = {
	count_ones_of[24] & count_ones_of[25] & (count_ones_of[26] & count_ones_of[27]),
	(count_ones_of[24] & count_ones_of[25]) ^ (count_ones_of[26] & count_ones_of[27])
	^ ((count_ones_of[24] ^ count_ones_of[25]) & (count_ones_of[26] ^ count_ones_of[27])),
	count_ones_of[24] ^ count_ones_of[25] ^ (count_ones_of[26] ^ count_ones_of[27])
};
wire [2:0] count_ones_of_four_17 = {
	count_ones_of[28] & count_ones_of[29] & (count_ones_of[30] & count_ones_of[31]),
	(count_ones_of[28] & count_ones_of[29]) ^ (count_ones_of[30] & count_ones_of[31])
	^ ((count_ones_of[28] ^ count_ones_of[29]) & (count_ones_of[30] ^ count_ones_of[31])),
	count_ones_of[28] ^ count_ones_of[29] ^ (count_ones_of[30] ^ count_ones_of[31])
};
wire [4:0] count_ones_sum_13 = {1'b0, {1'b0, count_ones_of_four_10} + {1'b0, count_ones_of_four_11}}
	+ {1'b0, {1'b0, count_ones_of_four_12} + {1'b0, count_ones_of_four_13}};
wire [4:0] count_ones_sum_14 = {1'b0, {1'b0, count_ones_of_four_14} + {1'b0, count_ones_of_four_15}}
	+ {1'b0, {1'b0, count_ones_of_four_16} + {1'b0, count_ones_of_four_17}};
wire [6:0] count_ones_sum_16 = {1'b0, {1'b0, count_ones_sum_13} + {1'b0, count_ones_sum_14}} + {6'd0, count_ones_of[32]};
assign ones_of_both = {2'd0, count_ones_sum_16[5:0]};
wire _unused_ok = &{1'b0, ne_chain, eq_chain, ne_chain_2, ne_chain_3, eq_chain_2, add_with_carry_sum, add_with_carry_sum_2, first_set_of, lowest_set_groups_2, lowest_set_groups_4, lowest_set_groups_6, count_ones_sum_8, count_ones_sum_16};
endmodule
