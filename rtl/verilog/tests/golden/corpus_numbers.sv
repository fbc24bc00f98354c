// all::verilog::operands::Numbers (rtl/verilog/tests/verilog/operands.rs)
module corpus_numbers (
	input logic [7:0] a,
	input logic [7:0] b,
	input logic p,
	output logic [7:0] computed,
	output logic [7:0] compared,
	output logic [7:0] matched,
	output logic [7:0] beyond,
	output logic [7:0] ordered,
	output logic [7:0] same,
	output logic [7:0] carried
);
wire [7:0] matched_2 = (b + a) ^ {a[6:0], 1'b0} ^ {a[6:0], 1'b0};
wire [7:0] compared_4_2 = 8'd1 + (a & 8'd3) + (a & 8'h11) + 8'd1 + (a & 8'd3) + (a & 8'h11) + (a & 8'd3) + (a & 8'h11)
	+ (b & 8'd9) + (a & 8'h11) + (a & 8'd5) + (b & 8'd9);
assign computed = 8'd5 + (a ^ 8'h61) + ({1'b0, a[7:1]} ^ 8'h3f) + ({2'd0, a[7:2]} ^ 8'h1c) + ({3'd0, a[7:3]} ^ 8'h27)
	+ (a ^ 8'h3f) + ({1'b0, a[7:1]} ^ 8'h3b);
assign compared = (compared_4_2 ^ b) + (a & 8'h11) + (a & 8'd5) + (b & 8'd9);
assign matched = matched_2 + 8'd3 + 8'd3 + 8'd3;
assign beyond = a ^ 8'd5;
wire [7:0] scaled_sum = a + {3'd0, a[7:3]};
wire [7:0] scaled_sum_2 = b + {3'd0, b[7:3]};
assign ordered = (scaled_sum ^ {scaled_sum[6:0], 1'b0}) + ((scaled_sum_2 ^ {scaled_sum_2[6:0], 1'b0}) & a);
assign same = a ^ b ^ (a + b);
assign carried = (a & b) + {7'd0, p};
endmodule
