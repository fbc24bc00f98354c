// all::verilog::hierarchy::Hold<_> (rtl/verilog/tests/verilog/hierarchy.rs)
module hold #(
	parameter int WIDTH = 16
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

// all::verilog::hierarchy::Widths (rtl/verilog/tests/verilog/hierarchy.rs)
module corpus_three_widths (
	input logic clock,
	input logic reset,
	input logic [15:0] a,
	input logic load,
	output logic [15:0] wide_out,
	output logic [7:0] middle_out,
	output logic [2:0] narrow_out,
	output logic [15:0] again_out
);
logic [15:0] wide_q;
logic middle_next;
assign wide_out = wide_q;
assign middle_next = !load;
hold #(.WIDTH(16)) wide (
	.clock,
	.reset,
	.d(a),
	.next(load),
	.q(wide_q)
);
hold #(.WIDTH(8)) middle (
	.clock,
	.reset,
	.d(a[11:4]),
	.next(middle_next),
	.q(middle_out)
);
hold #(.WIDTH(3)) narrow (
	.clock,
	.reset,
	.d(a[15:13]),
	.next(load),
	.q(narrow_out)
);
hold #(.WIDTH(16)) again (
	.clock,
	.reset,
	.d(wide_q),
	.next(load),
	.q(again_out)
);
endmodule
