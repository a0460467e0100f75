"""Searchers that misbehave in a campaign's workers, and an executor whose workers die with them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path

import numpy as np

from dse.campaign.executors import InProcess
from dse.campaign.worker import Outcome, Task
from dse.search.evaluator import Evaluator


class Died(BaseException):
    """What happens to a worker that is no process of its own where a worker would be killed."""


class Breaking(InProcess):
    """An executor whose one worker, and with it the executor, is gone when a search has `Died`."""

    def submit(self, function: Callable[[Task], Outcome], task: Task, /) -> Future[Outcome]:
        try:
            return super().submit(function, task)
        except Died:
            future: Future[Outcome] = Future()
            future.set_exception(BrokenExecutor("the worker is gone"))
            return future


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
    """Kills its own process, if that is a worker's; with a `once` file, only the first time."""

    once: str = ""

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        while evaluate.remaining:
            evaluate(evaluate.space.sample(rng, 300))
            if evaluate.remaining < 1000 and not (self.once and Path(self.once).exists()):
                if self.once:
                    Path(self.once).touch()
                if parent_process() is None:
                    raise Died
                os.kill(os.getpid(), signal.SIGKILL)
