// The credits of the look-up stage: a packet enters only if the FIFO at the end of the pipeline has room for it when it gets
// there, for any neighbours. Each credit is in the counter, in a stage of the pipeline, or with a packet in the FIFO.
//
// The mailbox table and the FIFO are left out: the table answers each request after LATENCY cycles, and the proof of the FIFO
// in LUT RAM shows what the FIFO does, as long as nothing is written that has no room. Here the FIFO is its length.
module props (
  input logic clock, placement_valid, command_valid, looked_up_ready
);
  localparam LATENCY = `LATENCY, CREDITS = `CREDITS;
  logic reset = 1;
  always_ff @(posedge clock) reset <= 0;
  logic placement_ready, looked_up_valid, command_ready;
  // Packets and commands have any contents.
  dut dut (
    .clock, .reset, .placement_valid, .placement_ready, .command_valid, .command_ready, .looked_up_valid, .looked_up_ready
  );
  (* keep *) wire [LATENCY-1:0] is_packet;
  (* keep *) wire [4:0] credits;
  (* keep *) wire has_credit, request_valid, answer_valid, write_valid;
  logic [LATENCY-1:0] requests;
  logic [4:0] waiting;
  wire take = looked_up_valid && looked_up_ready;
  always_ff @(posedge clock) begin
    requests <= reset ? '0 : {requests[LATENCY-2:0], request_valid};
    waiting <= reset ? 5'd0 : waiting + {4'd0, write_valid} - {4'd0, take};
  end
  always_comb begin
    assume (answer_valid == requests[LATENCY-1]);
    assume (looked_up_valid == (waiting != 0));
  end
  logic [4:0] flying;
  integer i;
  always_comb begin
    flying = {4'd0, write_valid};
    for (i = 0; i < LATENCY; i = i + 1) flying = flying + {4'd0, is_packet[i]};
  end
  always_comb if (!reset) begin
    room: assert (!write_valid || waiting < CREDITS);
    no_less_than_none: assert (!(placement_valid && placement_ready) || credits != 0);
    none_lost: assert (credits + flying + waiting == CREDITS);
    // Invariants.
    known: assert (credits <= CREDITS && waiting <= CREDITS && has_credit == (credits != 0));
    asked: assert ((is_packet & ~requests) == 0);
  end
endmodule
