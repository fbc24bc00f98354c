// Words that go through a block with a valid/ready port on either side: none is lost, doubled or overtaken, and a word
// that is offered stands until it is taken.
//
// Words are numbered as they come in and as they go out, modulo 2^BITS; `marked` is any number. A block has to offer the
// marked word when as many words have left as had come in before it. Since any number can be marked, that is so for all
// words: the abstraction is stronger than two marked values, for which losses and doubles need assertions of their own.
// At most MOST words are inside, and one of them is offered after LATENCY cycles at the latest, those with an excuse not
// counted.
module word_law #(parameter WIDTH = 1, BITS = 4, MOST = 1, LATENCY = 0) (
  input logic clock, reset, write_valid, write_ready, read_valid, read_ready, excused,
  input logic [WIDTH-1:0] write, read,
  output logic [BITS-1:0] ins, outs, marked, inside, place,
  output logic [WIDTH-1:0] sample, output logic [3:0] hidden
);
  (* anyconst *) logic [BITS-1:0] number;
  assign marked = number;
  // Words inside, and those before the marked word, which is inside if place < inside.
  assign inside = ins - outs;
  assign place = number - outs;
  wire push = write_valid && write_ready;
  wire pop = read_valid && read_ready;
  logic waited;
  logic [WIDTH-1:0] offered;
  always_ff @(posedge clock) begin
    ins <= reset ? '0 : ins + {{BITS-1{1'b0}}, push};
    outs <= reset ? '0 : outs + {{BITS-1{1'b0}}, pop};
    if (push && ins == number) sample <= write;
    waited <= !reset && read_valid && !read_ready;
    offered <= read;
    // Cycles in which words are inside and none is offered, without an excuse.
    hidden <= (reset || inside == 0 || read_valid || excused) ? 4'd0 : hidden + 4'd1;
  end
  always_comb if (!reset) begin
    order: assert (!(read_valid && outs == number) || read == sample);
    stable: assert (!waited || (read_valid && read == offered));
    bound: assert (inside <= MOST);
    no_more: assert (!read_valid || inside != 0);
    offers: assert (inside == 0 || read_valid || excused || hidden < LATENCY);
  end
endmodule
