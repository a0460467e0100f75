// Where the configuration registers are that the host writes before a run; judge.py writes them in this order.
// Dims are coded 0 K (output channels), 1 C (input channels), 2 Y, 3 X (rows and columns of the output).
package at;
  localparam SIZE = 0;           // four sizes of the layer
  localparam OUTER = 4;          // tile of a cluster
  localparam INNER = 8;          // tile of a PE
  localparam OUTER_STEP = 12;    // what an outer step covers: the tile, times the clusters along the parallel dim
  localparam INNER_STEP = 16;
  localparam OUTER_ORDER = 20;   // outermost first
  localparam INNER_ORDER = 24;
  localparam OUTER_PARALLEL = 28, INNER_PARALLEL = 29, CLUSTER = 30, CLUSTERS = 31;
  localparam TAPS_Y = 32, TAPS_X = 33, STRIDE_Y = 34, STRIDE_X = 35, DILATION_Y = 36, DILATION_X = 37;
  localparam IMAGE_Y = 38, IMAGE_X = 39;                 // of the padded input, which lies at word 0 of DRAM
  localparam DRAM_W = 40, DRAM_O = 41;                   // where weights and outputs begin
  localparam L2_ROW = 42, L2_PLANE = 43;                 // words of an input row and channel in a tile of L2
  localparam L1_ROW = 44, L1_PLANE = 45;
  localparam L2_I = 46, L2_W = 48, L2_O = 50;            // two halves each
  localparam L1_I = 52, L1_W = 54, L1_O = 56;
  localparam REGISTERS = 58;
  localparam K = 0, C = 1, Y = 2, X = 3;
  typedef logic [31:0] word;
  typedef word config_t [REGISTERS];
  typedef word place_t [4];
endpackage
