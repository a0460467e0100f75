"""The search by relaxed equations: many descents at once, each rounded to mappings, the best priced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from dse.core.layer import DIMS as ALL_DIMS
from dse.core.objective import known_objective
from dse.domains.clustered.mapping import (
    CLUSTER,
    INNER_ORDER,
    INNER_PARALLEL,
    INNER_TILE,
    OUTER_ORDER,
    OUTER_PARALLEL,
    OUTER_TILE,
)
from dse.domains.clustered.structure import mappings_of
from dse.support.arrays import FloatArray, IntArray
from searchers.common.mapping_genes import NearestGenes
from searchers.common.visited import Visited
from searchers.gradient.nest import DIMS, Costs, Nest, Points

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.domains.clustered.structure import MappingStructure
    from dse.search.evaluator import Evaluator
    from searchers.gradient import Gradient

_TIMES = 8
"""Descents and steps, as multiples of the settings: they cost no samples and little time."""
_LEARNING_RATE = 0.15
_EXCESS = 4.0
_SHARPNESS = 4.0
"""Of softmin over orders: a doubling of cost weighs so many nats less."""
_PAIRS = 3
"""Pairs of loop orders, the best ones, with which a rounded mapping is tried."""


def has_equations(space: Space) -> bool:
    """Whether designs are mappings with the default space's genes, for which the equations stand."""
    structure = mappings_of(space)
    names = {gene.name for gene in space.genes}
    return (
        structure is not None
        and not structure.has_machines
        and structure.dims == DIMS
        and {"cluster", "outer.order", "inner.order", "outer.parallel", "inner.parallel"} <= names
    )


def search_relaxed(settings: Gradient, evaluate: Evaluator, rng: np.random.Generator) -> None:
    """Descend from random starts, round, price those not priced before, until the budget is spent."""
    space = evaluate.space
    structure = mappings_of(space)
    assert structure is not None
    visited = Visited(space)
    visited.add(evaluate.known.genes)
    descents = _Descents(settings, space, structure, evaluate.objective)
    while True:
        genes, merit = descents.rounded(rng)
        new = visited.new(genes[np.argsort(merit, kind="stable")])
        # Where descents lead to nothing new any more, chance does.
        points = new[: settings.batch_size * _TIMES] if len(new) else space.sample(rng, settings.batch_size)
        visited.add(points)
        evaluate(points)


class _Descents:
    """Descents in one problem."""

    def __init__(self, settings: Gradient, space: Space, structure: MappingStructure, objective: str) -> None:
        self._settings, self._space, self._structure = settings, space, structure
        known = known_objective(objective)
        powers = known.exponents if known is not None else {}
        # Under other objectives run time and energy are taken for signs of what is good.
        self._powers = powers if powers.keys() & {"latency", "energy"} else {"latency": 1.0, "energy": 1.0}
        self._names = [gene.name for gene in space.genes]
        self._codes = [ALL_DIMS.index(dim) for dim in DIMS]
        orders = [self._orders("outer.order", OUTER_ORDER), self._orders("inner.order", INNER_ORDER)]
        self._nest = Nest(structure.layer, structure.accelerator, *orders)
        self._nearest = NearestGenes(space, structure)
        machine = structure.accelerator
        self._rooms = torch.tensor([machine.l1_size, machine.l2_size], dtype=torch.float32).log2()

    def rounded(self, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Where a round of descents ends, (n, genes), and what the equations say of it, (n,)."""
        starts = self._space.sample(rng, self._settings.n_descents * _TIMES)
        reached = self._descend(self._points(starts))
        genes = self._genes(starts, reached)
        with torch.no_grad():
            merit = self._merit(self._nest.costs(self._points(genes)))
            width = merit.shape[2]
            flat = merit.flatten(1)
            best = flat.topk(min(_PAIRS, flat.shape[1]), dim=1, largest=False)
        found = np.repeat(genes, best.indices.shape[1], axis=0)
        pairs = best.indices.flatten().numpy()
        for name, chosen in (("outer.order", pairs // width), ("inner.order", pairs % width)):
            found[:, self._names.index(name)] = chosen
        return found, best.values.flatten().numpy().astype(np.float64)

    def _descend(self, points: Points) -> Points:
        """Adam down the softmin over orders; tiles stay within what they cut, clusters within the PEs."""
        most = float(np.log2(self._structure.accelerator.num_pes))
        outer = points.outer.clone().requires_grad_()
        inner = points.inner.clone().requires_grad_()
        cluster = points.cluster.clone().requires_grad_()
        adam = torch.optim.Adam([outer, inner, cluster], lr=_LEARNING_RATE)
        for _ in range(self._settings.descent_steps * _TIMES):
            at = Points(outer, inner, cluster, points.outer_parallel, points.inner_parallel)
            merit = self._merit(self._nest.costs(at)).flatten(1)
            loss = -torch.logsumexp(-_SHARPNESS * merit, dim=1).sum() / _SHARPNESS
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            with torch.no_grad():
                outer.clamp_(min=0).copy_(torch.minimum(outer, self._nest.sizes))
                inner.clamp_(min=0).copy_(torch.minimum(inner, outer))
                cluster.clamp_(0, most)
        return Points(
            outer.detach(), inner.detach(), cluster.detach(), points.outer_parallel, points.inner_parallel
        )

    def _merit(self, costs: Costs) -> Tensor:
        """What is to be low, log2, by orders: (n, outer orders, inner orders)."""
        figures = {"latency": costs.cycles, "energy": costs.energy}
        total = sum(self._powers[name] * figure for name, figure in figures.items() if name in self._powers)
        excess = torch.relu(costs.needs - self._rooms).sum(dim=1)
        return total + _EXCESS * excess[:, None, None]

    def _points(self, genes: IntArray) -> Points:
        """The vectors (n, genes) as relaxed mappings."""
        rows = self._structure.decode(genes).rows

        def logs(start: int) -> Tensor:
            return torch.from_numpy(rows[:, start:][:, self._codes].astype(np.float32)).log2()

        cluster = torch.from_numpy(rows[:, CLUSTER].astype(np.float32)).log2()
        parallel = [self._parallel(rows[:, column]) for column in (OUTER_PARALLEL, INNER_PARALLEL)]
        return Points(logs(OUTER_TILE), logs(INNER_TILE), cluster, *parallel)

    def _parallel(self, dims: IntArray) -> Tensor:
        places = np.array([DIMS.index(dim) if dim in DIMS else 0 for dim in ALL_DIMS])[dims]
        if self._structure.layer.type == "DSCONV":
            places = np.where(places == DIMS.index("K"), DIMS.index("C"), places)
        return torch.from_numpy(np.eye(len(DIMS), dtype=np.float32)[places])

    def _genes(self, starts: IntArray, points: Points) -> IntArray:
        """The vectors of the starts with tiles and clusters as near to the points, in log2, as there are."""
        logs = (points.outer.numpy(), points.inner.numpy(), points.cluster.numpy())
        return self._nearest(starts, *logs)

    def _orders(self, name: str, column: int) -> Tensor:
        """The loop orders that a gene has, as places in DIMS, outermost first: (orders, 4)."""
        place = self._names.index(name)
        rows = np.zeros((int(self._space.sizes[place]), len(self._names)), np.int64)
        rows[:, place] = np.arange(len(rows))
        orders = self._structure.decode(rows).rows[:, column : column + len(ALL_DIMS)]
        kept = [[self._codes.index(code) for code in order if code in self._codes] for order in orders]
        return torch.tensor(kept)
