"""The records that the kernels of bounds work in, and what each figure of them is."""

from __future__ import annotations

from dse.support.arrays import FLOAT, INT, float_fields, integer_fields, record_type

DIMS = 4
# The least and the most of the outer and of the inner tiles of a dim: four of them are a box.
INTERVALS = record_type(*integer_fields("low high least most"))
# What no pair of tiles of a dim's intervals is below (`interval`).
DIM_LEAST = record_type(
    # Outer steps; indices of the first and of the last one; inner steps of all outer ones; PEs at work in
    # all steps, in the first inner step of each outer one, and in the very first step.
    *integer_fields("outer_steps span last_span steps pieces first_pieces begin_pieces"),
    # Indices that the busiest PE goes through; input rows (or indices) that all pieces need, those that they
    # need if neighbours share, those of the first step; indices of the first step; whether the inner loop
    # can move; `serial` of the last outer step.
    *integer_fields("serial needs rows first_window first can_move last_serial"),
    # Shares. `moves`: of the indices, those in outer steps whose inner loop has several steps for certain;
    # `if_moves`: the same if it has several in some outer step; `again`: of what a tensor needs along the
    # dim, what has to be loaded again each time that a loop goes back; `beyond`: what is not in the loop's
    # first step; `uniform`: 1 where the inner loop moves in all outer steps or in none.
    *float_fields("moves if_moves again beyond uniform"),
)
# The least words to and from PEs and at L2, and cycles. Of all cases: those of the DRAM link before the first
# and after the last outer step, and of latency; those of the NoC before and after all steps, and those with
# the last outer step (`first_and_last`).
CASE = record_type(*integer_fields("to_pes at_l2 cycles link_cycles ends at_last"))
# The box that was last asked for its words of DRAM and of the link, and these.
LINKED = record_type(("lows", INT, (DIMS,)), ("highs", INT, (DIMS,)), *integer_fields("dram link"))
# Of a dim (`transitions`): outer steps, at least and at most; its size; indices of all steps but one, of the
# first and of the last one, at least; what the busiest PE goes through in all steps, in all but the last and
# in the last, with the best inner tiles: of all outer tiles the least, and the most.
SIDE = record_type(
    *float_fields("fewest most_steps everything onward first last"),
    *float_fields("done done_on done_last done_most done_on_most done_last_most"),
)
# Of a dim in an outer step (`links`): rows, columns or indices that it needs, and those that its first inner
# step needs at most; the same of indices alone, as outputs have them.
NEED = record_type(*integer_fields("whole at_first indices indices_at_first"))
SPREAD = record_type(*float_fields("least most"))
# The parts x, n and b, at least; then b - p, y, p and q, at least and at most (`parts`).
PART = record_type(
    *float_fields("new onward back"),
    ("keeps", SPREAD),
    ("lost", SPREAD),
    ("moved", SPREAD),
    ("returned", SPREAD),
)
KINDS = 4
# The parts of each kind, and what its first PE goes through in all steps: of a dim with these intervals,
# over so many clusters and PEs.
DIM_PARTS = record_type(
    ("of", INTERVALS), *integer_fields("across places"), ("kinds", PART, (KINDS,)), ("walked", FLOAT)
)
