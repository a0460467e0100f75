// The array: PES multipliers in lockstep, each with an L1 of its own, all walking over the tile of the first of
// them, which is the largest. A PE whose piece is smaller, or empty, waits.
module pes #(parameter PES = 16, L1 = 512, NOC = 4) (
  input logic clk, reset, start, fresh, input at::config_t cfg,
  input at::place_t outer, inner, input logic half_i, half_w, half_o,
  output logic busy, output at::word working,
  input logic write, input at::word write_at, write_count, input logic [PES-1:0] mask, input int write_data [NOC],
  input logic read, input at::word read_at, input logic [PES-1:0] read_mask, output int read_data [NOC]
);
  int l1 [PES][L1];
  at::word cluster_of [PES] /*verilator public_flat_rw*/, place_of [PES] /*verilator public_flat_rw*/;
  at::word extent [PES][4], low, high;
  typedef enum logic [1:0] {IDLE, SET, RUN} state_t;
  state_t state;
  at::word k, c, y, x, r, s, at_i, at_w, at_o;
  logic begins, ends_s, ends_r, ends_c, ends_x, ends_y, ends_k;
  assign busy = start || state != IDLE;
  assign at_i = cfg[at::L1_I + half_i] + c * cfg[at::L1_PLANE]
    + (y * cfg[at::STRIDE_Y] + r * cfg[at::DILATION_Y]) * cfg[at::L1_ROW]
    + x * cfg[at::STRIDE_X] + s * cfg[at::DILATION_X];
  assign at_w = cfg[at::L1_W + half_w] + ((k * cfg[at::INNER + at::C] + c) * cfg[at::TAPS_Y] + r) * cfg[at::TAPS_X] + s;
  assign at_o = cfg[at::L1_O + half_o] + (k * cfg[at::INNER + at::Y] + y) * cfg[at::INNER + at::X] + x;
  assign begins = fresh && c == 0 && r == 0 && s == 0;
  assign ends_s = s + 1 == cfg[at::TAPS_X];
  assign ends_r = ends_s && r + 1 == cfg[at::TAPS_Y];
  assign ends_c = ends_r && c + 1 == extent[0][at::C];
  assign ends_x = ends_c && x + 1 == extent[0][at::X];
  assign ends_y = ends_x && y + 1 == extent[0][at::Y];
  assign ends_k = ends_y && k + 1 == extent[0][at::K];

  always_ff @(posedge clk)
    if (reset) begin
      state <= IDLE; working <= 0;
    end else case (state)
      IDLE: if (start) state <= SET;
      SET: begin
        for (int pe = 0; pe < PES; pe++) for (int dim = 0; dim < 4; dim++) begin
          low = inner[dim] + (cfg[at::INNER_PARALLEL] == dim ? place_of[pe] * cfg[at::INNER + dim] : 0);
          high = low + cfg[at::INNER + dim] < cfg[at::OUTER + dim] ? low + cfg[at::INNER + dim] : cfg[at::OUTER + dim];
          if (cfg[at::OUTER_PARALLEL] == dim) begin
            low += cluster_of[pe] * cfg[at::OUTER + dim]; high += cluster_of[pe] * cfg[at::OUTER + dim];
          end
          low += outer[dim]; high += outer[dim];
          if (high > cfg[at::SIZE + dim]) high = cfg[at::SIZE + dim];
          extent[pe][dim] <= cluster_of[pe] < cfg[at::CLUSTERS] && low < high ? high - low : 0;
        end
        k <= 0; c <= 0; y <= 0; x <= 0; r <= 0; s <= 0;
        state <= RUN;
      end
      RUN: begin
        for (int pe = 0; pe < PES; pe++)
          if (k < extent[pe][at::K] && c < extent[pe][at::C] && y < extent[pe][at::Y] && x < extent[pe][at::X])
            l1[pe][at_o] <= (begins ? 0 : l1[pe][at_o]) + l1[pe][at_i] * l1[pe][at_w];
          else if (begins && y < extent[pe][at::Y] && x < extent[pe][at::X]) l1[pe][at_o] <= 0;
        working <= working + 1;
        s <= ends_s ? 0 : s + 1;
        if (ends_s) r <= ends_r ? 0 : r + 1;
        if (ends_r) c <= ends_c ? 0 : c + 1;
        if (ends_c) x <= ends_x ? 0 : x + 1;
        if (ends_x) y <= ends_y ? 0 : y + 1;
        if (ends_y) k <= k + 1;
        if (ends_k) state <= IDLE;
      end
      default: state <= IDLE;
    endcase

  // The network's side: a word is written into all L1s of the mask; sums of the mask are added as they leave.
  int sum;
  always_ff @(posedge clk) begin
    if (write) for (int pe = 0; pe < PES; pe++) if (mask[pe])
      for (int lane = 0; lane < NOC; lane++) if (lane < write_count) l1[pe][write_at + lane] <= write_data[lane];
    if (read) for (int lane = 0; lane < NOC; lane++) begin
      sum = 0;
      for (int pe = 0; pe < PES; pe++) if (read_mask[pe]) sum += l1[pe][(read_at + lane) % L1];
      read_data[lane] <= sum;
    end
  end
endmodule
