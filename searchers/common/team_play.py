"""A team of off-policy agents that search: mapping as a game in one of three forms, over the gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from dse.support.errors import unknown
from learners.settings import OffPolicy
from searchers.common.torch_apart import torch_apart

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

    from dse.search.evaluator import Evaluator
    from learners.training import Algorithm

Form = Literal["one-step", "construct", "refine"]
Agents = Literal["genes", "blocks"]

# No search gets here: its budget ends it.
_ENDLESS = 2**62


@dataclass(frozen=True)
class TeamPlay(OffPolicy):
    """How a team searches, and how it learns. Every point drawn is a sample; nothing else is."""

    form: Form = "one-step"
    """What a step is: `one-step`, all agents choose a point together; `construct`, one after the other sets
    its genes; `refine`, all move the genes of a point."""
    agents: Agents = "genes"
    """Who has an agent of its own: each gene, or each block of genes that belong together."""
    reward: Literal["1/x", "-log"] = "-log"
    """What a point earns (see Options of dse.search.environments)."""
    batch: int = 64
    """Steps in a mini-batch."""
    learning_rate: float = 0.003
    """Adam's, of actors and critics alike."""
    update_every: int = 8
    """Samples between updates; the first is made when a mini-batch of steps is held."""

    libraries: ClassVar[tuple[str, ...]] = ("gymnasium", "pettingzoo", "torch")
    portable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("form", Form), ("agents", Agents)):
            if getattr(self, name) not in get_args(known):
                raise unknown(name, getattr(self, name), get_args(known))
        if self.reward not in ("1/x", "-log"):
            raise unknown("reward", self.reward, ("1/x", "-log"))

    def play(
        self, algorithm: Callable[..., Algorithm], evaluate: Evaluator, rng: np.random.Generator
    ) -> None:
        """Let a team learn by the algorithm, which takes `learning` settings, until the budget is spent."""
        from learners.training import train

        with torch_apart():
            env = self._environment(evaluate)
            settings = self.learning()
            if self.form == "construct":
                settings["update_every"] *= len(env.possible_agents)
            train(algorithm(**settings), env, _ENDLESS, rng)

    def learning(self) -> dict[str, Any]:
        """The settings that are the algorithm's."""
        return {item.name: getattr(self, item.name) for item in fields(OffPolicy)}

    def _environment(self, evaluate: Evaluator) -> ParallelEnv:
        from dse.search.environments import MappingParallelEnv, SequentialParallelEnv

        groups = [block.genes for block in evaluate.space.blocks] if self.agents == "blocks" else None
        if self.form == "one-step":
            return MappingParallelEnv(groups, evaluator=evaluate, reward=self.reward)
        start: Literal["anywhere", "best"] = "best" if self.form == "refine" else "anywhere"
        return SequentialParallelEnv(groups, self.form, start, evaluator=evaluate, reward=self.reward)
