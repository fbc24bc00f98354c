// The transmit crossing with a FIFO of three words, without resets: the MAC never starves inside a frame.
(* blackbox *) module probes (
  output [1:0] written_binary, written_coded, written_near, written_far,
  output [1:0] taken_binary, taken_coded, taken_near, taken_far,
  output word_0, word_1, word_2, word_3, latch, head,
  output latch_valid, head_valid, room, fetching, pushing, push_last, taking, ended,
  output [11:0] whole_binary, whole_coded, whole_near, whole_far, known, begun,
  output mid_frame, discarding, out_valid, out_last, left_stop, left_clear, right_stop, right_clear
);
endmodule

module props (
  input logic instant, core_tick, mac_tick,
  input logic [511:0] data,
  input logic [63:0] keep,
  input logic last, user, valid, link, hold, ready
);
  logic running;
  initial running = 0;
  always @(posedge instant) running <= 1;
  wire reset = !running;
  logic mac_valid, mac_last;
  dut dut (
    .core_clock(core_tick), .core_reset(reset), .mac_clock(mac_tick), .mac_reset(reset),
    .core_data(data), .core_keep(keep), .core_last(last), .core_user(user), .core_valid(valid),
    .mac_valid(mac_valid), .mac_last(mac_last), .mac_ready(ready), .link(link), .hold(hold)
  );
  wire [1:0] written_binary, written_coded, written_near, written_far, taken_binary, taken_coded, taken_near, taken_far;
  wire word_0, word_1, word_2, word_3, latch, head;
  wire latch_valid, head_valid, room, fetching, pushing, push_last, taking, ended;
  wire [11:0] whole_binary, whole_coded, whole_near, whole_far, known, begun;
  wire mid_frame, discarding, out_valid, out_last, left_stop, left_clear, right_stop, right_clear;
  probes probes (.*);
  wire popping = taking && head_valid;
  always @* assume (instant);
  always @* if (reset) assume (core_tick && mac_tick && left_clear && right_clear && left_stop && right_stop);
  always @* if (running) assume (!left_clear && !right_clear && !left_stop && !right_stop);

  // Words, and ends of frames among them: written, seen by the MAC's side, one and two of its cycles ago, read.
  logic [3:0] ins, ins_near, ins_far, ins_1, ins_2, fetches, fetches_near, fetches_far, outs;
  logic [3:0] ends, ends_near, ends_far, ends_1, ends_2, ends_out;
  logic [11:0] whole_near_count, whole_far_count, known_count;
  logic mac_inside;
  always @(posedge core_tick) begin
    if (reset) begin ins <= 0; ends <= 0; fetches_near <= 0; fetches_far <= 0; end
    else begin
      if (pushing) begin ins <= ins + 4'd1; ends <= ends + {3'd0, push_last}; end
      fetches_near <= fetches;
      fetches_far <= fetches_near;
    end
  end
  always @(posedge mac_tick) begin
    if (reset) begin
      {ins_near, ins_far, ins_1, ins_2, fetches, outs} <= 0;
      {ends_near, ends_far, ends_1, ends_2, ends_out, whole_near_count, whole_far_count, known_count} <= 0;
      mac_inside <= 0;
    end else begin
      {ins_near, ins_far, ins_1, ins_2} <= {ins, ins_near, ins_far, ins_1};
      {ends_near, ends_far, ends_1, ends_2} <= {ends, ends_near, ends_far, ends_1};
      {whole_near_count, whole_far_count, known_count} <= {whole_binary, whole_near_count, whole_far_count};
      if (fetching) fetches <= fetches + 4'd1;
      if (popping) begin outs <= outs + 4'd1; ends_out <= ends_out + {3'd0, head}; end
      if (mac_valid && ready) mac_inside <= !mac_last;
    end
  end
  function automatic [1:0] gray_2(input [1:0] count);
    gray_2 = count ^ {1'b0, count[1]};
  endfunction
  function automatic [11:0] gray_12(input [11:0] count);
    gray_12 = count ^ {1'b0, count[11:1]};
  endfunction
  // Which words from the oldest on are ends.
  wire [3:0] inside = ins - outs, on_way = fetches - outs;
  logic [4:0] is_end;
  logic [1:0] at;
  integer k;
  always @* begin
    is_end = 0;
    for (k = 0; k < 5; k = k + 1) begin
      at = outs[1:0] + k[1:0];
      if (k < inside) begin
        if (k < on_way) is_end[k] = head_valid && k == 0 ? head : latch;
        else is_end[k] = at == 0 ? word_0 : at == 1 ? word_1 : at == 2 ? word_2 : word_3;
      end
    end
  end
  // Ends among the first of them.
  function automatic [3:0] ends_in(input [4:0] is_end, input [3:0] words);
    ends_in = {3'd0, is_end[0] && words > 0} + {3'd0, is_end[1] && words > 1} + {3'd0, is_end[2] && words > 2}
      + {3'd0, is_end[3] && words > 3} + {3'd0, is_end[4] && words > 4};
  endfunction
  wire [3:0] unseen_1 = ins - ins_near, unseen_2 = ins_near - ins_far, seen = ins_far - fetches;
  wire [3:0] used = ins - fetches_far;
  wire [3:0] freed_1 = fetches - fetches_near, freed_2 = fetches_near - fetches_far;
  wire [3:0] ahead_1 = ins_1 - outs, ahead_2 = ins_2 - outs, behind_1 = outs - ins_1, behind_2 = outs - ins_2;
  wire [3:0] ahead_near = ins_near - outs, ahead_far = ins_far - outs, to_fetch_1 = ins_1 - fetches;
  wire [11:0] open_ends = known_count - begun;
  wire [3:0] in_frame = begun[3:0] - ends_out;
  wire [3:0] lag = ends - whole_binary[3:0], lag_near = ends_near - whole_near_count[3:0];
  wire [3:0] lag_far = ends_far - whole_far_count[3:0], lag_known = ends_1 - known_count[3:0];
  wire [3:0] whole_end = ends_2 - begun[3:0];
  wire [3:0] new_1 = ins_far - ins_1, new_2 = ins_1 - ins_2;
  wire [3:0] new_ends_1 = ends_far - ends_1, new_ends_2 = ends_1 - ends_2;
  wire [11:0] new_whole_1 = whole_far_count - known_count;
  wire [11:0] new_whole_2 = whole_near_count - whole_far_count, new_whole_3 = whole_binary - whole_near_count;
  wire [3:0] ahead_ends = ends - ends_out, ahead_ends_near = ends_near - ends_out, ahead_ends_far = ends_far - ends_out;
  wire [3:0] late_1 = ends_out - ends_1, late_2 = ends_out - ends_2;
  always @* if (running) begin
    // The property: from the first beat of a frame to its last there is a beat in every cycle.
    if (mac_inside) assert (mac_valid);
    // The core's side has words for it.
    if (mid_frame || discarding) assert (head_valid);
    // Invariants: the output register.
    if (mid_frame) assert (out_valid && !out_last && !discarding);
    if (!mid_frame && out_valid) assert (out_last);
    if (mac_inside) assert (out_valid);
    assert (mac_valid == out_valid && mac_last == out_last);
    // Pointers of the words.
    assert (written_binary == ins[1:0] && written_coded == gray_2(ins[1:0]));
    assert (taken_binary == fetches[1:0] && taken_coded == gray_2(fetches[1:0]));
    assert (written_near == gray_2(ins_near[1:0]) && written_far == gray_2(ins_far[1:0]));
    assert (taken_near == gray_2(fetches_near[1:0]) && taken_far == gray_2(fetches_far[1:0]));
    assert (unseen_1 <= 3 && unseen_2 <= 3 && seen <= 3 && unseen_1 + unseen_2 + seen <= 3);
    assert (freed_1 <= 3 && freed_2 <= 3 && used <= 3 && ins - fetches <= used);
    assert (!room || used <= 2);
    assert (on_way == {2'b0, {1'b0, latch_valid} + {1'b0, head_valid}});
    // Counts of the frames.
    assert (whole_coded == gray_12(whole_binary) && known == gray_12(known_count));
    assert (whole_near == gray_12(whole_near_count) && whole_far == gray_12(whole_far_count));
    assert (lag == {3'd0, ended} && lag_near <= 1 && lag_far <= 1 && lag_known <= 1);
    assert (new_whole_1 <= 5 && new_whole_2 <= 5 && new_whole_3 <= 5);
    assert (in_frame == {3'd0, mid_frame || discarding} && open_ends <= 6);
    if (mid_frame || discarding) assert (whole_end <= 6);
    // Ends among the words that each stage has seen.
    assert (ahead_ends == ends_in(is_end, inside));
    assert (ahead_ends_near == ends_in(is_end, ahead_near) && ahead_ends_far == ends_in(is_end, ahead_far));
    assert (ahead_1 <= 5 || behind_1 == 1);
    assert (ahead_2 <= 5 || behind_2 <= 2);
    if (ahead_1 <= 5) assert (ends_1 - ends_out == ends_in(is_end, ahead_1));
    else assert (late_1 <= 1);
    if (ahead_2 <= 5) assert (ends_2 - ends_out == ends_in(is_end, ahead_2));
    else assert (late_2 <= behind_2);
    assert (new_1 <= 5 && new_2 <= 5 && new_ends_1 <= 5 && new_ends_2 <= 5);
    // What was seen two cycles ago is on its way out.
    if (to_fetch_1 != 0 && to_fetch_1 <= 5) assert (latch_valid);
    if (ahead_2 != 0 && ahead_2 <= 5) assert (head_valid);
  end
endmodule
