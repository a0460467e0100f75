"""Random search: points drawn uniformly and independently (Bergstra and Bengio, JMLR 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dse.support.validation import whole_number
from searchers.common.settings import MAX_POINTS

if TYPE_CHECKING:
    from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Random:
    """Gene vectors drawn uniformly. `batch_size` points are drawn at a time."""

    batch_size: int = 1024

    aliases: ClassVar[Mapping[str, str]] = {"batch": "batch_size"}
    takes_several: ClassVar[bool] = True
    random_start: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        whole_number(self.batch_size, "batch_size", most=MAX_POINTS)

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        """Draw until the budget is spent."""
        while True:
            evaluate(evaluate.space.sample(rng, self.batch_size))
