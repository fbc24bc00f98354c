// all::verilog::hierarchy::Sink (rtl/verilog/tests/verilog/hierarchy.rs)
module sink (
	output logic [7:0] y,
	input logic [7:0] bus_data,
	output logic bus_ready
);
assign y = ~bus_data;
assign bus_ready = ^bus_data;
endmodule

// all::verilog::hierarchy::Source (rtl/verilog/tests/verilog/hierarchy.rs)
module source (
	input logic [7:0] x,
	output logic taken,
	output logic [7:0] bus_data,
	input logic bus_ready
);
assign bus_data = x + 8'd3;
assign taken = bus_ready;
endmodule

// all::verilog::hierarchy::Joined (rtl/verilog/tests/verilog/hierarchy.rs)
module corpus_interfaces (
	input logic [7:0] x,
	output logic [7:0] y,
	output logic taken
);
logic [7:0] source_bus_data;
logic sink_bus_ready;
source source (
	.x,
	.taken,
	.bus_data(source_bus_data),
	.bus_ready(sink_bus_ready)
);
sink sink (
	.y,
	.bus_data(source_bus_data),
	.bus_ready(sink_bus_ready)
);
endmodule
