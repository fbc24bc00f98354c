// all::verilog::control::Control (rtl/verilog/tests/verilog/control.rs)
module corpus_control (
	input logic [7:0] a,
	input logic [7:0] b,
	input logic [2:0] step,
	input logic p,
	output logic [7:0] chain,
	output logic [7:0] nested,
	output logic [7:0] state_match,
	output logic [2:0] next_step,
	output logic [7:0] number_match,
	output logic [7:0] bit_match,
	output logic [7:0] value_match,
	output logic [7:0] if_value,
	output logic [7:0] folded,
	output logic [3:0] leading,
	output logic [7:0] swapped,
	output logic [7:0] constants,
	output logic [8:0] called,
	output logic [7:0] fields
);
localparam logic [2:0] STEP_IDLE = 3'd0, STEP_LOAD = 3'd1, STEP_RUN = 3'd2, STEP_DRAIN = 3'd3, STEP_STOP = 3'd4;
logic [7:0] spread;
always_comb begin
	chain = a;
	if (a < b) chain = b - a;
	else if (p) chain = 8'd1;
	else if (a[7]) chain = a ^ b;
	if (step == STEP_STOP) chain = '0;
end
always_comb begin
	nested = '0;
	if (p) begin
		case (step)
			STEP_IDLE: ;
			STEP_RUN: if (a == b) nested = 8'h55;
			else nested = a + 8'd1;
			default: nested = b;
		endcase
	end
end
always_comb begin
	case (step)
		STEP_IDLE, STEP_STOP: state_match = a;
		STEP_LOAD: state_match = b;
		STEP_RUN: state_match = a & b;
		default: state_match = a | b;
	endcase
end
always_comb begin
	case (step)
		STEP_IDLE, STEP_STOP: next_step = STEP_LOAD;
		STEP_LOAD: next_step = p ? STEP_RUN : STEP_IDLE;
		STEP_RUN: next_step = STEP_DRAIN;
		default: next_step = STEP_STOP;
	endcase
end
always_comb begin
	case (a[5:0])
		6'd0, 6'd1: number_match = b;
		6'd2: number_match = ~b;
		6'h11: number_match = b + 8'd1;
		6'h20, 6'h21, 6'h3f: number_match = {b[6:0], 1'b0};
		default: number_match = {1'b0, b[7:1]};
	endcase
end
always_comb begin
	case (p)
		1'b1: bit_match = a + b;
		1'b0: bit_match = a - b;
	endcase
end
wire [7:0] twice = {a[6:0], 1'b0};
logic [7:0] operand;
always_comb begin
	case (b[1:0])
		2'd0: operand = a;
		2'd3: operand = twice + 8'd1;
		default: operand = b;
	endcase
end
assign value_match = operand ^ (((step == STEP_IDLE) || (step == STEP_LOAD)) ? 8'd1 :
	(step == STEP_RUN) ? a : 8'h80);
wire [7:0] least = (a < 8'h10) ? a : 8'h10;
assign if_value = least + (p ? b :
	(a > b) ? a : 8'd3);
wire [7:0] sum_0_0_2 = {5'd0, a[0] ? b[2:0] : 3'd0};
wire [7:0] sum_0_1_2 = a[1] ? (sum_0_0_2 + {5'd0, b[2:0]} + 8'd1) : sum_0_0_2;
wire [7:0] sum_1_0_2 = a[2] ? (sum_0_1_2 + {5'd0, b[3:1]}) : sum_0_1_2;
wire [7:0] sum_1_1_2 = a[3] ? (sum_1_0_2 + {5'd0, b[3:1]} + 8'd1) : sum_1_0_2;
wire [7:0] sum_2_0_2 = a[4] ? (sum_1_1_2 + {5'd0, b[4:2]}) : sum_1_1_2;
wire [7:0] sum_2_1_2 = a[5] ? (sum_2_0_2 + {5'd0, b[4:2]} + 8'd1) : sum_2_0_2;
wire [7:0] sum_3_0_2 = a[6] ? (sum_2_1_2 + {5'd0, b[5:3]}) : sum_2_1_2;
assign folded = a[7] ? (sum_3_0_2 + {5'd0, b[5:3]} + 8'd1) : sum_3_0_2;
logic [3:0] leading_2;
always_comb begin
	leading_2 = 4'd8;
	if (a[0]) leading_2 = 4'd7;
	if (a[1]) leading_2 = 4'd6;
	if (a[2]) leading_2 = 4'd5;
	if (a[3]) leading_2 = 4'd4;
	if (a[4]) leading_2 = 4'd3;
	if (a[5]) leading_2 = 4'd2;
	if (a[6]) leading_2 = 4'd1;
	if (a[7]) leading_2 = '0;
end
assign leading = leading_2;
wire [3:0] kept = a[3:0];
wire [3:0] low = a[7:4];
wire [3:0] low_2 = p ? low : a[3:0];
wire [3:0] high_2 = p ? kept : a[7:4];
assign swapped = {high_2, low_2};
logic [7:0] built;
always_comb begin
	built = '0;
	if (b[4:3] == 2'd0) built = 8'd7;
	if (b[4:3] == 2'd1) built = 8'hb;
	if (b[4:3] == 2'd2) built = 8'hd;
	if (b[4:3] == 2'd3) built = 8'hc8;
end
assign constants = (built ^ 8'ha5) + 8'h11;
wire [8:0] saturating_add_sum = {1'b0, b} + {1'b0, a};
wire [7:0] between_high = saturating_add_sum[8] ? 8'hff : saturating_add_sum[7:0];
wire [8:0] saturating_add_sum_2 = {1'b0, between_high} + 9'd1;
wire [7:0] saturating_add_b = b ^ 8'ha5;
wire [8:0] saturating_add_sum_3 = {1'b0, a} + {1'b0, saturating_add_b};
assign called = {
	(a >= b) & (a <= (saturating_add_sum_2[8] ? 8'hff : saturating_add_sum_2[7:0])),
	saturating_add_sum_3[8] ? 8'hff : saturating_add_sum_3[7:0]
};
always_comb begin
	spread = a;
	if (p) spread = ~a;
end
assign fields = spread + b;
endmodule
