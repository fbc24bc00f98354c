module corpus_strobe_widget (
	input logic enable,
	output logic strobe,
	input logic clock
);
logic [7:0] counter = '0;
assign strobe = enable & (counter == 8'hb);
always_ff @(posedge clock) begin
	if (enable) counter <= counter + 8'd1;
	if (strobe) counter <= 8'd1;
end
endmodule
