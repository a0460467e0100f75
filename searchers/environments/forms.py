"""How a mapping comes about in many steps: the forms of `sequential`, played for all genes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from dse.core.evaluations import Evaluations
from dse.support.arrays import IntArray
from dse.support.errors import unknown_name
from searchers.environments.view import OBSERVED, Observations, View

Form = Literal["construct", "refine"]
Start = Literal["anywhere", "best"]

MOVES = ("a quarter down", "one down", "stay", "one up", "a quarter up")
"""How `refine` may move a gene: by a quarter of its values, at least one. Ordinal genes stop at their ends,
others go round."""

STEPS = 25
"""The length of an episode of `refine` by default."""


class Outcome(NamedTuple):
    """What a step led to; `evaluations` only where a point was drawn, and `genes` are those it left.

    `ended` says that nothing follows, `cut` that a time limit ends the episode though moves could go on.
    """

    observation: Observations
    reward: float
    ended: bool
    cut: bool
    genes: IntArray
    evaluations: Evaluations | None


class Game(Protocol):
    """A form, played by whoever decides for all genes at once."""

    choices: IntArray
    """How many choices there are for each gene: (genes,)."""
    observed: int

    def begin(self, rng: np.random.Generator) -> Observations:
        """Begin an episode."""
        ...

    def step(self, chosen: IntArray) -> Outcome:
        """Take a choice for each gene, of which those count whose turn it is."""
        ...


class Construct:
    """Genes are set group by group, and the point is drawn in the end."""

    def __init__(self, view: View, groups: Sequence[tuple[int, ...]]) -> None:
        self._view, self._groups = view, groups
        self.choices = view.sizes
        self.observed = 2 * len(view.sizes)
        self._genes, self._set, self.turn = np.zeros_like(view.sizes), np.zeros_like(view.sizes), 0

    def begin(self, rng: np.random.Generator) -> Observations:
        """See Game."""
        self._genes, self._set, self.turn = np.zeros_like(self.choices), np.zeros_like(self.choices), 0
        return self._seen()

    def step(self, chosen: IntArray) -> Outcome:
        """See Game."""
        group = list(self._groups[self.turn])
        self._genes[group], self._set[group] = chosen[group], 1
        self.turn += 1
        ended = self.turn == len(self._groups)
        self.turn %= len(self._groups)
        if not ended and not self._view.exhausted:
            return Outcome(self._seen(), 0.0, False, False, self._genes, None)
        # Where no sample is left, the owner of the evaluator hears it at the first step.
        drawn = self._view.draw(self._genes[np.newaxis].copy())
        return Outcome(self._seen(), float(drawn.rewards[0]), ended, False, self._genes, drawn.evaluations)

    def _seen(self) -> Observations:
        """The genes that are set, from 0 to 1, and which ones they are."""
        return np.concatenate([self._genes / np.maximum(self.choices - 1, 1), self._set]).astype(np.float32)


class Refine:
    """All genes are moved and the point is drawn, step by step."""

    def __init__(self, view: View, start: Start) -> None:
        self._view, self._start = view, start
        self._ordinal = np.array([gene.kind == "ordinal" for gene in view.evaluator.space.genes])
        far = np.maximum(view.sizes // 4, 1)
        self._moves = np.stack([-far, -np.ones_like(far), 0 * far, np.ones_like(far), far])
        self.choices = np.full(len(view.sizes), len(MOVES))
        self.observed = len(OBSERVED) + len(view.sizes)
        self._genes, self._reward, self._steps = np.zeros_like(view.sizes), 0.0, 0
        self._best: tuple[float, IntArray, Observations] | None = None

    def begin(self, rng: np.random.Generator) -> Observations:
        """See Game."""
        self._steps = 0
        # Drawn in any case, so that what is random later does not depend on what was found.
        self._genes = self._view.evaluator.space.sample(rng, 1)[0]
        self._reward = self._view.reference_reward
        figures = np.zeros(len(OBSERVED), np.float32)
        if self._start == "best" and self._best is not None:
            self._reward, self._genes, figures = self._best
        return self._seen(figures)

    def step(self, chosen: IntArray) -> Outcome:
        """See Game."""
        moved = self._genes + self._moves[chosen, np.arange(len(chosen))]
        sizes = self._view.sizes
        self._genes = np.where(self._ordinal, np.clip(moved, 0, sizes - 1), moved % sizes)
        drawn = self._view.draw(self._genes[np.newaxis])
        self._steps += 1
        cut = self._steps >= self._view.episode_steps
        if drawn.evaluations is None:
            return Outcome(self._seen(drawn.observations[0]), 0.0, False, cut, self._genes, None)
        reward, before = float(drawn.rewards[0]), self._reward
        self._reward = reward
        figures = drawn.observations[0]
        if self._best is None or reward > self._best[0]:
            self._best = reward, self._genes, figures
        return Outcome(self._seen(figures), reward - before, False, cut, self._genes, drawn.evaluations)

    def _seen(self, figures: Observations) -> Observations:
        shares = self._genes / np.maximum(self._view.sizes - 1, 1)
        return np.concatenate([figures, shares]).astype(np.float32)


def make_game(form: Form, start: Start, view: View, groups: Sequence[tuple[int, ...]]) -> Game:
    """The game of that form."""
    if form not in ("construct", "refine"):
        raise unknown_name("form", form, ("construct", "refine"))
    if start not in ("anywhere", "best"):
        raise unknown_name("start", start, ("anywhere", "best"))
    return Construct(view, groups) if form == "construct" else Refine(view, start)
