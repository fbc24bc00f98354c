// all::verilog::layout::Registers (rtl/verilog/tests/verilog/layout.rs)
module corpus_registers (
	input logic clock,
	input logic reset,
	input logic go,
	input logic [7:0] x,
	output logic [7:0] total,
	output logic [2:0] marks,
	output logic [7:0] age
);
logic [7:0] one, three, four;
logic [3:0] low;
(* KEEP = "TRUE" *)
(* DONT_TOUCH = "yes" *)
logic kept_0;
(* KEEP = "TRUE" *)
(* DONT_TOUCH = "yes" *)
logic kept_1;
logic flag;
logic [7:0] plain = '0, older = '0;
logic level = 1'b0;
logic [7:0] next, next_d;
assign next_d = next + 8'd1;
assign total = one + three + four + next_d;
assign marks = {kept_0 ^ flag, kept_1, level};
assign age = older ^ {4'd0, low};
always_ff @(posedge clock) begin
	if (reset) begin
		one <= '0;
		three <= 8'h30;
		kept_0 <= 1'b1;
		kept_1 <= 1'b1;
		next <= '0;
	end else begin
		if (go) one <= x;
		three <= three + x;
		if (go) three <= x;
		if (&x) three <= one;
		if (x[0]) kept_0 <= flag;
		if (x[1]) kept_1 <= flag;
		next <= next_d;
	end
end
always_ff @(posedge clock) begin
	if (reset) begin
		four <= '0;
	end else begin
		four <= four - x;
		if (go) four <= x;
		if (&x) four <= one;
		if (x[0]) four <= three;
	end
end
always_ff @(posedge clock) begin
	if (reset) begin
		low <= '0;
		flag <= 1'b1;
	end else if (go) begin
		low <= x[5:2];
		flag <= x[7];
	end else flag <= !flag;
end
always_ff @(posedge clock) plain <= x;
always_ff @(posedge clock) if (go) begin
	older <= plain;
	level <= x[1];
end else level <= x[3];
endmodule
