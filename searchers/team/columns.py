"""Where the counts of a mapping stand that the compiled features are made of."""

from __future__ import annotations

DIMS, TENSORS = 4, 3
K, C, Y, X = range(DIMS)

# Constants of the layer and the accelerator; SIZES is the first of four. n outputs along a dim read
# n * pitch + overlap rows or columns of the input.
NUM_PES, FILTER_ROWS, FILTER_COLUMNS, DEPTHWISE, SIZES = range(5)
LANES, NOC, OFFCHIP = range(SIZES + DIMS, SIZES + DIMS + 3)
ROW_PITCH, ROW_OVERLAP, COLUMN_PITCH, COLUMN_OVERLAP = range(OFFCHIP + 1, OFFCHIP + 5)

# Columns of a level, all but SPREAD and NESTING in log2. One a dim (K, C, Y, X): TILES; TURNS, the iterations
# of its loop; SPREAD, whether it is the parallel dim. One for the level: WORKING, the units at work;
# ALL_TURNS; SHARE, of the iterations of the parallel dim those that are full. NESTING has a column for every
# two dims: which loop is outside. One a tensor (weights, inputs, outputs), where a fourth is all of them:
# RETURNS, how often it comes; HELD, its elements in a unit; TOGETHER, in all units; MOVED = RETURNS +
# TOGETHER.
TILES, TURNS, WORKING, ALL_TURNS, SHARE, SPREAD, NESTING = 0, 4, 8, 9, 10, 11, 15
RETURNS, HELD, TOGETHER, MOVED, ALL_MOVED = 21, 24, 28, 32, 35
LEVEL_WIDTH = 36
CLUSTERS, STEPS = 2 * LEVEL_WIDTH, 2 * LEVEL_WIDTH + 1
# Addends alone: four times, and a number each a tensor, where nothing stays in a PE as outer loops turn and
# where it does.
TIMES, MULTICAST, DELIVERED, SENT_ONCE, KEPT = STEPS + 1, STEPS + 5, STEPS + 8, STEPS + 11, STEPS + 14
# Of the outer level: inputs, if only new rows come as a window slides; outputs, if they leave in every turn.
SLID, LEFT = STEPS + 17, STEPS + 18
# Where something is expected: the time if every tile comes, and goes, in every turn of the outer loops; and a
# number each a tensor, what moves, slides and leaves without the last of the units at work, where some idle.
ANEW = STEPS + 19
UNCOUNTED = ANEW + 1
WIDTH = UNCOUNTED + TENSORS
