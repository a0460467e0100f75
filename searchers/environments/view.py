"""How a learner sees a problem: actions that become genes, observations of points, and rewards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dse.core.evaluations import Evaluations
from dse.core.objective import known_objective
from dse.core.reasons import Reason
from dse.search.evaluator import Evaluator, SearchProblem
from dse.search.record import Record
from dse.support.arrays import FloatArray, IntArray, SingleArray
from dse.support.errors import InputError, unknown_name
from dse.support.quantities import quantity_in_words
from dse.support.validation import positive_number, whole_number

Observations = SingleArray

OBSERVED = ("cycles", "power", "energy_nj", "area")
"""The figures that an observation holds, in order: latency, power, energy, area."""

ACTIONS = {"categorical": 1, "gaussian": 1, "discrete": 32}
"""The forms of actions, and the steps of an episode by default."""
RENDER_MODES = ("ansi",)
FIGURES = tuple(name for name in Evaluations.types() if name != "reason")
"""What an info says of a point beside its genes and the reason."""

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
      stretched over the gene's values and rounded, as Gaussian policies want; or `discrete`, one number that
      sets one gene of the last point to one value, as Q-learners such as DQN want. An episode then begins at
      a random point, which costs nothing, and each observation ends in the point's genes, from 0 to 1.
    - `reward`: `1/x` (the default), reference / loss (arXiv:2507.16249), -1 if infeasible (as in ArchGym); or
      `-log`, minus the natural logarithm of loss / reference, -3 if infeasible or below that.
    - `reference`: the loss in the objective's unit that is rewarded with 1 (or 0); None (the default) takes
      the first feasible loss that is drawn.
    - Where the evaluator has begun with a start, its points count as drawn for the reference, and with
      `discrete` actions the first episodes begin there.
    - `episode_steps`: an episode's length. The default is 1: a point's cost does not depend on the points
      before it, so each step is a decision of its own and crediting it with later rewards only adds noise.
      Such an episode is `terminated`; a longer one has a time limit, and is `truncated`.
      ArchGym has 100, at the price of that noise, so that the agent sees the last point's figures. With
      `discrete` actions, which go on from the last point, the default is 32.
    - `render_mode`: None (the default), or `ansi`: `render()` returns the best mapping so far as a text.

    What happens when the budget is spent depends on whose it is. Of its own budget, an environment makes
    nothing: further steps draw nothing and cost nothing, with a reward of 0, `truncated`, and
    `info["exhausted"]`, so that a learner that goes on comes to its end. With an `evaluator`, they raise its
    BudgetExhausted.
    """

    problem: SearchProblem | None
    budget: int | None
    evaluator: Evaluator | None
    actions: Literal["categorical", "gaussian", "discrete"]
    reward: Literal["1/x", "-log"]
    reference: float | None
    episode_steps: int | None
    render_mode: str | None


