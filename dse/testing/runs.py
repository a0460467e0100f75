"""One search under watch: what it drew, how it ended, and what it did to the process around it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import FrameType

import numpy as np
from numpy.typing import ArrayLike

from dse.core.evaluations import Evaluations
from dse.search.abilities import abilities_of
from dse.search.evaluator import BudgetExhausted, Evaluator, SearchProblem
from dse.search.journal import Journal
from dse.search.record import Record
from dse.search.searcher import Searcher
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, format_exception
from dse.testing.landscapes import MODELS, convolution
from dse.testing.pricing import Tally, rows_priced
from dse.testing.surroundings import drawing_thread, heard, process_settings, random_states


@dataclass(frozen=True)
class World:
    """What is around a search, which must not notice it.

    `seed` is of the global random states; with `beside` another thread draws from them meanwhile. `threads`
    is what numerical libraries are given.
    """

    seed: int = 20_507
    beside: bool = False
    threads: int = 1


QUIET, LOUD = World(), World(16_249, beside=True)

LATE_CALLS = 100
"""Calls after the last sample that are put up with, before a search is said never to end."""


@dataclass(frozen=True)
class WatchedRun:
    """A search that has ended, well or not.

    `failure` says how it ended other than by spending its budget, `refused` what the gate would not evaluate.
    `priced` rows reached a cost model, and `charged` samples were charged (not those from a journal).
    `touched` names the global random states that it changed, `changed` the settings of the process, and
    `noise` is what it printed. If modules were `imported` meanwhile, the first two may be their doing.
    """

    record: Record
    budget: int
    failure: str | None
    refused: str | None
    priced: int
    charged: int
    touched: tuple[str, ...]
    changed: tuple[str, ...]
    noise: tuple[str, ...]
    imported: bool

    @property
    def genes(self) -> IntArray:
        """All points in the order they were drawn: (n, genes)."""
        return self.record.genes()

    @property
    def losses(self) -> FloatArray:
        """Their losses: (n,)."""
        return self.record.evaluations().loss


def run(
    searcher: Searcher,
    make_problem: Callable[[], SearchProblem],
    budget: int,
    *,
    seed: int = 0,
    around: World = QUIET,
    journal: Journal | None = None,
    start: IntArray | None = None,
    time_limit: float,
) -> WatchedRun:
    """Let `searcher` search with `budget` samples for at most `time_limit` seconds; nothing it raises passes.

    The first samples are those of `start`.
    """
    _compile()
    modules = len(sys.modules)
    with (
        rows_priced(*MODELS) as priced,
        (drawing_thread if around.beside else random_states)(around.seed) as touched,
        process_settings(around.threads) as changed,
        heard() as noise,
    ):
        problem = make_problem()
        record = Record(len(problem.space.sizes))
        replayed = 0 if journal is None else journal.samples
        gate = _WatchedGate(problem, budget, record, journal, time_limit)
        if start is not None:
            gate.evaluate_start(start)
        failure = _search(searcher, gate, np.random.default_rng(seed), time_limit)
        if journal is not None:
            journal.sync(record, force=True)
    if failure is not None:
        failure += f", with {len(record):,} of {budget:,} samples spent"
    return WatchedRun(
        record,
        budget,
        failure,
        gate.refused,
        _judged(searcher, problem, priced),
        max(len(record) - replayed, 0),
        tuple(touched),
        tuple(changed),
        tuple(noise),
        imported=len(sys.modules) > modules,
    )


def difference(one: WatchedRun, other: WatchedRun) -> str | None:
    """The first sample in which two runs differ, in words; None if they are the same."""
    ours, theirs = one.genes, other.genes
    common = min(len(ours), len(theirs))
    differ = (ours[:common] != theirs[:common]).any(axis=1) | (one.losses[:common] != other.losses[:common])
    if differ.any():
        first = int(np.argmax(differ))
        return f"sample {first} was {ours[first].tolist()} at first and {theirs[first].tolist()} then"
    if len(ours) != len(theirs):
        return f"it drew {len(ours)} samples at first and {len(theirs)} then"
    return None


class _Endless(BaseException):
    """A search that does not end. No Exception, for a searcher's `except Exception` must not hold it up."""


class _WatchedGate(Evaluator):
    """The evaluator, remembering what was refused and ending searches that go on for ever."""

    __slots__ = ("_deadline", "_late_calls", "refused")

    def __init__(
        self, problem: SearchProblem, budget: int, record: Record, journal: Journal | None, time_limit: float
    ) -> None:
        super().__init__(problem, budget, record=record, journal=journal)
        self._deadline = time.monotonic() + time_limit
        self._late_calls = 0
        self.refused: str | None = None

    def __call__(self, genes: ArrayLike) -> Evaluations:
        if time.monotonic() > self._deadline:
            raise _Endless
        if not self.remaining:
            self._late_calls += 1
            if self._late_calls > LATE_CALLS:
                raise _Endless
        try:
            return super().__call__(genes)
        except InputError:
            raise
        except ValueError as error:
            if self.refused is None:
                self.refused = f"after {self.budget - self.remaining} samples: {error}"
            raise


def _judged(searcher: Searcher, problem: SearchProblem, priced: Tally) -> int:
    """The rows that reached a cost model; of a searcher with an adviser, the problem's own."""
    if not abilities_of(searcher).has_adviser:
        return priced.rows
    return priced.rows_of(type(problem), type(getattr(problem, "model", None)))


def _search(
    searcher: Searcher, gate: _WatchedGate, rng: np.random.Generator, time_limit: float
) -> str | None:
    """How the search ended, if not by spending its budget."""
    try:
        with _alarm(time_limit):
            searcher.search(gate, rng)
    except BudgetExhausted:
        pass
    except _Endless:
        if gate.remaining:
            return f"it had not ended after {time_limit:g} s"
        return f"it went on after BudgetExhausted, asking {LATE_CALLS} times more"
    except (Exception, SystemExit) as error:
        return f"it raised {format_exception(error)}"
    return "it ended" if gate.remaining else None


@cache
def _compile() -> None:
    """Have the kernels compiled, so that the first search's time is its own."""
    problem = convolution()
    start = problem.space.sample(np.random.default_rng(0), 1)
    problem.price(problem.space.neighbour(np.random.default_rng(0), start))


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block after so many seconds, where that can be done: in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signal_number: int, frame: FrameType | None) -> None:
        raise _Endless

    previous = signal.signal(signal.SIGALRM, ring)
    others = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *others)
        signal.signal(signal.SIGALRM, previous)
