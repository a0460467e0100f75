"""A D4PG learner and its actors that search: all genes as numbers, many points at a time, over the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from dse.support.errors import InputError
from dse.support.schema import Limits
from searchers.common.play import Game, Playing, Reward, keep_learned
from searchers.common.refusals import refusals_as_input_errors
from searchers.common.settings import MAX_UNITS, Count, Finite, Layers, Positive, Repeats, Samples, Share
from searchers.common.torch_apart import torch_apart

if TYPE_CHECKING:
    import numpy as np

    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep
    from learners.d4pg import D4PG as Algorithm

_HELD = 100_000


@dataclass(frozen=True)
class ActorPlay(Playing):
    """How actors search, and how the learner learns (see learners.d4pg and learners.actors)."""

    reward: Reward = "-log"
    """What a point earns (see Options of searchers.environments)."""
    actors: Count = 4
    """Points that are drawn, and evaluated, at a time."""
    action_noise: Share = 0.4
    """Deviation of the first actor's noise on actions in [-1, 1]; the others' falls evenly to 0."""
    learning_starts: Samples = 100
    """Samples drawn at random before the first update."""
    train_freq: Count = 1
    """Samples between updates."""
    gradient_steps: Repeats = 8
    """Updates at a time."""
    batch_size: Count = 128
    learning_rate: Positive = 0.003
    """Adam's, of actor and critic alike."""
    tau: Share = 1.0
    """The share of the way to the networks that their targets go after an update."""
    v_min: Finite = -3.0
    """The lowest return that the critic knows."""
    v_max: Finite = 20.0
    n_atoms: Annotated[int, Limits(ge=2, le=MAX_UNITS)] = 51
    """Returns from the lowest to the highest whose chances the critic tells."""
    n_steps: Count = 1
    """Steps whose rewards a target counts as they were."""
    gamma: Share = 0.9
    """How much less a reward counts for each step that it is later."""
    net_arch: Layers = (64, 64)
    """Units of the hidden layers, of actor and critic alike."""
    episode_steps: Count = 1
    patience: Samples = 1200
    """Samples without a better one after which a new learner begins; 0 is never."""

    aliases: ClassVar[Mapping[str, str]] = {
        "spread": "action_noise",
        "warm_up": "learning_starts",
        "update_every": "train_freq",
        "updates": "gradient_steps",
        "batch": "batch_size",
        "lowest": "v_min",
        "highest": "v_max",
        "atoms": "n_atoms",
        "steps": "n_steps",
        "discount": "gamma",
        "hidden": "net_arch",
    }

    def __post_init__(self) -> None:
        if self.v_min >= self.v_max:
            raise InputError(f"v_min must be below v_max, got {self.v_min} and {self.v_max}")

    def play(
        self, bits: int, pull_every: int, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None
    ) -> None:
        """Let one learner after another learn from actors of so many bits until the budget is spent."""
        with torch_apart(), refusals_as_input_errors():
            from learners.actors import Actors, exploration_spreads, play_in_lockstep
            from learners.team import Team

            game = self.game()
            team = Team.of(game.environment(evaluate))
            env = game.side_by_side(evaluate, self.actors)
            while True:
                learner = self.learning().begin(team, rng)
                if keep is not None:
                    keep_learned(keep, learner.policy, game)
                actors = Actors(team, learner, exploration_spreads(self.action_noise, self.actors), bits, rng)
                play_in_lockstep(learner, actors, team, env, pull_every, bits, rng, Patience(self.patience))

    def game(self) -> Game:
        """What the actors play."""
        return Game("one-step", "one", "gaussian", self.reward, self.episode_steps)

    def learning(self) -> Algorithm:
        """How the learner learns."""
        from learners.d4pg import D4PG as Algorithm

        return Algorithm(
            net_arch=self.net_arch,
            critic_net_arch=self.net_arch,
            n_atoms=self.n_atoms,
            v_min=self.v_min,
            v_max=self.v_max,
            n_steps=self.n_steps,
            gamma=self.gamma,
            batch_size=self.batch_size,
            train_freq=self.train_freq,
            gradient_steps=self.gradient_steps,
            learning_starts=self.learning_starts,
            exploration_noise=self.action_noise,
            learning_rate=self.learning_rate,
            tau=self.tau,
            buffer_size=_HELD,
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
