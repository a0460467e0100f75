"""The searcher that is being checked, and the runs of it that several rules look at."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import Any

from dse.search.abilities import Abilities, abilities_of
from dse.search.evaluator import SearchProblem
from dse.search.searcher import Searcher
from dse.testing.fresh import FreshRun, Surroundings
from dse.testing.landscapes import convolution
from dse.testing.runs import OTHER_WORLD, WatchedRun, difference, run
from dse.testing.verdict import Broken

REFERENCE = 1200
"""Samples of the runs that are compared with each other: enough for learners to begin to learn.

Other searches are a half or a quarter as long at most."""

SHORT = 300
"""The most samples of a run that is to be seen beside a longer one, or beside one from another seed."""
MANY_THREADS = 3

SAME_SEED, GLOBAL_RANDOM, REUSABLE = "same-seed", "global-random-ignored", "reusable"

FRESH = (Surroundings(hash_seed=1, threads=1), Surroundings(hash_seed=2, threads=3, other_cpu=True))


class Candidate:
    """A searcher under check. Use it as a context manager: it starts processes, and ends them."""

    def __init__(self, searcher: Searcher, time_limit: float, samples: int = REFERENCE) -> None:
        self.searcher = searcher
        self.time_limit = time_limit
        self.samples = samples
        self.runs: list[WatchedRun] = []
        self._processes = contextlib.ExitStack()
        self.pickled, self.pickling_failure = _pickled(searcher)

    def __enter__(self) -> Candidate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.close()

    def copy(self) -> Searcher:
        """The searcher as it was given, before any search; where it does not pickle, itself."""
        if self.pickled is None:
            return self.searcher
        copied: Searcher = pickle.loads(self.pickled)
        return copied

    def run(
        self,
        make_problem: Callable[[], SearchProblem],
        budget: int,
        *,
        searcher: Searcher | None = None,
        **options: Any,
    ) -> WatchedRun:
        """A run of a fresh copy, or of `searcher`, to be looked at by later rules too."""
        subject = self.copy() if searcher is None else searcher
        ended = run(subject, make_problem, budget, time_limit=self.time_limit, **options)
        self.runs.append(ended)
        return ended

    def whole_run(
        self, make_problem: Callable[[], SearchProblem], budget: int, where: str, **options: Any
    ) -> WatchedRun:
        """A run that has to spend its whole budget, or a rule is broken."""
        ended = self.run(make_problem, budget, **options)
        if ended.failure is not None:
            raise Broken(f"expected {budget:,} samples {where}; {ended.failure}")
        return ended

    @cached_property
    def abilities(self) -> Abilities:
        """What the searcher declares. InputError where it does so badly."""
        return abilities_of(self.searcher)

    @cached_property
    def fresh_runs(self) -> tuple[FreshRun, ...]:
        """The search of `reference` in processes of their own, which begin when this is first asked for."""
        if self.pickled is None:
            return ()
        portable = self.abilities.portable
        return tuple(
            self._processes.enter_context(
                FreshRun(self.pickled, self.samples, 0, surroundings, self.time_limit)
            )
            for surroundings in (FRESH if portable else [replace(each, other_cpu=False) for each in FRESH])
        )

    @cached_property
    def reference(self) -> WatchedRun:
        """The run that others are compared with: the given object's first."""
        return self.run(convolution, self.samples, searcher=self.searcher)

    @cached_property
    def short(self) -> WatchedRun:
        """The same search with half of the budget or less."""
        return self.run(convolution, min(SHORT, self.samples // 2), threads=MANY_THREADS)

    @cached_property
    def repeated(self) -> WatchedRun:
        """The same search again, by the same object, in another world, beside a thread that draws from it."""
        _ = self.reference
        return self.run(convolution, self.samples, searcher=self.searcher, world=OTHER_WORLD, beside=True)

    @cached_property
    def unlike(self) -> tuple[str, str] | None:
        """The rule to blame for `repeated` not being like `reference`, and where they part; None if it is."""
        seen = difference(self.reference, self.repeated)
        if seen is None:
            return None
        first, second = (self.run(convolution, self.samples) for _ in range(2))
        elsewhere = self.run(convolution, self.samples, world=OTHER_WORLD, beside=True)
        again = self.run(convolution, self.samples, searcher=self.searcher)
        for rule, other in ((SAME_SEED, second), (GLOBAL_RANDOM, elsewhere), (REUSABLE, again)):
            parting = difference(first, other)
            if parting is not None:
                return rule, parting
        return SAME_SEED, seen


def _pickled(searcher: Searcher) -> tuple[bytes | None, str]:
    """The searcher as bytes, or why it does not become any."""
    try:
        pickled = pickle.dumps(searcher)
        pickle.loads(pickled)
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return pickled, ""
