// Round robin among eight, in two groups of four: at most one grant, only to a request, and none waits for more than seven
// others, or three if all requests are of one group.
module props (
  input logic clock, accept,
  input logic [7:0] request
);
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic [7:0] grant;
  logic [2:0] index;
  logic any;
  dut dut (.clock, .reset, .request, .accept, .grant, .index, .any);
  // One of the requesters, and the grants to others, and to others of its group, since it requests.
  (* anyconst *) logic [2:0] number;
  wire requests = request[number];
  wire [7:0] group = number[2] ? 8'hf0 : 8'h0f;
  logic [3:0] passed, passed_in_group;
  always_ff @(posedge clock) begin
    if (reset || !requests || (accept && grant[number])) begin
      passed <= 0;
      passed_in_group <= 0;
    end else if (accept && any) begin
      passed <= passed + 1;
      if ((grant & group) != 0) passed_in_group <= passed_in_group + 1;
    end
  end
  (* keep *) wire [1:0] last_0, last_1;
  (* keep *) wire last_group;
  // Others of the group that go before.
  wire [1:0] last = number[2] ? last_1 : last_0;
  wire [1:0] before = number[1:0] - last - 2'd1;
  wire own_last = last_group == number[2];
  always_comb if (!reset) begin
    one: assert ((grant & (grant - 8'd1)) == 8'd0);
    asked: assert ((grant & ~request) == 8'd0);
    named: assert (any == (grant != 8'd0) && (!any || grant == 8'd1 << index));
    works: assert (any == (request != 8'd0));
    no_starvation: assert (passed <= 7 && passed_in_group <= 3);
    // Invariants.
    waits: assert (passed + 2 * before + own_last <= 7);
    waits_in_group: assert (passed_in_group + before <= 3);
  end
endmodule
