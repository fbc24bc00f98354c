// all::verilog::intrinsics::Bytes (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_bytes (
	input logic [7:0] single,
	input logic [15:0] half,
	input logic [31:0] word,
	input logic [71:0] wide,
	input logic [8:0] lanes,
	input logic lane,
	output logic [127:0] swapped,
	output logic [15:0] constant,
	output logic [71:0] mask,
	output logic [7:0] masked
);
wire [15:0] half_2 = {half[7:0], half[15:8]};
wire [31:0] byte_swap_of = word + 32'd1;
assign swapped = {
	single,
	half_2,
	byte_swap_of[7:0],
	byte_swap_of[15:8],
	byte_swap_of[23:16],
	byte_swap_of[31:24],
	wide[7:0],
	wide[15:8],
	wide[23:16],
	wide[31:24],
	wide[39:32],
	wide[47:40],
	wide[55:48],
	wide[63:56],
	wide[71:64]
};
assign constant = {8'd0, 8'd8} ^ half;
assign mask = {
	{8{lanes[8]}},
	{8{lanes[7]}},
	{8{lanes[6]}},
	{8{lanes[5]}},
	{8{lanes[4]}},
	{8{lanes[3]}},
	{8{lanes[2]}},
	{8{lanes[1]}},
	{8{lanes[0]}}
};
assign masked = {8{lane}} & single;
endmodule
