"""One cell of a comparison: a searcher on a problem with a seed and a budget; its generator and its run."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from dse.core.cost_model import PricesNothing
from dse.core.cost_models import model_origin, says_version
from dse.core.evaluations import Evaluations
from dse.core.objective import names_several
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.search.abilities import FIRST, abilities_of, recorded_settings
from dse.search.evaluator import BudgetExhausted, Evaluator, Observer, SearchEnded, SearchProblem
from dse.search.journal import Journal, SampleLog
from dse.search.keeping import Keep
from dse.search.of_file import is_of_file, source_of
from dse.search.record import Record
from dse.search.searcher import Searcher, searcher_origin, searchers_of_several
from dse.search.start import Points
from dse.support.arrays import IntArray
from dse.support.errors import InputError, format_exception
from dse.support.hashing import CANONICAL, digest, digest_text, split_around
from dse.support.numerics.cpu import CPU, numerical_cpu
from dse.support.validation import whole_number

RULES = "0.1.0"
"""The version of what every record depends on, whatever its searcher and model: how spaces decode and draw
points, what is feasible, how the gate counts. It changes when one of these does, not with a release.

Identities call it `dse-arena`, and it looks like a release: so they did when it was the package's version.
"""

MAX_SAMPLES = 10**9
"""Of a search: they are kept in memory, 200 bytes each."""


class SearcherStopped(RuntimeError):
    """A searcher ended before its budget was spent."""


@dataclass(frozen=True)
class Cell:
    """`searcher`, registered as `name`, on `problem`, from `seed`, with `budget` samples.

    The first samples are those of `start`, gene vectors, if there are any (see `dse.search.start`).
    """

    problem: AnyProblem
    name: str
    searcher: Searcher
    seed: int
    budget: int
    start: Points = ()

    def __post_init__(self) -> None:
        if names_several(self.problem.objective) and not abilities_of(self.searcher).takes_several:
            raise InputError(
                f"searcher {self.name!r} minimises one objective, got {self.problem.objective!r}; take "
                f"one of them, or a searcher of several: {', '.join(searchers_of_several())}"
            )
        whole_number(self.seed, "seed", least=0)
        whole_number(self.budget, "budget", most=MAX_SAMPLES)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The searcher's hyperparameters, defaults included."""
        return dataclasses.asdict(self.searcher)  # type: ignore[call-overload, no-any-return]

    @cached_property
    def recorded_settings(self) -> dict[str, Any]:
        """The same by the names that identities have them under (see `dse.search.abilities`)."""
        return recorded_settings(self.searcher)

    def rng(self) -> np.random.Generator:
        """The cell's generator: it depends on what the cell is, and not on its budget or on any version.

        Nor on the start: searches with and without one differ by what they know, not by their luck.
        """
        problem = self.problem.identity
        parts = ("layer", "accelerator", "space", "objective")
        name = {part: problem[part] for part in parts}
        name |= {"searcher": self.name, "settings": self.recorded_settings, "seed": self.seed}
        return np.random.Generator(np.random.PCG64(int(digest(name), 16)))

    def with_seed(self, seed: int) -> Cell:
        """The same from another seed: what seeds share is worked out once for all of them."""
        whole_number(seed, "seed", least=0)
        _ = self.common, self.recorded_settings, self._texts
        other = copy(self)
        other.__dict__["seed"] = seed
        return other

    @cached_property
    def common(self) -> dict[str, Any]:
        """All that the record depends on but the seed, as plain data."""
        model, able = self.problem.model, abilities_of(self.searcher)
        versions = {**self._origins(), "dse-arena": RULES, f"model {model.name}": model.version}
        versions |= _installed(tuple(sys.path), ("numpy", *able.libraries))
        if not able.portable:
            versions[CPU] = numerical_cpu()
        common = {
            "problem": self.problem.identity,
            "searcher": self.name,
            "settings": self.recorded_settings,
            "budget": self.budget,
            "versions": versions,
        }
        return common | ({"start": [list(point) for point in self.start]} if self.start else {})

    @property
    def identity(self) -> dict[str, Any]:
        """All that the record depends on, as plain data."""
        return {**self.common, "seed": self.seed}

    @property
    def identity_text(self) -> str:
        """The identity as JSON, keys sorted."""
        before, after = self._texts[0]
        return f"{before}{self.seed}{after}"

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the identity, in hex."""
        before, after = self._texts[1]
        return digest_text(f"{before}{self.seed}{after}")

    def _origins(self) -> dict[str, str]:
        """The searcher's version, and the packages' of a searcher and a model that say none."""
        model, said = self.problem.model, abilities_of(self.searcher).version
        found = {} if says_version(model) else model_origin(model.name)
        if not said and is_of_file(self.name):
            return found | {f"searcher {self.name}": source_of(type(self.searcher))}
        if not said:
            return found | searcher_origin(self.name)
        return found if said == FIRST else found | {f"searcher {self.name}": said}

    @cached_property
    def _texts(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """The identity's JSON around the seed: as it is read, and as it is hashed."""
        return split_around(self.common, "seed"), split_around(self.common, "seed", CANONICAL)


