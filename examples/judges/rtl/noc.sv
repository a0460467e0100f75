// The network between L2 and the array. It sends a tensor's pieces one after another, each to all PEs that need the
// same one, NOC words of a row in a cycle; or takes outputs, added over the PEs of a cluster that share them.
module noc #(parameter PES = 16, NOC = 4, LATENCY = 4) (
  input logic clk, reset, start, input logic [1:0] kind, input at::config_t cfg,  // kinds: 0 inputs, 1 weights, 2 outputs
  input at::place_t outer, inner, input at::word l2_base, l1_base,
  input at::word cluster_of [PES], place_of [PES],
  output logic busy, output at::word words,
  output at::word l2_at, output logic taking, output at::word l1_at, output logic [PES-1:0] mask,
  output logic write_l1, output at::word write_at, write_count, output logic [PES-1:0] write_mask,
  output logic write_l2, output at::word sum_at, sum_count
);
  typedef enum logic [2:0] {IDLE, WAIT, PIECE, ROWS, LAST} state_t;
  state_t state;
  at::word wait_for, cluster, pe, plane, line, column, clusters, places;
  at::word planes, rows, row, from, to, l2_plane, l2_row, l1_plane, l1_row, group;
  at::place_t low, extent;
  at::word piece_low, piece_high;
  logic each_cluster, each_place;
  assign busy = start || state != IDLE;
  // Inputs do not depend on K, weights not on Y and X, outputs not on C.
  function automatic logic depends(input at::word dim);
    case (kind)
      0: return dim != at::K;
      1: return dim == at::K || dim == at::C;
      default: return dim != at::C;
    endcase
  endfunction
  assign each_cluster = depends(cfg[at::OUTER_PARALLEL]);
  assign each_place = depends(cfg[at::INNER_PARALLEL]);
  assign clusters = each_cluster ? cfg[at::CLUSTERS] : 1;
  assign places = each_place ? cfg[at::CLUSTER] : 1;

  // Where the piece of (cluster, pe) begins within the outer step, and how long it is.
  always_comb for (int dim = 0; dim < 4; dim++) begin
    piece_low = inner[dim] + (cfg[at::INNER_PARALLEL] == dim ? pe * cfg[at::INNER + dim] : 0);
    piece_high = piece_low + cfg[at::INNER + dim];
    if (piece_high > cfg[at::OUTER + dim]) piece_high = cfg[at::OUTER + dim];
    if (cfg[at::OUTER_PARALLEL] == dim) begin
      piece_low += cluster * cfg[at::OUTER + dim]; piece_high += cluster * cfg[at::OUTER + dim];
    end
    if (outer[dim] + piece_high > cfg[at::SIZE + dim])
      piece_high = cfg[at::SIZE + dim] > outer[dim] ? cfg[at::SIZE + dim] - outer[dim] : 0;
    low[dim] = piece_low;
    extent[dim] = piece_low < piece_high ? piece_high - piece_low : 0;
  end

  at::word window_y, window_x, taps;
  assign taps = cfg[at::TAPS_Y] * cfg[at::TAPS_X];
  assign window_y = (extent[at::Y] - 1) * cfg[at::STRIDE_Y] + (cfg[at::TAPS_Y] - 1) * cfg[at::DILATION_Y] + 1;
  assign window_x = (extent[at::X] - 1) * cfg[at::STRIDE_X] + (cfg[at::TAPS_X] - 1) * cfg[at::DILATION_X] + 1;
  logic empty;
  // PEs that share a piece may have none along the dim that it does not depend on: the first of them has.
  assign empty = extent[0] == 0 || extent[1] == 0 || extent[2] == 0 || extent[3] == 0;

  assign group = row - column < NOC ? row - column : NOC;
  assign l2_at = from + plane * l2_plane + line * l2_row + column;
  assign l1_at = to + plane * l1_plane + line * l1_row + column;
  assign taking = state == ROWS && kind == 2;

  always_ff @(posedge clk) begin
    write_l1 <= state == ROWS && kind != 2; write_at <= l1_at; write_count <= group; write_mask <= mask;
    write_l2 <= taking; sum_at <= l2_at; sum_count <= group;
    if (reset) begin
      state <= IDLE; words <= 0; write_l1 <= 0; write_l2 <= 0;
    end else case (state)
      IDLE: if (start) begin
        cluster <= 0; pe <= 0; wait_for <= LATENCY; state <= LATENCY == 0 ? PIECE : WAIT;
      end
      WAIT: if (wait_for > 1) wait_for <= wait_for - 1; else state <= PIECE;
      PIECE: begin
        for (int unit = 0; unit < PES; unit++)
          mask[unit] <= cluster_of[unit] < cfg[at::CLUSTERS] && (!each_cluster || cluster_of[unit] == cluster)
            && (!each_place || place_of[unit] == pe);
        plane <= 0; line <= 0; column <= 0; to <= l1_base;
        case (kind)
          0: begin
            planes <= extent[at::C]; rows <= window_y; row <= window_x;
            l2_plane <= cfg[at::L2_PLANE]; l2_row <= cfg[at::L2_ROW];
            l1_plane <= cfg[at::L1_PLANE]; l1_row <= cfg[at::L1_ROW];
            from <= l2_base + low[at::C] * cfg[at::L2_PLANE]
              + low[at::Y] * cfg[at::STRIDE_Y] * cfg[at::L2_ROW] + low[at::X] * cfg[at::STRIDE_X];
          end
          1: begin
            planes <= 1; rows <= extent[at::K]; row <= extent[at::C] * taps;
            l2_row <= cfg[at::OUTER_STEP + at::C] * taps; l1_row <= cfg[at::INNER + at::C] * taps;
            from <= l2_base + (low[at::K] * cfg[at::OUTER_STEP + at::C] + low[at::C]) * taps;
          end
          default: begin
            planes <= extent[at::K]; rows <= extent[at::Y]; row <= extent[at::X];
            l2_plane <= cfg[at::OUTER_STEP + at::Y] * cfg[at::OUTER_STEP + at::X]; l2_row <= cfg[at::OUTER_STEP + at::X];
            l1_plane <= cfg[at::INNER + at::Y] * cfg[at::INNER + at::X]; l1_row <= cfg[at::INNER + at::X];
            from <= l2_base + (low[at::K] * cfg[at::OUTER_STEP + at::Y] + low[at::Y]) * cfg[at::OUTER_STEP + at::X]
              + low[at::X];
          end
        endcase
        if (!empty) state <= ROWS;
        else advance();
      end
      ROWS: begin
        words <= words + group;
        if (column + group < row) column <= column + group;
        else begin
          column <= 0;
          if (line + 1 < rows) line <= line + 1;
          else begin
            line <= 0;
            if (plane + 1 < planes) plane <= plane + 1;
            else advance();
          end
        end
      end
      default: state <= IDLE;  // LAST: the words on their way arrive
    endcase
  end

  task automatic advance();
    state <= PIECE;
    pe <= pe + 1;
    if (pe + 1 == places) begin
      pe <= 0; cluster <= cluster + 1;
      if (cluster + 1 == clusters) state <= LAST;
    end
  endtask
endmodule
