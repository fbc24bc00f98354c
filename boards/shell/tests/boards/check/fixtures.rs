//! Verilog with two clocks, right and wrong.

/// A synchroniser of one bit, marked, with its reset.
pub const LEVEL: &str = "
module level(input clock, input reset, input level, output seen);
  (* ASYNC_REG = \"TRUE\" *) reg near = 0;
  (* ASYNC_REG = \"TRUE\" *) reg far = 0;
  always @(posedge clock) begin
    if (reset) near <= 0; else near <= level;
    far <= near;
  end
  assign seen = far;
endmodule
";

/// A top with the clocks `a` and `b`, a register `sent` of `a` and a register `taken` of `b`. What
/// is to stay goes to the outputs `kept` and `more`.
pub fn top(body: &str) -> String {
    format!(
        "{LEVEL}
module top(input a, input b, input reset_a, input reset_b, input [3:0] d, output reg [3:0] taken,
    output [3:0] kept, output more);
  reg [3:0] sent = 0;
  initial taken = 0;
  assign kept = sent;
{body}
endmodule
"
    )
}

/// A counter of `a`, its Gray code, and the synchroniser of that in `b`.
pub const GRAY: &str = "
  reg [3:0] count = 0;
  wire [3:0] next = count + 1;
  (* ASYNC_REG = \"TRUE\" *) reg [3:0] near = 0;
  (* ASYNC_REG = \"TRUE\" *) reg [3:0] far = 0;
  always @(posedge a) if (reset_a) begin count <= 0; sent <= 0; end else if (d[0]) begin
    count <= next;
    sent <= next ^ (next >> 1);
  end
  always @(posedge b) begin near <= sent; far <= near; taken <= far; end
";
