"""What the kernels of bounds take: the problem, and the arrays that they work in."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import order_nestings
from dse.domains.clustered.space.genes import ORDERS
from dse.models.loopnest.bound.figures import CASE, DIM_LEAST, DIMS, LINKED, SIDE
from dse.models.loopnest.bound.inner import CASES
from dse.models.loopnest.bound.links import link_arrays
from dse.models.loopnest.bound.parts import part_arrays
from dse.models.loopnest.records import FILL
from dse.models.loopnest.units import in_units, l1_a_mac
from dse.support.arrays import CountArray, FloatArray, IntArray, RecordArray

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest

FIGURE_COLUMNS = "cycles", "energy_nj"


class Energies(NamedTuple):
    """Energies of an access in pJ, what a MAC takes of its L1, and the clock."""

    mac_pj: float
    l1_pj: float
    noc_pj: float
    l2_pj: float
    dram_pj: float
    l1_a_mac: float
    hertz: float


class Known(NamedTuple):
    """A problem (PROBLEM of `params`), `room` in L1 and L2, energies of an access.

    `most_work` are the steps that limits leave to the busiest PE, `alike` says whether rows cost what columns
    do, `timed` whether cycles count. `orders` (2, 16, 25) has by level and set of dims with several steps how
    many orders differ, then which of `order_table` (24, 4). `tiles` (3, 4, n) has of every number the next
    tile of a dim up from it and down from it, and how many tiles are up to it; where `perfect`, an inner tile
    divides the outer one. `counts` are tables of undominated pairs (see `dominance`).
    """

    problem: Any
    room: IntArray
    most_work: int
    alike: bool
    timed: bool
    perfect: bool
    energies: Energies
    terms: FloatArray
    orders: IntArray
    order_table: IntArray
    tiles: IntArray
    counts: CountArray


class Scratch(NamedTuple):
    """Arrays to work in; one thread has them at a time, and what they remember holds for one problem."""

    dims: RecordArray
    fills: RecordArray
    others: IntArray
    cases: RecordArray
    linked: RecordArray
    parts: Any
    links: Any
    sides: RecordArray
    sums: FloatArray
    pair: FloatArray


def make_scratch(depthwise: bool) -> Scratch:
    """Arrays for bounds of a problem; the last of `cases` is of all of them."""
    return Scratch(
        np.zeros(DIMS, DIM_LEAST),
        np.zeros((2, DIMS), FILL),
        np.zeros(DIMS, np.int64),
        np.zeros(CASES + 1, CASE),
        np.zeros(1, LINKED),
        part_arrays(depthwise),
        link_arrays(),
        np.zeros(DIMS, SIDE),
        np.zeros((2**DIMS, 2)),
        np.zeros(2),
    )


def energies_of(problem: Problem) -> Energies:
    """Those of the problem's machine and constants."""
    machine = problem.accelerator
    per = in_units(cast("LoopNest", problem.model).constants, machine)
    figures = (per.mac_pj, per.l1_pj, per.noc_pj, per.l2_pj, per.dram_pj, l1_a_mac(machine), machine.hertz)
    return Energies._make(float(figure) for figure in figures)


@lru_cache(64)
def distinct_orders(allowed: tuple[int, ...]) -> IntArray:
    """One order for each class of orders that cost the same: (16, 25), by the dims that have many steps."""
    ways = (order_nestings(allowed, [dim for dim in range(4) if many >> dim & 1]) for many in range(16))
    table = np.zeros((16, len(ORDERS) + 1), dtype=np.int64)
    for row, found in zip(table, ways, strict=True):
        row[0] = len(found)
        row[1 : 1 + len(found)] = list(found.values())
    return table
