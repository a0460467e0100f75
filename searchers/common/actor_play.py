"""A D4PG learner and its actors that search: all genes as numbers, many points at a time, over the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from dse.support.errors import InputError
from dse.support.schema import Limits
from searchers.common.play import Game, Reward, tell
from searchers.common.settings import MOST_UNITS, Count, Finite, Layers, Positive, Repeats, Samples, Share
from searchers.common.torch_apart import torch_apart

if TYPE_CHECKING:
    import numpy as np

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep
    from learners.d4pg import D4PG as Algorithm

_HELD = 100_000


@dataclass(frozen=True)
class ActorPlay:
    """How actors search, and how the learner learns (see learners.d4pg and learners.actors)."""

    reward: Reward = "-log"
    """What a point earns (see Options of searchers.environments)."""
    actors: Count = 4
    """Points that are drawn, and evaluated, at a time."""
    spread: Share = 0.4
    """Deviation of the first actor's noise on actions in [-1, 1]; the others' falls evenly to 0."""
    warm_up: Samples = 100
    """Samples drawn at random before the first update."""
    update_every: Count = 1
    """Samples between updates."""
    updates: Repeats = 8
    """Updates at a time."""
    batch: Count = 128
    learning_rate: Positive = 0.003
    """Adam's, of actor and critic alike."""
    tau: Share = 1.0
    """The share of the way to the networks that their targets go after an update."""
    lowest: Finite = -3.0
    """The lowest return that the critic knows."""
    highest: Finite = 20.0
    atoms: Annotated[int, Limits(ge=2, le=MOST_UNITS)] = 51
    """Returns from the lowest to the highest whose chances the critic tells."""
    steps: Count = 1
    """Steps whose rewards a target counts as they were."""
    discount: Share = 0.9
    """How much less a reward counts for each step that it is later."""
    hidden: Layers = (64, 64)
    """Units of the hidden layers, of actor and critic alike."""
    episode_steps: Count = 1
    patience: Samples = 1200
    """Samples without a better one after which a new learner begins; 0 is never."""

    libraries: ClassVar[tuple[str, ...]] = ("gymnasium", "pettingzoo", "torch")
    portable: ClassVar[bool] = False
    has_policy: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        if self.lowest >= self.highest:
            raise InputError(f"lowest must be below highest, got {self.lowest} and {self.highest}")

    def play(
        self, bits: int, pull_every: int, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None
    ) -> None:
        """Let one learner after another learn from actors of so many bits until the budget is spent."""
        with torch_apart():
            from learners.actors import Actors, lockstep, spreads
            from learners.team import Team
            from searchers.environments import MappingVectorEnv

            game = Game("one-step", "one", "gaussian", self.reward, self.episode_steps)
            team = Team.of(game.environment(evaluate))
            env = MappingVectorEnv(
                self.actors,
                evaluator=evaluate,
                actions="gaussian",
                reward=self.reward,
                episode_steps=self.episode_steps,
            )
            while True:
                learner = self.learning().begin(team, rng)
                if keep is not None:
                    tell(keep, learner.policy, game)
                actors = Actors(team, learner, spreads(self.spread, self.actors), bits, rng)
                lockstep(learner, actors, team, env, pull_every, bits, rng, Patience(self.patience))

    def learning(self) -> Algorithm:
        """How the learner learns."""
        from learners.d4pg import D4PG as Algorithm

        return Algorithm(
            hidden=self.hidden,
            critic_hidden=self.hidden,
            atoms=self.atoms,
            lowest=self.lowest,
            highest=self.highest,
            steps=self.steps,
            discount=self.discount,
            batch=self.batch,
            update_every=self.update_every,
            updates=self.updates,
            warm_up=self.warm_up,
            spread=self.spread,
            learning_rate=self.learning_rate,
            tau=self.tau,
            capacity=_HELD,
        )


class Patience:
    """Whether rewards have been rising within so many samples; with 0, as if they had."""

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._best, self._idle = -float("inf"), 0

    def __call__(self, rewards: np.ndarray) -> bool:
        highest = float(rewards.max())
        self._idle = 0 if highest > self._best else self._idle + len(rewards)
        self._best = max(self._best, highest)
        return not self._samples or self._idle < self._samples
