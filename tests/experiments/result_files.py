"""Reads the tables of results, and says what words their figures allow."""

from __future__ import annotations

import re

from experiments import RESULTS

CHANCES = "Probability that a run of team is lower after so many samples, of problems like these"
Rows = list[dict[str, str]]
Figure = tuple[float, float, float]


def tables(text: str) -> dict[str, Rows]:
    """The lines of a page's tables by the title above; a second table under one title has `'` after it."""
    found: dict[str, Rows] = {}
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE):
        title = part.split("\n", 1)[0]
        for block in re.findall(r"(?:^\|.*\n)+", part + "\n", re.MULTILINE):
            head, _, *lines = (
                [cell.strip() for cell in line.strip("| ").split(" | ")] for line in block.splitlines()
            )
            while title in found:
                title += "'"
            found[title] = [dict(zip(head, line, strict=False)) for line in lines]
    return found


def of(path: str, title: str = "") -> Rows:
    """A table of a file of results, by its title."""
    return next(
        rows for name, rows in tables((RESULTS / path).read_text("utf-8")).items() if name.startswith(title)
    )


def figure(cell: str) -> Figure:
    """A mean and its ends; alone, it is its ends."""
    value, *ends = map(float, re.findall(r"-?\d+(?:\.\d+)?", cell.replace(",", ""))[:3])
    return (value, *ends) if len(ends) == 2 else (value, value, value)


def budgets(row: dict[str, str]) -> list[str]:
    return [name for name in row if name.replace(",", "").isdigit() and row[name] != "-"]


def leads(rows: Rows, other: str) -> list[str]:
    """After how many samples the lead over another is significant."""
    (row,) = (row for row in rows if row["team against"] == other)
    return [name for name in budgets(row) if figure(row[name])[1] > 0.5]


def ahead_of_all(rows: Rows) -> bool:
    return all(leads(rows, row["team against"]) == budgets(row) for row in rows)


def nearest(rows: Rows, name: str = "team", but: tuple[str, ...] = ()) -> list[str]:
    """After how many samples a searcher's figure is the least."""
    (own,) = (row for row in rows if row["searcher"] == name)
    rest = [row for row in rows if row["searcher"] not in (name, *but)]
    return [
        at
        for at in budgets(own)
        if all(row[at] == "-" or figure(own[at])[0] < figure(row[at])[0] for row in rest)
    ]


def verdicts(path: str, start: str) -> set[str]:
    """The verdicts on the claims that begin so."""
    rows = [
        row
        for rows in tables((RESULTS / path).read_text("utf-8")).values()
        for row in rows
        if "verdict" in row
    ]
    found = {row["verdict"] for row in rows if next(iter(row.values())).startswith(start)}
    assert found, start
    return found
