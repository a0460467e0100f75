"""MASAC as a searcher: soft actors, one a gene, each with a critic that sees what all of them choose.

The algorithm, its source and where it departs from it are in learners.masac. The settings are those of
searchers.maddpg, and the entropy's coefficient that of the same study.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dse.support.errors import InputError
from searchers.common.team_play import TeamPlay

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator
    from dse.search.keeping import Keep


@dataclass(frozen=True)
class MASAC(TeamPlay):
    """Soft actors: the entropy of a policy counts beside its value."""

    entropy: float = 0.05
    """What a nat of entropy is worth in units of reward."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.entropy < np.inf:
            raise InputError(f"entropy must be a finite number of at least 0, got {self.entropy}")

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: Keep | None = None) -> None:
        """Let a team learn until the budget is spent."""
        from learners.masac import MASAC as Algorithm

        self.play(partial(Algorithm, entropy=self.entropy), evaluate, rng, keep)
