// all::verilog::hierarchy::Hold<_> (rtl/verilog/tests/verilog/hierarchy.rs)
module hold #(
	parameter int WIDTH = 11
) (
	input logic clock,
	input logic reset,
	input logic [WIDTH-1:0] d,
	input logic next,
	output logic [WIDTH-1:0] q
);
logic [WIDTH-1:0] held;
assign q = held;
always_ff @(posedge clock) begin
	if (reset) begin
		held <= '0;
	end else if (next) held <= d;
end
endmodule

// all::verilog::hierarchy::Inverter<8> (rtl/verilog/tests/verilog/hierarchy.rs)
module inverter (
	input logic [7:0] x,
	output logic [7:0] y
);
assign y = ~x;
endmodule

// all::verilog::hierarchy::Row (rtl/verilog/tests/verilog/hierarchy.rs)
module row (
	input logic [7:0] x,
	output logic [7:0] y
);
for (genvar i = 0; i < 2; i++) begin : cells
	logic [7:0] x_2, y_2;
	inverter unit (
		.x(x_2),
		.y(y_2)
	);
end
assign cells[1].x_2 = cells[0].y_2 + 8'd1;
assign y = cells[1].y_2;
assign cells[0].x_2 = x;
endmodule

// all::verilog::hierarchy::Tree (rtl/verilog/tests/verilog/hierarchy.rs)
module corpus_trees (
	input logic clock,
	input logic reset,
	input logic [7:0] a,
	input logic [7:0] b,
	input logic load,
	output logic [23:0] rows_out,
	output logic [31:0] words_out,
	output logic [10:0] pair_out,
	output logic [7:0] next_out,
	output logic [7:0] chain_out
);
logic [7:0] next, words_0, words_1, words_2, words_3;
logic [10:0] pair_d;
for (genvar i = 0; i < 3; i++) begin : rows
	logic [7:0] x, y;
	row unit (
		.x,
		.y
	);
end
for (genvar i = 0; i < 3; i++) begin : chain
	logic [7:0] d;
	logic next_2;
	logic [7:0] q;
	hold #(.WIDTH(8)) unit (
		.clock,
		.reset,
		.d,
		.next(next_2),
		.q
	);
end
assign rows[1].x = a + 8'd1;
assign rows[2].x = a + 8'd2;
assign rows_out = {rows[2].y, rows[1].y, rows[0].y};
assign words_0 = b;
assign words_1 = {b[6:0], 1'b0};
assign words_2 = {b[5:0], 2'd0};
assign words_3 = {b[4:0], 3'd0};
assign words_out = {words_3, words_2, words_1, words_0};
assign pair_d = {b[4:2], a};
assign next_out = next;
assign chain[0].next_2 = load | a[0];
assign chain[1].next_2 = load | a[1];
assign chain[2].next_2 = load | a[2];
assign chain_out = chain[2].q;
assign rows[0].x = a;
assign chain[0].d = b;
assign chain[1].d = chain[0].q;
assign chain[2].d = chain[1].q;
always_ff @(posedge clock) begin
	if (reset) begin
		next <= 8'h5a;
	end else next <= next + a;
end
hold #(.WIDTH(11)) pair (
	.clock,
	.reset,
	.d(pair_d),
	.next(load),
	.q(pair_out)
);
endmodule
