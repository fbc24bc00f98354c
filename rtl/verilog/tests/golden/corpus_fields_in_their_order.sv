package corpus_fields_in_their_order_pkg;
typedef struct packed {
	logic [3:0] high, low;
} halves_t;
endpackage

// all::verilog::operands::Fields (rtl/verilog/tests/verilog/operands.rs)
module corpus_fields_in_their_order (
	input logic [3:0] a,
	output logic [7:0] y
);
corpus_fields_in_their_order_pkg::halves_t held;
assign held = {held.low + 4'd3, a};
assign y = held;
endmodule
