"""Searchers that misbehave in a campaign's worker processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Raising:
    """Raises after some samples."""

    after: int = 100

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        evaluate(evaluate.space.sample(rng, self.after))
        raise RuntimeError("a plug-in's\nown trouble")


@dataclass(frozen=True)
class Quitter:
    """Stops before its budget is spent."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        evaluate(evaluate.space.sample(rng, 10))


@dataclass(frozen=True)
class Dying:
    """Kills its own process; with a `once` file, only the first time."""

    once: str = ""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        while evaluate.remaining:
            evaluate(evaluate.space.sample(rng, 300))
            if evaluate.remaining < 1000 and not (self.once and Path(self.once).exists()):
                if self.once:
                    Path(self.once).touch()
                os.kill(os.getpid(), signal.SIGKILL)
