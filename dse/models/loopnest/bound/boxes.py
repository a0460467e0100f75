"""The boxes of a problem under `loopnest`, as the engine divides them.

1. A *box* is a cluster size, the parallel dims of both levels, and for each dim an interval of outer tiles
   and one of inner tiles: of the divisors of the dim, or of all numbers up to it. Its bound takes each figure
   from the tiles that have least of it: the fewest steps, the fewest pieces, the smallest footprint
   (`interval`), and from them the least words and cycles of any order (`outer`, `inner`, `box`).
2. What a box of few pairs of tiles moves is known better, order by order (`parts`, `small`), and what it
   waits for the DRAM link (`links`, `transitions`).
3. A box is divided where the bounds of both halves rise most (`dividing`). One that has a single tile at each
   level and dim is settled: its orders are priced by the model, one of each class that costs the same.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain as chained
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dse.core.chains import find_divisors
from dse.core.limits import PE_USE
from dse.core.objective import objective_named
from dse.domains.clustered.mapping import MappingBatch, whole_filter_rows
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.bounds import RowBoxes
from dse.domains.clustered.proof.choices import (
    ORDER_TABLE,
    allowed_orders,
    cluster_sizes,
    parallel_dims,
    tile_chains,
)
from dse.models.loopnest.bound.dividing import SMALL, SMALL_PERFECT, Cuts, halve_boxes
from dse.models.loopnest.bound.figures import INTERVALS
from dse.models.loopnest.bound.fitting import DOWN, LEAST, LOW, RANK, UP
from dse.models.loopnest.bound.pairs import NONE, Pairs
from dse.models.loopnest.bound.records import (
    FIGURE_COLUMNS,
    Known,
    Scratch,
    distinct_orders,
    energies_of,
    make_scratch,
)
from dse.models.loopnest.params import machine_params
from dse.models.loopnest.totals import accesses_pj
from dse.proof.contract import Bounded, Children, Found, Rounds
from dse.proof.proving import tie_breaks
from dse.support.arrays import FloatArray, IntArray, RecordArray
from dse.support.jit import load_kernels
from dse.support.numerics.losses import PLACE, loss_value

if TYPE_CHECKING:
    from dse.models.loopnest import LoopNest

KERNEL = "dse.models.loopnest.bound.kernel"
USED = ("dse.models.loopnest",)
"""The price kernel, whose formulas bounds share."""
MAPPED = ORDER_TABLE.shape[1]
CYCLES, ENERGY = range(len(FIGURE_COLUMNS))
TILES, AT_CLUSTER, AT_OUTER, AT_INNER = 4 * MAPPED, 4 * MAPPED, 4 * MAPPED + 1, 4 * MAPPED + 2
"""Columns of a box: for each dim the least and the most of outer and of inner tiles; then the choices."""
FEW_OUTERS = 64.0
"""Choices of outer tiles up to which they are told apart first, where both cycles and energy count."""


@dataclass(frozen=True)
class LoopNestBoxes(RowBoxes):
    """A problem's boxes (n, 19); see `dse.proof.contract.Boxes`.

    With `every`, no mapping is left out because another is as good or better: for lists of all that are good.
    """

    problem: Problem
    every: bool = False

    kind: ClassVar[str] = "tiles, cluster size and parallel dims"
    rounds: ClassVar[Rounds] = Rounds(least=256, most=8192, share=128, alike=1e-3)
    columns: ClassVar[int] = AT_INNER + 1

    @cached_property
    def _kernels(self) -> Any:
        return load_kernels(KERNEL, *USED)

    @cached_property
    def _own(self) -> threading.local:
        return threading.local()

    @property
    def _scratch(self) -> Scratch:
        """This thread's."""
        if not hasattr(self._own, "scratch"):
            self._own.scratch = make_scratch(bool(self._problem.layer.depthwise))
        return cast("Scratch", self._own.scratch)

    @cached_property
    def _problems(self) -> RecordArray:
        """The PROBLEM, one of it."""
        problem, model = self.problem, cast("LoopNest", self.problem.model)
        return machine_params(problem.layer, problem.accelerator, model.constants)[0]

    @property
    def _problem(self) -> Any:
        return self._problems[0]

    @cached_property
    def _known(self) -> Known:
        problem, terms = self.problem, objective_named(self.problem.objective).rows(FIGURE_COLUMNS)
        return Known(
            self._problem,
            np.array(problem.use.room, dtype=np.int64),
            int(problem.use.most_steps),
            self._alike,
            bool((terms[:, PLACE] == CYCLES).any()),
            problem.tiles == "factors",
            energies_of(problem),
            terms,
            np.array([distinct_orders(tuple(orders)) for orders in allowed_orders(problem)]),
            ORDER_TABLE,
            _tile_tables(tuple(one.size for one in tile_chains(problem)), problem.tiles),
            np.zeros(0, np.int32),
        )

    @property
    def _alike(self) -> bool:
        """Whether a mapping costs the same with Y and X in each other's place, and is in the space."""
        if self.every:
            return False
        of = self._problem.layer
        figures = [of.sizes[2:], of.pitches, of.overlaps, of.first_real, of.end_real]
        return all(rows == columns for rows, columns in figures) and not any(
            gene.endswith((".Y", ".X", "order", "parallel")) for gene in self.problem.space.fixed
        )

    @cached_property
    def _pairs(self) -> Pairs | None:
        """Undominated pairs of tiles of any size, if words alone count and no tile is fixed."""
        fixed = any("tile" in gene for gene in self.problem.space.fixed)
        if self.every or self._known.timed or self._known.perfect or fixed:
            return None
        return Pairs(self._problems, self._kernels.count_undominated)

    def _with_pairs(self, choices: IntArray) -> tuple[Known, IntArray]:
        """What is known, with counts of undominated pairs; where those of each box's dims begin: (n, 4)."""
        if self._pairs is None:
            return self._known, np.full((len(choices), MAPPED), NONE)
        codes = (choices[:, 0] * MAPPED + choices[:, 1]) * MAPPED + choices[:, 2]
        each, which = np.unique(codes, return_inverse=True)
        starts = np.array([self._starts(code) for code in each.tolist()])
        return self._known._replace(counts=self._pairs.counts), starts[which]

    def _starts(self, code: int) -> IntArray:
        """Where the tables begin of a cluster size and parallel dims, as one number."""
        assert self._pairs is not None
        cluster, outer, inner = code // MAPPED**2, code // MAPPED % MAPPED, code % MAPPED
        if PE_USE not in self.problem.use.limits:
            return self._pairs.starts(cluster, self.problem.accelerator.num_pes // cluster, outer, inner)
        # Of dims that are spread, the dominated pair may be the only one that leaves enough PEs busy.
        starts = self._pairs.starts(1, 1, NONE, NONE)
        starts[[outer, inner]] = NONE
        return starts

    def roots(self) -> IntArray:
        """All tiles, for each cluster size and parallel dims: of one cluster, or one PE, a dim is enough."""
        chains = tile_chains(self.problem)
        ends = [(one.outer_choices[0], one.outer_choices[-1], *one.inner) for one in chains]
        box = [*chained(*((least, most, *(2 * inner or (1, most))) for least, most, *inner in ends))]
        outers, inners = parallel_dims(self.problem)
        return np.array(
            [
                [*box, cluster, outer, inner]
                for cluster in cluster_sizes(self.problem).tolist()
                for outer in outers[: None if self.problem.accelerator.num_pes // cluster > 1 else 1]
                for inner in inners[: None if cluster > 1 else 1]
            ],
            dtype=np.int64,
        )

    def bound(self, boxes: IntArray, to_beat: float) -> Bounded:
        """By the kernel; see there."""
        return Bounded(self._bound(boxes, to_beat))

    def _bound(self, boxes: IntArray, to_beat: float) -> FloatArray:
        tiles = np.ascontiguousarray(boxes[:, :TILES])
        choices, losses = np.ascontiguousarray(boxes[:, TILES:]), np.empty(len(boxes))
        known, starts = self._with_pairs(choices)
        self._kernels.bound_boxes(
            tiles.view(INTERVALS), choices, starts, float(to_beat), known, self._scratch, losses
        )
        boxes[:, :TILES] = tiles
        return losses

    def divide(self, boxes: IntArray, bounds: FloatArray, to_beat: float) -> Children:
        """Where the bounds of both halves rise most; a box of one mapping but for its orders is a leaf."""
        known = self._known
        paid = bool((known.terms[:, PLACE] == ENERGY).any())
        cuts = Cuts(
            boxes[:, :TILES].reshape(-1, MAPPED, 4),
            self._spread(boxes, AT_OUTER, self.problem.accelerator.num_pes // boxes[:, AT_CLUSTER]),
            self._problem.layer.sizes,
            known.tiles,
            outer_first=0.0 if not known.timed else FEW_OUTERS if paid else np.inf,
            small=SMALL_PERFECT if known.perfect else SMALL,
        )

        def bound_halves(halves: IntArray, places: IntArray) -> FloatArray:
            rows = np.concatenate([halves.reshape(-1, TILES), boxes[places, TILES:]], axis=1)
            # Nothing is below -inf: the first bound of each is enough to compare them.
            return np.minimum(self._bound(rows, -np.inf), to_beat)

        parts, parents = halve_boxes(cuts, bounds, bound_halves)
        return Children(np.concatenate([parts.reshape(-1, TILES), boxes[parents, TILES:]], axis=1), parents)

    @staticmethod
    def _spread(boxes: IntArray, column: int, over: IntArray) -> IntArray:
        """Over how many clusters, or PEs, each dim is spread: (n, 4)."""
        parallel = np.arange(MAPPED) == boxes[:, [column]]
        return np.where(parallel, over[:, np.newaxis], 1)

    def settle(self, boxes: IntArray, to_beat: float) -> Found:
        """All orders that differ, priced by the model: rows of a MappingBatch."""
        rows = self._every_order(boxes)
        costs = self.problem.evaluate(MappingBatch(rows))
        order = np.lexsort((tie_breaks(self.problem, costs), costs.loss))
        return Found(costs.loss[order], rows[order])

    def _every_order(self, boxes: IntArray) -> IntArray:
        tiles, cluster = boxes[:, :TILES].reshape(-1, MAPPED, 4), boxes[:, AT_CLUSTER]
        outers, inners = tiles[:, :, LOW], tiles[:, :, LEAST]
        spans = outers * self._spread(boxes, AT_OUTER, self.problem.accelerator.num_pes // cluster)
        steps = inners * self._spread(boxes, AT_INNER, cluster)
        bits = 1 << np.arange(MAPPED)
        moves = (self._problem.layer.sizes > spans) @ bits, (outers > steps) @ bits
        # The orders of each box, by level: those that differ for the dims with several steps, as bits.
        first, second = (self._known.orders[level][moves[level]] for level in range(2))
        counts = first[:, 0] * second[:, 0]
        owner = np.arange(len(boxes)).repeat(counts)
        number = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
        outer, inner = np.divmod(number, second[owner, 0])
        return whole_filter_rows(
            self.problem.layer,
            cluster[owner],
            (boxes[owner, AT_OUTER], ORDER_TABLE[first[owner, 1 + outer]], outers[owner]),
            (boxes[owner, AT_INNER], ORDER_TABLE[second[owner, 1 + inner]], inners[owner]),
        )

    def floor(self) -> float:
        """The loss of full use of all lanes and links, every word moved once; no mapping is looked at."""
        known, layer, machine = self._known, self._problem.layer, self._problem.machine
        sizes = layer.sizes
        windows = sizes[2:] * layer.pitches + layer.overlaps
        real = layer.end_real - layer.first_real
        outputs = sizes[1 if layer.depthwise else 0] * sizes[2] * sizes[3]

        def moved(of: Any, rows: IntArray) -> int:
            inputs = of.input * sizes[1] * rows.prod()
            return int(inputs + of.weights * sizes[0] * sizes[1] + of.output * outputs)

        words, link, dram = moved(layer.of, windows), moved(layer.link, windows), moved(layer.link, real)
        work = -(-int(layer.macs) // int(machine.pes * machine.lanes))
        cycles = max(work, -(-words // int(machine.noc)), -(-link // int(machine.offchip)))
        macs = float(layer.macs)
        energy = accesses_pj.py_func(known.energies, macs, words, words, dram) * 1e-3
        return float(loss_value(known.terms, (cycles / known.energies.hertz, energy)))

    def with_all(self) -> LoopNestBoxes:
        """See MappingBoxes."""
        return replace(self, every=True)


@lru_cache(maxsize=4)
def _tile_tables(sizes: tuple[int, ...], kind: str) -> IntArray:
    """`tiles` of what is known: the next tile up and down from each number, and how many are up to it."""
    tables = np.zeros((3, MAPPED, max(sizes) + 2), dtype=np.int64)
    for dim, size in enumerate(sizes):
        numbers = np.arange(size + 2)
        tiles = numbers[1:-1] if kind == "any" else np.array(find_divisors(size))
        rank = np.searchsorted(tiles, numbers, side="right")
        tables[UP, dim, numbers] = np.append(tiles, size + 1)[np.searchsorted(tiles, numbers)]
        tables[DOWN, dim, numbers] = np.append(0, tiles)[rank]
        tables[RANK, dim, numbers] = rank
    return tables
