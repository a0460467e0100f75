"""The searcher that is being checked, and its runs: here, and in processes of their own."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from dse.search.abilities import Abilities, abilities_of
from dse.search.evaluator import SearchProblem
from dse.search.searcher import Searcher
from dse.support.numerics.cpu import other_cpu
from dse.testing.landscapes import convolution
from dse.testing.runs import LOUD, WatchedRun, World, difference, run
from dse.testing.verdict import Broken

START_SECONDS = 60.0
"""What a process may take beyond its search, to start and to import libraries."""

_PROGRAM = f"import sys; from {__name__} import search; search(*sys.argv[1:])"
REFERENCE = 1200
"""Samples of the runs that are compared with each other: enough for learners to begin to learn.

Other searches are a half or a quarter as long at most."""

SHORT = 300
"""The most samples of a run that is to be seen beside a longer one, or beside one from another seed."""
MANY_THREADS = 3

SAME_SEED, GLOBAL_RANDOM, REUSABLE = "same-seed", "global-random-ignored", "reusable"


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
        return self.run(convolution, min(SHORT, self.samples // 2), around=World(threads=MANY_THREADS))

    @cached_property
    def repeated(self) -> WatchedRun:
        """The same search again, by the same object, in another world, beside a thread that draws from it."""
        _ = self.reference
        return self.run(convolution, self.samples, searcher=self.searcher, around=LOUD)

    @cached_property
    def unlike(self) -> tuple[str, str] | None:
        """The rule to blame for `repeated` not being like `reference`, and where they part; None if it is."""
        seen = difference(self.reference, self.repeated)
        if seen is None:
            return None
        first, second = (self.run(convolution, self.samples) for _ in range(2))
        elsewhere = self.run(convolution, self.samples, around=LOUD)
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


@dataclass(frozen=True)
class Surroundings:
    """What differs between two processes that must draw the same record."""

    hash_seed: int
    threads: int
    other_cpu: bool = False
    """Whether numerical libraries are to compute as on another CPU."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of the process."""
        known = {"PYTHONHASHSEED": str(self.hash_seed), "OMP_NUM_THREADS": str(self.threads)}
        return known | (other_cpu() if self.other_cpu else {})

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.variables.items())


FRESH = (Surroundings(hash_seed=1, threads=1), Surroundings(hash_seed=2, threads=3, other_cpu=True))


class FreshRun:
    """A search that has been started in another process. Use it as a context manager: its process ends."""

    def __init__(
        self, pickled: bytes, budget: int, seed: int, surroundings: Surroundings, time_limit: float
    ) -> None:
        self.surroundings = surroundings
        self._time_limit = time_limit
        self._folder = tempfile.TemporaryDirectory()
        task, self._result = Path(self._folder.name, "task"), Path(self._folder.name, "result")
        task.write_bytes(pickle.dumps((pickled, budget, seed, time_limit)))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
            **surroundings.variables,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(task), str(self._result)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def __enter__(self) -> FreshRun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        self._folder.cleanup()

    def result(self) -> WatchedRun | str:
        """The run, or why there is none."""
        try:
            _, errors = self._process.communicate(timeout=self._time_limit + START_SECONDS)
        except subprocess.TimeoutExpired:
            return f"it had not ended after {self._time_limit + START_SECONDS:g} s"
        if self._process.returncode:
            lines = errors.strip().splitlines()
            return f"exit code {self._process.returncode}: {lines[-1] if lines else 'no message'}"
        ended: WatchedRun = pickle.loads(self._result.read_bytes())
        return ended


def search(task: str, result: str) -> None:
    """What the process does: the search of the file `task`, its WatchedRun into the file `result`."""
    pickled, budget, seed, time_limit = pickle.loads(Path(task).read_bytes())
    searcher: Searcher = pickle.loads(pickled)
    ended = run(searcher, convolution, budget, seed=seed, time_limit=time_limit)
    Path(result).write_bytes(pickle.dumps(ended))
