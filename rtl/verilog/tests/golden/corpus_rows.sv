// all::verilog::loops::Source (rtl/verilog/tests/verilog/loops.rs)
module source (
	input logic [7:0] seed,
	output logic [7:0] word_0, word_1, word_2
);
assign word_0 = seed;
assign word_1 = seed + 8'h4d;
assign word_2 = seed + 8'h9a;
endmodule

// all::verilog::loops::Adder (rtl/verilog/tests/verilog/loops.rs)
module adder (
	input logic clock,
	input logic reset,
	input logic [1:0] number,
	input logic [7:0] word,
	input logic enable,
	input logic [7:0] gain,
	input logic [7:0] offset,
	input logic [7:0] prior,
	output logic [7:0] total,
	output logic [3:0] carry,
	output logic spare
);
logic [7:0] sum;
assign total = sum ^ offset;
assign carry = sum[6:3];
assign spare = sum[0];
always_ff @(posedge clock) begin
	if (reset) begin
		sum <= '0;
	end else if (enable) sum <= word + gain + prior + {6'd0, number};
end
endmodule

// all::verilog::loops::Rows (rtl/verilog/tests/verilog/loops.rs)
module corpus_rows (
	input logic clock,
	input logic reset,
	input logic [31:0] words,
	input logic [3:0] i,
	input logic [7:0] gain,
	input logic [7:0] seed,
	output logic [31:0] total,
	output logic [23:0] last,
	output logic [4:0] carry
);
logic [7:0] shared;
/* verilator lint_off PINCONNECTEMPTY */
for (genvar i_2 = 0; i_2 < 4; i_2++) begin : first
	logic [7:0] prior, total_2;
	logic [3:0] carry_2;
	adder unit (
		.clock,
		.reset,
		.number(2'(i_2)),
		.word(words[8*i_2 +: 8]),
		.enable(i[i_2]),
		.gain(shared),
		.offset(gain),
		.prior,
		.total(total_2),
		.carry(carry_2),
		.spare()
	);
end
for (genvar i_2 = 0; i_2 < 3; i_2++) begin : second
	logic [1:0] number;
	logic [7:0] word, offset, total_2;
	logic [3:0] carry_2;
	adder unit (
		.clock,
		.reset,
		.number,
		.word,
		.enable(words[2*i_2 + 5]),
		.gain(words[4*i_2 + 1 +: 8]),
		.offset,
		.prior(first[i_2].total_2),
		.total(total_2),
		.carry(carry_2),
		.spare()
	);
	wire _unused_ok = &{1'b0, carry_2};
end
assign shared = gain ^ 8'h5a;
assign total = {first[3].total_2, first[2].total_2, first[1].total_2, first[0].total_2};
assign last = {second[2].total_2, second[1].total_2, second[0].total_2};
assign carry = {first[1].carry_2, second[0].carry_2[2]};
assign first[0].prior = first[3].total_2;
assign first[1].prior = first[0].total_2;
assign first[2].prior = first[1].total_2;
assign first[3].prior = first[2].total_2;
assign second[0].number = 2'd3;
assign second[1].number = 2'd2;
assign second[2].number = 2'd1;
assign second[0].offset = seed;
assign second[1].offset = gain;
assign second[2].offset = seed;
source source (
	.seed,
	.word_0(second[0].word),
	.word_1(second[1].word),
	.word_2(second[2].word)
);
/* verilator lint_on PINCONNECTEMPTY */
wire _unused_ok = &{1'b0, first[0].carry_2, first[2].carry_2, first[3].carry_2};
endmodule
