"""The one gate between searchers and cost models: it counts, records and, after a crash, replays samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from dse.core.evaluations import Criteria, Evaluations
from dse.core.space import Space
from dse.search.journal import SampleLog
from dse.search.record import Record
from dse.support.arrays import BoolArray, IntArray
from dse.support.errors import InputError
from dse.support.validation import whole_number

MOST_FREE = 1000
"""Points for each sample of the budget that cost nothing: of a searcher that asks for no others, more do."""
SLICE_SECONDS = 0.2
"""A batch that takes longer to price is priced in slices, so that a search that dies loses little."""


class BudgetExhausted(Exception):
    """The budget is spent. A searcher may let it pass: it ends the search, and all samples are recorded."""


class SearchEnded(Exception):
    """An observer raises it to end a search before its budget: what was drawn until then is kept."""


class ReplayMismatch(InputError):
    """A search that is being resumed asks for other samples than its journal holds."""


@dataclass(frozen=True)
class Progress:
    """How far a search is: `samples` spent of `budget`, `replayed` of them answered from a journal.

    `best_loss` is `inf` until a feasible point is found, and of several objectives always.
    """

    samples: int
    budget: int
    replayed: int
    best_loss: float


Observer = Callable[[Progress], None]
"""Called after every batch. It sees the search and cannot change it, but may end it: see SearchEnded."""


@dataclass(frozen=True)
class Known:
    """Points (n, genes) that were evaluated before the searcher had its turn, and what they cost."""

    genes: IntArray
    evaluations: Evaluations


class SearchProblem(Protocol):
    """What a search needs of a problem: a space, what is minimised, and the price of points."""

    @property
    def space(self) -> Space: ...
    @property
    def objective(self) -> str: ...
    @property
    def criteria(self) -> Criteria: ...
    def price(self, genes: IntArray, /) -> Evaluations: ...


class Evaluator:
    """Prices points for a searcher until the budget is spent. Every row costs one sample, whatever it is.

    The owner of a search passes the `record` that samples go to (and perhaps a `journal` to answer from and
    write to) and keeps it; the searcher sees only what is public here.
    """

    __slots__ = (
        "__at_once", "__best", "__budget", "__failure", "__free", "__journal", "__known", "__limits",
        "__names", "__observers", "__problem", "__record", "__seconds",
    )  # fmt: skip

    def __init__(
        self,
        problem: SearchProblem,
        budget: int,
        *,
        record: Record | None = None,
        journal: SampleLog | None = None,
        observers: Iterable[Observer] = (),
        at_once: int = 1,
    ) -> None:
        """`at_once` is how many points the cost model prices at the same time: no slice has fewer."""
        self.__problem = problem
        self.__at_once = at_once
        self.__seconds: float | None = None
        self.__budget = whole_number(budget, "budget")
        self.__limits = problem.space.sizes.astype(np.uint64)
        self.__names = tuple(gene.name for gene in problem.space.genes)
        self.__record = Record(len(self.__limits)) if record is None else record
        self.__journal = journal
        self.__observers = tuple(observers)
        self.__failure: Exception | None = None
        self.__best = np.inf
        self.__known = self.__free = 0
        if len(self.__record):
            raise ValueError(
                f"an evaluator begins with an empty record, got one of {len(self.__record)} samples"
            )
        if journal is not None and journal.samples > budget:
            raise InputError(
                f"journal {str(journal.path)!r} holds {journal.samples} samples, the budget is {budget}"
            )

    @property
    def space(self) -> Space:
        """The space that the genes are of."""
        return self.__problem.space

    @property
    def objective(self) -> str:
        """The name of what is minimised."""
        return self.__problem.objective

    @property
    def cost_model(self) -> str:
        """The name of the cost model that prices the points; empty where the problem has none."""
        return getattr(getattr(self.__problem, "model", None), "name", "")

    @property
    def budget(self) -> int:
        """How many samples the whole search has."""
        return self.__budget

    @property
    def remaining(self) -> int:
        """How many samples are left."""
        return self.__budget - len(self.__record)

    @property
    def known(self) -> Known:
        """The samples that the search has begun with (see `evaluate_start`): maybe none.

        They are spent. A searcher learns from them as from its own, but did not ask for them.
        """
        genes, evaluations = self.__record.genes(0, self.__known), self.__record.evaluations(0, self.__known)
        return Known(genes, replace(evaluations, criteria=self.__problem.criteria.of_points(genes)))

    def counters(self, genes: IntArray) -> list[dict[str, float]]:
        """What the cost model has counted itself of points (n, genes): a table each, empty but of samples."""
        problem: Any = self.__problem
        if not hasattr(problem, "counters"):
            return [{} for _ in genes]
        sampled = {point.tobytes() for point in self.__record.genes()}
        known = [point.tobytes() in sampled for point in genes.astype(np.int64)]
        said = problem.counters(genes)
        return [each if mine else {} for each, mine in zip(said, known, strict=True)]

    def evaluate_start(self, genes: ArrayLike) -> None:
        """Make points (n, genes) the first samples, charged like any, and so known to the searcher."""
        if len(self.__record):
            raise ValueError(f"a search begins once, {len(self.__record)} samples of this one are spent")
        self(genes)
        self.__known = len(self.__record)

    def __call__(self, genes: ArrayLike) -> Evaluations:
        """What points cost, `genes` being whole numbers (n, genes): read-only arrays of length n.

        A cost model that is slow prices them in slices, which are written down and reported one by one.

        They are n samples. If fewer than n are left, that many are evaluated and recorded, and
        BudgetExhausted is raised, as it is by every later call. Genes of the wrong shape or type, or outside
        the space, raise ValueError and cost nothing.
        """
        if self.__failure is not None:
            raise self.__failure
        left = self.remaining
        if not left:
            raise BudgetExhausted(f"all {self.__budget} samples are spent")
        asked = self.__checked(genes)
        free = self.__misfits(asked)
        if free is not None:
            return self.__with_free(asked, free)
        allowed = asked[:left]
        try:
            evaluations = self.__draw(allowed)
        except Exception as error:
            # A searcher that swallows this must not go on past a hole in its record.
            self.__failure = error
            raise
        if len(allowed) < len(asked):
            raise BudgetExhausted(
                f"all {self.__budget} samples are spent: of a batch of {len(asked)}, {left} were evaluated"
            )
        return evaluations

    def __copy__(self) -> Evaluator:
        """Itself: a copy that counted for itself would give samples away."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Evaluator:
        """Itself, as for `copy`."""
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        raise TypeError("an evaluator cannot be pickled: its samples are counted in one place")

    def __misfits(self, genes: IntArray) -> BoolArray | None:
        """Which points are refused at no sample; None if none is, or if there were too many already."""
        problem: Any = self.__problem
        if not hasattr(problem, "free") or self.__free > MOST_FREE * self.__budget:
            return None
        found: BoolArray | None = problem.free(genes)
        return found if found is not None and found.any() else None

    def __with_free(self, genes: IntArray, free: BoolArray) -> Evaluations:
        """The evaluations of a batch of which some points cost nothing, and are not recorded."""
        self.__free += int(free.sum())
        evaluations = self.__problem.price(genes[free])
        places = np.flatnonzero(free)
        if not free.all():
            evaluations = evaluations.joined(self(genes[~free]))
            places = np.concatenate([places, np.flatnonzero(~free)])
        return evaluations.take(np.argsort(places, kind="stable"))

    def __draw(self, genes: IntArray) -> Evaluations:
        """The evaluations of a batch, drawn in as many slices as take SLICE_SECONDS each."""
        drawn: Evaluations | None = None
        done, reported = 0, time.perf_counter()
        while drawn is None or done < len(genes):
            rows = genes[done : done + self.__slice()]
            evaluations = self.__draw_slice(rows)
            done += len(rows)
            drawn = evaluations if drawn is None else drawn.joined(evaluations)
            now = time.perf_counter()
            if self.__observers and (done == len(genes) or now - reported > SLICE_SECONDS / 2):
                reported = now
                self.__report(drawn)
        for column in drawn.columns().values():
            column.setflags(write=False)
        return drawn

    def __slice(self) -> int:
        """How many points to price next: at first one, to see how long it takes."""
        if self.__seconds is None:
            return self.__at_once
        return max(self.__at_once, int(min(SLICE_SECONDS / max(self.__seconds, 1e-9), 1e9)))

    def __draw_slice(self, genes: IntArray) -> Evaluations:
        """Answer from the journal what it holds, price the rest, and write down both."""
        record, journal = self.__record, self.__journal
        start = len(record)
        if journal is None or start >= len(journal.recovered):
            begun = time.perf_counter()
            evaluations = self.__problem.price(genes)
            self.__seconds = (time.perf_counter() - begun) / max(len(genes), 1)
        else:
            evaluations = self.__replayed(genes, start, journal)
        record.append(genes, evaluations)
        if journal is not None:
            journal.sync(record, force=len(record) == self.__budget)
        return evaluations

    def __replayed(self, genes: IntArray, start: int, journal: SampleLog) -> Evaluations:
        held = journal.recovered.genes(start, start + len(genes))
        different = np.flatnonzero((held != genes[: len(held)]).any(axis=1))
        if len(different):
            row = int(different[0])
            raise ReplayMismatch(
                f"journal {str(journal.path)!r}: sample {start + row} was {held[row].tolist()}, the search "
                f"now asks for {genes[row].tolist()}; the searcher has changed, or draws other samples on "
                "this CPU, which it should then declare: go on where the journal was begun, or remove it "
                "to restart"
            )
        old = journal.recovered.evaluations(start, start + len(held))
        old = replace(old, criteria=self.__problem.criteria.of_points(held))
        return old if len(held) == len(genes) else old.joined(self.__problem.price(genes[len(held) :]))

    def __report(self, evaluations: Evaluations) -> None:
        # Of several objectives, where there is no loss, it stays inf.
        self.__best = float(np.fmin.reduce(evaluations.loss, initial=self.__best))
        samples = len(self.__record)
        held = len(self.__journal.recovered) if self.__journal else 0
        progress = Progress(samples, self.__budget, min(samples, held), self.__best)
        for observer in self.__observers:
            observer(progress)

    def __checked(self, genes: ArrayLike) -> IntArray:
        """The genes as an int64 array of their own, all inside the space."""
        given = np.asarray(genes)
        if given.ndim != 2 or given.shape[1] != len(self.__limits) or given.dtype.kind not in "iu":
            raise ValueError(
                f"genes must be whole numbers of shape (n, {len(self.__limits)}), got {given.dtype} of shape "
                f"{given.shape}"
            )
        # A copy, so that what is recorded was priced; as unsigned numbers, those below zero are too large.
        asked = given.astype(np.int64)
        inside = asked.view(np.uint64) < self.__limits
        if not inside.all():
            row, gene = np.argwhere(~inside)[0]
            raise ValueError(
                f"gene {self.__names[gene]!r} of row {row} must be within 0 and "
                f"{int(self.__limits[gene]) - 1}, got {given[row, gene]}"
            )
        return asked
