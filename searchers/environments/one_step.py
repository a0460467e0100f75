"""One mapping a step: an environment of one agent, several in one call, and a team that shares the genes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from dse.core.evaluations import Evaluations
from dse.core.reasons import Reason
from dse.support.arrays import BoolArray, IntArray
from dse.support.errors import InputError
from dse.support.validation import whole_number
from searchers.environments.shared import Grouped, Told, Viewed
from searchers.environments.view import FIGURES, OBSERVED, Observations, Options, View, info_of

ENV_ID = "dse/Mapping-v0"

Actions = NDArray[Any]


class MappingEnv(Viewed, gymnasium.Env[Observations, Actions]):
    """One mapping a step. See Options for what it takes.

    A step's info holds the point's `genes`, its figures and `loss` as in Evaluations, and the `reason` in
    words ("feasible" if it is), or, once the budget is spent, nothing but `exhausted`. The observation is of
    the point just drawn, with figures of zero after a reset.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._view = View(**options)
        self._steps = 0
        self.render_mode = self._view.render_mode
        self.observation_space = self._view.observation_space()
        self.action_space = self._view.action_space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; it costs nothing, and does not give the budget back."""
        super().reset(seed=seed)
        self._steps = 0
        return self._view.begin(self.np_random, 1)[0], {}

    def step(self, action: Actions) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Draw the mapping that the action chooses."""
        genes = self._view.genes(np.asarray(action)[np.newaxis])
        drawn = self._view.draw(genes)
        self._steps += 1
        terminated, truncated = self._view.over(self._steps)
        info = info_of(genes, drawn.evaluations)
        return drawn.observations[0], float(drawn.rewards[0]), terminated, truncated, info


class MappingVectorEnv(Viewed, VectorEnv[Observations, Actions, NDArray[Any]]):
    """`num_envs` mappings a step, priced in one call and charged to one budget. See Options.

    Episodes begin and end together; the step that ends them returns the observation of the next reset, and
    the last one in `final_obs`. Infos are as MappingEnv's, in arrays. Of a step that asks for more than the
    budget has left, what is left is drawn; the other environments are `exhausted`.
    """

    metadata: ClassVar[dict[str, Any]] = {**Viewed.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}  # type: ignore[misc]

    def __init__(self, num_envs: int = 1, **options: Unpack[Options]) -> None:
        self._view = View(**options)
        self._steps = 0
        self.render_mode = self._view.render_mode
        self.num_envs = whole_number(num_envs, "num_envs")
        self.single_observation_space = self._view.observation_space()
        self.single_action_space = self._view.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin new episodes; it costs nothing, and does not give the budget back."""
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        self._steps = 0
        return self._view.begin(self.np_random, self.num_envs), {}

    def render(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The best mapping of all environments so far as a text, once for each, with the mode `ansi`."""
        return (self._view.render(),) * self.num_envs if self.render_mode else None

    def step(
        self, actions: Actions
    ) -> tuple[Observations, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Draw the mappings that the actions (num_envs, genes) choose."""
        genes = self._view.genes(np.asarray(actions))
        if len(genes) != self.num_envs:
            raise ValueError(f"actions must be {self.num_envs}, one an environment, got {len(genes)}")
        observations, rewards, evaluations = self._view.draw(genes)
        self._steps += 1
        terminated, truncated = self._view.over(self._steps)
        infos = self._infos(genes, evaluations)
        if terminated or truncated:
            infos |= {"final_obs": observations, "_final_obs": self._all(True)}
            observations = self._view.begin(self.np_random, self.num_envs)
            self._steps = 0
        return observations, rewards, self._all(terminated), self._all(truncated), infos

    def _infos(self, genes: IntArray, evaluations: Evaluations | None) -> dict[str, Any]:
        """The infos in arrays, each with a mask of the environments that drew something."""
        count = 0 if evaluations is None else len(evaluations)
        drawn = np.arange(self.num_envs) < count
        infos: dict[str, Any] = {"genes": genes}
        if evaluations is not None:
            columns = {name: getattr(evaluations, name) for name in FIGURES}
            columns["reason"] = np.array([Reason(int(c)).text for c in evaluations.reason], dtype=object)
            for name, column in columns.items():
                infos[name] = np.zeros(self.num_envs, column.dtype)
                infos[name][:count] = column
        infos |= {f"_{name}": drawn for name in tuple(infos)}
        if count < self.num_envs:
            infos |= {"exhausted": ~drawn, "_exhausted": ~drawn}
        return infos

    def _all(self, flag: bool) -> BoolArray:
        return np.full(self.num_envs, flag)


class MappingParallelEnv(Grouped):
    """One agent a group of genes; together they choose one mapping a step. See Options.

    `groups` is any partition of the genes, given by names or positions; by default each gene has an agent of
    its own. An agent is named by its genes, joined by `+`. Its action is one number for one gene, an array
    for several. All agents see the same observation and get the same reward and info, as MappingEnv's.
    """

    metadata: ClassVar[dict[str, Any]] = {**Viewed.metadata, "name": "dse_mapping_v0"}

    def __init__(
        self, groups: Sequence[Sequence[str | int]] | None = None, **options: Unpack[Options]
    ) -> None:
        if options.get("actions") == "discrete":
            raise InputError("agents choose the values of their genes: actions are categorical or gaussian")
        self._begin(View(**options), groups)
        self._steps = 0
        self.observation_spaces = {name: self._view.observation_space() for name in self.groups}
        self.action_spaces = {name: self._agent_space(part) for name, part in self.groups.items()}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observations], dict[str, dict[str, Any]]]:
        """Begin an episode; it costs nothing, and does not give the budget back."""
        self._steps = 0
        return self._all_begin(np.zeros(len(OBSERVED), np.float32))

    def step(self, actions: Mapping[str, Any]) -> Told:
        """Draw the mapping that the agents' actions choose together."""
        genes = self._view.genes(self._joint(actions)[np.newaxis])
        drawn = self._view.draw(genes)
        self._steps += 1
        terminated, truncated = self._view.over(self._steps)
        info = info_of(genes, drawn.evaluations)
        return self._told(drawn.observations[0], float(drawn.rewards[0]), terminated, truncated, info)

    def _agent_space(self, part: tuple[int, ...]) -> spaces.Space[Any]:
        space = self._view.action_space(part)
        if len(part) == 1 and isinstance(space, spaces.MultiDiscrete):
            return spaces.Discrete(int(space.nvec[0]))
        return space

    def _joint(self, actions: Mapping[str, Any]) -> Actions:
        """The agents' actions as one action over all genes."""
        missing = [agent for agent in self._acting() if agent not in actions]
        if missing:
            raise InputError(f"no action for agent {missing[0]!r}")
        joint = np.empty(len(self._view.names))
        for agent, part in self.groups.items():
            joint[list(part)] = np.atleast_1d(actions[agent])
        return joint


gymnasium.register(
    ENV_ID,
    entry_point="searchers.environments.one_step:MappingEnv",
    vector_entry_point="searchers.environments.one_step:MappingVectorEnv",
)
