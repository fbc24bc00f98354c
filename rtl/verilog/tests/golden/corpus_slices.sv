// all::verilog::slices::Slices (rtl/verilog/tests/verilog/slices.rs)
module corpus_slices (
	input logic [15:0] a,
	input logic [20:0] odd,
	input logic [576:0] wide,
	input logic [3:0] at,
	input logic [5:0] long_way,
	input logic fresh,
	output logic [11:0] constant,
	output logic [7:0] of_sum,
	output logic [3:0] dynamic,
	output logic [7:0] beyond,
	output logic [7:0] octet,
	output logic [63:0] of_wide,
	output logic [3:0] single,
	output logic [1:0] of_low,
	output logic [15:0] replaced,
	output logic [15:0] replaced_at,
	output logic [20:0] replaced_odd,
	output logic [2:0] numbers
);
assign constant = {a[4:0], a[13:9], a[15:14]};
assign of_sum = 8'({4'd0, 12'({4'd0, 12'({4'd0, 12'({4'd0, 12'((a + 16'd1) >> 4)})})})}) ^ ~a[15:8];
assign dynamic = 4'(a >> at);
assign beyond = 8'(odd >> ({1'b0, at} + 5'd6));
assign octet = 8'(wide >> {1'b0, at, 3'd0});
assign of_wide = 64'(wide >> ({1'b0, 10'h40 * {7'd0, long_way[2:0]}} + 11'd1));
wire low = a[0];
wire high = a[15];
wire chosen = a[at];
wire inverse = 1'(~a >> at);
assign single = {low, high, chosen, inverse};
wire [2:0] third = at[2:0];
assign of_low = {a[{1'b0, third}], odd[{2'd0, third}]};
assign replaced = {a[15:4], fresh, a[2:0]};
assign replaced_at = (a & ~(16'd1 << at)) | ({15'd0, fresh} << at);
assign replaced_odd = (odd & ~(21'd1 << at)) | ({20'd0, !fresh} << at);
assign numbers = {({1'b0, at} + 5'd7) > 5'h14, at == 4'd7, ({1'b0, long_way} + 7'd1) < 7'd9};
endmodule
