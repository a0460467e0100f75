"""Agents of stable-baselines3 that search: one after another plays over the gate, many points at once."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from searchers.common.own_draws import Draws, route
from searchers.common.play import ENDLESS, Game, tell
from searchers.common.refusals import refusals
from searchers.common.torch_apart import handed, torch_apart

if TYPE_CHECKING:
    import numpy as np
    import torch

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep
    from dse.support.arrays import FloatArray

LONG = 2**30
"""Steps that no search gets to either, of which so few are a share that a float can tell."""


def play(
    name: str,
    settings: dict[str, Any],
    game: Game,
    envs: int,
    patience: int,
    evaluate: Evaluator,
    rng: np.random.Generator,
    keep: Keep | None = None,
    steps: int = ENDLESS,
    spread: FloatArray | None = None,
) -> None:
    """Let agents of the algorithm `name` learn until the budget is spent. The last one's policy is kept.

    A step draws `envs` points, in one call to the evaluator. An agent that has found nothing better for
    `patience` samples gives way to a new one; 0 is never. `steps` is what schedules take for its whole life,
    and `spread` (numbers of an action,) the deviations that a deterministic actor is tried with.
    """
    with torch_apart(), refusals():
        import torch

        from learners.sb3 import begin, noise, policy_of
        from learners.team import Team
        from searchers.common.sb3_env import StableBaselinesEnv
        from searchers.environments import MappingVectorEnv

        route("stable_baselines3")
        draws = _Draws(Draws.seeded(0), torch.Generator())
        if spread is not None:
            settings = {**settings, "action_noise": noise(spread)}
        team = Team.of(game.environment(evaluate))
        shared = MappingVectorEnv(
            envs,
            evaluator=evaluate,
            actions=game.actions,
            reward=game.reward,
            episode_steps=game.episode_steps,
        )
        while True:
            env = StableBaselinesEnv(shared)
            agent = begin(name, env, int(rng.integers(2**32)), settings, draws)
            if keep is not None:
                tell(keep, partial(policy_of, agent, team), game)

            def still_learning(*_: Any, env: StableBaselinesEnv = env) -> bool:
                return not patience or env.idle < patience

            with draws.shared.used():
                agent.learn(steps, callback=still_learning, log_interval=ENDLESS)


@dataclass(frozen=True)
class _Draws:
    """What an agent draws from: in place of Python's and numpy's generators, and of torch's."""

    shared: Draws
    torch: torch.Generator

    def seed(self, seed: int) -> None:
        self.shared.seed(seed)
        self.torch.manual_seed(seed)

    def handed(self) -> AbstractContextManager[Any]:
        return handed(self.torch)
