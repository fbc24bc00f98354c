// The MAC's side of the receive crossing, with a FIFO that takes words when it likes, and a clearing at any time.
(* blackbox *) module probes (
  output open, taking, held_valid, held_last, held_user, held_cut, fifo_ready, stop,
  output [511:0] held_data
);
endmodule

module props (
  input logic tick, reset,
  input logic [511:0] data,
  input logic [63:0] keep,
  input logic last, user, valid, aligned
);
  dut dut (
    .mac_clock(tick), .mac_reset(reset), .core_clock(1'b0), .core_reset(1'b0), .core_ready(1'b0),
    .mac_data(data), .mac_keep(keep), .mac_last(last), .mac_user(user), .mac_valid(valid), .aligned(aligned)
  );
  wire open, taking, held_valid, held_last, held_user, held_cut, fifo_ready, stop;
  wire [511:0] held_data;
  probes probes (.*);
  logic running;
  initial running = 0;
  always @(posedge tick) running <= 1;
  always @* assume (tick);
  always @* if (!running) assume (reset);
  // A reset of the MAC stops the crossing, as `ClearPair` promises.
  always @* if (reset) assume (stop);

  // What the FIFO has got: inside a frame; and how much of the MAC's frame, in beats.
  logic sent_inside;
  logic [7:0] came, sent;
  logic all_taken, held_all, was_last;
  logic data_bit;
  wire push = held_valid && fifo_ready && !stop;
  always @(posedge tick) begin
    if (reset || stop) sent_inside <= 0;
    else if (push) sent_inside <= !held_last;
    // Beats of the frame that came, and whether all of them were taken.
    if (reset) all_taken <= 0;
    else if (stop) all_taken <= 0;
    else if (valid && !open) all_taken <= aligned && (!held_valid || fifo_ready);
    else if (!aligned || (valid && held_valid && !fifo_ready)) all_taken <= 0;
    if (valid) {data_bit, was_last} <= {data[0], last};
    if (reset || stop) {came, sent} <= 0;
    else begin
      if (valid && !open) came <= 1;
      else if (valid) came <= came + 8'd1;
      if (push) sent <= held_last ? 8'd0 : sent + 8'd1;
    end
  end
  always @* if (running) begin
    // No frame without end: what the FIFO has begun goes on, or its end waits in the register.
    if (!stop) assert (!sent_inside || taking || (held_valid && held_last));
    // The register never holds the middle of a frame whose rest is not taken.
    if (!stop) assert (!held_valid || held_last || taking);
    // What is taken is either in the register or in the FIFO.
    if (taking) assert (open && (held_valid ? !held_last : sent_inside));
    if (taking) assert (all_taken);
    // The register has the newest beat, unless it closes the frame.
    if (held_valid && !stop && (!held_last || !held_user) && !push_before) assert (held_data[0] == data_bit);
    // A good end is the MAC's own, and all of the frame was taken: as many beats as came.
    if (taking && held_valid && !stop) assert (sent + 8'd1 == came);
    if (taking && !held_valid && !stop) assert (sent == came);
    if (!sent_inside) assert (sent == 0);
    // A cut is a bad end.
    if (held_valid && held_cut) assert (held_last && held_user);
  end
  // Of a held end that is good: in the instant in which it was loaded the MAC ended a frame all of which was taken.
  logic loaded, push_before;
  always @(posedge tick) begin
    loaded <= running && !reset && !stop && valid && last && !user && aligned && (!held_valid || fifo_ready)
      && (open ? taking : 1'b1);
    push_before <= held_valid && !fifo_ready && running;
  end
  always @* if (running && !stop && held_valid && held_last && !held_user && !push_before) assert (loaded);
endmodule
