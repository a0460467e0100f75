"""Searchers that end a search in their own ways, offered as a distribution does."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dse.search.evaluator import Evaluator


@dataclass(frozen=True)
class Stopping:
    """Presses Ctrl-C halfway, the first time: afterwards the file `once` is there."""

    once: str

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        while evaluate.remaining:
            evaluate(evaluate.space.sample(rng, 10))
            if evaluate.remaining <= evaluate.budget // 2 and not Path(self.once).exists():
                Path(self.once).touch()
                os.kill(os.getpid(), signal.SIGINT)


@dataclass(frozen=True)
class Partial:
    """Raises where the layer has few channels."""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        if evaluate.space.layer.C < 16:
            raise RuntimeError("too few\nchannels")
        evaluate(evaluate.space.sample(rng, evaluate.remaining))
