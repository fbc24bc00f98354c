module corpus_hand_written_top #(
	parameter int WIDTH = 5
) (
	input logic clock,
	input logic [WIDTH-1:0] x,
	output logic [WIDTH-1:0] y
);
always @(posedge clock) y <= x;
endmodule
