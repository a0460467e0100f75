"""A team of off-policy agents that search: mapping as a game in one of three forms, over the gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from learners.settings import OffPolicy
from searchers.common.play import ENDLESS, Form, Game, Playing, Reward, keep_learned
from searchers.common.refusals import refusals_as_input_errors
from searchers.common.torch_apart import torch_apart

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep
    from learners.training import Algorithm


@dataclass(frozen=True)
class TeamPlay(Playing, OffPolicy):
    """How a team searches, and how it learns. Every point drawn is a sample; nothing else is."""

    form: Form = "refine"
    """What a step is: `one-step`, all agents choose a point together; `construct`, one after the other sets
    its genes; `refine`, all move the genes of a point."""
    agents: Literal["genes", "blocks"] = "genes"
    """Who has an agent of its own: each gene, or each block of genes that belong together."""
    reward: Reward = "-log"
    """What a point earns (see Options of searchers.environments)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.game()

    def play(
        self,
        algorithm: Callable[..., Algorithm],
        evaluate: Evaluator,
        rng: np.random.Generator,
        keep: Keep | None = None,
    ) -> None:
        """Let a team learn by the algorithm, which takes `learning` settings, until the budget is spent."""
        from learners.team import Team
        from learners.training import learn_for_steps

        with torch_apart(), refusals_as_input_errors():
            game = self.game()
            env = game.environment(evaluate)
            settings = self.learning()
            if self.form == "construct":
                settings["train_freq"] *= len(env.possible_agents)
            learner = algorithm(**settings).begin(Team.of(env), rng)
            if keep is not None:
                keep_learned(keep, learner.policy, game)
            learn_for_steps(learner, env, ENDLESS, rng)

    def learning(self) -> dict[str, Any]:
        """The settings that are the algorithm's."""
        return {item.name: getattr(self, item.name) for item in fields(OffPolicy)}

    def game(self) -> Game:
        """What the team plays."""
        return Game(self.form, self.agents, reward=self.reward)
