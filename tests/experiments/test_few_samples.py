"""How near few samples come: the table of both cost models, and the page that shows it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from experiments.few_samples import main

ROOT = Path(__file__).resolve().parents[2]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| \n").split("|")]


def test_the_page_of_results_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["few_samples", "final"])
    main()
    printed = {row[0]: row for row in map(cells, capsys.readouterr().out.splitlines())}
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    section = page.split("### The final twelve")[1].split("\n#")[0]
    shown = [cells(line) for line in re.findall(r"^\| [a-z].*", section, re.MULTILINE)]
    assert len(shown) > 10
    budgets = [printed["searcher"].index(budget) for budget in shown[0][1:]]
    for searcher, *figures in shown[1:]:
        # The page leaves out some of the worst problems, which stand in brackets.
        for figure, place in zip(figures, budgets, strict=True):
            assert printed[searcher][place].startswith(figure), (searcher, place)
