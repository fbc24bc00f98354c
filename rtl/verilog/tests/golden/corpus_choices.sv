// all::verilog::layout::Choices (rtl/verilog/tests/verilog/layout.rs)
module corpus_choices (
	input logic [7:0] a,
	input logic [7:0] b,
	input logic [2:0] go,
	output logic [7:0] two,
	output logic [7:0] three,
	output logic [7:0] nested,
	output logic [7:0] locals,
	output logic [7:0] full,
	output logic [7:0] some
);
wire [7:0] two_2 = go[0] ? a :
	go[1] ? b : (a + b);
assign two = two_2 ^ 8'd1;
logic [7:0] three_2;
always_comb begin
	if (go[0]) three_2 = a;
	else three_2 = go[1] ? b :
		go[2] ? (a - b) : (a + b);
end
assign three = three_2 ^ 8'd1;
always_comb begin
	if (go[0]) nested = go[1] ? (go[2] ? a : b) : (a & b);
	else nested = a | b;
end
wire [7:0] sum = a + b;
always_comb begin
	if (&go) locals = sum ^ {1'b0, sum[7:1]};
	else locals = b;
end
always_comb begin
	case (go[1:0])
		2'd0: full = a;
		2'd1, 2'd2: full = b;
		2'd3: full = a ^ b;
		default: full = a & b;
	endcase
end
always_comb begin
	some = a;
	case (go)
		3'd2, 3'd5: some = b;
		3'd6: if (|a) some = a + 8'd1;
		default: ;
	endcase
end
endmodule
