"""The searches that a folder holds: their problems and samples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.core.domains import problem_from_identity
from dse.core.evaluations import Evaluations
from dse.core.problem import AnyProblem
from dse.domains.clustered.structure import mappings_of
from dse.domains.levels.structure import machine_mappings_of
from dse.search.record import Record, read_parquet
from dse.support.arrays import IntArray
from dse.support.errors import InputError, errors_within, shorten
from dse.support.files import read_bounded
from dse.support.parquet import most_unpacked
from searchers.common.history import History
from searchers.team.training import TrainingSet, training_set

if TYPE_CHECKING:
    from dse.core.layer import Layer
    from dse.core.space import Space
    from searchers.team.features import Features

_MAX_FILES = 10_000
_SUFFIX = ".parquet"
_FARTHEST = 6.0
"""Deviations within which what is unusual for a layer may lie, as its critic sees it."""
_CURVES = "curves.parquet"
"""What a campaign's folder has beside the records of its searches."""


@dataclass(frozen=True)
class SourceSearch:
    """A search of a problem, and its samples."""

    problem: AnyProblem
    record: Record

    @property
    def evaluations(self) -> Evaluations:
        """Of all samples."""
        return replace(
            self.record.evaluations(), criteria=self.problem.criteria.of_points(self.record.genes())
        )


@dataclass(frozen=True)
class SourceSearches:
    """Those of a folder, and a SHA-256 of what it held."""

    folder: str
    digest: str
    found: tuple[SourceSearch, ...]

    @property
    def samples(self) -> int:
        """Of all searches together."""
        return sum(len(search.record) for search in self.found)


def read_searches(folder: Path, digest: str = "") -> SourceSearches:
    """All searches below a folder. InputError if it has none, or has changed since it had the `digest`."""
    where = f"folder {str(folder)!r}"
    try:
        paths = sorted(path for path in folder.rglob(f"*{_SUFFIX}") if path.name != _CURVES)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror}") from None
    if not paths:
        raise InputError(f"{where} holds no searches, as dse search --out FOLDER and dse run write them")
    if len(paths) > _MAX_FILES:
        raise InputError(f"{where} holds {len(paths):,} searches; at most {_MAX_FILES:,}")
    seen = hashlib.sha256()
    for path in paths:
        with errors_within(where):
            seen.update(f"{path.relative_to(folder)}\0".encode() + hashlib.sha256(_bytes(path)).digest())
    if digest and seen.hexdigest() != digest:
        raise InputError(f"{where} has changed since the search was set up")
    return _read(str(folder), seen.hexdigest(), tuple(paths))


def _bytes(path: Path) -> bytes:
    try:
        return read_bounded(path, path.name, most_unpacked())
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None


@cache
def _read(folder: str, digest: str, paths: tuple[Path, ...]) -> SourceSearches:
    return SourceSearches(folder, digest, tuple(_search(path) for path in paths))


def _search(path: Path) -> SourceSearch:
    record, about = read_parquet(path)
    with errors_within(f"record {str(path)!r}"):
        identity = about.get("identity") if isinstance(about, Mapping) else None
        problem: Any = identity.get("problem") if isinstance(identity, Mapping) else None
        if not isinstance(problem, Mapping):
            raise InputError(f"it does not say what it is of, got {shorten(problem)}")
        return SourceSearch(problem_from_identity(problem), record)


def source_training_set(
    searches: SourceSearches, space: Space, describe: Features, factors: tuple[str, ...], most: int
) -> TrainingSet | None:
    """What samples on the machine of a space teach, `most` of them: of each search the best and any others.

    None where features of one layer say nothing of another, or all samples were refused. InputError if no
    search is on the machine.
    """
    found = []
    same = [search for search in searches.found if _machine(search.problem.space) == _machine(space)]
    for search in same:
        of_other = describe.of(search.problem.space)
        if of_other is None:
            continue
        history = History(search.problem.space, of_other, factors)
        history.add(search.record.genes(), search.evaluations)
        rows = np.flatnonzero(~history.refused)
        best_first = rows[np.argsort(history.scores[rows], kind="stable")]
        taught = training_set(history, _best_and_others(best_first, max(most // len(same), 2)))
        kernels = taught.features[:, : taught.features.shape[1] - describe.addends]
        np.clip(kernels, -_FARTHEST, _FARTHEST, out=kernels)
        macs = _layer(search.problem.space).macs / _layer(space).macs
        found.append(replace(taught, constant=taught.constant * macs))
    if not same:
        raise InputError(
            f"folder {searches.folder!r} has no search on this machine; search another layer on it first"
        )
    together = reduce(TrainingSet.joined, found) if found else None
    return together if together and len(together.figures) else None


def _best_and_others(best_first: IntArray, count: int) -> IntArray:
    """Half of so many rows are the best, and the other half evenly of the others."""
    best, others = best_first[: count // 2], best_first[count // 2 :]
    places = np.linspace(0, len(others) - 1, min(count - len(best), len(others)))
    return np.concatenate([best, others[np.unique(places.astype(np.int64))]])


def _machine(space: Space) -> object:
    """The machine that a space's designs are mapped onto."""
    if onto_machine := machine_mappings_of(space):
        return onto_machine.machine
    mappings = mappings_of(space)
    return mappings.accelerator if mappings else None


def _layer(space: Space) -> Layer:
    described = machine_mappings_of(space) or mappings_of(space)
    assert described is not None, "features that other spaces share are of mappings"
    return described.layer
