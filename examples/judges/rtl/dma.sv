// DRAM and the engine that copies boxes between it and L2. A copy waits LATENCY cycles, each burst of at most
// BURST words takes a cycle to issue, and MISS more where it begins in another page than the one that is open.
// A beat moves the words of one aligned group of BUS.
module dma #(parameter BUS = 2, LATENCY = 24, BURST = 16, PAGE = 256, MISS = 10, WORDS = 1 << 20) (
  input logic clk, reset, start, store,
  input at::word dram_base, l2_base, planes, rows, row, dram_plane, dram_row, l2_plane, l2_row,
  output logic busy,
  output logic l2_write, output at::word l2_at, l2_count, output int l2_data [BUS],
  input int l2_read [BUS],
  output at::word words, bursts, misses
);
  int dram [WORDS] /*verilator public_flat_rw*/;
  typedef enum logic [1:0] {IDLE, WAIT, ISSUE, BEAT} state_t;
  state_t state;
  at::word plane, line, column, left, wait_for, open_page;
  at::word here, group;
  assign here = dram_base + plane * dram_plane + line * dram_row + column;
  assign group = BUS - here % BUS < left ? BUS - here % BUS : left;
  assign l2_at = l2_base + plane * l2_plane + line * l2_row + column;
  assign l2_count = group;
  assign l2_write = state == BEAT && !store;
  assign busy = start || state != IDLE;
  always_comb for (int lane = 0; lane < BUS; lane++) l2_data[lane] = dram[(here + lane) % WORDS];

  at::word room;
  assign room = row - column < BURST ? row - column : BURST;
  always_ff @(posedge clk)
    if (reset) begin
      state <= IDLE; words <= 0; bursts <= 0; misses <= 0; open_page <= '1;
    end else case (state)
      IDLE: if (start && planes != 0 && rows != 0 && row != 0) begin
        plane <= 0; line <= 0; column <= 0; wait_for <= LATENCY; state <= WAIT;
      end
      WAIT: if (wait_for > 1) wait_for <= wait_for - 1; else state <= ISSUE;
      ISSUE: if (here / PAGE != open_page) begin
        open_page <= here / PAGE; misses <= misses + 1; wait_for <= MISS; state <= WAIT;
      end else begin
        left <= room; bursts <= bursts + 1; state <= BEAT;
      end
      BEAT: begin
        if (store) for (int lane = 0; lane < BUS; lane++) if (lane < group) dram[here + lane] <= l2_read[lane];
        words <= words + group; left <= left - group;
        column <= column + group;
        if (left == group) begin
          state <= ISSUE;
          if (column + group == row) begin
            column <= 0; line <= line + 1;
            if (line + 1 == rows) begin
              line <= 0; plane <= plane + 1;
              if (plane + 1 == planes) state <= IDLE;
            end
          end
        end
      end
    endcase
endmodule
