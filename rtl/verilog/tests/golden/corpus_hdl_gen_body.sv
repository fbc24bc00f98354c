package corpus_hdl_gen_body_pkg;
typedef struct packed {
	logic mark;
	logic [6:0] body;
} word_t;
endpackage

module corpus_hdl_gen_body (
	input logic clock,
	input logic [7:0] a,
	input logic [7:0] b,
	input logic [2:0] index,
	output logic distance,
	output logic wraps,
	output logic inverted,
	output logic [15:0] widened,
	output logic [7:0] carry,
	output logic [3:0] slice,
	output logic chosen,
	output logic [7:0] replaced,
	output logic signed_less,
	output logic [31:0] product,
	output logic [7:0] count_out,
	output logic mark_out,
	output logic [6:0] body_out,
	output logic [7:0] last_tap
);
localparam logic [1:0] MODE_OFF = 2'd0, MODE_SLOW = 2'd1, MODE_FAST = 2'd2;
logic [1:0] mode = '0;
logic [7:0] count = '0, taps_0 = '0, taps_1 = '0, taps_2 = '0;
corpus_hdl_gen_body_pkg::word_t word;
assign distance = (a - b) > 8'h80;
assign wraps = (a + b) == 8'd0;
assign inverted = ~a == 8'd0;
assign widened = {8'd0, ~a};
assign carry = {1'b0, 7'({1'b0, 7'({1'b0, 7'({1'b0, 7'({1'b0, 7'((a + 8'hff) >> 1)})})})})};
assign slice = 4'(a >> index);
assign chosen = b[index];
assign replaced = (a & ~(8'd1 << index)) | ({7'd0, |b} << index);
assign signed_less = $signed(a) < $signed(b);
assign product = {24'd0, a} * {24'd0, b};
assign word = {index == 3'd5, a[7:1]};
assign mark_out = word.mark;
assign body_out = word.body;
assign last_tap = taps_2;
assign count_out = count;
always_ff @(posedge clock) begin
	case (mode)
		MODE_OFF: if (a[0]) mode <= MODE_SLOW;
		MODE_SLOW: begin
			count <= count + 8'd1;
			mode <= MODE_FAST;
		end
		MODE_FAST: begin
			count <= count + b;
			if (count > 8'hc8) mode <= MODE_OFF;
		end
		default: mode <= MODE_OFF;
	endcase
end
always_ff @(posedge clock) begin
	taps_0 <= a;
	taps_1 <= taps_0;
	taps_2 <= taps_1;
end
endmodule
