"""A team of agents with values that searches: mapping as a game that it refines, over the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from dse.support.errors import InputError
from dse.support.schema import Limits
from searchers.common.play import ENDLESS, Form, Game, Playing, Reward, keep_learned
from searchers.common.refusals import refusals_as_input_errors
from searchers.common.settings import MAX_SAMPLES, MAX_UNITS, Count, Samples, Share
from searchers.common.torch_apart import torch_apart

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep
    from learners.qmix import QMIX

Steps = Annotated[int, Limits(ge=1, le=MAX_SAMPLES)]
Density = Annotated[float, Limits(gt=0, le=1)]


@dataclass(frozen=True)
class ValuePlay(Playing):
    """How a team searches, and how it learns (see learners.qmix and learners.sparse)."""

    form: Form = "refine"
    """What a step is: see searchers.common.team_play."""
    agents: Literal["genes", "blocks"] = "genes"
    """Who has an agent of its own: each gene, or each block of genes that belong together."""
    reward: Reward = "-log"
    """What a point earns (see Options of searchers.environments)."""
    mixing: Literal["qmix", "vdn"] = "qmix"
    """How the agents' values make the team's: by a network, or as their sum."""
    hidden: Annotated[int, Limits(ge=1, le=MAX_UNITS)] = 64
    """Units of each of the agents' two hidden layers."""
    batch_size: Count = 32
    """Runs of steps in a mini-batch."""
    learning_rate: Annotated[float, Limits(gt=0, allow_inf_nan=False)] = 0.002
    train_freq: Steps = 4
    """Samples between updates."""
    gamma: Share = 0.8
    exploration_final_eps: Share = 0.1
    """The chance of a random action in the end."""
    exploration_steps: Steps = 1000
    """Samples in which it falls to that from 1."""
    schedule: Steps = 1000
    """Updates in which connections change, and in whose middle `returns` do."""
    soft_mellowmax: bool = False
    """Whether Soft Mellowmax stands for the maximum in targets."""
    returns: Literal["one-step", "hybrid", "delayed"] = "one-step"
    """Over how many steps targets go: one; many in the first half of the schedule; many in the second."""
    recent_buffer_size: Samples = 0
    """Steps of a small memory from which half of a mini-batch comes; 0: there is none."""
    method: Literal["dense", "static", "set", "rigl"] = "dense"
    """How connections come and go."""
    density: Density = 1.0
    """The share of the networks' connections that there are."""
    rewire_every: Steps = 50
    """Updates between changes of the connections."""
    drop_fraction: Density = 0.5
    """The share of them that the first change replaces."""

    aliases: ClassVar[Mapping[str, str]] = {
        "batch": "batch_size",
        "update_every": "train_freq",
        "discount": "gamma",
        "explored": "exploration_final_eps",
        "explored_until": "exploration_steps",
        "mellow": "soft_mellowmax",
        "recent": "recent_buffer_size",
        "rewired": "drop_fraction",
    }

    def __post_init__(self) -> None:
        self.game()
        if self.method == "dense" and self.density != 1:
            raise InputError(f"density must be 1 where the method is dense, got {self.density}")

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let a team learn until the budget is spent."""
        from learners.team import Team
        from learners.training import learn_for_steps

        with torch_apart(), refusals_as_input_errors():
            game = self.game()
            env = game.environment(evaluate)
            learner = self.learning().begin(Team.of(env), rng)
            if keep is not None:
                keep_learned(keep, learner.policy, game)
            learn_for_steps(learner, env, ENDLESS, rng)

    def learning(self) -> QMIX:
        """How the team learns."""
        from learners.qmix import QMIX
        from learners.sparse import Sparsity

        return QMIX(
            mixing=self.mixing,
            net_arch=(self.hidden, self.hidden),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            gamma=self.gamma,
            train_freq=self.train_freq,
            exploration_final_eps=self.exploration_final_eps,
            exploration_steps=self.exploration_steps,
            schedule=self.schedule,
            soft_mellowmax=self.soft_mellowmax,
            returns=self.returns,
            recent_buffer_size=self.recent_buffer_size,
            sparsity=Sparsity(
                self.method, self.density, self.rewire_every, self.drop_fraction, self.schedule
            ),
        )

    def game(self) -> Game:
        """What the team plays."""
        return Game(self.form, self.agents, reward=self.reward)
