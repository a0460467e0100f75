"""A problem under `loopnest` as the certifier's kernels read it, and which problems it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from dse.core.chains import Chain, divisors
from dse.core.objective import objective_named
from dse.core.reads import Reads
from dse.core.reasons import Reason
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.choices import (
    ORDER_TABLE,
    allowed_orders,
    cluster_sizes,
    counted,
    nestings,
    parallel_dims,
    refuse_too_many,
    tile_chains,
)
from dse.domains.clustered.space.genes import ORDERS
from dse.models.loopnest.params import (
    FIRST_REAL,
    LINK_OUTPUT,
    OF_OUTPUT,
    OVERLAPS,
    PARAMS,
    PITCHES,
    REASON,
    machine_params,
)
from dse.models.loopnest.proof import dims
from dse.models.loopnest.traffic import Y
from dse.models.loopnest.units import in_units, l1_a_mac, of_tensors
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest


MODEL = "loopnest"
FIGURES, COLUMNS = ("latency", "energy"), ("cycles", "energy_nj")
"""What products can be certified of: area is the machine's, and power is least for the slowest mapping."""
MAX_READ = 2**22
"""Input rows, and columns, of a layer: which of them are read is written down one by one."""


@dataclass(frozen=True)
class Instance:
    """The arrays that the kernels take.

    `params` are the layer's and the machine's figures (see `dims`), `constants` the energies of an access in
    pJ, the clock and what a MAC takes of its L1, `terms` the objective's, for COLUMNS. `outer_tiles` (4, n)
    hold how many tiles a dim has, then which; `inner_tiles` (4, n) so those that fit in L1 beside the
    smallest of the other dims, whatever outer tiles they divide. `parallels` (2, n), by level, hold how many
    dims may be parallel, then which, and `orders` (2, 16, 25), by level and set of dims with more than one
    step, how many orders differ, then which. `real` (2, tiles, clusters + 1, 3) has, by Y and X, outer tile
    and cluster size (the last: not parallel), the input rows or columns that are no padding: those of all
    outer steps, those that stay as they advance, and as they go back.
    """

    params: IntArray
    constants: FloatArray
    terms: FloatArray
    outer_tiles: IntArray
    inner_tiles: IntArray
    clusters: IntArray
    parallels: IntArray
    orders: IntArray
    real: IntArray

    @property
    def arrays(self) -> tuple[IntArray | FloatArray, ...]:
        """All of them, as kernels take them."""
        return (
            self.params,
            self.constants,
            self.terms,
            self.outer_tiles,
            self.inner_tiles,
            self.clusters,
            self.parallels,
            self.orders,
            self.real,
            ORDER_TABLE,
        )

    @property
    def shapes(self) -> int:
        """How many choices of outer tiles, cluster size and outer parallel dim there are."""
        return int(np.prod(self.outer_tiles[:, 0]) * len(self.clusters) * self.parallels[0, 0])


def refuse(problem: Problem) -> None:
    """InputError unless the optimum of the problem can be proven."""
    if not objective_named(problem.objective).figures.keys() <= set(FIGURES):
        raise InputError(
            f"under cost model {MODEL!r} only {' and '.join(FIGURES)}, and products of their powers such as "
            f"'edp', can be certified, got {problem.objective!r}"
        )
    if problem.tiles == "factors":
        _refuse_too_large(problem)
    # The model refuses every mapping of a layer whose counts could leave 64 bits.
    if _known_of(problem)[REASON] == int(Reason.OUT_OF_RANGE):
        raise InputError(f"layer {problem.layer} is too large to certify: its counts could leave 64 bits")


def _refuse_too_large(problem: Problem) -> None:
    """InputError for what tables of perfect factors cannot hold."""
    refuse_too_many(problem)
    sizes = (problem.layer.loops[dim] for dim in "YX")
    read = [size * axis.stride + axis.window for size, axis in zip(sizes, problem.layer.reads, strict=True)]
    if max(read) > MAX_READ:
        raise InputError(
            f"layer {problem.layer} is too large to certify: its input rows and columns are counted one by "
            f"one, at most {MAX_READ:,}"
        )


def make_instance(problem: Problem) -> Instance:
    """The arrays of a problem that is not refused."""
    chains, clusters = tile_chains(problem), cluster_sizes(problem)
    return Instance(
        params=_params(problem),
        constants=constants_of(problem),
        terms=objective_named(problem.objective).rows(COLUMNS),
        outer_tiles=counted([chain.outer_choices for chain in chains]),
        inner_tiles=_fitting(problem, chains),
        clusters=clusters,
        parallels=counted(parallel_dims(problem)),
        orders=np.array([distinct_orders(tuple(allowed)) for allowed in allowed_orders(problem)]),
        real=_real_inputs(problem, chains, clusters),
    )


