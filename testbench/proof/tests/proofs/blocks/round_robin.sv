// Round robin among N: at most one grant, only to a request, while locked only to the holder, and none waits for more
// than N - 1 others.
module props (
  input logic clock, accept, lock,
  input logic [`N-1:0] request
);
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic [`N-1:0] grant;
  logic [7:0] index;
  logic any;
  dut dut (.clock, .reset, .request, .accept, .lock, .grant, .index, .any);
  // One of the requesters, and the grants to others since it requests. A frame of several beats is one grant.
  (* anyconst *) logic [7:0] number;
  always_comb assume (number < `N);
  wire requests = request[number];
  logic [7:0] passed;
  logic locked;
  logic [`N-1:0] holder;
  always_ff @(posedge clock) begin
    if (reset || !requests || (accept && grant[number])) passed <= 0;
    else if (accept && any && !locked) passed <= passed + 1;
    if (reset) locked <= 0;
    else if (accept && any) locked <= lock;
    if (accept && any) holder <= grant;
  end
  // Requesters that go before this one.
  (* keep *) wire [`N-1:0] after_last, dut_holder;
  (* keep *) wire dut_locked;
  wire [`N-1:0] lower = (`N'd1 << number) - `N'd1;
  wire [`N-1:0] ahead = after_last[number] ? after_last & lower : after_last | lower;
  logic [7:0] before;
  integer i;
  always_comb begin
    before = 0;
    for (i = 0; i < `N; i = i + 1) if (i != number) before = before + {7'd0, ahead[i]};
  end
  always_comb if (!reset) begin
    one: assert ((grant & (grant - `N'd1)) == 0);
    asked: assert ((grant & ~request) == 0);
    named: assert (any == (grant != 0) && (!any || grant == `N'd1 << index));
    works: assert (locked || any == (request != 0));
    keeps: assert (!locked || (grant & ~holder) == 0 && any == ((request & holder) != 0));
    no_starvation: assert (passed < `N);
    // Invariants.
    state: assert (dut_locked == locked && (!locked || dut_holder == holder));
    one_holder: assert ((!locked || (holder & (holder - `N'd1)) == 0));
    suffix: assert ((~after_last & (after_last << 1)) == `N'd0);
    waits: assert (passed + before < `N);
  end
endmodule