@cache
def _installed(path: tuple[str, ...], libraries: tuple[str, ...]) -> Mapping[str, str]:
    """The versions of libraries.

    To look through all that is installed on the `path` takes milliseconds, and a campaign asks for each cell.
    """
    versions = {}
    for library in libraries:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = "not installed"
    return versions


@dataclass
class RunTimes:
    """CPU seconds of a run: of the searcher (with the gate) and of pricing. Replayed samples take none.

    Nor do kernels that are compiled meanwhile: a first run costs as much as any other.
    """

    searcher: float = 0.0
    model: float = 0.0


def make_ready(problem: SearchProblem) -> None:
    """Load, or compile, what every search of the problem needs, so that none is charged for it.

    A price from outside of the framework, as of a program of the user's, is a sample and nothing to compile.
    """
    import threadpoolctl  # noqa: F401

    space = problem.space
    vector = np.zeros((1, len(space.sizes)), dtype=np.int64)
    if not getattr(getattr(problem, "model", None), "outside", False):
        problem.price(vector)
    space.canonical(vector)
    space.neighbour(np.random.default_rng(0), vector)
    space.blocks[0].neighbours(vector[0])


class TimedProblem:
    """A problem that adds up the CPU time of its pricing."""

    def __init__(self, problem: AnyProblem, times: RunTimes) -> None:
        from dse.support.compilations import seconds_but_compiling

        self.now = seconds_but_compiling
        self.space, self.objective, self.criteria = problem.space, problem.objective, problem.criteria
        self._problem, self._times, self.model = problem, times, problem.model
        if hasattr(problem, "free"):
            self.free = problem.free

    def price(self, genes: IntArray) -> Evaluations:
        start = self.now()
        evaluations = self._problem.price(genes)
        self._times.model += self.now() - start
        return evaluations


def run_cell(
    cell: Cell,
    journal: SampleLog | None = None,
    observers: Iterable[Observer] = (),
    times: RunTimes | None = None,
    keep: Keep | None = None,
) -> Record:
    """Run the cell's search to the end of its budget, from where the journal leaves off: its record.

    Numerical libraries run on one thread meanwhile, so that sums do not depend on the machine. What the
    searcher raises passes through, after the journal has all samples drawn till then. `times` is filled in.
    `keep` is for a searcher that has a policy (see `dse.search.keeping`).
    A search that an observer ends (SearchEnded) has a shorter record. One whose cost model turns out to price
    nothing (PricesNothing) leaves no journal: it has no sample that is worth keeping.
    """
    from threadpoolctl import threadpool_limits

    times = RunTimes() if times is None else times
    record = Record(len(cell.problem.space.sizes))
    timed = TimedProblem(cell.problem, times)
    evaluate = Evaluator(
        timed,
        cell.budget,
        record=record,
        journal=journal,
        observers=observers,
        at_once=cell.problem.model.at_once,
    )
    if journal is not None and _has_priced(journal.recovered):
        cell.problem.model.trust()
    start = timed.now()
    try:
        with threadpool_limits(1):
            if cell.start:
                evaluate.evaluate_start(np.array(cell.start, np.int64))
            kept: dict[str, Any] = {} if keep is None else {"keep": keep}
            cell.searcher.search(evaluate, cell.rng(), **kept)
    except (BudgetExhausted, SearchEnded):
        pass
    except SystemExit as error:
        # Not passed on: it would end the command as if all were done.
        raise InputError(f"searcher {cell.name!r} ended its search: {format_exception(error)}") from error
    except PricesNothing:
        if journal is not None:
            journal.discard()
        journal = None
        raise
    finally:
        times.searcher += timed.now() - start - times.model
        if journal is not None:
            journal.sync(record, force=True)
    if evaluate.remaining:
        _refuse_early_end(cell, evaluate)
    return record


def _refuse_early_end(cell: Cell, evaluate: Evaluator) -> None:
    """SearcherStopped unless an observer has ended the search."""
    try:
        # If the gate has failed, or an observer has ended the search, this raises that again.
        evaluate(np.empty((0, len(cell.problem.space.sizes)), np.int64))
    except SearchEnded:
        return
    raise SearcherStopped(
        f"searcher {cell.name!r} stopped with {evaluate.remaining} of {cell.budget} samples left"
    )


def _has_priced(record: Record) -> bool:
    """Whether the cost model has priced a sample, or refused it for a reason that is the sample's."""
    failed = np.isin(record.evaluations().reason, (Reason.CRASHED, Reason.GARBLED))
    return not bool(failed.all())


def open_journal(cell: Cell, path: Path) -> Journal:
    """The journal of the cell at `path`, made if it is not there."""
    sizes = [gene.size for gene in cell.problem.space.genes]
    return Journal(path, cell.identity, sizes, most=cell.budget)
