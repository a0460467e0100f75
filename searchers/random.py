"""Random search: points drawn uniformly and independently (Bergstra and Bengio, JMLR 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.validation import whole_number
from searchers.common.settings import MOST_POINTS

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Random:
    """Gene vectors drawn uniformly. `batch` points are drawn at a time."""

    batch: int = 1024

    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.batch, "batch", most=MOST_POINTS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Draw until the budget is spent."""
        while True:
            evaluate(evaluate.space.sample(rng, self.batch))
