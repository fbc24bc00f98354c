// all::verilog::layout::Adder (rtl/verilog/tests/verilog/layout.rs)
module adder (
	input logic [7:0] x,
	input logic [7:0] y,
	output logic [7:0] sum,
	output logic carry
);
wire [8:0] sum_2 = {1'b0, x} + {1'b0, y};
assign sum = sum_2[7:0];
assign carry = sum_2[8];
endmodule

// all::verilog::layout::Wires (rtl/verilog/tests/verilog/layout.rs)
module corpus_wires (
	input logic [7:0] a,
	input logic [7:0] b,
	output logic [7:0] straight,
	output logic carry,
	output logic [3:0] low,
	output logic [7:0] twice,
	output logic [7:0] again,
	output logic [7:0] named,
	output logic [7:0] passed,
	output logic [7:0] inner
);
logic [7:0] middle, copied, part_sum, shared_y, shared_sum, second_sum;
assign low = part_sum[3:0];
assign shared_y = a ^ b;
assign twice = shared_sum;
assign again = shared_sum;
assign named = ~second_sum;
assign inner = middle + 8'd1;
assign copied = b;
assign passed = copied + 8'd2;
adder whole (
	.x(a),
	.y(b),
	.sum(straight),
	.carry
);
/* verilator lint_off PINCONNECTEMPTY */
adder part (
	.x(b),
	.y(b),
	.sum(part_sum),
	.carry()
);
adder shared (
	.x(part_sum),
	.y(shared_y),
	.sum(shared_sum),
	.carry()
);
adder second (
	.x(8'd7),
	.y(a),
	.sum(second_sum),
	.carry()
);
adder last (
	.x(a),
	.y(8'd0),
	.sum(middle),
	.carry()
);
/* verilator lint_on PINCONNECTEMPTY */
endmodule
