"""What tables of figures with confidence intervals have in common, in CSV and as they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from dse.analysis.findings import Interval
from dse.analysis.study import Study
from dse.report.formats import NOTHING
from dse.report.limits import missing_searchers

ENDS = ("low", "high", "low_over_problems", "high_over_problems")
"""The columns of a figure's two intervals."""
PROBLEMS_TOO = "of problems like these"
"""What intervals are about in which problems are drawn too: at the end of a title, and above a column."""


def figure_numbers(narrow: Interval | None, wide: Interval | None) -> tuple[float, ...]:
    """A figure and its ENDS; NaN where there is none."""
    nothing = Interval(math.nan, math.nan, math.nan)
    return (*(narrow or nothing), *(wide or nothing)[1:])


def shown_figure(found: Interval | None, write: Callable[[float], str]) -> str:
    """A figure with its interval, if there is any."""
    if found is None:
        return NOTHING
    text = write(found.value)
    wide = found.wide and math.isfinite(found.value)
    return f"{text} [{write(found.low)}, {write(found.high)}]" if wide else text


def titles_by_interval(study: Study, title: str) -> dict[bool, str]:
    """Titles of a table about these problems and, from two on, of one about problems like them (True)."""
    several = {True: f"{title}, {PROBLEMS_TOO}"} if len(study.solved) > 1 else {}
    return {False: title, **several}


def at_budgets(
    study: Study, name: str, found: Mapping[tuple[str, int], Interval], write: Callable[[float], str]
) -> Iterator[str]:
    """A searcher's figures at the tables' budgets."""
    return (shown_figure(found.get((name, budget)), write) for budget in study.budgets)


def why_dashes(study: Study) -> str:
    """Why a table over all budgets has dashes, in a sentence; nothing if it has none."""
    return f"A dash: beyond the budget of {missing_searchers(study)}." if study.cut else ""
