"""How a learner sees a problem: actions that become genes, observations of points, and rewards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dse.problem.problem import Evaluations
from dse.search.evaluator import Evaluator, SearchProblem
from dse.search.record import Record
from dse.support.arrays import FloatArray, IntArray, SingleArray
from dse.support.errors import InputError, unknown
from dse.support.validation import positive_number, whole_number

Observations = SingleArray

OBSERVED = ("cycles", "power", "energy_nj", "area")
"""The figures that an observation holds, in order: latency, power, energy, area."""

# Observations are base-2 logarithms over this many binary orders: what an int64 holds comes below 1.
_BINARY_ORDERS = 64
# Losses this many times above or below the reference are rewarded alike: rewards stay finite.
_FARTHEST_RATIO = 1e9


@dataclass(frozen=True)
class RewardForm:
    """`feasible(ratio)` rewards a feasible point by its loss over the reference; others get `infeasible`."""

    feasible: Callable[[FloatArray], FloatArray]
    infeasible: float


REWARDS: dict[str, RewardForm] = {
    "1/x": RewardForm(lambda ratio: 1.0 / ratio, -1.0),
    "-log": RewardForm(lambda ratio: np.log(1.0 / ratio), -3.0),
}


class Options(TypedDict, total=False):
    """What every environment takes.

    - `problem` and `budget`: the environment draws that many samples of the problem and keeps their `record`;
      or `evaluator`: it draws them there, and the record is its owner's.
    - `actions`: `categorical` (the default), the genes themselves; or `gaussian`, a number in [-1, 1] a gene,
      stretched over the gene's values and rounded, as Gaussian policies want.
    - `reward`: `1/x` (the default), reference / loss (arXiv:2507.16249), -1 if infeasible (as in ArchGym); or
      `-log`, minus the natural logarithm of loss / reference, -3 if infeasible or below that.
    - `reference`: the loss in the objective's unit that is rewarded with 1 (or 0); None (the default) takes
      the first feasible loss that is drawn.
    - `episode_steps`: an episode's length. The default is 1: a point's cost does not depend on the points
      before it, so each step is a decision of its own and crediting it with later rewards only adds noise.
      ArchGym has 100, at the price of that noise, so that the agent sees the last point's figures.
    """

    problem: SearchProblem | None
    budget: int | None
    evaluator: Evaluator | None
    actions: Literal["categorical", "gaussian"]
    reward: Literal["1/x", "-log"]
    reference: float | None
    episode_steps: int


class StepResult(NamedTuple):
    """What n actions led to: observations (n, 4), rewards (n,), and their evaluations."""

    observations: Observations
    rewards: FloatArray
    evaluations: Evaluations


class View:
    """One search as its environment sees it; the arguments are Options."""

    def __init__(
        self,
        problem: SearchProblem | None = None,
        budget: int | None = None,
        evaluator: Evaluator | None = None,
        actions: str = "categorical",
        reward: str = "1/x",
        reference: float | None = None,
        episode_steps: int = 1,
    ) -> None:
        if actions not in ("categorical", "gaussian"):
            raise unknown("actions", actions, ("categorical", "gaussian"))
        if reward not in REWARDS:
            raise unknown("reward", reward, REWARDS)
        self._record: Record | None = None
        self.evaluator = self._opened(problem, budget) if evaluator is None else evaluator
        if evaluator is not None and not (problem is None and budget is None):
            raise InputError("an environment takes a problem and a budget, or an evaluator, not both")
        self.sizes: IntArray = self.evaluator.space.sizes
        self.episode_steps = whole_number(episode_steps, "episode_steps")
        self._gaussian = actions == "gaussian"
        self._form = REWARDS[reward]
        self._reference = None if reference is None else positive_number(reference, "reference")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the genes, in the order of a vector."""
        return tuple(gene.name for gene in self.evaluator.space.genes)

    @property
    def record(self) -> Record:
        """All samples drawn."""
        if self._record is None:
            raise InputError("this environment draws from a given evaluator: the record is with its owner")
        return self._record

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self.evaluator.remaining == 0

    def observation_space(self) -> spaces.Space[Any]:
        """Four figures, each from 0 to 1."""
        return spaces.Box(0.0, 1.0, (len(OBSERVED),), np.float32)

    def action_space(self, genes: Sequence[int] | None = None) -> spaces.Space[Any]:
        """The actions that choose the genes at these positions, by default all."""
        sizes = self.sizes if genes is None else self.sizes[list(genes)]
        if self._gaussian:
            return spaces.Box(-1.0, 1.0, (len(sizes),), np.float32)
        return spaces.MultiDiscrete(sizes)

    def genes(self, actions: NDArray[Any]) -> IntArray:
        """The gene vectors that actions (n, genes) choose: (n, genes)."""
        if not self._gaussian:
            return np.asarray(actions, dtype=np.int64)
        if not np.isfinite(actions).all():
            raise ValueError("actions must be finite numbers from -1 to 1")
        shares = (np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0) + 1.0) / 2.0
        return np.rint(shares * (self.sizes - 1)).astype(np.int64)

    def draw(self, genes: IntArray) -> StepResult:
        """Evaluate points (n, genes): n samples. BudgetExhausted if fewer are left; those are still drawn."""
        evaluations = self.evaluator(genes)
        return StepResult(observe(evaluations), self._rewards(evaluations), evaluations)

    def _rewards(self, evaluations: Evaluations) -> FloatArray:
        feasible = evaluations.reason == 0
        losses = evaluations.loss[feasible]
        rewards = np.full(len(feasible), self._form.infeasible)
        if len(losses):
            if self._reference is None:
                self._reference = max(float(losses[0]), np.finfo(np.float64).tiny)
            ratios = np.clip(losses / self._reference, 1.0 / _FARTHEST_RATIO, _FARTHEST_RATIO)
            # No feasible point may be worth less than one that is not.
            rewards[feasible] = np.maximum(self._form.feasible(ratios), self._form.infeasible)
        return rewards

    def _opened(self, problem: SearchProblem | None, budget: int | None) -> Evaluator:
        if problem is None or budget is None:
            raise InputError("an environment needs a problem and a budget, or an evaluator")
        self._record = Record(len(problem.space.sizes))
        return Evaluator(problem, budget, record=self._record)


def observe(evaluations: Evaluations) -> Observations:
    """The OBSERVED figures of n points on a logarithmic scale from 0 to 1: (n, 4).

    A figure x becomes log2(1 + x) / 64. Points that the cost model refuses have figures of 0 and show zeros.
    """
    figures = np.stack([getattr(evaluations, name) for name in OBSERVED], axis=1).astype(np.float64)
    orders = np.log2(1.0 + np.nan_to_num(figures, nan=0.0, posinf=np.finfo(np.float64).max).clip(min=0.0))
    return np.clip(orders / _BINARY_ORDERS, 0.0, 1.0).astype(np.float32)
