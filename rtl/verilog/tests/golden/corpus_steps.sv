// all::verilog::steps::Steps (rtl/verilog/tests/verilog/steps.rs)
module corpus_steps (
	input logic [7:0] sets,
	input logic [7:0] clear,
	input logic [7:0] marks,
	input logic [2:0] at,
	input logic [63:0] lanes,
	output logic [7:0] marked,
	output logic [7:0] any,
	output logic [1:0] most,
	output logic [7:0] twice,
	output logic [7:0] named
);
wire [7:0] twice_1 = {lanes[6:0], 1'b0} ^ lanes[7:0] ^ lanes[15:8];
wire [7:0] twice_2 = {twice_1[6:0], 1'b0} ^ twice_1 ^ lanes[23:16];
wire [7:0] twice_3 = {twice_2[6:0], 1'b0} ^ twice_2 ^ lanes[31:24];
wire [7:0] twice_4 = {twice_3[6:0], 1'b0} ^ twice_3 ^ lanes[39:32];
wire [7:0] twice_5 = {twice_4[6:0], 1'b0} ^ twice_4 ^ lanes[47:40];
wire [7:0] twice_6 = {twice_5[6:0], 1'b0} ^ twice_5 ^ lanes[55:48];
assign marked = {
	(clear[7] & (at == 3'd7)) ? 1'b0 :
	sets[7] ? 1'b1 : marks[7],
	(clear[6] & (at == 3'd6)) ? 1'b0 :
	sets[6] ? 1'b1 : marks[6],
	(clear[5] & (at == 3'd5)) ? 1'b0 :
	sets[5] ? 1'b1 : marks[5],
	(clear[4] & (at == 3'd4)) ? 1'b0 :
	sets[4] ? 1'b1 : marks[4],
	(clear[3] & (at == 3'd3)) ? 1'b0 :
	sets[3] ? 1'b1 : marks[3],
	(clear[2] & (at == 3'd2)) ? 1'b0 :
	sets[2] ? 1'b1 : marks[2],
	(clear[1] & (at == 3'd1)) ? 1'b0 :
	sets[1] ? 1'b1 : marks[1],
	(clear[0] & (at == 3'd0)) ? 1'b0 :
	sets[0] ? 1'b1 : marks[0]
};
assign any = lanes[7:0] | lanes[15:8] | lanes[23:16] | lanes[31:24] | lanes[39:32] | lanes[47:40] | lanes[55:48]
	| lanes[63:56];
assign twice = {twice_6[6:0], 1'b0} ^ twice_6 ^ lanes[63:56];
wire low = (sets[0] & sets[1]) | (sets[0] & sets[2]) | (sets[1] & sets[2]);
wire high = (sets[5] & sets[6]) | (sets[5] & sets[7]) | (sets[6] & sets[7]);
assign most = {high, low};
wire [7:0] named_2 = clear ^ sets;
assign named = named_2 + 8'd1;
endmodule
