// A checksum is right if the sum of the words is a multiple of 65535 that is not zero. Here the sum is that of the pair, at most
// twice 65535; that the pair has the end-around sum of the words is shown by the tests of the parser.
module props (
  input logic clock,
  input logic [16*`WORDS-1:0] words
);
  logic [15:0] sum, carry;
  logic intact;
  dut dut (.words, .sum, .carry, .intact);
  wire [16:0] total = {1'b0, sum} + {1'b0, carry};
  always_comb verdict: assert (intact == (total == 17'h0ffff || total == 17'h1fffe));
endmodule
