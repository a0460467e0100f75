"""What `final2` came to: verdicts follow from the figures, and the page from the lines that are committed."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import final2
from experiments.final2 import BUDGETS, GOALS, Line
from tests import ROOT


def lines(searcher: str, ratios: list[float]) -> list[Line]:
    """A searcher on so many problems, at the same ratio after each budget."""
    return [
        Line("loopnest", f"net:{place}", "factors", True, searcher, 3, (ratio,) * len(BUDGETS))
        for place, ratio in enumerate(ratios)
    ]


@pytest.mark.parametrize(
    ("ratios", "verdicts"),
    [
        ([1.0, 1.0001, 1.0002], ["met"] * 6),
        ([1.2, 1.21, 1.22], ["missed"] * 6),
        ([1.01, 1.02, 1.03], ["met", "met", *["inconclusive"] * 4]),
    ],
)
def test_whether_a_goal_is_met_follows_from_the_figures(ratios: list[float], verdicts: list[str]) -> None:
    table = final2.goal_table(lines("team", ratios) + lines("random", [9.0, 9.0, 9.0]))
    row = next(line for line in table.splitlines() if line.startswith("| verdict"))
    assert [cell.strip() for cell in row.strip("| ").split("|")][1:] == verdicts


def test_problems_above_the_worst_that_was_to_be_are_named() -> None:
    table = final2.goal_table(lines("team", [1.0, 1.2, 1.1]))
    assert table.endswith("Above 1.15 after 100 samples are 1 of 3 problems. 1, 1.20")
    assert final2.goal_table(lines("team", [1.0, 1.1])).endswith("are 0 of 2 problems.")


def test_a_table_has_means_over_problems_and_the_worst() -> None:
    found = lines("team", [1.0, 1.0, 8.0])
    mean, worst = final2.figures(found, 0)
    assert mean.value == pytest.approx(2)
    assert mean.count == 3
    assert worst == 8
    short = list(found)
    short[0] = Line(*list(short[0].__dict__.values())[:-1], (1.0, *[np.nan] * (len(BUDGETS) - 1)))
    assert final2.table(short).splitlines()[2].endswith("| - | - | - | - | - |")


def test_goals_fall() -> None:
    assert len(GOALS) == len(BUDGETS)
    assert list(GOALS) == sorted(GOALS, reverse=True)


def test_the_page_that_is_committed_follows_from_the_lines_that_are() -> None:
    tables = "\n\n".join(final2.pages(final2.read()))
    written = (ROOT / "results" / "final2.md").read_text(encoding="utf-8")
    assert written == f"Written by `python -m experiments.final2`.\n\n{tables}\n"
