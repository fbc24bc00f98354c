module corpus_edge_detector_widget (
	input logic input_signal,
	output logic edge_signal,
	input logic clock
);
logic prev = 1'b0, current = 1'b0;
assign edge_signal = !current & prev;
always_ff @(posedge clock) begin
	prev <= current;
	current <= 1'b1 ^ input_signal;
end
endmodule
