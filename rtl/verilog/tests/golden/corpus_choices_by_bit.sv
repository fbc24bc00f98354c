// all::verilog::intrinsics::HotChoices (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_choices_by_bit (
	input logic one,
	input logic [2:0] three,
	input logic [5:0] six,
	input logic [32:0] a,
	input logic [32:0] b,
	input logic [14:0] p,
	input logic [14:0] q,
	output logic [32:0] alone,
	output logic [14:0] of_three,
	output logic [32:0] of_six,
	output logic truth
);
assign alone = a & {33{one}};
assign of_three = (p & {15{three[0]}}) | (q & {15{three[1]}});
wire [1:0] lowest_set_groups = {|six[5:4], |six[3:0]};
wire [5:0] select_hot_index = {
	six[5] & !(lowest_set_groups[0] | six[4]),
	six[4] & !lowest_set_groups[0],
	six[3] & !(six[0] | six[1] | six[2]),
	six[2] & !(six[0] | six[1]),
	six[1] & !six[0],
	six[0]
};
assign of_six = (a & {33{select_hot_index[0]}}) | (b & {33{select_hot_index[1]}}) | (a & b & {33{select_hot_index[2]}})
	| (33'd6 & {33{select_hot_index[3]}}) | ((a + b) & {33{select_hot_index[4]}})
	| ((a - b) & {33{select_hot_index[5]}});
wire [2:0] select_hot_index_2 = ~three;
assign truth = ((a == b) & select_hot_index_2[0]) | select_hot_index_2[1] | ((a < b) & select_hot_index_2[2]);
wire _unused_ok = &{1'b0, lowest_set_groups};
endmodule
