// A FIFO of 2^ADDRESS places, of which DEPTH are used: the law of words, and the count is exact. STAGES words may be on
// their way from the memory to the output.
module props (
  input logic clock, write_valid, read_ready,
  input logic [`WIDTH-1:0] write
);
  localparam BITS = `ADDRESS + 2;
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic write_ready, read_valid;
  logic [`WIDTH-1:0] read;
  logic [15:0] level;
  dut dut (.clock, .reset, .write, .write_valid, .write_ready, .read, .read_valid, .read_ready, .level);
  logic [BITS-1:0] ins, outs, marked, inside, place;
  logic [`WIDTH-1:0] sample;
  logic [3:0] hidden;
  word_law #(.WIDTH(`WIDTH), .BITS(BITS), .MOST(`DEPTH), .LATENCY(`STAGES)) law (.excused(1'b0), .*);

  (* keep *) wire [`WIDTH*`DEPTH-1:0] words;
  wire [$clog2(`DEPTH)-1:0] slot = marked[$clog2(`DEPTH)-1:0];
  wire [`WIDTH-1:0] stored = words[slot*`WIDTH +: `WIDTH];
  (* keep *) wire [`ADDRESS-1:0] write_pointer, read_pointer, used;
  (* keep *) wire full;
  always_comb if (!reset) begin
    count: assert (level == {{16-BITS{1'b0}}, inside});
    no_space_wasted: assert (write_ready == (inside < `DEPTH));
    counts: assert (write_pointer == ins[`ADDRESS-1:0] && used == inside[`ADDRESS-1:0] && full == (inside == `DEPTH));
  end
`ifdef LUT
  (* keep *) wire filled;
  always_comb if (!reset) begin
    pointer: assert (read_pointer == outs[`ADDRESS-1:0] && filled == (inside != 0));
    if (place < inside) marked_word: assert (stored == sample);
  end
`else
  // The oldest words are in `head` and in the latch of the memory.
  (* keep *) wire [`ADDRESS-1:0] room;
  (* keep *) wire stored_any, fetched, head_valid;
  (* keep *) wire [`WIDTH-1:0] latch, head;
  wire [BITS-1:0] on_way = {{BITS-1{1'b0}}, fetched} + {{BITS-1{1'b0}}, head_valid};
  wire [BITS-1:0] fetches = outs + on_way;
  always_comb if (!reset) begin
    pointer: assert (read_pointer == fetches[`ADDRESS-1:0] && room == -used);
    here: assert (on_way <= inside && stored_any == (inside != on_way));
    found: assert (read_valid || inside == 0 || (hidden == 0 && stored_any) || (hidden <= 1 && fetched));
    if (place < inside) begin
      if (place >= on_way) marked_word: assert (stored == sample);
      else if (place == 0 && head_valid) marked_head: assert (head == sample);
      else marked_latch: assert (latch == sample);
    end
  end
`endif
endmodule
