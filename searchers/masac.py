"""MASAC as a searcher: soft actors, one a gene, each with a critic that sees what all of them choose.

The algorithm, its source and where it departs from it are in learners.masac. The defaults are the best of the
trials in results/tuning/masac.csv, on development problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dse.support.errors import InputError
from searchers.common.play import Form, version_of
from searchers.common.team_play import TeamPlay

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep


@dataclass(frozen=True)
class MASAC(TeamPlay):
    """Soft actors: the entropy of a policy counts beside its value."""

    form: Form = "construct"
    """See TeamPlay."""
    batch_size: int = 32
    """Steps in a mini-batch."""
    learning_rate: float = 0.03
    """Adam's, of actors and critics alike."""
    tau: float = 0.01
    """The share of the way to the networks that their targets go after an update."""
    gamma: float = 0.5
    """How much less a reward counts for each step that it is later."""
    train_freq: int = 8
    """Samples between updates; the first is made when a mini-batch of steps is held."""
    ent_coef: float = 0.1
    """What a nat of entropy is worth in units of reward."""

    aliases: ClassVar[Mapping[str, str]] = {**TeamPlay.aliases, "entropy": "ent_coef"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.ent_coef < np.inf:
            raise InputError(f"ent_coef must be a finite number of at least 0, got {self.ent_coef}")

    version = property(version_of)

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let a team learn until the budget is spent."""
        from learners.masac import MASAC as Algorithm

        self.play(partial(Algorithm, ent_coef=self.ent_coef), evaluate, rng, keep)
