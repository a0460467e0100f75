"""Iterated local search over the blocks of a space: the control of `team`, with no learning.

Lourenco, Martin and Stuetzle, "Iterated Local Search" (Handbook of Metaheuristics, 2003), in the blocks of
the space: of a mapping a dim's tiles, a level's loop order, the parallel dims, the cluster size. The search
goes over the blocks in random order, tries some values of each with all others held, and keeps the best.
Where no block helps any more it perturbs the best point found, setting a few of its blocks to random values,
and goes on from there; where perturbations no longer help it restarts. Infeasible points compete by
how far they exceed the buffers, and no design is visited twice while there are others.

Defaults were chosen among 12 settings on the problems of results/campaigns/devhard.toml: see results/tuning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.arrays import IntArray
from dse.support.validation import whole_number
from searchers.common.choices import Choices
from searchers.common.scores import penalised_losses
from searchers.common.settings import MAX_POINTS, check_probability
from searchers.common.visited import Visited

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Local:
    """Iterated local search: sweeps over the blocks, perturbations, and restarts."""

    n_startup_trials: int = 16
    """Random points of which the best is where the search begins, and begins again."""
    candidates: int = 2
    """Values of a block tried at a time."""
    neighbour_share: float = 0.5
    """The share of them that are neighbours, one move away, where there are enough; others are any."""
    perturbation: int = 3
    """Blocks that a perturbation sets at random: two to so many, or all there are if they are fewer."""
    patience: int = 8
    """Perturbations without a better point after which it restarts, but for what was visited; 0: never."""

    aliases: ClassVar[dict[str, str]] = {
        "starts": "n_startup_trials",
        "values": "candidates",
        "near": "neighbour_share",
        "kick": "perturbation",
    }
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.n_startup_trials, "n_startup_trials", most=MAX_POINTS)
        whole_number(self.candidates, "candidates", most=MAX_POINTS)
        check_probability(self.neighbour_share, "neighbour_share")
        whole_number(self.perturbation, "perturbation", least=2)
        whole_number(self.patience, "patience", least=0)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Descend, perturb, and restart until the budget is spent."""
        search = _Search(self, evaluate, rng)
        while True:
            search.descend()


class _Search:
    """The state of one search."""

    def __init__(self, settings: Local, evaluate: Evaluator, rng: np.random.Generator) -> None:
        self._settings = settings
        self._evaluate = evaluate
        self._rng = rng
        self._choices = Choices(evaluate.space)
        self._visited = Visited(evaluate.space)
        self._visited.add(evaluate.known.genes)
        self._begun = False

    def descend(self) -> None:
        """From the best of some random points, sweep and perturb until that no longer helps."""
        settings = self._settings
        points = self._choices.sample(self._rng, settings.n_startup_trials)
        unknown = self._visited.new(points)
        home, best = self._best_of(unknown if len(unknown) else points)
        known = self._evaluate.known
        if (
            not self._begun
            and len(known.genes)
            and (judged := penalised_losses(known.evaluations)).min() < best
        ):
            home, best = known.genes[int(np.argmin(judged))], float(judged.min())
        self._begun = True
        home, best = self._settle(home, best)
        idle = 0
        while not settings.patience or idle < settings.patience:
            point, score = self._settle(*self._best_of(self._perturbed(home)))
            idle = 0 if score < best else idle + 1
            if score <= best:
                home, best = point, score

    def _settle(self, point: IntArray, score: float) -> tuple[IntArray, float]:
        """Sweep over the blocks until none of them improves the point: it, and its score."""
        improved = True
        while improved:
            improved = False
            for index in self._rng.permutation(len(self._choices.blocks)).tolist():
                candidates = self._candidates(index, point)
                if not len(candidates):
                    continue
                better, its_score = self._best_of(candidates)
                improved |= its_score < score
                if its_score <= score:
                    point, score = better, its_score
        return point, score

    def _candidates(self, index: int, point: IntArray) -> IntArray:
        """Values of a block that were not visited, neighbours first: (m, genes), m at most `candidates`."""
        block, settings = self._choices.blocks[index], self._settings
        near = self._visited.new(self._rng.permutation(block.neighbours(point)))
        near = near[: round(settings.neighbour_share * settings.candidates)]
        far = self._choices.drawn(block, point, self._rng, settings.candidates - len(near))
        return self._visited.new(np.concatenate([near, far]))

    def _perturbed(self, home: IntArray) -> IntArray:
        """The point with a few blocks set at random: (1, genes)."""
        blocks = self._choices.blocks
        most = min(self._settings.perturbation, len(blocks))
        count = int(self._rng.integers(min(2, most), most + 1))
        point = home
        for index in self._rng.permutation(len(blocks))[:count].tolist():
            point = self._choices.drawn(blocks[index], point, self._rng, 1)[0]
        return point[np.newaxis]

    def _best_of(self, genes: IntArray) -> tuple[IntArray, float]:
        """Evaluate the points, and return the best with its score."""
        self._visited.add(genes)
        judged = penalised_losses(self._evaluate(genes))
        best = int(np.argmin(judged))
        return genes[best], float(judged[best])
