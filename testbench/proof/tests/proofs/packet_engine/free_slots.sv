// The queue of free message slots is a FIFO of its slots: a slot leaves once for each time it came, so none is handed out
// twice and none is lost.
module props (
  input logic clock, take, give_back, hold,
  input logic [7:0] give_back_slot
);
  localparam BITS = $clog2(`SLOTS) + 2;
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic free;
  logic [7:0] free_slot;
  dut dut (.clock, .reset, .free, .free_slot, .take, .give_back, .give_back_slot, .hold);
  logic [BITS-1:0] ins, outs, marked, inside, place;
  logic [7:0] sample;
  logic [3:0] hidden;
  word_law #(.WIDTH(8), .BITS(BITS), .MOST(`SLOTS), .LATENCY(1)) law (
    .write_valid(give_back), .write_ready(1'b1), .write(give_back_slot),
    .read_valid(free), .read_ready(take), .read(free_slot), .excused(hold), .*
  );
  // The scheduler takes what is offered, and gives back what it took, or after reset each slot once.
  always_comb begin
    assume (!take || free);
    assume (!give_back || inside < `SLOTS);
  end
  logic past_hold, past_free;
  always_ff @(posedge clock) begin
    past_hold <= hold;
    past_free <= free && !take && !reset;
  end
  (* keep *) wire [8*`SLOTS-1:0] words;
  (* keep *) wire [8:0] read_at, write_at;
  (* keep *) wire offered;
  (* keep *) wire [7:0] latch;
  wire [BITS-1:0] read_number = outs + {{BITS-1{1'b0}}, offered};
  wire [7:0] stored = words[marked[$clog2(`SLOTS)-1:0]*8 +: 8];
  always_comb if (!reset) begin
    places: assert (read_at == {{9-BITS+1{1'b0}}, read_number[BITS-2:0]} && write_at == {{9-BITS+1{1'b0}}, ins[BITS-2:0]});
    held: assert (!past_hold || !free || past_free);
    here: assert (!offered || inside != 0);
    if (place < inside) marked_slot: assert ((offered && place == 0 ? latch : stored) == sample);
  end
endmodule
