package corpus_structures_pkg;
typedef struct packed {
	logic [1:0] colour;
	logic flag;
	logic [4:0] number;
} inner_t;
typedef struct packed {
	logic spare, last;
	logic [563:0] payload;
	inner_t inner;
	logic [2:0] head;
} outer_t;
endpackage

// all::verilog::structs::Fields (rtl/verilog/tests/verilog/structs.rs)
module corpus_structures (
	input logic clock,
	input logic reset,
	input corpus_structures_pkg::outer_t x,
	input corpus_structures_pkg::outer_t y,
	input logic [7:0] bits,
	input logic select,
	output logic [576:0] copied,
	output corpus_structures_pkg::outer_t changed,
	output logic [576:0] built,
	output logic [7:0] chosen,
	output logic [576:0] as_bits,
	output logic [7:0] from_bits,
	output logic [19:0] read,
	output logic [576:0] held,
	output logic [7:0] held_plain,
	output logic [7:0] partial
);
localparam logic [1:0] COLOUR_GREEN = 2'd1, COLOUR_BLUE = 2'd2;
corpus_structures_pkg::outer_t held_reg;
logic [7:0] held_dff = '0;
corpus_structures_pkg::inner_t partial_reg;
assign copied = x;
always_comb begin
	changed = x;
	changed.head = y.head + 3'd1;
	changed.inner.flag = !y.inner.flag;
	if (select) begin
		changed.inner = y.inner;
		changed.inner.number = x.inner.number - y.inner.number;
		changed.payload = {559'd0, y.inner.number};
	end
end
wire [7:0] inner = {COLOUR_BLUE, 1'b0, x.inner.number ^ 5'd9};
assign built = {y.spare, 1'b1, x.payload, inner, y.head};
assign chosen = select ? x.inner : inner;
assign as_bits = x + y;
wire [7:0] safe = {1'b0, bits[6:0]};
assign from_bits = safe;
wire same = x.inner.number == y.inner.number;
wire alike = x.inner.colour == y.inner.colour;
assign read = {x.inner, y.inner.number, y.last, same, alike, x.payload[563:560]};
assign held = held_reg;
assign held_plain = held_dff;
assign partial = partial_reg;
always_ff @(posedge clock) begin
	if (reset) begin
		held_reg <= '0;
		partial_reg <= '0;
	end else if (select) begin
		held_reg <= x;
		partial_reg.number <= bits[4:0];
	end else if (x.last) begin
		held_reg.head <= y.head;
		partial_reg.colour <= COLOUR_GREEN;
		partial_reg.flag <= |bits;
	end
end
always_ff @(posedge clock) if (select) held_dff <= x.inner;
endmodule
