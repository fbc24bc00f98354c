// all::verilog::rest::Resting (rtl/verilog/tests/verilog/rest.rs)
module corpus_resting (
	input logic clock,
	input logic reset,
	input logic valid,
	input logic odd,
	input logic [511:0] a,
	input logic [511:0] b,
	output logic [511:0] held,
	output logic [511:0] chosen,
	output logic [511:0] ever,
	output logic [511:0] both
);
logic [511:0] kept = '0;
logic [511:0] sum;
always_comb begin
	sum = 'x;
	if (valid) sum = a + b;
end
logic [511:0] turned;
always_comb begin
	turned = 'x;
	if (valid) turned = {sum[503:0], 8'd0} | {504'd0, sum[511:504]};
end
wire wanted = odd ^ valid;
logic [511:0] masked;
always_comb begin
	masked = 'x;
	if (!wanted) masked = (a & b) ^ {3'd0, a[511:3]};
end
wire [511:0] shared = a - b;
logic [511:0] twice;
always_comb begin
	twice = 'x;
	if (valid) twice = (a | b) + a;
end
logic [511:0] both_2;
always_comb begin
	both_2 = b;
	if (valid) begin
		if (odd) both_2 = twice;
		else both_2 = twice ^ shared;
	end
end
assign both = both_2;
assign chosen = wanted ? b : masked;
assign held = kept;
assign ever = shared;
always_ff @(posedge clock) begin
	if (valid) kept <= turned;
	if (reset) kept <= '0;
end
endmodule
