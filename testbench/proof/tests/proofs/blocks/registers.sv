// Registers on a valid/ready port: a skid buffer, or with SLICE a forward register.
module props (
  input logic clock, write_valid, read_ready,
  input logic [`WIDTH-1:0] write
);
  localparam BITS = 3;
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic write_ready, read_valid;
  logic [`WIDTH-1:0] read;
  dut dut (.clock, .reset, .write, .write_valid, .write_ready, .read, .read_valid, .read_ready);
  logic [BITS-1:0] ins, outs, marked, inside, place;
  logic [`WIDTH-1:0] sample;
  logic [3:0] hidden;
`ifdef SLICE
  word_law #(.WIDTH(`WIDTH), .BITS(BITS), .MOST(1)) law (.excused(1'b0), .*);
  (* keep *) wire [`WIDTH-1:0] head;
  always_comb if (!reset) begin
    no_space_wasted: assert (write_ready == (inside == 0 || read_ready));
    if (place < inside) marked_word: assert (head == sample);
  end
`else
  word_law #(.WIDTH(`WIDTH), .BITS(BITS), .MOST(2)) law (.excused(1'b0), .*);
  (* keep *) wire [`WIDTH-1:0] head, spare;
  (* keep *) wire head_valid, spare_valid;
  always_comb if (!reset) begin
    no_space_wasted: assert (write_ready == (inside < 2));
    counts: assert (inside == {2'd0, head_valid} + {2'd0, spare_valid} && (head_valid || !spare_valid));
    if (place < inside) marked_word: assert ((place == 0 ? head : spare) == sample);
  end
`endif
endmodule
