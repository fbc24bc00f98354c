// all::verilog::hierarchy::Inverter<1> (rtl/verilog/tests/verilog/hierarchy.rs)
module inverter_1 (
	input logic x,
	output logic y
);
assign y = !x;
endmodule

// all::verilog::hierarchy::Inverter<24> (rtl/verilog/tests/verilog/hierarchy.rs)
module inverter_24 (
	input logic [23:0] x,
	output logic [23:0] y
);
assign y = ~x;
endmodule

// all::verilog::whole::Stage<24> (rtl/verilog/tests/verilog/whole.rs)
module stage (
	input logic clock,
	input logic reset,
	input logic [23:0] x,
	output logic [23:0] y
);
logic [23:0] held, inverter_y;
assign y = held;
always_ff @(posedge clock) begin
	if (reset) begin
		held <= '0;
	end else held <= inverter_y;
end
inverter_24 inverter (
	.x,
	.y(inverter_y)
);
endmodule

// all::verilog::whole::Pipeline<24> (rtl/verilog/tests/verilog/whole.rs)
module corpus_pipelines (
	input logic clock,
	input logic reset,
	input logic [23:0] x,
	output logic [23:0] y
);
logic narrow_y;
for (genvar i = 0; i < 3; i++) begin : stages
	logic [23:0] x_2, y_2;
	stage unit (
		.clock,
		.reset,
		.x(x_2),
		.y(y_2)
	);
end
assign stages[0].x_2 = x ^ {23'd0, narrow_y};
assign y = stages[2].y_2;
assign stages[1].x_2 = stages[0].y_2;
assign stages[2].x_2 = stages[1].y_2;
inverter_1 narrow (
	.x(x[0]),
	.y(narrow_y)
);
endmodule
