"""Agents of stable-baselines3 that search: one after another plays over the gate, many points at once."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from searchers.common.own_draws import Draws, route_draws
from searchers.common.play import ENDLESS, Playing, keep_learned
from searchers.common.refusals import refusals_as_input_errors
from searchers.common.torch_apart import draw_from_generator, torch_apart

if TYPE_CHECKING:
    import numpy as np
    import torch

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep

LONG = 2**30
"""Steps that no search gets to either, of which so few are a share that a float can tell."""


class AgentPlay(Playing):
    """A searcher by one agent that has all genes: a subclass has the fields, the game and the settings.

    A step draws `n_envs` points, in one call to the evaluator. An agent that has found nothing better for
    `patience` samples gives way to a new one; 0 is never.
    """

    libraries: ClassVar[tuple[str, ...]] = ("gymnasium", "stable-baselines3", "torch")
    algorithm: ClassVar[str]
    steps: ClassVar[int] = ENDLESS
    """What schedules take for an agent's whole life."""
    n_envs: int
    patience: int

    @abstractmethod
    def settings(self, genes: int) -> dict[str, Any]:
        """What the algorithm takes, by its names."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let one agent after another learn until the budget is spent. The last one's policy is kept."""
        with torch_apart(), refusals_as_input_errors():
            import torch

            from learners.sb3 import new_agent, policy_of
            from learners.team import Team
            from searchers.common.sb3_env import StableBaselinesEnv

            route_draws("stable_baselines3")
            draws = _Draws(Draws.seeded(0), torch.Generator())
            game, settings = self.game(), self.settings(len(evaluate.space.sizes))
            team = Team.of(game.environment(evaluate))
            shared = game.side_by_side(evaluate, self.n_envs)
            while True:
                env = StableBaselinesEnv(shared)
                agent = new_agent(self.algorithm, env, int(rng.integers(2**32)), settings, draws)
                if keep is not None:
                    keep_learned(keep, partial(policy_of, agent, team), game)

                def still_learning(*_: Any, env: StableBaselinesEnv = env) -> bool:
                    return not self.patience or env.idle < self.patience

                with draws.shared.used():
                    agent.learn(self.steps, callback=still_learning, log_interval=ENDLESS)


@dataclass(frozen=True)
class _Draws:
    """What an agent draws from: in place of Python's and numpy's generators, and of torch's."""

    shared: Draws
    torch: torch.Generator

    def seed(self, seed: int) -> None:
        self.shared.seed(seed)
        self.torch.manual_seed(seed)

    def handed(self) -> AbstractContextManager[Any]:
        return draw_from_generator(self.torch)
