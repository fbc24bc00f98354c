(* blackbox *)
module PAD #(parameter DRIVE = 4) (
  input from,
  input open,
  output to,
  inout pin
);
endmodule

// all::verilog::layout::Pads (rtl/verilog/tests/verilog/layout.rs)
module corpus_black_boxes (
	input logic [1:0] x,
	output logic [1:0] y
);
logic pads_0_to, pads_1_to;
assign y = {pads_1_to, pads_0_to};
PAD #(.DRIVE(12)) pads_0 (
	.from(x[0]),
	.open(x[1]),
	.to(pads_0_to),
	.pin(pads_0_pin)
);
PAD #(.DRIVE(12)) pads_1 (
	.from(x[1]),
	.open(x[0]),
	.to(pads_1_to),
	.pin(pads_1_pin)
);
endmodule
