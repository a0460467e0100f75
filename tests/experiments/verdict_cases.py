"""Tables of results for the tests of verdicts."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.analysis.study import Study, load_study
from dse.campaign.summary import Summary
from tests import ROOT
from tests.analysis.report_cases import A, campaign, cell

Steps = Sequence[tuple[int, float]]


def study(folder: Path, runs: dict[str, Steps], problems: Sequence[Any] = (A,), seeds: int = 4) -> Study:
    """Each searcher's steps, as they are on every problem and, shifted a little, from every seed."""
    cells: list[Summary] = [
        cell(name, [(at + seed, loss) for at, loss in steps], problem, seed=seed)
        for problem in problems
        for name, steps in runs.items()
        for seed in range(seeds)
    ]
    folder.mkdir(exist_ok=True)
    published = tomllib.loads((ROOT / "results" / "paper" / "table3.toml").read_text())["published"]
    about = {"reference": "marl"} if "marl" in runs else {}
    return load_study(campaign(folder, cells, seeds=seeds, published=published, **about))
