// The packet slots of a cluster. `chosen` is any slot: the slot is free, used by a task, waits for commands or is probed,
// and at one place only.
//
// A task ends once for each slot that was taken, and none in the first cycles after reset, in which slots become free.
// The two queues are left out: the proof of the FIFO in LUT RAM shows that they offer what came in, in order. Here a queue
// is its length, and the place of the chosen slot from its head on, if the slot is in the queue.
module props (
  input logic clock, slot_ready, ended_valid, probe_used,
  input logic [3:0] ended
);
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic [3:0] slot, probe;
  logic slot_valid;
  dut dut (.clock, .reset, .slot, .slot_valid, .slot_ready, .ended, .ended_valid, .probe, .probe_used);
  (* anyconst *) logic [3:0] chosen;
  localparam [2:0] UNBORN = 0, FREE = 1, USED = 2, LEAVING = 3, PROBED = 4;
  logic [2:0] state;
  (* keep *) wire [3:0] free_write, leaving_write, leaving_read, begun, probed;
  (* keep *) wire free_write_valid, leaving_write_valid, leaving_read_valid, leaving_read_ready, probed_valid;
  // Slots in the queues, slots that are used, and the place of the chosen one.
  logic [4:0] free, leaving, used, place;
  wire take = slot_valid && slot_ready;
  wire pop = leaving_read_valid && leaving_read_ready;
  wire into_free = free_write_valid && free_write == chosen;
  wire into_leaving = leaving_write_valid && leaving_write == chosen;
  always_ff @(posedge clock) begin
    free <= reset ? 5'd0 : free + {4'd0, free_write_valid} - {4'd0, take};
    leaving <= reset ? 5'd0 : leaving + {4'd0, leaving_write_valid} - {4'd0, pop};
    used <= reset ? 5'd0 : used + {4'd0, take} - {4'd0, ended_valid};
    if (reset) state <= UNBORN;
    else if (into_free) begin
      state <= FREE;
      place <= free - {4'd0, take};
    end else if (into_leaving) begin
      state <= LEAVING;
      place <= leaving - {4'd0, pop};
    end else if (state == FREE && take) begin
      if (place == 0) state <= USED;
      place <= place - 5'd1;
    end else if (state == LEAVING && pop) begin
      if (place == 0) state <= PROBED;
      place <= place - 5'd1;
    end
  end
  wire begins = begun != `SLOTS;
  always_comb begin
    assume (chosen < `SLOTS);
    assume (!ended_valid || (used != 0 && !begins));
    assume (!ended_valid || ended != chosen || state == USED);
    // The queues.
    assume (slot_valid == (free != 0) && leaving_read_valid == (leaving != 0));
    assume (!slot_valid || (slot == chosen) == (state == FREE && place == 0));
    assume (!leaving_read_valid || (leaving_read == chosen) == (state == LEAVING && place == 0));
  end
  always_comb if (!reset) begin
    // A slot comes into a queue from where it is: it is never in both, nor twice in one.
    freed_once: assert (!into_free || state == UNBORN || (state == PROBED && probed_valid && probed == chosen));
    leaves_once: assert (!into_leaving || (ended_valid ? state == USED : state == PROBED && !free_write_valid));
    none_lost: assert (free + leaving + used + probed_valid + (`SLOTS - begun) == `SLOTS);
    // Invariants.
    known: assert (state <= PROBED && begun <= `SLOTS && free <= `SLOTS && leaving <= `SLOTS && used <= `SLOTS);
    born: assert ((state == UNBORN) == (begun <= chosen));
    early: assert (!begins || (leaving == 0 && !probed_valid));
    probe_right: assert ((probed_valid && probed == chosen) == (state == PROBED));
    inside: assert ((state != FREE || place < free) && (state != LEAVING || place < leaving));
  end
endmodule
