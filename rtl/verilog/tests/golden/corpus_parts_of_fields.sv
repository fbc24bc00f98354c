package corpus_parts_of_fields_pkg;
typedef struct packed {
	logic [10:0] length;
	logic short_;
	logic [3:0] kind;
} header_t;
typedef struct packed {
	logic last, first;
	logic [19:0] body;
	header_t header;
} packet_t;
endpackage

// all::verilog::layout::Parts (rtl/verilog/tests/verilog/layout.rs)
module corpus_parts_of_fields (
	input logic clock,
	input logic reset,
	input corpus_parts_of_fields_pkg::packet_t x,
	input logic [1:0] at,
	output logic [5:0] top,
	output logic mark,
	output logic [4:0] across,
	output logic [37:0] whole,
	output logic [10:0] length
);
corpus_parts_of_fields_pkg::packet_t held;
logic [3:0] picked = '0;
assign top = x.body[19:14];
assign mark = x.header.length[10] ^ x.header.short_ ^ picked[at];
assign across = x[6:2];
assign whole = held;
assign length = held.header.length;
always_ff @(posedge clock) begin
	if (reset) begin
		held <= '0;
	end else if (x.last) begin
		held.header.length <= x.header.length + 11'd1;
		held.first <= x.first;
	end else held <= x;
end
always_ff @(posedge clock) if (x.last) picked <= x.header.kind;
endmodule
