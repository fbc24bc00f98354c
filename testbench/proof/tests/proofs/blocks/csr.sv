// The register slave: each access is answered exactly once, whatever the blocks do, in any order of addresses and data, and
// within a bound of cycles in which the host does not keep an answer waiting.
//
// PATIENCE is the patience of the slave, less one cycle.
module props (
  input logic clock, awvalid, wvalid, arvalid, bready, rready,
  input logic [19:0] awaddr, araddr,
  input logic [31:0] wdata,
  input logic [3:0] wstrb,
  input logic [33:0] csr_answer
);
  localparam [15:0] ACCESS = `PATIENCE + 1;
  // An access waits for one of the other direction and its response, and the cycle between; then for its own.
  localparam [15:0] BOUND = `BOUND;
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic awready, wready, arready, bvalid, rvalid;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  logic [53:0] csr;
  dut dut (
    .clock, .reset, .bar_awaddr(awaddr), .bar_awvalid(awvalid), .bar_awready(awready), .bar_wdata(wdata),
    .bar_wstrb(wstrb), .bar_wvalid(wvalid), .bar_wready(wready), .bar_bresp(bresp), .bar_bvalid(bvalid),
    .bar_bready(bready), .bar_araddr(araddr), .bar_arvalid(arvalid), .bar_arready(arready), .bar_rdata(rdata),
    .bar_rresp(rresp), .bar_rvalid(rvalid), .bar_rready(rready), .csr, .csr_answer
  );
  wire requests = csr[0];
  // Addresses and data of writes, and addresses of reads, that are not answered.
  logic [1:0] addresses, data, reads;
  wire write_ends = bvalid && bready;
  wire read_ends = rvalid && rready;
  wire stalls = (bvalid && !bready) || (rvalid && !rready);
  // Cycles that the oldest whole write, and the oldest read, waits, without those in which the host stalls.
  logic [15:0] write_age, read_age;
  logic waited_b, waited_r, waited_csr, past_requests, past_gives_up;
  logic [1:0] past_resp;
  logic [31:0] past_rdata;
  logic [53:0] past_csr;
  always_ff @(posedge clock) begin
    addresses <= reset ? 2'd0 : addresses + {1'b0, awvalid && awready} - {1'b0, write_ends};
    data <= reset ? 2'd0 : data + {1'b0, wvalid && wready} - {1'b0, write_ends};
    reads <= reset ? 2'd0 : reads + {1'b0, arvalid && arready} - {1'b0, read_ends};
    if (reset || write_ends || addresses == 0 || data == 0) write_age <= 0;
    else if (!stalls) write_age <= write_age + 16'd1;
    if (reset || read_ends || reads == 0) read_age <= 0;
    else if (!stalls) read_age <= read_age + 16'd1;
    waited_b <= !reset && bvalid && !bready;
    waited_r <= !reset && rvalid && !rready;
    waited_csr <= !reset && requests && !csr_answer[0] && patience != `PATIENCE;
    past_requests <= !reset && requests && (csr_answer[0] || patience == `PATIENCE);
    past_resp <= bresp;
    past_rdata <= rdata;
    past_csr <= csr;
  end
  (* keep *) wire [1:0] state;
  (* keep *) wire [9:0] patience;
  (* keep *) wire address_held, data_held, read_held, is_write;
  localparam [1:0] IDLE = 0, ACCESSING = 1, RESPONDING = 2;
  wire writing = state != IDLE && is_write;
  wire reading = state != IDLE && !is_write;
  // Cycles until the answer of the oldest whole write and of the oldest read is offered, at most.
  wire [15:0] rest = ACCESS - {6'd0, patience};
  function automatic [15:0] left(input own, other_waits, last_own);
    if (state == RESPONDING) left = own ? 16'd0 : ACCESS + 16'd2;
    else if (state == ACCESSING) left = own ? rest : rest + ACCESS + 16'd2;
    else left = other_waits && last_own ? 2 * ACCESS + 16'd3 : ACCESS + 16'd1;
  endfunction
  wire whole = address_held && data_held;
  wire [15:0] write_left = left(writing, read_held, is_write);
  wire [15:0] read_left = left(reading, whole, !is_write);
  always_comb if (!reset) begin
    // No answer without an access, and with those that wait and the one at work all accesses are there.
    writes_answered: assert (addresses == {1'b0, address_held} + {1'b0, writing} && data == {1'b0, data_held} + {1'b0, writing});
    reads_answered: assert (reads == {1'b0, read_held} + {1'b0, reading});
    answers: assert (bvalid == (state == RESPONDING && is_write) && rvalid == (state == RESPONDING && !is_write));
    write_bound: assert (write_age <= BOUND);
    read_bound: assert (read_age <= BOUND);
    b_stands: assert (!waited_b || (bvalid && bresp == past_resp));
    r_stands: assert (!waited_r || (rvalid && rresp == past_resp && rdata == past_rdata));
    request_stands: assert (!waited_csr || csr == past_csr);
    request_falls: assert (!past_requests || !requests);
    // Invariants.
    states: assert (state <= RESPONDING && requests == (state == ACCESSING) && (!requests || patience <= `PATIENCE));
    write_in_time: assert (addresses == 0 || data == 0 || write_age + write_left <= BOUND);
    read_in_time: assert (reads == 0 || read_age + read_left <= BOUND);
  end
endmodule
