// all::verilog::hierarchy::Inverter<8> (rtl/verilog/tests/verilog/hierarchy.rs)
module inverter (
	input logic [7:0] x,
	output logic [7:0] y
);
assign y = ~x;
endmodule

// all::verilog::layout::Cell (rtl/verilog/tests/verilog/layout.rs)
module cell_2 (
	input logic [3:0] nibble,
	input logic level,
	input logic [7:0] word,
	output logic [7:0] mixed,
	output logic spare
);
wire [7:0] nibble_2 = {4'd0, nibble};
assign mixed = level ? (nibble_2 + word) : nibble_2;
assign spare = |nibble;
endmodule

// all::verilog::layout::Spread (rtl/verilog/tests/verilog/layout.rs)
module spread (
	input logic [7:0] seed,
	output logic [7:0] word_0, word_1, word_2,
	output logic level_0, level_1, level_2
);
assign word_0 = seed + 8'd3;
assign level_0 = seed[0];
assign word_1 = seed + 8'h35;
assign level_1 = seed[1];
assign word_2 = seed + 8'h67;
assign level_2 = seed[2];
endmodule

// all::verilog::layout::Loops (rtl/verilog/tests/verilog/layout.rs)
module loops (
	input logic [7:0] seed,
	input logic [7:0] ways_0, ways_1, ways_2,
	output logic [7:0] first,
	output logic [7:0] mixed_0, mixed_1, mixed_2,
	output logic [3:0] low,
	output logic [7:0] turned
);
logic [7:0] spread_word_0, spread_word_1, spread_word_2, lone_0_y;
/* verilator lint_off PINCONNECTEMPTY */
for (genvar i = 0; i < 3; i++) begin : cells
	logic [3:0] nibble;
	logic level;
	logic [7:0] mixed;
	cell_2 unit (
		.nibble,
		.level,
		.word(seed),
		.mixed,
		.spare()
	);
end
for (genvar i = 0; i < 2; i++) begin : others
	logic [7:0] mixed;
	cell_2 unit (
		.nibble(4'd9),
		.level(seed[i + 2]),
		.word(cells[i].mixed),
		.mixed,
		.spare()
	);
	wire _unused_ok = &{1'b0, mixed};
end
assign mixed_0 = cells[0].mixed ^ ways_0;
assign mixed_1 = cells[1].mixed ^ ways_1;
assign mixed_2 = cells[2].mixed ^ ways_2;
assign low = others[0].mixed[3:0] ^ others[1].mixed[6:3];
assign cells[0].nibble = spread_word_0[3:0];
assign cells[1].nibble = spread_word_1[3:0];
assign cells[2].nibble = spread_word_2[3:0];
inverter before_2 (
	.x(seed),
	.y(first)
);
spread spread (
	.seed,
	.word_0(spread_word_0),
	.word_1(spread_word_1),
	.word_2(spread_word_2),
	.level_0(cells[0].level),
	.level_1(cells[1].level),
	.level_2(cells[2].level)
);
inverter lone_0 (
	.x(ways_0),
	.y(lone_0_y)
);
inverter after (
	.x(lone_0_y),
	.y(turned)
);
/* verilator lint_on PINCONNECTEMPTY */
wire _unused_ok = &{1'b0, spread_word_0, spread_word_1, spread_word_2};
endmodule

// all::verilog::layout::FlatLoops (rtl/verilog/tests/verilog/layout.rs)
module corpus_loops_of_parts (
	input logic [7:0] seed,
	input logic [23:0] ways,
	output logic [7:0] first,
	output logic [23:0] mixed,
	output logic [3:0] low,
	output logic [7:0] turned
);
logic [7:0] loops_mixed_0, loops_mixed_1, loops_mixed_2;
assign mixed = {loops_mixed_2, loops_mixed_1, loops_mixed_0};
loops loops (
	.seed,
	.ways_0(ways[7:0]),
	.ways_1(ways[15:8]),
	.ways_2(ways[23:16]),
	.first,
	.mixed_0(loops_mixed_0),
	.mixed_1(loops_mixed_1),
	.mixed_2(loops_mixed_2),
	.low,
	.turned
);
endmodule
