// A small accelerator: DRAM, DMA, L2, network and array, and the two sequencers that walk the mapping's nest. While
// the array works on a step the network brings the next one's inputs and weights and takes the last one's outputs;
// while the inner nest works on an outer step the DMA does the same between DRAM and L2. A tensor whose tile is the
// same in the next step stays where it is; the rows that neighbouring tiles share are brought again.
module accelerator #(
  parameter PES = 16, L1 = 512, L2 = 8192, NOC = 4, BUS = 2, NOC_LATENCY = 4,
  DRAM_LATENCY = 24, BURST = 16, PAGE = 256, MISS = 10
) (
  input logic clk, reset,
  output logic done,
  output at::word cycles, dram_words, bursts, page_misses, noc_words, working, wait_noc, wait_dram
);
  at::config_t cfg /*verilator public_flat_rw*/;
  at::place_t size, outer_step, outer_order, inner_step, inner_order, span;
  always_comb for (int i = 0; i < 4; i++) begin
    size[i] = cfg[at::SIZE + i]; outer_step[i] = cfg[at::OUTER_STEP + i]; outer_order[i] = cfg[at::OUTER_ORDER + i];
    inner_step[i] = cfg[at::INNER_STEP + i]; inner_order[i] = cfg[at::INNER_ORDER + i];
    // The inner nest walks over what the first cluster works on.
    span[i] = cfg[at::OUTER + i] < size[i] - outer[i] ? cfg[at::OUTER + i] : size[i] - outer[i];
  end

  // ---- The outer sequencer: `ahead` is being brought, `outer` worked on, `behind` taken away.
  typedef enum logic [1:0] {READY, MOVE, NEXT, STOP} state_t;
  state_t state;
  at::place_t ahead, outer, behind, held_i, held_w, after;
  logic ahead_v, ahead_fresh, outer_v, behind_v, held_i_v, held_w_v, last, inner_done;
  logic half_i, half_w, half_o, now_i, now_w, behind_half, ahead_half, inner_start;
  logic [2:0] job;
  logic need_i, need_w, need_o;
  assign ahead_half = ahead_fresh ? !half_o : half_o;
  odometer outer_odometer (.here(ahead), .span(size), .step(outer_step), .order(outer_order), .next(after), .last(last));
  assign need_i = ahead_v && !(held_i_v && held_i[1] == ahead[1] && held_i[2] == ahead[2] && held_i[3] == ahead[3]);
  assign need_w = ahead_v && !(held_w_v && held_w[0] == ahead[0] && held_w[1] == ahead[1]);
  assign need_o = ahead_v && ahead_fresh && ahead[at::C] != 0;
  function automatic logic same_o(input at::place_t one, other);
    return one[0] == other[0] && one[2] == other[2] && one[3] == other[3];
  endfunction

  // What the DMA is told: jobs 0 store outputs, 1 inputs, 2 weights, 3 outputs that were there before.
  at::place_t box, place;
  at::word taps, rows_y, rows_x;
  always_comb begin
    place = job == 0 ? behind : ahead;
    for (int i = 0; i < 4; i++) box[i] = outer_step[i] < size[i] - place[i] ? outer_step[i] : size[i] - place[i];
    taps = cfg[at::TAPS_Y] * cfg[at::TAPS_X];
    rows_y = (box[at::Y] - 1) * cfg[at::STRIDE_Y] + (cfg[at::TAPS_Y] - 1) * cfg[at::DILATION_Y] + 1;
    rows_x = (box[at::X] - 1) * cfg[at::STRIDE_X] + (cfg[at::TAPS_X] - 1) * cfg[at::DILATION_X] + 1;
  end
  at::word d_base, d_l2, d_planes, d_rows, d_row, d_plane, d_line, d_l2_plane, d_l2_line;
  logic d_start, d_busy;
  logic [2:0] issued;
  always_comb case (job)
    1: begin
      d_planes = box[at::C]; d_rows = rows_y; d_row = rows_x;
      d_plane = cfg[at::IMAGE_Y] * cfg[at::IMAGE_X]; d_line = cfg[at::IMAGE_X];
      d_base = place[at::C] * d_plane + place[at::Y] * cfg[at::STRIDE_Y] * d_line + place[at::X] * cfg[at::STRIDE_X];
      d_l2 = cfg[at::L2_I + !now_i]; d_l2_plane = cfg[at::L2_PLANE]; d_l2_line = cfg[at::L2_ROW];
    end
    2: begin
      d_planes = 1; d_rows = box[at::K]; d_row = box[at::C] * taps; d_plane = 0; d_line = size[at::C] * taps;
      d_base = cfg[at::DRAM_W] + place[at::K] * d_line + place[at::C] * taps;
      d_l2 = cfg[at::L2_W + !now_w]; d_l2_plane = 0; d_l2_line = outer_step[at::C] * taps;
    end
    default: begin
      d_planes = box[at::K]; d_rows = box[at::Y]; d_row = box[at::X];
      d_plane = size[at::Y] * size[at::X]; d_line = size[at::X];
      d_base = cfg[at::DRAM_O] + place[at::K] * d_plane + place[at::Y] * d_line + place[at::X];
      d_l2 = cfg[at::L2_O + (job == 0 ? behind_half : ahead_half)];
      d_l2_plane = outer_step[at::Y] * outer_step[at::X]; d_l2_line = outer_step[at::X];
    end
  endcase

  logic wanted;
  always_comb case (job)
    0: wanted = behind_v;
    1: wanted = need_i;
    2: wanted = need_w;
    3: wanted = need_o;
    default: wanted = 0;
  endcase
  assign d_start = state == MOVE && wanted && issued != job;

  always_ff @(posedge clk)
    if (reset) begin
      state <= READY; done <= 0; cycles <= 0; wait_dram <= 0;
      ahead_v <= 1; ahead_fresh <= 1; outer_v <= 0; behind_v <= 0; held_i_v <= 0; held_w_v <= 0;
      now_i <= 0; now_w <= 0; half_i <= 0; half_w <= 0; half_o <= 0; inner_start <= 0;
      for (int i = 0; i < 4; i++) begin ahead[i] <= 0; outer[i] <= 0; end
    end else begin
      if (!done) cycles <= cycles + 1;
      inner_start <= 0;
      case (state)
        READY: begin
          job <= 0; issued <= 7; state <= MOVE;
          if (outer_v) inner_start <= 1;
        end
        MOVE: begin
          if (job < 4) begin
            if (!wanted || (issued == job && !d_busy)) begin
              job <= job + 1;
              if (wanted && job == 1) begin now_i <= !now_i; held_i <= ahead; held_i_v <= 1; end
              if (wanted && job == 2) begin now_w <= !now_w; held_w <= ahead; held_w_v <= 1; end
            end else issued <= job;
          end else if (inner_done && !inner_start) state <= NEXT;
          if (inner_done && !inner_start && job < 4) wait_dram <= wait_dram + 1;
        end
        NEXT: begin
          behind_v <= outer_v && !(ahead_v && !ahead_fresh);
          behind <= outer; behind_half <= half_o;
          outer <= ahead; outer_v <= ahead_v;
          half_i <= now_i; half_w <= now_w; half_o <= ahead_half;
          ahead <= after; ahead_v <= ahead_v && !last;
          ahead_fresh <= !same_o(after, ahead);
          state <= READY;
          if (!ahead_v && !outer_v) begin state <= STOP; done <= 1; end
        end
        default: ;
      endcase
    end

  // ---- The inner sequencer, the same for the steps of an outer one.
  state_t in_state;
  at::place_t next, inner, gone, then_, kept_i, kept_w;
  logic next_v, next_fresh, inner_v, inner_fresh, gone_v, gone_first, in_last, first_now, kept_i_v, kept_w_v;
  logic in_i, in_w, l1_i, l1_w, l1_o, gone_half, p_start, p_busy, want, n_start, n_busy;
  logic [2:0] task_, told;
  odometer inner_odometer (.here(next), .span(span), .step(inner_step), .order(inner_order), .next(then_), .last(in_last));
  assign inner_done = in_state == STOP;
  always_comb case (task_)
    0: want = gone_v;
    1: want = next_v && !(kept_i_v && kept_i[1] == outer[1] + next[1] && kept_i[2] == outer[2] + next[2]
      && kept_i[3] == outer[3] + next[3]);
    2: want = next_v && !(kept_w_v && kept_w[0] == outer[0] + next[0] && kept_w[1] == outer[1] + next[1]);
    default: want = 0;
  endcase
  assign n_start = in_state == MOVE && want && told != task_;

  always_ff @(posedge clk)
    if (reset) begin
      in_state <= STOP; p_start <= 0; wait_noc <= 0; kept_i_v <= 0; kept_w_v <= 0;
      in_i <= 0; in_w <= 0; l1_o <= 0; inner_v <= 0; gone_v <= 0;
    end else begin
      p_start <= 0;
      case (in_state)
        READY: begin
          task_ <= 0; told <= 7; in_state <= MOVE;
          if (inner_v) p_start <= 1;
        end
        MOVE: begin
          if (task_ < 3) begin
            if (!want || (told == task_ && !n_busy)) begin
              task_ <= task_ + 1;
              if (want && task_ == 1) begin
                in_i <= !in_i; kept_i_v <= 1;
                for (int i = 0; i < 4; i++) kept_i[i] <= outer[i] + next[i];
              end
              if (want && task_ == 2) begin
                in_w <= !in_w; kept_w_v <= 1;
                for (int i = 0; i < 4; i++) kept_w[i] <= outer[i] + next[i];
              end
            end else told <= task_;
          end else if (!p_busy && !p_start) in_state <= NEXT;
          if (!p_busy && !p_start && task_ < 3) wait_noc <= wait_noc + 1;
        end
        NEXT: begin
          gone_v <= inner_v && !(next_v && !next_fresh);
          gone <= inner; gone_half <= l1_o; gone_first <= first_now;
          inner <= next; inner_v <= next_v; inner_fresh <= next_fresh;
          // Sums are the first of these outputs if they begin at the first input channel.
          if (next_fresh) first_now <= outer[at::C] == 0 && next[at::C] == 0;
          l1_i <= in_i; l1_w <= in_w; if (next_v && next_fresh) l1_o <= !l1_o;
          next <= then_; next_v <= next_v && !in_last;
          next_fresh <= !same_o(then_, next);
          in_state <= !next_v && !inner_v ? STOP : READY;
        end
        default: if (inner_start) begin
          in_state <= READY; next_v <= 1; next_fresh <= 1; inner_v <= 0; gone_v <= 0;
          for (int i = 0; i < 4; i++) next[i] <= 0;
        end
      endcase
    end

  // ---- Buffers, engines and the array.
  logic l2_we; at::word l2_at, l2_count; int l2_in [BUS], l2_out [BUS];
  dma #(.BUS(BUS), .LATENCY(DRAM_LATENCY), .BURST(BURST), .PAGE(PAGE), .MISS(MISS)) the_dma (
    .clk, .reset, .start(d_start), .store(job == 0), .dram_base(d_base), .l2_base(d_l2), .planes(d_planes),
    .rows(d_rows), .row(d_row), .dram_plane(d_plane), .dram_row(d_line), .l2_plane(d_l2_plane), .l2_row(d_l2_line),
    .busy(d_busy), .l2_write(l2_we), .l2_at, .l2_count, .l2_data(l2_in), .l2_read(l2_out),
    .words(dram_words), .bursts, .misses(page_misses));
  at::word n_l2, n_l1, w_at, w_count, s_at, s_count; int from_l2 [NOC], from_pes [NOC];
  logic n_taking, w_l1, w_l2; logic [PES-1:0] n_mask, w_mask;
  noc #(.PES(PES), .NOC(NOC), .LATENCY(NOC_LATENCY)) the_noc (
    .clk, .reset, .start(n_start), .kind(task_ == 0 ? 2 : task_ == 1 ? 0 : 1), .cfg, .outer,
    .inner(task_ == 0 ? gone : next), .cluster_of(the_pes.cluster_of), .place_of(the_pes.place_of),
    .l2_base(task_ == 0 ? cfg[at::L2_O + half_o] : task_ == 1 ? cfg[at::L2_I + half_i] : cfg[at::L2_W + half_w]),
    .l1_base(task_ == 0 ? cfg[at::L1_O + gone_half] : task_ == 1 ? cfg[at::L1_I + !in_i] : cfg[at::L1_W + !in_w]),
    .busy(n_busy), .words(noc_words), .l2_at(n_l2), .taking(n_taking), .l1_at(n_l1), .mask(n_mask),
    .write_l1(w_l1), .write_at(w_at), .write_count(w_count), .write_mask(w_mask),
    .write_l2(w_l2), .sum_at(s_at), .sum_count(s_count));
  l2 #(.L2(L2), .BUS(BUS), .NOC(NOC)) the_l2 (
    .clk, .dma_write(l2_we), .dma_at(l2_at), .dma_count(l2_count), .dma_data(l2_in), .dma_read(l2_out),
    .read_at(n_l2), .read_data(from_l2),
    .sum_write(w_l2), .sum_first(gone_first), .sum_at(s_at), .sum_count(s_count), .sum_data(from_pes));
  pes #(.PES(PES), .L1(L1), .NOC(NOC)) the_pes (
    .clk, .reset, .start(p_start), .fresh(inner_fresh), .cfg, .outer, .inner,
    .half_i(l1_i), .half_w(l1_w), .half_o(l1_o), .busy(p_busy), .working,
    .write(w_l1), .write_at(w_at), .write_count(w_count), .mask(w_mask), .write_data(from_l2),
    .read(n_taking), .read_at(n_l1), .read_mask(n_mask), .read_data(from_pes));
endmodule
