"""The records that the price kernel works in, and what each figure is (docs/loopnest.md, sections 2 to 5).

A WORK is one thread's. Functions are called with the part of it that they read and write.
"""

from __future__ import annotations

from typing import NamedTuple

from dse.models.loopnest.counts import COUNTS
from dse.support.arrays import INT, integer_fields, record_type

INTERIOR, LAST = 0, 1
"""Kinds of outer steps of a dim: the last one may be short."""

MAX_RUNS, MAX_GROUPS, MAX_OUTER_GROUPS = 4, 64, 16
"""Runs of a kind of outer step (`extents.fill_kind`); groups of three loops, by their runs, outside of the
fourth; groups of outer loops, by their kinds."""
DIMS = 4
SUM_KINDS = 5

# Equal inner steps: how many; the indices and the PEs at work in each, the indices of the first PE.
RUN = record_type(*integer_fields("length needed pieces busiest"))
# The inner loop of a cluster: steps, what is left for the last, PEs at work in it, whole pieces in it.
LOOP = record_type(*integer_fields("steps left pieces whole"))
# An outer step's kind: inner steps; indices and PEs at work in the first of them; indices of all PEs and of
# the first PE in the last one; what stays as the inner loop goes back to its start, in indices, rows and
# outputs; all that the first PE goes through; input rows or columns of the first inner step; runs.
KIND = record_type(
    *integer_fields("steps needed pieces left busiest kept window_kept stay extent window run_count"),
    ("runs", RUN, (MAX_RUNS,)),
)
# What is summed along a dim over all steps, and of it what stays as the inner loop advances and goes back,
# and as the outer one does.
SUMS = record_type(*integer_fields("everything inner_next inner_back outer_next outer_back"))
DIM = record_type(
    # Given: the size, the tiles of both levels, over how many clusters and PEs they are spread, and the
    # input rows (columns) from one output to the next, and those that neighbours share.
    *integer_fields("extent tile piece clusters places pitch overlap"),
    # Outer steps, whether all are of the LAST kind, indices of one and of the last; in that one, whole
    # clusters and what one more has.
    *integer_fields("steps uniform span last_span whole rest"),
    # Rows that a PE keeps as the inner loop advances, and that all keep as the outer one does, to an
    # INTERIOR or the LAST step; what stays as the outer loop goes back to its start.
    *integer_fields("step_overlap next_overlap last_overlap back_kept back_window back_stay"),
    # Over all outer steps: inner steps, pieces, and pieces of the first inner steps.
    *integer_fields("all_steps all_pieces first_pieces"),
    ("of_tile", LOOP),
    ("of_rest", LOOP),
    ("kinds", KIND, (2,)),
    ("sums", SUMS, (SUM_KINDS,)),
)
# What is read into L2 over all outer steps, and of it what stays as loops advance and go back.
FILL = record_type(*integer_fields("everything advance back"))
# Of a transition between inner steps: what is needed after it, what of it is there, and of outputs what was
# needed before; the busiest PE's work. A product over the loops inside the one that advances.
INSIDE = record_type(*integer_fields("in_new in_kept w_new w_kept out_new out_stay out_left busy"))
# A state of the loops outside: how often it occurs, and so often with the channels at their start; products
# of their work and of the tensors' elements.
GROUP = record_type(*integer_fields("count first work inputs weights outputs"))
# The same for outer steps: occurrences, bits of the dims at their LAST step, occurrences with the channels
# at their start; as INSIDE for all L1s, then for L2.
OUTER = record_type(
    *integer_fields(
        "count kinds first busy in_new in_kept w_new w_kept out_new out_stay out_left "
        "l2_in l2_in_kept l2_w l2_w_kept l2_out l2_stay l2_left"
    )
)
# The inside of an outer step, in words that the NoC could carry meanwhile: with the channels at their very
# start, or further on; its compute cycles; whether they are known.
TIME = record_type(*integer_fields("at_start further compute known"))
# Over all outer steps: cycles, those of them that wait for DRAM, and compute cycles.
TOTALS = record_type(*integer_fields("steady waiting computing"))
COUNTED = record_type(*integer_fields(" ".join(COUNTS)))

ALL_LOOPS, ADVANCING = DIMS, DIMS + 1
"""Rows of `loops` after those of the loops inside each of four levels."""

WORK = record_type(
    ("dims", DIM, (DIMS,)),
    # Dims of both levels, outermost first, and those of them that have several steps.
    ("orders", INT, (2, DIMS)),
    ("outer_dims", INT, (DIMS,)),
    ("inner_dims", INT, (DIMS,)),
    # Which sum of each dim a tensor's words are a product of.
    ("chosen", INT, (DIMS,)),
    ("fills", FILL, (3, DIMS)),
    ("groups", GROUP, (MAX_GROUPS,)),
    # A row for each level, the last for all loops.
    ("inside", INSIDE, (DIMS + 1,)),
    ("loops", OUTER, (DIMS + 2,)),
    ("outer_groups", OUTER, (MAX_OUTER_GROUPS,)),
    # By the bits of the dims that are at their LAST outer step.
    ("times", TIME, (2**DIMS,)),
    ("totals", TOTALS),
    ("counts", COUNTED),
)


class Sums(NamedTuple):
    """As SUMS."""

    everything: int
    inner_next: int
    inner_back: int
    outer_next: int
    outer_back: int


class Fill(NamedTuple):
    """As FILL."""

    everything: int
    advance: int
    back: int


class InL1s(NamedTuple):
    """What one dim contributes to a transition between outer steps, in the L1s: see KIND."""

    busiest: int
    window: int
    window_kept: int
    needed: int
    kept: int
    stay: int
    left: int


class InL2(NamedTuple):
    """The same in L2: indices and rows that are needed, of them those that stay; indices before."""

    span: int
    window: int
    window_kept: int
    kept: int
    left: int


class OuterStep(NamedTuple):
    """Equal advances of an outer loop: kinds before and after, how many, and how many of them are from the
    dim's very start."""

    before: int
    after: int
    alike: int
    first: int


class Transition(NamedTuple):
    """Equal advances of an inner loop: the runs before and after, and how many."""

    before: int
    after: int
    length: int
