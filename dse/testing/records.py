"""The rules on records: the same from the same seed, whatever surrounds the search or interrupts it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from dse.search.journal import Journal
from dse.search.record import Record
from dse.testing.candidate import GLOBAL_RANDOM, MANY_THREADS, REUSABLE, SAME_SEED, Candidate
from dse.testing.landscapes import convolution
from dse.testing.runs import WatchedRun, World, difference
from dse.testing.verdict import Broken

SAFE = 0.178
"""The part of a resumed search that is safe in its journal; one sample and all but one are tried as well."""
TORN_SAMPLES, TORN_BYTES = 64, 7
"""What was being written when it died, and how much of that is missing."""


def same_seed(candidate: Candidate) -> str:
    """One seed gives one record."""
    _raise_if(candidate, SAME_SEED, "expected the same record from the same seed")
    return f"{candidate.samples:,} samples, drawn twice"


def global_random_ignored(candidate: Candidate) -> str:
    """Global random states, and threads that draw from them, have no influence."""
    _raise_if(candidate, GLOBAL_RANDOM, "expected the same record whatever the global random states")
    return f"{candidate.samples:,} samples under two states of random, numpy.random and torch, others drawing"


def reusable(candidate: Candidate) -> str:
    """One object serves any number of searches."""
    _raise_if(candidate, REUSABLE, "expected the same record from the same object's next search")
    return f"{candidate.samples:,} samples, drawn twice by one object"


def other_seed(candidate: Candidate) -> str:
    """Another seed gives another record."""
    one, samples = candidate.short, candidate.short.budget
    other = candidate.run(convolution, samples, seed=1, around=World(threads=MANY_THREADS))
    if difference(one, other) is None:
        raise Broken(f"expected another record from another seed, got the same {samples} samples: use `rng`")
    return f"{samples} samples from either of two seeds"


def larger_budget(candidate: Candidate) -> str:
    """A larger budget leaves its samples as they are, or it says that it plans for its budget."""
    short, whole = candidate.short, candidate.reference
    begun = replace(whole, record=_beginning(whole.record, short.budget))
    said = f"{short.budget} samples as the first of {whole.budget:,}"
    if candidate.abilities.plans_for_budget:
        return f"declares that it plans for its budget: {said} were not looked for"
    seen = short.failure or difference(short, begun)
    if seen is not None:
        raise Broken(f"expected {said}, or a declaration `plans_for_budget = True`; {seen}")
    return said


def fresh_process(candidate: Candidate) -> str:
    """Another process, with other hashes and threads and on another CPU, draws the same record."""
    for started in candidate.fresh_runs:
        where = f"in a fresh process with {started.surroundings}"
        ended = started.result()
        if isinstance(ended, str):
            raise Broken(f"expected a search {where}; {ended}")
        candidate.runs.append(ended)
        _require_same(candidate.reference, ended, f"expected the same record {where}")
    processes = " and with ".join(str(started.surroundings) for started in candidate.fresh_runs)
    return f"{candidate.samples:,} samples with {processes}"


def resume(candidate: Candidate) -> str:
    """A search that was cut off goes on to the record that it would have had."""
    cuts = (1, int(SAFE * candidate.samples), candidate.samples - 1)
    for cut in cuts:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "journal")
            _write_torn_journal(path, candidate.reference.record, cut)
            with _journal(path) as journal:
                ended = candidate.run(convolution, candidate.samples, journal=journal)
        expected = f"expected the same record after a restart at sample {cut}"
        if ended.failure is not None:
            raise Broken(f"{expected}; {ended.failure.replace(repr(str(path)), 'of the first search')}")
        _require_same(candidate.reference, ended, expected)
    return f"restarts at samples {', '.join(map(str, cuts))} of {candidate.samples:,}, with a torn last line"


def _raise_if(candidate: Candidate, rule: str, expected: str) -> None:
    cause = candidate.unlike
    if cause is not None and cause[0] == rule:
        raise Broken(f"{expected}; {cause[1]}")


def _require_same(one: WatchedRun, other: WatchedRun, expected: str) -> None:
    if other.failure is not None:
        raise Broken(f"{expected}; {other.failure}")
    seen = difference(one, other)
    if seen is not None:
        raise Broken(f"{expected}; {seen}")


def _write_torn_journal(path: Path, record: Record, cut: int) -> None:
    """A journal that holds the first `cut` samples, and part of a frame of the next."""
    with _journal(path) as journal:
        for stop in (cut, min(cut + TORN_SAMPLES, len(record))):
            journal.sync(_beginning(record, stop), force=True)
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size - TORN_BYTES)


def _beginning(record: Record, samples: int) -> Record:
    beginning = Record(record.genes(0, 1).shape[1])
    beginning.append(record.genes(0, samples), record.evaluations(0, samples))
    return beginning


def _journal(path: Path) -> Journal:
    sizes: list[int] = np.asarray(convolution().space.sizes).tolist()
    return Journal(path, {"checked": "resume"}, sizes)
