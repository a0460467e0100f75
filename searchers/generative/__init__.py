"""A transformer that has seen good mappings of other layers writes some for this one, which are then refined.

In the manner of Kao, Huang and Krishna, "DNNFuser" (2022, arXiv:2201.11218), as recollected: sequences of
what is to be mapped, how good it is to be, and the genes; sampled with a low target. It was taught on layers
of the development networks, for latency and EDP, under the model `loopnest`, by the command
experiments/tuning/generative_offline.py. What it has seen cost samples, which are declared.
`source = "sparse"` is such a transformer trained by mixed sparsity (learners.mst). `source = "nearest"` is
the control: copies of the best mappings known of the layers, accelerators and objectives that are nearest to
this one's.

What was written is evaluated, and a local search, `local`, goes on from the best of it. In a space that has
no such sequences (other machines, levels, objectives, fixed genes, no mappings), that search is all there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, cast

import numpy as np

from dse.domains.clustered.structure import mappings_of
from dse.search.evaluator import Known
from dse.support.arrays import IntArray
from dse.support.schema import Limits
from searchers.common.settings import MAX_POINTS
from searchers.common.sub_budget import SubBudget
from searchers.common.torch_apart import torch_apart
from searchers.common.visited import Visited
from searchers.local import Local

if TYPE_CHECKING:
    from dse.core.space import Space
    from dse.search.evaluator import Evaluator

TAUGHT_SAMPLES = 802_816
"""Samples of other layers that the mapper was taught by, and that found the mappings which are copied."""


@dataclass(frozen=True)
class Generative:
    """Mappings written, or copied, for the layer; then local search."""

    source: Literal["transformer", "sparse", "nearest"] = "transformer"
    """Where the first mappings come from."""
    n_generated: Annotated[int, Limits(ge=1, le=MAX_POINTS)] = 128
    """Mappings that are written and evaluated before the local search."""
    target: Annotated[float, Limits(ge=-10, le=10)] = 0.0
    """The target: log2 of the loss over the best that is known."""
    temperature: Annotated[float, Limits(gt=0, le=10)] = 0.7
    """The temperature at which sequences are drawn."""

    aliases: ClassVar[Mapping[str, str]] = {"written": "n_generated", "heat": "temperature"}
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    portable: ClassVar[bool] = False

    def begins(self, space: Space) -> str:
        """With what it begins, in words."""
        mappings = mappings_of(space)
        if mappings is None or mappings.has_machines:
            return "random"
        return "known mappings" if self.source == "nearest" else "taught mappings"

    @property
    def samples_elsewhere(self) -> int:
        """Samples that taught the mapper: not charged here, and so declared."""
        return TAUGHT_SAMPLES

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Write, evaluate, and search on from the best."""
        from searchers.generative.sequences import has_sequences

        informed = _Informed(evaluate)
        if has_sequences(evaluate.space, evaluate.objective):
            with torch_apart():
                points = self._points(evaluate, rng)
            if len(points):
                informed.draw(points)
        trials = 1 if len(informed.known.genes) else Local.n_startup_trials
        Local(n_startup_trials=trials).search(cast("Evaluator", informed), rng)

    def _points(self, evaluate: Evaluator, rng: np.random.Generator) -> IntArray:
        """Distinct designs to begin with, that are not known: at most `n_generated`."""
        from searchers.generative.mapper import known_sequences, read_mapper
        from searchers.generative.sequences import context_vector, genes_of

        space = evaluate.space
        structure = mappings_of(space)
        assert structure is not None
        here = context_vector(structure, evaluate.objective)
        mapper, middle, spread = read_mapper("sparse" if self.source == "sparse" else "mapper")
        if self.source == "nearest":
            contexts, best = known_sequences()
            distances = np.square((contexts - here) / spread).sum(axis=1)
            tokens = best[np.argsort(distances, kind="stable")[: 2 * self.n_generated]]
        else:
            told = np.append((here - middle) / spread, self.target)
            tokens = mapper.write(told, 2 * self.n_generated, self.temperature, rng)
        visited = Visited(space)
        visited.add(evaluate.known.genes)
        return visited.new(genes_of(space, structure, tokens))[: self.n_generated]


class _Informed(SubBudget):
    """All that is left of a budget, for a searcher that is to know what was drawn before its turn."""

    def __init__(self, evaluate: Evaluator) -> None:
        super().__init__(evaluate, evaluate.remaining)
        self._held = evaluate.known

    @property
    def known(self) -> Known:
        """What the search began with, and what was drawn since."""
        return self._held

    def draw(self, genes: IntArray) -> None:
        """Evaluate points, and know them."""
        found = self(genes)
        before = self._held
        if len(before.genes):
            found = before.evaluations.joined(found)
        self._held = Known(np.concatenate([before.genes, genes]), found)
