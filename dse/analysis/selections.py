"""Parts of a campaign's problems that a reader may ask for: those of a network, accelerator, objective."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from dse.analysis.analysis import gap
from dse.analysis.findings import Band
from dse.analysis.runs import Runs
from dse.analysis.study import Study, Triple

RESAMPLES = 500
"""Of each part: there are many, and an interval's end is seen to two digits."""
MAX = 100
"""Parts beyond these are not computed."""


@dataclass(frozen=True)
class Selection:
    """Some of a study's problems, by their places in it, and each searcher's figure over them (as `gap`)."""

    problems: tuple[int, ...]
    gap: dict[str, Band]


def facets(problem: Triple) -> tuple[str, str, str]:
    """What a problem is chosen by: its network, accelerator and objective."""
    layer, accelerator, objective = problem
    return layer.rpartition(":")[0] or layer, accelerator, objective


def selections(study: Study) -> tuple[Selection, ...]:
    """The parts that one value or any of each facet picks, but for the whole; MAX at most."""
    found = [facets(problem) for problem in study.problems]
    parts = dict.fromkeys(
        places
        for wanted in itertools.product(
            *([None, *dict.fromkeys(values)] for values in zip(*found, strict=True))
        )
        if 0 < len(places := _places(found, wanted)) < len(found)
    )
    runs = Runs(study, RESAMPLES)
    return tuple(
        Selection(places, gap(runs, {study.problems[place] for place in places}))
        for places in itertools.islice(parts, MAX)
    )


def _places(found: Sequence[tuple[str, ...]], wanted: Sequence[str | None]) -> tuple[int, ...]:
    return tuple(
        place
        for place, values in enumerate(found)
        if all(want in (None, value) for want, value in zip(wanted, values, strict=True))
    )
