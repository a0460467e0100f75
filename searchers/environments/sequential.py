"""Problems as decisions in many steps: `construct` sets a mapping gene by gene, `refine` moves one about.

- `construct`: each step sets one gene (one agent), or the genes of one agent's group, whose turn it is
  (many). What is observed is what has been set so far. The last step draws the mapping, a sample an episode,
  and earns its reward; the others earn nothing.
- `refine`: an episode begins at a mapping that costs nothing to look at. Each step moves every gene at once,
  by one of MOVES, and draws where that leads: a sample a step. What is observed is the last point's figures
  and its genes. The reward is by how much the point's own, as in Options, is above that of the point before;
  the first is measured against the reference. Its length is a time limit: the last step is `truncated`, not
  terminated, for moves could go on.

Importing this module registers `dse/Construct-v0` and `dse/Refine-v0`. What becomes of a spent budget, and
the options, are as in searchers.environments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces

from dse.support.arrays import IntArray
from dse.support.errors import InputError
from searchers.environments.forms import MOVES, STEPS, Construct, Form, Outcome, Start, make_game
from searchers.environments.shared import Grouped, Told, Viewed
from searchers.environments.view import Observations, Options, View, info_of


class SequentialEnv(Viewed, gymnasium.Env[Observations, Any]):
    """One agent that decides for all genes.

    In `construct` an action is a number for the gene whose turn it is: as many choices as the largest gene
    has, spread over its values. In `refine` it is a move for every gene, or, with `actions="discrete"`, one
    number, a gene times a move, that moves one of them. `start` is where an episode of `refine` begins: at a
    random point (`anywhere`), or at the best one drawn so far.
    """

    def __init__(
        self, form: Form = "construct", start: Start = "anywhere", **options: Unpack[Options]
    ) -> None:
        actions = options.pop("actions", "categorical")
        self._joint = form == "refine" and actions == "discrete"
        if actions != "categorical" and not self._joint:
            raise InputError(f"actions must be categorical, or for refine discrete, got {actions!r}")
        self._view = _view(form, options)
        genes = len(self._view.sizes)
        self._game = make_game(form, start, self._view, [(gene,) for gene in range(genes)])
        self.render_mode = self._view.render_mode
        self.observation_space = spaces.Box(0.0, 1.0, (self._game.observed,), np.float32)
        self.action_space: spaces.Space[Any] = spaces.MultiDiscrete(self._game.choices)
        if form == "construct":
            self.action_space = spaces.Discrete(int(self._view.sizes.max()))
        elif self._joint:
            self.action_space = spaces.Discrete(genes * len(MOVES))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; it costs nothing, and does not give the budget back."""
        super().reset(seed=seed)
        return self._game.begin(self.np_random), {}

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Set a gene, or move."""
        if not self.action_space.contains(action):
            raise ValueError(f"an action must be within {self.action_space}, got {action}")
        outcome = self._game.step(self._chosen(action))
        exhausted = self._view.exhausted
        said = _said(outcome, exhausted)
        return outcome.observation, outcome.reward, outcome.ended, outcome.cut or exhausted, said

    def _chosen(self, action: Any) -> IntArray:
        """The action as a choice for each gene."""
        if isinstance(self.action_space, spaces.MultiDiscrete):
            return np.asarray(action, np.int64)
        if self._joint:
            chosen = np.full(len(self._view.sizes), MOVES.index("stay"))
            chosen[int(action) // len(MOVES)] = int(action) % len(MOVES)
            return chosen
        return int(action) * self._view.sizes // int(self._view.sizes.max())


class SequentialParallelEnv(Grouped):
    """One agent a group of genes, as in MappingParallelEnv; all observe and earn the same.

    In `construct` the agents have turns, in their order, and what the others do meanwhile counts for nothing:
    an observation ends in whose turn it is. In `refine` each moves its genes, all at once.
    """

    metadata: ClassVar[dict[str, Any]] = {**Viewed.metadata, "name": "dse_sequential_v0"}

    def __init__(
        self,
        groups: Sequence[Sequence[str | int]] | None = None,
        form: Form = "construct",
        start: Start = "anywhere",
        **options: Unpack[Options],
    ) -> None:
        if options.pop("actions", "categorical") != "categorical":
            raise InputError("agents choose for their own genes: actions are categorical")
        self._begin(_view(form, options), groups)
        self._game = make_game(form, start, self._view, list(self.groups.values()))
        self._rng = np.random.default_rng(0)
        seen = spaces.Box(0.0, 1.0, (self._game.observed + self._turns,), np.float32)
        self.observation_spaces = dict.fromkeys(self.groups, seen)
        self.action_spaces = {name: self._agent_space(part) for name, part in self.groups.items()}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observations], dict[str, dict[str, Any]]]:
        """Begin an episode; it costs nothing, and does not give the budget back."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        return self._all_begin(self._seen(self._game.begin(self._rng)))

    def step(self, actions: Mapping[str, Any]) -> Told:
        """Let the agents set their genes, or move."""
        self._acting()
        chosen = np.zeros_like(self._view.sizes)
        for agent, part in self.groups.items():
            if agent not in actions or not self.action_spaces[agent].contains(actions[agent]):
                raise InputError(f"no action for agent {agent!r} within {self.action_spaces[agent]}")
            chosen[list(part)] = actions[agent]
        outcome, exhausted = self._game.step(chosen), self._view.exhausted
        seen, cut = self._seen(outcome.observation), outcome.cut or exhausted
        return self._told(seen, outcome.reward, outcome.ended, cut, _said(outcome, exhausted))

    @property
    def _turns(self) -> int:
        """How many numbers say whose turn it is."""
        return len(self.groups) if isinstance(self._game, Construct) else 0

    def _seen(self, observation: Observations) -> Observations:
        if not isinstance(self._game, Construct):
            return observation
        turn = np.zeros(len(self.groups), np.float32)
        turn[self._game.turn] = 1
        return np.concatenate([observation, turn])

    def _agent_space(self, part: tuple[int, ...]) -> spaces.Space[Any]:
        choices = self._game.choices[list(part)]
        return spaces.Discrete(int(choices[0])) if len(part) == 1 else spaces.MultiDiscrete(choices)


def _view(form: Form, options: Options) -> View:
    if form == "construct" and options.get("episode_steps") is not None:
        raise InputError("an episode that constructs has as many steps as there are turns: no episode_steps")
    # Improvements are ratios, whose logarithms add up; what is constructed is rewarded as in one step.
    usual: Options = {"episode_steps": STEPS, "reward": "-log"} if form == "refine" else {"episode_steps": 1}
    both: Options = {**usual, **options}
    return View(**both)


def _said(outcome: Outcome, exhausted: bool) -> dict[str, Any]:
    """A drawn point's figures, or that there are no samples left to draw one."""
    if outcome.evaluations is None and not exhausted:
        return {}
    return info_of(outcome.genes[np.newaxis], outcome.evaluations)


for _form in ("construct", "refine"):
    gymnasium.register(
        f"dse/{_form.capitalize()}-v0",
        entry_point="searchers.environments.sequential:SequentialEnv",
        kwargs={"form": _form},
    )
