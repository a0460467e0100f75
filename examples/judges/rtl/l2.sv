// The shared buffer: a port of BUS words for the DMA, one of NOC words for the array. Sums are added as they come.
module l2 #(parameter L2 = 8192, BUS = 2, NOC = 4) (
  input logic clk,
  input logic dma_write, input at::word dma_at, dma_count, input int dma_data [BUS], output int dma_read [BUS],
  input at::word read_at, output int read_data [NOC],
  input logic sum_write, sum_first, input at::word sum_at, sum_count, input int sum_data [NOC]
);
  int store [L2];
  always_comb for (int lane = 0; lane < BUS; lane++) dma_read[lane] = store[(dma_at + lane) % L2];
  always_ff @(posedge clk) begin
    for (int lane = 0; lane < NOC; lane++) read_data[lane] <= store[(read_at + lane) % L2];
    if (dma_write) for (int lane = 0; lane < BUS; lane++) if (lane < dma_count) store[dma_at + lane] <= dma_data[lane];
    if (sum_write) for (int lane = 0; lane < NOC; lane++) if (lane < sum_count)
      store[sum_at + lane] <= (sum_first ? 0 : store[sum_at + lane]) + sum_data[lane];
  end
endmodule
