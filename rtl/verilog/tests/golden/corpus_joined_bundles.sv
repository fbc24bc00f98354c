package corpus_joined_bundles_pkg;
typedef struct packed {
	logic last;
	logic [7:0] data;
} word_t;
endpackage

// all::verilog::bundles::Slot (rtl/verilog/tests/verilog/bundles.rs)
module slot (
	input logic clock,
	input logic reset,
	input logic [8:0] write,
	input logic write_valid,
	output logic write_ready,
	output logic [8:0] read,
	output logic read_valid,
	input logic read_ready
);
logic [8:0] word = '0;
logic full;
wire advance = read_ready | !full;
assign write_ready = advance;
assign read = word;
assign read_valid = full;
always_ff @(posedge clock) if (advance) word <= write;
always_ff @(posedge clock) begin
	if (reset) begin
		full <= 1'b0;
	end else if (advance) full <= write_valid;
end
endmodule

// all::verilog::bundles::Splitter (rtl/verilog/tests/verilog/bundles.rs)
module splitter (
	input logic clock,
	input logic reset,
	input corpus_joined_bundles_pkg::word_t write,
	input logic write_valid,
	output logic write_ready,
	output logic [3:0] pair_low,
	output logic [2:0] pair_high,
	input logic pair_taken,
	output logic [7:0] reported,
	output logic reported_valid
);
logic [4:0] count;
wire moves = write_valid & pair_taken;
assign write_ready = pair_taken;
assign pair_low = write.data[3:0];
assign pair_high = write.data[6:4];
wire [7:0] mixed = write.data + 8'd3;
assign reported = mixed;
assign reported_valid = moves & write.last;
always_ff @(posedge clock) begin
	if (reset) begin
		count <= '0;
	end else begin
		if (moves & (count[0] == write.last)) count <= count + 5'd1;
		if (moves & (count[1] == write.last)) count <= count + 5'd1;
	end
end
endmodule

// all::verilog::bundles::Chain (rtl/verilog/tests/verilog/bundles.rs)
module chain (
	input logic clock,
	input logic reset,
	input logic [8:0] write,
	input logic write_valid,
	output logic write_ready,
	output logic [3:0] pair_low,
	output logic [2:0] pair_high,
	input logic pair_taken,
	output logic [7:0] reported,
	output logic reported_valid,
	input logic [8:0] spare_in_0,
	input logic spare_in_0_valid,
	output logic spare_in_0_ready,
	input logic [8:0] spare_in_1,
	input logic spare_in_1_valid,
	output logic spare_in_1_ready,
	output logic [8:0] spare_out_0,
	output logic spare_out_0_valid,
	input logic spare_out_0_ready,
	output logic [8:0] spare_out_1,
	output logic spare_out_1_valid,
	input logic spare_out_1_ready
);
logic [8:0] first_read;
logic first_read_valid, second_write_ready;
logic [8:0] second_read;
logic second_read_valid, splitter_write_ready;
for (genvar i = 0; i < 2; i++) begin : spares
	logic [8:0] write_2;
	logic write_valid_2, write_ready_2;
	logic [8:0] read;
	logic read_valid, read_ready;
	slot unit (
		.clock,
		.reset,
		.write(write_2),
		.write_valid(write_valid_2),
		.write_ready(write_ready_2),
		.read,
		.read_valid,
		.read_ready
	);
end
assign spare_in_0_ready = spares[0].write_ready_2;
assign spare_out_0 = spares[0].read;
assign spare_out_0_valid = spares[0].read_valid;
assign spare_in_1_ready = spares[1].write_ready_2;
assign spare_out_1 = spares[1].read;
assign spare_out_1_valid = spares[1].read_valid;
assign spares[0].write_2 = spare_in_0;
assign spares[1].write_2 = spare_in_1;
assign spares[0].write_valid_2 = spare_in_0_valid;
assign spares[1].write_valid_2 = spare_in_1_valid;
assign spares[0].read_ready = spare_out_0_ready;
assign spares[1].read_ready = spare_out_1_ready;
slot first (
	.clock,
	.reset,
	.write,
	.write_valid,
	.write_ready,
	.read(first_read),
	.read_valid(first_read_valid),
	.read_ready(second_write_ready)
);
slot second (
	.clock,
	.reset,
	.write(first_read),
	.write_valid(first_read_valid),
	.write_ready(second_write_ready),
	.read(second_read),
	.read_valid(second_read_valid),
	.read_ready(splitter_write_ready)
);
splitter splitter (
	.clock,
	.reset,
	.write(second_read),
	.write_valid(second_read_valid),
	.write_ready(splitter_write_ready),
	.pair_low,
	.pair_high,
	.pair_taken,
	.reported,
	.reported_valid
);
endmodule

// all::verilog::bundles::Chained (rtl/verilog/tests/verilog/bundles.rs)
module corpus_joined_bundles (
	input logic clock,
	input logic reset,
	input logic [8:0] x,
	input logic x_valid,
	input logic [2:0] taken,
	output logic [2:0] ready,
	output logic [6:0] pair,
	output logic [7:0] reported,
	output logic told_valid,
	output logic [8:0] spare,
	output logic [1:0] spare_valid
);
logic chain_write_ready;
logic [3:0] chain_pair_low;
logic [2:0] chain_pair_high;
logic chain_spare_in_0_ready, chain_spare_in_1_ready, chain_spare_out_0_valid, chain_spare_out_1_valid;
assign ready = {chain_write_ready, chain_spare_in_1_ready, chain_spare_in_0_ready};
assign pair = {chain_pair_high, chain_pair_low};
assign spare_valid = {chain_spare_out_1_valid, chain_spare_out_0_valid};
/* verilator lint_off PINCONNECTEMPTY */
chain chain (
	.clock,
	.reset,
	.write(x),
	.write_valid(x_valid),
	.write_ready(chain_write_ready),
	.pair_low(chain_pair_low),
	.pair_high(chain_pair_high),
	.pair_taken(taken[2]),
	.reported,
	.reported_valid(told_valid),
	.spare_in_0(x),
	.spare_in_0_valid(x_valid),
	.spare_in_0_ready(chain_spare_in_0_ready),
	.spare_in_1(x),
	.spare_in_1_valid(x_valid),
	.spare_in_1_ready(chain_spare_in_1_ready),
	.spare_out_0(),
	.spare_out_0_valid(chain_spare_out_0_valid),
	.spare_out_0_ready(taken[0]),
	.spare_out_1(spare),
	.spare_out_1_valid(chain_spare_out_1_valid),
	.spare_out_1_ready(taken[1])
);
/* verilator lint_on PINCONNECTEMPTY */
endmodule
