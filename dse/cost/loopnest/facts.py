"""Where the kernel finds what it knows of a layer on a machine, in one array of integers."""

from __future__ import annotations

# SIZES begins the four dims' sizes, FILTER_ROWS the filter's two; PITCHES, OVERLAPS, FIRST_REAL and END_REAL
# begin two figures each, of Y and X (docs, section 3). NOC and OFFCHIP are words a cycle, FILTER is R x S.
REASON, DEPTHWISE, SIZES, FILTER_ROWS = 0, 1, 2, 6
PITCHES, OVERLAPS, FIRST_REAL, END_REAL = 8, 10, 12, 14
PES, NOC, OFFCHIP, LATENCY, LANES, FILTER, LAYER_MACS = range(16, 23)
