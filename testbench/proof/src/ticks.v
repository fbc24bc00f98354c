// A register whose clock input has an edge in each instant in which it is high: clocks of any ratio, phase and pauses.
(* techmap_celltype = "$dff" *)
module tick_dff (CLK, D, Q);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1'b1;
  input CLK;
  input [WIDTH-1:0] D;
  output [WIDTH-1:0] Q;
  wire [WIDTH-1:0] next = CLK ? D : Q;
  \$ff #(.WIDTH(WIDTH)) register (.D(next), .Q(Q));
endmodule
