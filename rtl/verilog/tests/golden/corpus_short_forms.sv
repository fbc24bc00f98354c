// all::verilog::short_forms::Inner (rtl/verilog/tests/verilog/short_forms.rs)
module inner (
	input logic clock,
	input logic reset,
	input logic [7:0] write,
	input logic write_valid,
	output logic write_ready,
	output logic [7:0] value
);
logic [7:0] held;
assign write_ready = 1'b1;
assign value = held;
always_ff @(posedge clock) begin
	if (reset) begin
		held <= '0;
	end else if (write_valid) held <= write;
end
endmodule

// all::verilog::short_forms::Word (rtl/verilog/tests/verilog/short_forms.rs)
module word (
	input logic clock,
	input logic reset,
	input logic write_enable,
	input logic [2:0] write_address,
	input logic [7:0] write_data,
	input logic read_enable,
	input logic [2:0] read_address,
	output logic [7:0] read_data
);
logic [2:0] address = '0;
logic [7:0] word, fetched;
wire [7:0] word_2 = (read_address == address) ? word : 8'd0;
assign read_data = fetched;
always_ff @(posedge clock) if (write_enable) address <= write_address;
always_ff @(posedge clock) begin
	if (reset) begin
		word <= '0;
		fetched <= '0;
	end else begin
		if (write_enable) word <= write_data;
		if (read_enable) fetched <= word_2;
	end
end
endmodule

// all::verilog::short_forms::Forms (rtl/verilog/tests/verilog/short_forms.rs)
module forms (
	input logic clock,
	input logic reset,
	input logic start,
	input logic [7:0] data,
	output logic [7:0] sum,
	output logic [7:0] seen,
	output logic seen_valid,
	output logic [7:0] word,
	output logic word_valid,
	input logic word_ready
);
logic [7:0] lanes_0, lanes_1, lanes_2;
logic [7:0] unreset = '0;
logic memory_read_enable;
logic [2:0] memory_read_address;
logic [7:0] memory_read_data, inner_value;
assign memory_read_enable = !start;
assign memory_read_address = data[6] ? 3'd5 : data[5:3];
assign seen = unreset;
assign seen_valid = start;
assign word = lanes_1 ^ inner_value;
assign word_valid = data[7];
assign sum = lanes_2 + memory_read_data;
always_ff @(posedge clock) begin
	if (reset) begin
		lanes_0 <= '0;
		lanes_1 <= '0;
		lanes_2 <= '0;
	end else begin
		if (start & data[0]) lanes_0 <= data;
		if (start & data[1]) lanes_1 <= data + 8'd1;
		if (start & data[2]) lanes_2 <= data + 8'd2;
	end
end
always_ff @(posedge clock) if (|data) begin
	unreset <= data;
	if (start) unreset <= lanes_0;
end
word memory (
	.clock,
	.reset,
	.write_enable(start),
	.write_address(data[2:0]),
	.write_data(data),
	.read_enable(memory_read_enable),
	.read_address(memory_read_address),
	.read_data(memory_read_data)
);
/* verilator lint_off PINCONNECTEMPTY */
inner inner (
	.clock,
	.reset,
	.write(data),
	.write_valid(word_ready),
	.write_ready(),
	.value(inner_value)
);
/* verilator lint_on PINCONNECTEMPTY */
endmodule

// all::verilog::short_forms::Flat (rtl/verilog/tests/verilog/short_forms.rs)
module corpus_short_forms (
	input logic clock,
	input logic reset,
	input logic start,
	input logic [7:0] data,
	input logic ready,
	output logic [7:0] sum,
	output logic [8:0] seen,
	output logic [8:0] word
);
logic [7:0] forms_seen;
logic forms_seen_valid;
logic [7:0] forms_word;
logic forms_word_valid;
assign seen = {forms_seen_valid, forms_seen};
assign word = {forms_word_valid, forms_word};
forms forms (
	.clock,
	.reset,
	.start,
	.data,
	.sum,
	.seen(forms_seen),
	.seen_valid(forms_seen_valid),
	.word(forms_word),
	.word_valid(forms_word_valid),
	.word_ready(ready)
);
endmodule
