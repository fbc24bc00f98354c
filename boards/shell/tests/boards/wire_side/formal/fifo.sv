// A FIFO of three words between two clocks that tick when they like, also at once.
(* blackbox *) module probes (
  output [1:0] written_binary, written_coded, written_near, written_far,
  output [1:0] taken_binary, taken_coded, taken_near, taken_far,
  output [1:0] word_0, word_1, word_2, word_3, latch, head,
  output latch_valid, head_valid, room, fetching
);
endmodule

module harness (
  input logic instant, write_tick, read_tick, valid, ready,
  input logic [1:0] data
);
  // Both sides are in reset in the first instant.
  logic running;
  initial running = 0;
  always @(posedge instant) running <= 1;
  wire reset = !running;
  logic write_ready, read_valid;
  logic [1:0] read, level;
  dut dut (
    .write_clock(write_tick), .write_reset(reset), .read_clock(read_tick), .read_reset(reset),
    .write(data), .write_valid(valid), .write_ready(write_ready), .level(level),
    .read(read), .read_valid(read_valid), .read_ready(ready)
  );
  always @* assume (instant);
  always @* if (reset) assume (write_tick && read_tick);

  // What is inside, by the wires of a cell that the script replaces by the registers of the flattened FIFO.
  wire [1:0] written_binary, written_coded, written_near, written_far, taken_binary, taken_coded, taken_near, taken_far;
  wire [1:0] word_0, word_1, word_2, word_3, latch, head;
  wire latch_valid, head_valid, room, fetching;
  probes probes (.*);
  logic [1:0] stored;
  always @* case (number[1:0])
    0: stored = word_0;
    1: stored = word_1;
    2: stored = word_2;
    default: stored = word_3;
  endcase

  // Words that went in, left the memory, came out; and what each side has seen of the other.
  logic [3:0] ins, fetches, outs, ins_near, ins_far, fetches_near, fetches_far;
  wire push = valid && write_ready;
  wire pop = read_valid && ready;
  wire [1:0] on_way = {1'b0, latch_valid} + {1'b0, head_valid};
  // A word of any number, and its data.
  (* anyconst *) logic [3:0] number;
  logic [1:0] sample;
  always @(posedge write_tick) begin
    if (reset) begin ins <= 0; fetches_near <= 0; fetches_far <= 0; end
    else begin
      if (push) ins <= ins + 4'd1;
      if (push && ins == number) sample <= data;
      fetches_near <= fetches;
      fetches_far <= fetches_near;
    end
  end
  always @(posedge read_tick) begin
    if (reset) begin fetches <= 0; outs <= 0; ins_near <= 0; ins_far <= 0; end
    else begin
      if (fetching) fetches <= fetches + 4'd1;
      if (pop) outs <= outs + 4'd1;
      ins_near <= ins;
      ins_far <= ins_near;
    end
  end
  function automatic [1:0] gray(input [3:0] count);
    gray = count[1:0] ^ {1'b0, count[1]};
  endfunction
  wire [3:0] unseen_1 = ins - ins_near, unseen_2 = ins_near - ins_far, seen = ins_far - fetches;
  wire [3:0] freed_1 = fetches - fetches_near, freed_2 = fetches_near - fetches_far, used = ins - fetches_far;
  wire [3:0] place = number - outs, inside = ins - outs;
  wire [3:0] expected_on_way = fetches - outs;
  logic [1:0] coded_was, taken_was;
  always @(posedge instant) begin coded_was <= written_coded; taken_was <= taken_coded; end
  always @* if (running) begin
    // The property: what comes out is what went in, by number; so none is lost, doubled or overtaken.
    if (read_valid && outs == number) assert (read == sample);
    // Never more words than places, never fewer than none.
    assert (inside <= 5);
    assert (!read_valid || inside != 0);
    // Invariants.
    assert (written_binary == ins[1:0] && written_coded == gray(ins));
    assert (taken_binary == fetches[1:0] && taken_coded == gray(fetches));
    assert (written_near == gray(ins_near) && written_far == gray(ins_far));
    assert (taken_near == gray(fetches_near) && taken_far == gray(fetches_far));
    assert (unseen_1 <= 3 && unseen_2 <= 3 && seen <= 3 && unseen_1 + unseen_2 + seen <= 3);
    assert (freed_1 <= 3 && freed_2 <= 3 && used <= 3 && ins - fetches <= used);
    assert (!room || used <= 2);
    assert (expected_on_way == {2'b0, on_way});
    if (place < inside) begin
      if (place < on_way) assert ((head_valid && place == 0 ? head : latch) == sample);
      else assert (stored == sample);
    end
  end
endmodule
