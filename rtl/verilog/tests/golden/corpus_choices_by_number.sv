package corpus_choices_by_number_pkg;
typedef struct packed {
	logic flag;
	logic [8:0] low;
	logic [4:0] high;
} pair_t;
endpackage

// all::verilog::intrinsics::Choices (rtl/verilog/tests/verilog/intrinsics.rs)
module corpus_choices_by_number (
	input logic one,
	input logic [1:0] two,
	input logic [2:0] three,
	input logic [4:0] five,
	input logic [6:0] a,
	input logic [6:0] b,
	input logic [6:0] c,
	input corpus_choices_by_number_pkg::pair_t p,
	input corpus_choices_by_number_pkg::pair_t q,
	input logic flag,
	output logic [6:0] of_two,
	output logic [6:0] of_three,
	output logic [6:0] of_four,
	output logic [6:0] of_five,
	output logic [6:0] of_eight,
	output logic [6:0] of_eighteen,
	output logic [6:0] alone,
	output logic [6:0] fixed,
	output logic [6:0] computed,
	output logic bits,
	output logic [14:0] pair,
	output logic [8:0] field
);
assign of_two = one ? b : a;
assign of_three = ((a + b) & {7{two == 2'd0}}) | (b & {7{two == 2'd1}}) | (c & {7{two == 2'd2}});
assign of_four = (a & {7{two == 2'd0}}) | (7'd3 & {7{two == 2'd1}}) | (c & b & {7{two == 2'd2}})
	| (7'h7f & {7{two == 2'd3}});
logic [6:0] select_group;
always_comb begin
	select_group = 'x;
	if (!three[2]) select_group = (a & {7{three[1:0] == 2'd0}}) | (b & {7{three[1:0] == 2'd1}}) | (c & {7{three[1:0] == 2'd2}})
		| ((a ^ b) & {7{three[1:0] == 2'd3}});
end
assign of_five = three[2] ? ((a ^ c) & {7{three[1:0] == 2'd0}}) : select_group;
logic [6:0] select_group_3;
always_comb begin
	select_group_3 = 'x;
	if (!three[2]) select_group_3 = (a & {7{three[1:0] == 2'd0}}) | (b & {7{three[1:0] == 2'd1}}) | (c & {7{three[1:0] == 2'd2}})
		| ((a + 7'd1) & {7{three[1:0] == 2'd3}});
end
logic [6:0] select_group_4;
always_comb begin
	select_group_4 = 'x;
	if (three[2]) select_group_4 = ((b + 7'd1) & {7{three[1:0] == 2'd0}}) | ((c + 7'd1) & {7{three[1:0] == 2'd1}})
		| (~a & {7{three[1:0] == 2'd2}}) | (~b & {7{three[1:0] == 2'd3}});
end
assign of_eight = three[2] ? select_group_4 : select_group_3;
logic [6:0] select_group_5;
always_comb begin
	select_group_5 = 'x;
	if (!five[4]) select_group_5 = (a & {7{five[1:0] == 2'd0}}) | (b & {7{five[1:0] == 2'd1}}) | (c & {7{five[1:0] == 2'd2}})
		| ((a + 7'd1) & {7{five[1:0] == 2'd3}});
end
logic [6:0] select_group_6;
always_comb begin
	select_group_6 = 'x;
	if (!five[4]) select_group_6 = ((b + 7'd1) & {7{five[1:0] == 2'd0}}) | ((c + 7'd1) & {7{five[1:0] == 2'd1}})
		| ((a + 7'd2) & {7{five[1:0] == 2'd2}}) | ((b + 7'd2) & {7{five[1:0] == 2'd3}});
end
logic [6:0] select_group_7;
always_comb begin
	select_group_7 = 'x;
	if (!five[4]) select_group_7 = ((c + 7'd2) & {7{five[1:0] == 2'd0}}) | ((a + 7'd3) & {7{five[1:0] == 2'd1}})
		| ((b + 7'd3) & {7{five[1:0] == 2'd2}}) | ((c + 7'd3) & {7{five[1:0] == 2'd3}});
end
logic [6:0] select_group_8;
always_comb begin
	select_group_8 = 'x;
	if (!five[4]) select_group_8 = ((a + 7'd4) & {7{five[1:0] == 2'd0}}) | ((b + 7'd4) & {7{five[1:0] == 2'd1}})
		| ((c + 7'd4) & {7{five[1:0] == 2'd2}}) | (~a & {7{five[1:0] == 2'd3}});
end
wire [6:0] select_group_9 = (~b & {7{five[1:0] == 2'd0}}) | (~c & {7{five[1:0] == 2'd1}});
wire [6:0] select_group_10 = (select_group_5 & {7{five[3:2] == 2'd0}}) | (select_group_6 & {7{five[3:2] == 2'd1}})
	| (select_group_7 & {7{five[3:2] == 2'd2}}) | (select_group_8 & {7{five[3:2] == 2'd3}});
assign of_eighteen = five[4] ? (select_group_9 & {7{five[3:2] == 2'd0}}) : select_group_10;
assign alone = a & {7{!one}};
assign fixed = c;
wire [1:0] select_index = two + three[1:0];
assign computed = (a & {7{select_index == 2'd0}}) | (b & {7{select_index == 2'd1}}) | (c & {7{select_index == 2'd2}})
	| (a & b & {7{select_index == 2'd3}});
assign bits = (flag & (two == 2'd0)) | (two == 2'd1) | (p.flag & (two == 2'd2)) | ((a == b) & (two == 2'd3));
wire [14:0] pair_2 = (p & {15{two == 2'd0}}) | (q & {15{two == 2'd1}}) | ({q.flag, 9'd5, q.high} & {15{two == 2'd2}});
assign pair = pair_2;
assign field = one ? p.low : q.low;
endmodule