class StepResult(NamedTuple):
    """What n actions led to: observations (n, observed), rewards (n,), and evaluations of what was drawn.

    Where the budget ended before the last of them, there are fewer evaluations; the others' rows are zeros.
    """

    observations: Observations
    rewards: FloatArray
    evaluations: Evaluations | None


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
        episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if actions not in ACTIONS:
            raise unknown_name("actions", actions, ACTIONS)
        if render_mode not in (None, *RENDER_MODES):
            raise unknown_name("render_mode", render_mode, RENDER_MODES)
        if reward not in REWARDS:
            raise unknown_name("reward", reward, REWARDS)
        self._record: Record | None = None
        self.evaluator = self._opened(problem, budget) if evaluator is None else evaluator
        if evaluator is not None and not (problem is None and budget is None):
            raise InputError("an environment takes a problem and a budget, or an evaluator, not both")
        self.sizes: IntArray = self.evaluator.space.sizes
        self._actions = actions
        steps = ACTIONS[actions] if episode_steps is None else episode_steps
        self.episode_steps = whole_number(steps, "episode_steps")
        self.render_mode = render_mode
        self._points: IntArray | None = None
        self._best: tuple[float, IntArray | None] = (np.inf, None)
        self._form = REWARDS[reward]
        self._reference = None if reference is None else positive_number(reference, "reference")
        known = self.evaluator.known
        # With the points that the search has begun with come a best so far, a reference, the first episodes.
        self._begun = known.genes
        if len(self._begun):
            self._note(known.genes, known.evaluations)
            self._rewards(known.evaluations)

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
    def reference_reward(self) -> float:
        """What a point is rewarded with whose loss is the reference."""
        return float(self._form.feasible(np.ones(1))[0])

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self.evaluator.remaining == 0

    @property
    def observed(self) -> int:
        """How many numbers an observation has: the figures, and the genes where actions change them."""
        return len(OBSERVED) + (len(self.sizes) if self._actions == "discrete" else 0)

    def begin(self, rng: np.random.Generator, n: int) -> Observations:
        """Begin n episodes: what they observe first, (n, observed)."""
        if self._actions == "discrete":
            self._points = self.evaluator.space.sample(rng, n)
            self._points[: len(self._begun)] = self._begun[:n]
            self._begun = self._begun[n:]
        return self._observations(None, n)

    def over(self, steps: int) -> tuple[bool, bool]:
        """Whether an episode of so many steps is terminated, and whether it is truncated: by its time limit,
        or because no sample is left."""
        full, alone = steps >= self.episode_steps, self.episode_steps == 1
        return full and alone, (full and not alone) or self.exhausted

    def observation_space(self) -> spaces.Space[Any]:
        """Numbers from 0 to 1."""
        return spaces.Box(0.0, 1.0, (self.observed,), np.float32)

    def action_space(self, genes: Sequence[int] | None = None) -> spaces.Space[Any]:
        """The actions that choose the genes at these positions, by default all."""
        sizes = self.sizes if genes is None else self.sizes[list(genes)]
        if self._actions == "discrete":
            return spaces.Discrete(int(sizes.sum()))
        if self._actions == "gaussian":
            return spaces.Box(-1.0, 1.0, (len(sizes),), np.float32)
        return spaces.MultiDiscrete(sizes)

    def genes(self, actions: NDArray[Any]) -> IntArray:
        """The gene vectors that actions (n, genes), or (n,) where they are discrete, choose: (n, genes)."""
        if self._actions == "categorical":
            return np.asarray(actions, dtype=np.int64)
        if self._actions == "discrete":
            return self._changed(np.asarray(actions))
        if not np.isfinite(actions).all():
            raise ValueError("actions must be finite numbers from -1 to 1")
        shares = (np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0) + 1.0) / 2.0
        return np.rint(shares * (self.sizes - 1)).astype(np.int64)

    def draw(self, genes: IntArray) -> StepResult:
        """Evaluate points (n, genes): n samples, or as many as are left.

        If fewer are left of an evaluator that was given, BudgetExhausted is raised when they are drawn.
        """
        n = len(genes)
        if self._actions == "discrete":
            self._points = genes
        drawn = genes if self._record is None else genes[: self.evaluator.remaining]
        if not len(drawn):
            return StepResult(self._observations(None, n), np.zeros(n), None)
        evaluations = self.evaluator(drawn)
        self._note(drawn, evaluations)
        rewards = np.zeros(n)
        rewards[: len(drawn)] = self._rewards(evaluations)
        return StepResult(self._observations(evaluations, n), rewards, evaluations)

    def _note(self, drawn: IntArray, evaluations: Evaluations) -> None:
        """Remember the best of the points, if it is better than what was drawn before."""
        lowest = int(evaluations.loss.argmin())
        if evaluations.loss[lowest] < self._best[0]:
            self._best = float(evaluations.loss[lowest]), drawn[lowest].copy()

    def render(self) -> str:
        """The best point so far: a loop nest where the space is of mappings, else its genes."""
        loss, genes = self._best
        if genes is None:
            return "nothing feasible has been drawn yet\n"
        known = known_objective(self.evaluator.objective)
        head = f"{self.evaluator.objective} {quantity_in_words(loss, known.unit if known else '', 6)}\n"
        structure = self.evaluator.space.structure
        if structure is not None:
            return head + structure.show(genes)
        return head + "".join(
            f"{name} {value}\n" for name, value in zip(self.names, genes.tolist(), strict=True)
        )

    def _changed(self, actions: NDArray[Any]) -> IntArray:
        """The last points with one gene each set to one value: the actions count the values of all genes."""
        if self._points is None:
            raise InputError("reset the environment before the first step")
        if len(actions) != len(self._points):
            raise ValueError(f"actions must be {len(self._points)}, one an environment, got {len(actions)}")
        ends = np.cumsum(self.sizes)
        if actions.ndim != 1 or actions.min() < 0 or actions.max() >= ends[-1]:
            raise ValueError(f"an action must be a number from 0 to {ends[-1] - 1}, got {actions.tolist()}")
        gene = np.searchsorted(ends, actions, side="right")
        points = self._points.copy()
        points[np.arange(len(points)), gene] = actions - (ends - self.sizes)[gene]
        return points

    def _observations(self, evaluations: Evaluations | None, n: int) -> Observations:
        """What n environments observe, (n, observed); zeros for figures that there are none of."""
        seen = np.zeros((n, self.observed), np.float32)
        if evaluations is not None:
            figures = observe_figures(evaluations)
            seen[: len(figures), : len(OBSERVED)] = figures
        if self._points is not None:
            seen[:, len(OBSERVED) :] = self._points / np.maximum(self.sizes - 1, 1)
        return seen

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


