// all::verilog::clocked::Machine (rtl/verilog/tests/verilog/clocked.rs)
module corpus_machines (
	input logic clock,
	input logic reset,
	input logic go,
	input logic [7:0] x,
	input logic [1:0] which,
	output logic [2:0] phase_out,
	output logic [6:0] count_out,
	output logic [31:0] bank_out,
	output logic [7:0] delayed,
	output logic [6:0] coming,
	output logic synced,
	output logic [99:0] wide_out
);
localparam logic [2:0] PHASE_WAIT = 3'd0, PHASE_COUNT = 3'd1, PHASE_PAUSE = 3'd2, PHASE_REPORT = 3'd3;
localparam logic [2:0] PHASE_CLEAR = 3'd4;
logic [2:0] phase;
logic [6:0] count;
logic [7:0] bank_0, bank_1, bank_2, bank_3;
logic [7:0] line_0 = '0, line_1 = '0, line_2 = '0;
(* ASYNC_REG = "TRUE" *)
logic meta_0;
(* ASYNC_REG = "TRUE" *)
logic meta_1;
logic [99:0] wide;
logic [6:0] count_d;
always_comb begin
	count_d = count;
	case (phase)
		PHASE_WAIT: if (go) count_d = x[7:1];
		PHASE_COUNT: count_d = count - 7'd5;
		PHASE_REPORT, PHASE_PAUSE: ;
		default: count_d = '0;
	endcase
end
assign coming = count_d;
assign phase_out = phase;
assign count_out = count;
assign bank_out = {bank_3, bank_2, bank_1, bank_0};
assign delayed = line_2;
assign synced = meta_1;
assign wide_out = wide;
always_ff @(posedge clock) begin
	if (reset) begin
		phase <= 3'd2;
	end else begin
		case (phase)
			PHASE_WAIT: if (go) phase <= PHASE_COUNT;
			PHASE_COUNT: if (count < 7'd9) phase <= PHASE_REPORT;
			PHASE_REPORT, PHASE_PAUSE: phase <= PHASE_CLEAR;
			default: phase <= PHASE_WAIT;
		endcase
	end
end
always_ff @(posedge clock) begin
	if (reset) begin
		count <= 7'h64;
		bank_0 <= '0;
		bank_1 <= 8'h11;
		bank_2 <= 8'h22;
		bank_3 <= 8'h33;
		meta_0 <= 1'b0;
		meta_1 <= 1'b0;
		wide <= 100'h7ffffffffffffffffffffffff;
	end else begin
		count <= count_d;
		if (which == 2'd0) bank_0 <= x + bank_0;
		if (which == 2'd1) bank_1 <= x + bank_1;
		if (which == 2'd2) bank_2 <= x + bank_2;
		if (which == 2'd3) bank_3 <= x + bank_3;
		meta_0 <= go;
		meta_1 <= meta_0;
		if (go) wide <= {wide[91:0], 8'd0} | {92'd0, x};
	end
end
always_ff @(posedge clock) begin
	line_0 <= x;
	line_1 <= line_0;
	line_2 <= line_1;
end
endmodule
