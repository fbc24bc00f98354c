// A FIFO of 2^ADDRESS - 1 words between two clocks that tick when they like, also at once.
(* blackbox *) module probes (
  output [`ADDRESS-1:0] written_binary, written_coded, written_near, written_far,
  output [`ADDRESS-1:0] taken_binary, taken_coded, taken_near, taken_far,
  output [`WIDTH*2**`ADDRESS-1:0] words, output [`WIDTH-1:0] latch, head,
  output latch_valid, head_valid, room, fetching
);
endmodule

module props (
  input logic instant, write_tick, read_tick, valid, ready,
  input logic [`WIDTH-1:0] data
);
  // Words in the memory; bits of the numbers of words.
  localparam MOST = 2 ** `ADDRESS - 1;
  localparam BITS = `ADDRESS + 2;
  // Both sides are in reset in the first instant.
  logic running;
  initial running = 0;
  always @(posedge instant) running <= 1;
  wire reset = !running;
  logic write_ready, read_valid;
  logic [`WIDTH-1:0] read;
  logic [`ADDRESS-1:0] level;
  dut dut (
    .write_clock(write_tick), .write_reset(reset), .read_clock(read_tick), .read_reset(reset),
    .write(data), .write_valid(valid), .write_ready(write_ready), .level(level),
    .read(read), .read_valid(read_valid), .read_ready(ready)
  );
  always @* assume (instant);
  always @* if (reset) assume (write_tick && read_tick);

  // What is inside, by the wires of a cell that the script replaces by the registers of the flattened FIFO.
  wire [`ADDRESS-1:0] written_binary, written_coded, written_near, written_far;
  wire [`ADDRESS-1:0] taken_binary, taken_coded, taken_near, taken_far;
  wire [`WIDTH*2**`ADDRESS-1:0] words;
  wire [`WIDTH-1:0] latch, head;
  wire latch_valid, head_valid, room, fetching;
  probes probes (.*);
  wire [`WIDTH-1:0] stored = words[number[`ADDRESS-1:0]*`WIDTH +: `WIDTH];

  // Words that went in, left the memory, came out; and what each side has seen of the other.
  logic [BITS-1:0] ins, fetches, outs, ins_near, ins_far, fetches_near, fetches_far;
  wire push = valid && write_ready;
  wire pop = read_valid && ready;
  wire [BITS-1:0] on_way = {{BITS-1{1'b0}}, latch_valid} + {{BITS-1{1'b0}}, head_valid};
  // A word of any number, and its data.
  (* anyconst *) logic [BITS-1:0] number;
  logic [`WIDTH-1:0] sample, offered;
  logic waited;
  always @(posedge write_tick) begin
    if (reset) begin ins <= 0; fetches_near <= 0; fetches_far <= 0; end
    else begin
      if (push) ins <= ins + 1;
      if (push && ins == number) sample <= data;
      fetches_near <= fetches;
      fetches_far <= fetches_near;
    end
  end
  always @(posedge read_tick) begin
    if (reset) begin fetches <= 0; outs <= 0; ins_near <= 0; ins_far <= 0; waited <= 0; end
    else begin
      if (fetching) fetches <= fetches + 1;
      if (pop) outs <= outs + 1;
      ins_near <= ins;
      ins_far <= ins_near;
      waited <= read_valid && !ready;
      offered <= read;
    end
  end
  function automatic [`ADDRESS-1:0] gray(input [BITS-1:0] count);
    gray = count[`ADDRESS-1:0] ^ {1'b0, count[`ADDRESS-1:1]};
  endfunction
  wire [BITS-1:0] unseen_1 = ins - ins_near, unseen_2 = ins_near - ins_far, seen = ins_far - fetches;
  wire [BITS-1:0] freed_1 = fetches - fetches_near, freed_2 = fetches_near - fetches_far, used = ins - fetches_far;
  wire [BITS-1:0] place = number - outs, inside = ins - outs, expected_on_way = fetches - outs;
  wire [BITS+1:0] unseen = unseen_1 + unseen_2 + seen;
  always @* if (running) begin
    // The property: what comes out is what went in, by number; so none is lost, doubled or overtaken.
    if (read_valid && outs == number) order: assert (read == sample);
    stable: assert (!waited || (read_valid && read == offered));
    // Never more words than places, never fewer than none.
    bound: assert (inside <= MOST + `STAGES);
    no_more: assert (!read_valid || inside != 0);
    // What the reader sees and the pointers' difference are 0 at the same time, and then nothing is left.
    offers: assert (read_valid || latch_valid || unseen_1 != 0 || unseen_2 != 0 || seen != 0 || inside == 0);
    // Invariants.
    written: assert (written_binary == ins[`ADDRESS-1:0] && written_coded == gray(ins));
    taken: assert (taken_binary == fetches[`ADDRESS-1:0] && taken_coded == gray(fetches));
    written_seen: assert (written_near == gray(ins_near) && written_far == gray(ins_far));
    taken_seen: assert (taken_near == gray(fetches_near) && taken_far == gray(fetches_far));
    parts: assert (unseen_1 <= MOST && unseen_2 <= MOST && seen <= MOST && unseen <= MOST);
    freed: assert (freed_1 <= MOST && freed_2 <= MOST && used <= MOST && ins - fetches <= used);
    space: assert (!room || used < MOST);
    way: assert (expected_on_way == on_way);
    if (place < inside) begin
      if (place < on_way) marked_way: assert ((head_valid && place == 0 ? head : latch) == sample);
      else marked_word: assert (stored == sample);
    end
  end
endmodule
