"""A problem that has nothing to do with mappings: a crate to be built, for searchers to be tried on.

Losses are by a formula; some crates do not fit, and some are refused.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np

from dse.core.evaluations import Criteria, Evaluations
from dse.core.reasons import Reason
from dse.core.space import Block, Gene
from dse.support.arrays import BoolArray, FloatArray, IntArray

STEPS = 4
"""Steps of building it, whose order is a gene."""

_GENES = (
    Gene("box.width", 12, "ordinal"),
    Gene("wood", 3, "categorical"),
    Gene("order", 24, "permutation"),
    Gene("box.height", 9, "ordinal"),
    Gene("paint", 4, "categorical"),
    Gene("nails", 6, "ordinal"),
    Gene("label", 1, "categorical"),
)
WIDTH, WOOD, ORDER, HEIGHT, PAINT, NAILS, LABEL = range(len(_GENES))
_BLOCKS = (
    ("box", (WIDTH, HEIGHT)),
    ("surface", (WOOD, PAINT)),
    ("order", (ORDER,)),
    ("nails", (NAILS,)),
    ("label", (LABEL,)),
)

ORDERS = np.array(list(permutations(range(STEPS))), dtype=np.int64)
"""The orders of the steps, (24, 4), as the gene indexes them."""
SHELF = 40
"""The largest width times height that fits."""
HEAVY_WOOD = 2
"""Refused without nails."""
_MILLION = 1e6
_SURFACES = np.array([[0.8, 0.8, 0.8, 0.8], [0.5, 0.2, 0.7, 0.4], [0.6, 0.3, 0.0, 0.9]])
"""What a wood (rows) with a paint (columns) adds to the loss."""


class ToyProblem:
    """The best crate is 6 wide and 5 high, of wood 2 in paint 2, with 3 nails, its steps in reverse order.

    Its loss is 1; every other crate's is more. A third of all vectors or so are infeasible.
    """

    objective = "latency"

    def __init__(self) -> None:
        self.space = ToySpace()
        self.criteria = Criteria(self.objective, _MILLION, np.array([SHELF], np.int64))

    def price(self, genes: IntArray, /) -> Evaluations:
        """What the crates (n, 7) cost: millionths of the loss as cycles, the shelf as the buffer."""
        crates = self.space.canonical(genes)
        width, height, nails = crates[:, WIDTH] + 1, crates[:, HEIGHT] + 1, crates[:, NAILS]
        orders = ORDERS[crates[:, ORDER]]
        late = sum(orders[:, one] < orders[:, other] for one, other in combinations(range(STEPS), 2))
        loss = 1 + np.square(np.log2(width / 6)) + np.square(np.log2(height / 5))
        loss += 0.3 * np.square(nails - 3) + _SURFACES[crates[:, WOOD], crates[:, PAINT]] + 0.2 * late
        reasons = np.where(width * height > SHELF, int(Reason.L1_TOO_SMALL), 0).astype(np.uint8)
        refused = (crates[:, WOOD] == HEAVY_WOOD) & (nails == 0)
        reasons[refused] = Reason.NO_WORK
        cycles = np.where(refused, 0, np.rint(loss * _MILLION)).astype(np.int64)
        figures = cycles.astype(np.float64)
        return Evaluations(
            cycles=cycles,
            energy_nj=figures,
            power=figures.copy(),
            area=figures.copy(),
            l1_size=np.where(refused, 0, width * height),
            l2_size=np.where(refused, 0, nails),
            macs=np.where(refused, 0, 1),
            loss=np.where(reasons == 0, cycles / _MILLION, np.inf),
            reason=reasons,
            criteria=self.criteria,
        )


class ToySpace:
    """Crates: a box of some width and height, a wood and a paint, so many nails, and an order of work.

    Wood 0 takes no paint, so that several vectors stand for one crate; the label has one choice.
    """

    genes = _GENES
    vectors = 12 * 3 * 24 * 9 * 4 * 6
    designs = 12 * (1 + 2 * 4) * 24 * 9 * 6
    structure = None
    feature_names = (
        "log2 width",
        "log2 height",
        "log2 nails",
        *(f"wood is {wood}" for wood in range(3)),
        *(f"paint is {paint}" for paint in range(4)),
        *(f"step {one} before {other}" for one, other in combinations(range(STEPS), 2)),
    )

    def __init__(self) -> None:
        self.sizes: IntArray = np.array([gene.size for gene in _GENES], dtype=np.int64)
        self.sizes.setflags(write=False)
        self.blocks = tuple(Block(name, genes, index, self) for index, (name, genes) in enumerate(_BLOCKS))

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the space: there is but one."""
        return {"space": "toy"}

    def sample(self, rng: np.random.Generator, n: int, /) -> IntArray:
        """`n` vectors drawn uniformly: (n, 7)."""
        return rng.integers(0, self.sizes, size=(n, len(_GENES)), dtype=np.int64)

    def contains(self, genes: IntArray, /) -> BoolArray:
        """Which vectors (n, 7) lie in the space: (n,)."""
        inside: BoolArray = np.logical_and.reduce((genes >= 0) & (genes < self.sizes), axis=1)
        return inside

    def canonical(self, genes: IntArray, /) -> IntArray:
        """The vectors (n, 7) with paint 0 where the wood takes none."""
        canonical = np.array(genes, dtype=np.int64)
        canonical[canonical[:, WOOD] == 0, PAINT] = 0
        return canonical

    def neighbour(self, rng: np.random.Generator, genes: IntArray, /) -> IntArray:
        """One neighbour of each vector (n, 7), drawn uniformly from those of all blocks."""
        found = np.array(genes, dtype=np.int64)
        for row, vector in enumerate(genes):
            near = np.concatenate([block.neighbours(vector) for block in self.blocks])
            found[row] = near[rng.integers(len(near))]
        return found

    def neighbours(self, genes: IntArray, block: Block, /) -> IntArray:
        """All neighbours of one vector (7,) by the moves of a block.

        Sizes go up or down by one; a wood, a paint takes another value; two steps of the work change places.
        """
        here = self.canonical(genes[np.newaxis])[0]
        found = []
        for gene in block.genes:
            for value in self._moves(gene, int(here[gene])):
                there = here.copy()
                there[gene] = value
                found.append(there)
        near = self.canonical(np.array(found, dtype=np.int64).reshape(len(found), len(here)))
        others = near[(near != here).any(axis=1)]
        # What is not of the block stays as it is given, even where another vector is the canonical one.
        outside = [gene for gene in range(len(here)) if gene not in block.genes]
        others[:, outside] = genes[outside]
        distinct: IntArray = np.unique(others, axis=0)
        return distinct

    def features(self, genes: IntArray, /) -> FloatArray:
        """The crates of the vectors (n, 7) as numbers: (n, 16), in the order of `feature_names`."""
        canonical = self.canonical(genes)
        places = np.argsort(ORDERS[canonical[:, ORDER]], axis=1)
        before = [places[:, one] < places[:, other] for one, other in combinations(range(STEPS), 2)]
        return np.column_stack(
            [
                np.log2(1.0 + canonical[:, [WIDTH, HEIGHT, NAILS]]),
                np.eye(3)[canonical[:, WOOD]],
                np.eye(4)[canonical[:, PAINT]],
                *before,
            ]
        )

    def _moves(self, gene: int, value: int) -> list[int]:
        """The values that a gene can move to."""
        kind, size = _GENES[gene].kind, _GENES[gene].size
        if kind == "ordinal":
            return [near for near in (value - 1, value + 1) if 0 <= near < size]
        if kind == "categorical":
            return [other for other in range(size) if other != value]
        apart = (ORDERS[value] != ORDERS).sum(axis=1)
        swapped: list[int] = np.flatnonzero(apart == 2).tolist()
        return swapped
