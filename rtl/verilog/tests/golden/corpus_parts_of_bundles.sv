// all::verilog::bundles::Delay (rtl/verilog/tests/verilog/bundles.rs)
module delay (
	input logic clock,
	input logic [5:0] input_word,
	input logic input_mark,
	output logic input_taken,
	output logic [5:0] output_word,
	output logic output_mark,
	input logic output_taken
);
logic [5:0] word = '0;
logic marks_0 = 1'b0, marks_1 = 1'b0;
assign output_word = word;
assign output_mark = marks_0 | !marks_1;
assign input_taken = output_taken;
always_ff @(posedge clock) begin
	word <= input_word;
	marks_0 <= input_mark;
	marks_1 <= input_mark ^ 1'b1;
end
endmodule

// all::verilog::bundles::Parts (rtl/verilog/tests/verilog/bundles.rs)
module parts (
	input logic clock,
	input logic reset,
	input logic [5:0] input_word,
	input logic input_mark,
	input logic [1:0] input_user,
	output logic input_taken,
	output logic [5:0] output_word,
	output logic output_mark,
	output logic [1:0] output_user,
	input logic output_taken,
	output logic [8:0] count
);
logic [8:0] seen;
assign output_user = ~input_user;
assign count = seen;
always_ff @(posedge clock) begin
	if (reset) begin
		seen <= '0;
	end else if (seen >= 9'h190) seen <= '0;
	else if (input_mark) seen <= seen + 9'd3;
end
delay delay (
	.clock,
	.input_word,
	.input_mark,
	.input_taken,
	.output_word,
	.output_mark,
	.output_taken
);
endmodule

// all::verilog::bundles::PartsInside (rtl/verilog/tests/verilog/bundles.rs)
module corpus_parts_of_bundles (
	input logic clock,
	input logic reset,
	input logic [5:0] word,
	input logic [3:0] flags,
	output logic [5:0] seen,
	output logic [3:0] answers,
	output logic [8:0] count
);
logic parts_input_taken, parts_output_mark;
logic [1:0] parts_output_user;
assign answers = {parts_input_taken, parts_output_user, parts_output_mark};
parts parts (
	.clock,
	.reset,
	.input_word(word),
	.input_mark(flags[0]),
	.input_user(flags[2:1]),
	.input_taken(parts_input_taken),
	.output_word(seen),
	.output_mark(parts_output_mark),
	.output_user(parts_output_user),
	.output_taken(flags[3]),
	.count
);
endmodule
