"""A search that is led from outside: `ask` and `tell` at the gate, for those with a loop of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from dse.search.api import Result
from dse.search.callbacks import Callback
from dse.search.evaluator import BudgetExhausted, Evaluator, Known
from dse.search.record import Record
from dse.search.run import Cell, RunTimes, TimedProblem, make_ready
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten

if TYPE_CHECKING:
    from dse.core.evaluations import Evaluations
    from dse.core.space import Gene

OUTSIDE = "outside"
"""What records call the kind of searcher that they are of."""
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Outside:
    """A searcher of somebody's that leads its own search: what a record says of it.

    `saw` is what it had seen of the problems before, such as "nothing"; `start` where it was told to begin.
    """

    name: str
    version: str = "1"
    saw: str = "nothing"
    start: str = "own"

    plans_for_budget: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InputError(
                f"searcher must be up to 64 letters, digits, '.', '-' or '_', got {shorten(self.name)}"
            )
        for what in ("version", "saw"):
            if not (text := getattr(self, what)) or not text.isprintable() or len(text) > 200:
                raise InputError(f"{what} must be a line of text, got {shorten(text)}")

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> NoReturn:
        """Its samples cannot be drawn again from here; what they cost can."""
        raise InputError(f"searcher {self.name!r} leads its own search: nothing here draws its samples")


class Session:
    """One run of a searcher that has its own loop. Every point told costs a sample, whatever it is.

        with problem.ask_tell(budget=100, searcher="mine", out="runs") as study:
            while study.remaining:
                study.tell(study.ask(10))

    The block ends where the budget is spent, which raises BudgetExhausted inside of it. What is left of a
    budget when the block ends goes to the best point again, as records have the whole of it. Points are
    whole numbers (n, genes), within `bounds`.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        keep: Callable[[Cell, Record, RunTimes], None] | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> None:
        """`keep` is handed the finished run."""
        self.cell, self._keep, self._closed, self._followers = cell, keep, False, tuple(callbacks)
        self._times, self._record = RunTimes(), Record(len(cell.problem.space.sizes))
        self._problem = problem = TimedProblem(cell.problem, self._times)
        observers = [each.progress for each in self._followers]
        at_once = cell.problem.model.at_once
        self._gate = Evaluator(
            problem, cell.budget, record=self._record, observers=observers, at_once=at_once
        )
        make_ready(cell.problem)
        self._rng, self._begun = cell.rng(), problem.now()
        for each in self._followers:
            each.begin(cell)
        if cell.start:
            self._gate.evaluate_start(np.array(cell.start, np.int64))

    @property
    def gate(self) -> Evaluator:
        """What counts the samples, for whoever takes an evaluator, such as `searchers.environments`."""
        return self._gate

    @property
    def remaining(self) -> int:
        """How many samples are left."""
        return self._gate.remaining

    @property
    def genes(self) -> tuple[Gene, ...]:
        """The genes of a point: name, size and kind (ordinal, categorical or permutation)."""
        return self._gate.space.genes

    @property
    def bounds(self) -> tuple[IntArray, IntArray]:
        """The least and the largest value of each gene: (genes,) each, both allowed."""
        sizes = self._gate.space.sizes
        return np.zeros_like(sizes), sizes - 1

    @property
    def known(self) -> Known:
        """The points that the run has begun with, and what they cost: those of its `start`."""
        return self._gate.known

    def ask(self, count: int = 1) -> IntArray:
        """So many points (count, genes) drawn at random from the space: free, and nobody has to take them."""
        return self._gate.space.sample(self._rng, count)

    def tell(self, points: ArrayLike) -> Evaluations:
        """Evaluate points (n, genes): arrays of length n, such as `loss`, `inf` where `reason` is not 0.

        InputError for points that are not whole numbers within the bounds: nothing of them is counted.
        """
        if self._closed:
            raise InputError("the run is over: begin another with ask_tell")
        given = np.atleast_2d(np.asarray(points))
        if given.dtype.kind == "f" and (given == np.rint(given)).all():
            given = given.astype(np.int64)
        try:
            return self._gate(given)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from None

    def __call__(self, point: ArrayLike) -> float:
        """The loss of one point (genes,), `inf` where it is infeasible."""
        if np.ndim(point) != 1:
            raise InputError(f"a point must be a list of {len(self.genes)} whole numbers")
        return float(self.tell(point).loss[0])

    def why(self, point: ArrayLike) -> str:
        """Why a point (genes,) that was told is infeasible, with figures; or "feasible"."""
        asked = np.asarray(point)
        told = self._record.genes()
        if asked.shape != told.shape[1:] or not (told == asked).all(axis=1).any():
            raise InputError("it is said only of points that were told: what is not counted is not priced")
        problem = self.cell.problem.on_machine_of(asked)
        return problem.explain(problem.space.decode(asked[np.newaxis])[0])

    @property
    def loss(self) -> float:
        """The lowest loss found until now, `inf` where nothing was feasible."""
        best = self.result.best
        return np.inf if best is None else best.loss

    @property
    def result(self) -> Result:
        """What was found until now."""
        return Result(self.cell, self._record)

    def close(self) -> Result:
        """End the run, and keep it where that was asked for."""
        if not self._closed and len(self._record):
            if left := self.remaining:
                place = self._record.best or 0
                self._gate(np.repeat(self._record.genes(place, place + 1), left, axis=0))
            self._times.searcher = self._problem.now() - self._begun - self._times.model
            self._closed = True
            if self._keep is not None:
                self._keep(self.cell, self._record, self._times)
            for each in self._followers:
                each.end(self.result)
        return self.result

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if kind is None or issubclass(kind, BudgetExhausted):
            self.close()
            return True
        return False