def _params(problem: Problem) -> IntArray:
    """The price kernel's figures of the layer and the machine, and those behind them that `dims` names."""
    layer = problem.layer
    params = np.append(_known_of(problem), np.zeros(dims.FIGURES - PARAMS, dtype=np.int64))
    params[dims.DIM_PITCHES : dims.DIM_OVERLAPS] = [1, 1, *params[PITCHES:OVERLAPS]]
    params[dims.DIM_OVERLAPS : dims.L1] = [0, 0, *params[OVERLAPS:FIRST_REAL]]
    params[dims.L1], params[dims.L2] = problem.use.room
    params[dims.MOST_WORK] = problem.use.most_steps
    params[dims.TIES_BY_CYCLES] = objective_named(problem.objective).of_energy_alone
    outputs = layer.K * layer.loops["Y"] * layer.loops["X"] * (layer.C if layer.type == "DSCONV" else 1)
    params[dims.OUTPUTS], params[dims.LINK_OUTPUTS] = (
        outputs * params[OF_OUTPUT],
        outputs * params[LINK_OUTPUT],
    )
    return params


def _known_of(problem: Problem) -> IntArray:
    """The price kernel's figures of the layer and the machine."""
    constants = cast("LoopNest", problem.model).constants
    params, _ = machine_params(problem.layer, problem.accelerator, constants)
    known: IntArray = params[0]
    return known


def constants_of(problem: Problem) -> FloatArray:
    """Energies of an access in pJ, the clock, and what a MAC takes of its L1."""
    machine = problem.accelerator
    per = in_units(cast("LoopNest", problem.model).constants, machine)
    energies = (per.mac_pj, per.l1_pj, per.noc_pj, per.l2_pj, per.dram_pj)
    return np.array([*energies, machine.hertz, l1_a_mac(machine)], dtype=np.float64)


@lru_cache(64)
def distinct_orders(allowed: tuple[int, ...]) -> IntArray:
    """One order for each class of orders that cost the same: (16, 25), by the dims that have many steps."""
    ways = (nestings(allowed, [dim for dim in range(4) if many >> dim & 1]) for many in range(16))
    table = np.zeros((16, len(ORDERS) + 1), dtype=np.int64)
    for row, found in zip(table, ways, strict=True):
        row[0] = len(found)
        row[1 : 1 + len(found)] = list(found.values())
    return table


def _real_inputs(problem: Problem, chains: Sequence[Chain], clusters: IntArray) -> IntArray:
    """`real` of an Instance."""
    most = max(len(chain.outer_choices) for chain in chains[Y:])
    table = np.zeros((2, most, len(clusters) + 1, 3), dtype=np.int64)
    for axis, chain in enumerate(chains[Y:]):
        tiles, pes = tuple(chain.outer_choices), problem.accelerator.num_pes
        found = _real_of(problem.layer.reads[axis], chain.size, tiles, tuple(clusters.tolist()), pes)
        table[axis, : len(tiles)] = found
    return table


@lru_cache(256)
def _real_of(
    reads: Reads, size: int, tiles: tuple[int, ...], clusters: tuple[int, ...], pes: int
) -> IntArray:
    """`real` of one axis: many machines that are proven one after the other have the same PEs."""
    stride, window, real, end = reads
    used = np.zeros(size * stride + window, dtype=np.int64)
    for row in range(window):
        used[row : row + size * stride : stride][:size] = 1
    used[:real] = used[end:] = 0
    below = np.concatenate([[0], np.cumsum(used)])
    table = np.zeros((len(tiles), len(clusters) + 1, 3), dtype=np.int64)
    for place, tile in enumerate(tiles):
        for number, cluster in enumerate([*clusters, pes]):
            span = tile * (pes // cluster)
            starts = np.arange(0, size, span)
            ends = np.minimum(starts + span, size)
            first, last = starts * stride, (ends - 1) * stride + window
            held = np.maximum(below[last[:-1]] - below[first[1:]], 0)
            back = below[min(last[0], last[-1])] - below[max(first[0], first[-1])]
            table[place, number] = (below[last] - below[first]).sum(), held.sum(), max(back, 0)
    return table


def _fitting(problem: Problem, chains: Sequence[Chain]) -> IntArray:
    """By dim, how many inner tiles fit in L1 beside the smallest of the other dims, then which, ascending."""
    cuts = [[chain.inner] if chain.inner else list(divisors(chain.size)) for chain in chains]
    smallest = [tiles[0] for tiles in cuts]
    return counted(
        [
            [tile for tile in tiles if _fits(problem, [*smallest[:dim], tile, *smallest[dim + 1 :]])]
            for dim, tiles in enumerate(cuts)
        ]
    )


def _fits(problem: Problem, tiles: Sequence[int]) -> bool:
    """Whether L1 holds what inner tiles of K, C, Y and X need, twice."""
    layer, (k, c, y, x) = problem.layer, tiles
    rows, columns = (
        tile * reads.pitch + reads.overlap for tile, reads in zip((y, x), layer.reads, strict=True)
    )
    of_input, of_weights, of_output = of_tensors(layer, problem.accelerator)
    outputs = (c if layer.type == "DSCONV" else k) * y * x
    need = 2 * (of_input * c * rows * columns + of_weights * k * c + of_output * outputs)
    return need <= problem.use.room[0]
