package corpus_choices_in_arrays_pkg;
typedef struct packed {
	logic flag;
	logic [8:0] low;
	logic [4:0] high;
} pair_t;
endpackage

// all::verilog::intrinsics::ArrayChoices (rtl/verilog/tests/verilog/intrinsics.rs)
module array_choices (
	input logic [8:0] plain_0, plain_1, plain_2, plain_3, plain_4, plain_5,
	input logic [14:0] words_0,
	input logic words_0_valid,
	output logic words_0_ready,
	input logic [14:0] words_1,
	input logic words_1_valid,
	output logic words_1_ready,
	input logic [14:0] words_2,
	input logic words_2_valid,
	output logic words_2_ready,
	input logic [2:0] index,
	input logic [5:0] hot,
	output logic [8:0] chosen,
	output logic [14:0] chosen_word,
	output logic [8:0] joined,
	output logic [8:0] inner,
	input logic [8:0] first,
	input logic [8:0] second
);
logic [8:0] steps_0, steps_1;
assign steps_0 = first + 9'd1;
assign steps_1 = second;
assign inner = hot[0] ? steps_1 : steps_0;
wire [8:0] select_group = (plain_0 & {9{index[1:0] == 2'd0}}) | (plain_1 & {9{index[1:0] == 2'd1}})
	| (plain_2 & {9{index[1:0] == 2'd2}}) | (plain_3 & {9{index[1:0] == 2'd3}});
wire [8:0] select_group_2 = (plain_4 & {9{index[1:0] == 2'd0}}) | (plain_5 & {9{index[1:0] == 2'd1}});
assign chosen = index[2] ? select_group_2 : select_group;
assign chosen_word = (words_0 & {15{index[1:0] == 2'd0}}) | (words_1 & {15{index[1:0] == 2'd1}})
	| (words_2 & {15{index[1:0] == 2'd2}});
assign joined = (plain_0 & {9{hot[0]}}) | (plain_1 & {9{hot[1]}}) | (plain_2 & {9{hot[2]}}) | (plain_3 & {9{hot[3]}})
	| (plain_4 & {9{hot[4]}}) | (plain_5 & {9{hot[5]}});
assign words_0_ready = index == 3'd0;
assign words_1_ready = index == 3'd1;
assign words_2_ready = index == 3'd2;
wire _unused_ok = &{1'b0, words_0_valid, words_1_valid, words_2_valid};
endmodule

// all::verilog::intrinsics::ChoicesInside (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_choices_in_arrays (
	input logic [53:0] wide,
	input corpus_choices_in_arrays_pkg::pair_t p,
	input corpus_choices_in_arrays_pkg::pair_t q,
	input logic [2:0] index,
	input logic [5:0] hot,
	output logic [8:0] chosen,
	output logic [14:0] chosen_word,
	output logic [8:0] joined,
	output logic [8:0] inner,
	output logic [2:0] taken
);
logic choices_words_0_ready, choices_words_1_ready;
logic [14:0] choices_words_2;
logic choices_words_2_ready;
assign choices_words_2 = {p.flag, 9'h4d, p.high};
assign taken = {choices_words_2_ready, choices_words_1_ready, choices_words_0_ready};
array_choices choices (
	.plain_0(wide[8:0]),
	.plain_1(wide[17:9]),
	.plain_2(wide[26:18]),
	.plain_3(wide[35:27]),
	.plain_4(wide[44:36]),
	.plain_5(wide[53:45]),
	.words_0(p),
	.words_0_valid(1'b1),
	.words_0_ready(choices_words_0_ready),
	.words_1(q),
	.words_1_valid(1'b1),
	.words_1_ready(choices_words_1_ready),
	.words_2(choices_words_2),
	.words_2_valid(1'b1),
	.words_2_ready(choices_words_2_ready),
	.index,
	.hot,
	.chosen,
	.chosen_word,
	.joined,
	.inner,
	.first(p.low),
	.second(q.low)
);
endmodule
