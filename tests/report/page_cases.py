"""A small campaign, run in this process, for the tests of its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.analysis.study import Study
from dse.campaign.reading import load_campaign
from dse.campaign.store import Store
from dse.campaign.summary import Summary, summarise_cell
from dse.cli.commands.run import find_layers
from dse.search.run import RunTimes, run_cell

CAMPAIGN = """
name = "small"
budget = 150
seeds = 3
cost_model = "maestro"
objectives = ["latency", "edp"]
accelerators = ["edge"]
layers = ["resnet18:fc", "mobilenet_v2:3"]

[searchers.random]
[searchers.walk]
n_walkers = 4
[searchers.walk-8]
type = "walk"
n_walkers = 8
"""


def run_small_campaign(folder: Path, campaign: str = CAMPAIGN, prove: bool = True) -> Path:
    """Run every cell and write `curves.parquet`; returns the campaign's folder."""
    file = folder / "small.toml"
    file.write_text(campaign, encoding="utf-8")
    with Store(folder / "small", load_campaign(str(file), find_layers)) as store:
        for named in store.unfinished():
            times = RunTimes()
            store.finish(summarise_cell(named, run_cell(named.cell, times=times), times))
        if prove:
            store.prove_optima()
        store.record_run(len(store.cells), workers=1, seconds=1.5)
        store.write_curves()
    return folder / "small"


NASTY = {
    "resnet18:fc": """net:"><img src=x onerror=alert(1)>""",
    "mobilenet_v2:features.2.expand": "n:</pre></script><script>alert(2)</script>{{ 7 * 7 }}",
    "edge": "a' onmouseover='alert(3)",
    "walk": "<script>alert(4)</script>",
    "walk-8": "w" * 300,
    "small": "</title><style>*{display:none}</style>&lt;",
}
"""What a folder made by others might call its layers, accelerator, searchers and campaign."""


def nasty(study: Study) -> Study:
    """The study under names that would be markup, were they not escaped."""

    def renamed(data: Any) -> Any:
        if isinstance(data, dict):
            return {renamed(key): renamed(value) for key, value in data.items()}
        if isinstance(data, list):
            return [renamed(item) for item in data]
        return NASTY.get(data, data) if isinstance(data, str) else data

    def cell(summary: Summary) -> Summary:
        names = ("layer", "accelerator", "searcher")
        return replace(summary, **{name: renamed(getattr(summary, name)) for name in names})

    about = renamed(study.about)
    labels = {study.label(old): label(*map(renamed, old)) for old in study.problems}
    for part in (about["definitions"], about["optima"], *about["templates"].values()):
        for old, new in labels.items():
            if old in part:
                part[new] = part.pop(old)
    about["settings"]["random"] |= {"<u>": "<iframe src=//x>"}
    about["versions"] |= {"<s>": "<script>"}
    about["runs"][0]["machine"]["processor"] = "<embed src=x>"
    return replace(study, about=about, summaries=tuple(map(cell, study.summaries)))


def label(layer: str, accelerator: str, objective: str) -> str:
    """A problem's label under its new names."""
    return f"{layer} on {accelerator}, {objective}"
