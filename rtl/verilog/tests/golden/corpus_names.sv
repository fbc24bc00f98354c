// all::verilog::layout::RDMAReadL1 (rtl/verilog/tests/verilog/layout.rs)
module rdma_read_l1 (
	input logic clock,
	input logic reset,
	input logic [7:0] value,
	input logic go,
	output logic odd,
	output logic [7:0] total,
	output logic [1:0] state_out
);
localparam logic [1:0] DMA_STATE_IDLE = 2'd0, DMA_STATE_READ_L1_CACHE = 2'd1, DMA_STATE_WRITE_DMA = 2'd2;
logic [1:0] state;
logic [7:0] folded;
wire [7:0] parity_of_folded = folded ^ {4'd0, folded[7:4]};
wire [7:0] parity_of_again = parity_of_folded ^ {2'd0, parity_of_folded[7:2]};
wire [7:0] sum = value + folded;
wire [7:0] sum_2 = {sum[6:0], 1'b0} + sum;
wire [7:0] parity_of_folded_2 = value ^ {4'd0, value[7:4]};
wire [7:0] parity_of_again_2 = parity_of_folded_2 ^ {2'd0, parity_of_folded_2[7:2]};
wire [7:0] parity_of_folded_3 = sum_2 ^ {4'd0, sum_2[7:4]};
wire [7:0] parity_of_again_3 = parity_of_folded_3 ^ {2'd0, parity_of_folded_3[7:2]};
assign odd = parity_of_again_2[0] ^ parity_of_again_2[1] ^ (parity_of_again_3[0] ^ parity_of_again_3[1]);
assign total = sum_2;
assign state_out = state;
always_ff @(posedge clock) begin
	if (reset) begin
		state <= '0;
	end else begin
		case (state)
			DMA_STATE_IDLE: if (go) state <= DMA_STATE_READ_L1_CACHE;
			DMA_STATE_READ_L1_CACHE: state <= DMA_STATE_WRITE_DMA;
			DMA_STATE_WRITE_DMA: if (parity_of_again[0] ^ parity_of_again[1]) state <= DMA_STATE_IDLE;
			default: ;
		endcase
	end
end
always_ff @(posedge clock) begin
	if (reset) begin
		folded <= '0;
	end else if (go) folded <= value;
end
wire _unused_ok = &{1'b0, parity_of_again, parity_of_again_2, parity_of_again_3};
endmodule

// all::verilog::layout::Named (rtl/verilog/tests/verilog/layout.rs)
module corpus_names (
	input logic clock,
	input logic reset,
	input logic [7:0] value,
	input logic go,
	output logic odd,
	output logic [7:0] total,
	output logic [1:0] state_out
);
rdma_read_l1 reader (
	.clock,
	.reset,
	.value,
	.go,
	.odd,
	.total,
	.state_out
);
endmodule
