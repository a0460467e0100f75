"""Where the counts of a mapping stand that the compiled features are made of."""

from __future__ import annotations

DIMS, TENSORS = 4, 3
K, C, Y, X = range(DIMS)

# Facts about the layer and the accelerator; SIZES is the first of four.
NUM_PES, FILTER_ROWS, FILTER_COLUMNS, DEPTHWISE, SIZES = range(5)
LANES, NOC, OFFCHIP = range(SIZES + DIMS, SIZES + DIMS + 3)

# Columns of a level: four of each that has one a dim, three a tensor, four a tensor and all of them.
TILES, TURNS, WORKING, ALL_TURNS, SHARE, SPREAD, NESTING = 0, 4, 8, 9, 10, 11, 15
RETURNS, HELD, TOGETHER, MOVED, ALL_MOVED = 21, 24, 28, 32, 35
LEVEL_WIDTH = 36
CLUSTERS, STEPS = 2 * LEVEL_WIDTH, 2 * LEVEL_WIDTH + 1
# Addends alone: two times, and a number each a tensor.
TIMES, MULTICAST, DELIVERED = STEPS + 1, STEPS + 3, STEPS + 6
WIDTH = STEPS + 9
