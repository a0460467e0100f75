"""How near few samples come: the tables of both sets of problems are those that the command makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import few_samples, keep

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("campaign", ["small", "final"])
def test_the_table_that_is_committed_is_what_the_command_writes(campaign: str) -> None:
    tables = "\n\n".join(few_samples.pages(campaign))
    written = (ROOT / "results" / f"few-samples-{campaign}.md").read_text(encoding="utf-8")
    assert written == f"Written by `python -m experiments.few_samples {campaign}`.\n\n{tables}\n"


def test_tables_are_printed_and_kept_with_the_command_that_made_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tmp_path / "page.md", "experiments.some", "| a |", "| b |")
    assert capsys.readouterr().out == "| a |\n\n| b |\n"
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page == "Written by `python -m experiments.some`.\n\n| a |\n\n| b |\n"