def observe_figures(evaluations: Evaluations) -> Observations:
    """The OBSERVED figures of n points on a logarithmic scale from 0 to 1: (n, 4).

    A figure x becomes log2(1 + x) / 64. Points that the cost model refuses have figures of 0 and show zeros.
    """
    figures = np.stack([getattr(evaluations, name) for name in OBSERVED], axis=1).astype(np.float64)
    orders = np.log2(1.0 + np.nan_to_num(figures, nan=0.0, posinf=np.finfo(np.float64).max).clip(min=0.0))
    return np.clip(orders / _BINARY_ORDERS, 0.0, 1.0).astype(np.float32)


def info_of(genes: IntArray, evaluations: Evaluations | None) -> dict[str, Any]:
    """What a step says of the one point that it drew, or that the budget was spent."""
    if evaluations is None:
        return {"exhausted": True}
    figures = {name: getattr(evaluations, name)[0].item() for name in FIGURES}
    return {"genes": genes[0].copy(), **figures, "reason": Reason(int(evaluations.reason[0])).text}


def partition_genes(
    groups: Sequence[Sequence[str | int]] | None, names: Sequence[str]
) -> list[tuple[int, ...]]:
    """The groups as positions of the genes with these names, each gene in exactly one."""
    if groups is None:
        return [(gene,) for gene in range(len(names))]
    parts = [tuple(_position(gene, names) for gene in group) for group in groups]
    if not all(parts):
        raise InputError("groups must hold at least one gene each, got an empty one")
    given = [gene for part in parts for gene in part]
    for gene, name in enumerate(names):
        if given.count(gene) != 1:
            raise InputError(f"groups must hold each gene once, {name!r} is in {given.count(gene)}")
    return parts


def _position(gene: str | int, names: Sequence[str]) -> int:
    if isinstance(gene, str):
        if gene not in names:
            raise unknown_name("gene", gene, names, "groups")
        return names.index(gene)
    return whole_number(gene, "groups: a gene's position", least=0, most=len(names) - 1)
