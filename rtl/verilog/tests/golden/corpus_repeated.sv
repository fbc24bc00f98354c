// all::verilog::intrinsics::Repeated (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_repeated (
	input logic [63:0] a,
	input logic [63:0] b,
	input logic [1:0] index,
	output logic [3:0] differ,
	output logic [15:0] chosen,
	output logic [3:0] number
);
wire [15:0] ne_difference_0 = a[15:0] ^ b[15:0];
wire [6:0] ne_chain_0 = {
	1'b0,
	ne_difference_0[15],
	|ne_difference_0[14:12],
	|ne_difference_0[11:9],
	|ne_difference_0[8:6],
	|ne_difference_0[5:3],
	|ne_difference_0[2:0]
} + 7'h3f;
wire [15:0] ne_difference_1 = a[31:16] ^ b[31:16];
wire [6:0] ne_chain_1 = {
	1'b0,
	ne_difference_1[15],
	|ne_difference_1[14:12],
	|ne_difference_1[11:9],
	|ne_difference_1[8:6],
	|ne_difference_1[5:3],
	|ne_difference_1[2:0]
} + 7'h3f;
wire [15:0] ne_difference_2 = a[47:32] ^ b[47:32];
wire [6:0] ne_chain_2 = {
	1'b0,
	ne_difference_2[15],
	|ne_difference_2[14:12],
	|ne_difference_2[11:9],
	|ne_difference_2[8:6],
	|ne_difference_2[5:3],
	|ne_difference_2[2:0]
} + 7'h3f;
wire [15:0] ne_difference_3 = a[63:48] ^ b[63:48];
wire [6:0] ne_chain_3 = {
	1'b0,
	ne_difference_3[15],
	|ne_difference_3[14:12],
	|ne_difference_3[11:9],
	|ne_difference_3[8:6],
	|ne_difference_3[5:3],
	|ne_difference_3[2:0]
} + 7'h3f;
wire [3:0] differ_3 = {ne_chain_3[6], ne_chain_2[6], ne_chain_1[6], ne_chain_0[6]};
assign differ = differ_3;
wire [1:0] quarter_index = index + 2'd1;
assign chosen = (|index) ? ((a[15:0] & {16{index == 2'd0}}) | (a[31:16] & {16{index == 2'd1}}) | (a[47:32] & {16{index == 2'd2}})
	| (a[63:48] & {16{index == 2'd3}})) : ((b[15:0] & {16{quarter_index == 2'd0}}) | (b[31:16] & {16{quarter_index == 2'd1}})
	| (b[47:32] & {16{quarter_index == 2'd2}}) | (b[63:48] & {16{quarter_index == 2'd3}}));
wire [3:0] first_set_of = ~differ_3;
wire [1:0] select_index = {!(first_set_of[0] | first_set_of[1]), !first_set_of[0] & (first_set_of[1] | !first_set_of[2])};
assign number = {
	!(differ_3[0] | differ_3[1]),
	!differ_3[0] & (differ_3[1] | !differ_3[2]),
	(2'd1 & {2{select_index == 2'd0}}) | (2'd2 & {2{select_index == 2'd1}})
	| (2'd3 & {2{select_index == 2'd3}})
};
wire _unused_ok = &{1'b0, ne_chain_0, ne_chain_1, ne_chain_2, ne_chain_3, first_set_of};
endmodule
