"""What each figure is called and how it is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dse.analysis.findings import Findings
from dse.analysis.study import Study
from dse.report.plots import draw

GENES = "genes-"
"""How the names of figures of a single run begin; its key follows."""


@dataclass(frozen=True)
class Caption:
    """A figure's title and how to read it."""

    title: str
    text: str


def captions(study: Study, findings: Findings, names: Iterable[str]) -> dict[str, Caption]:
    """The captions of the figures of those names; one that is not ours has its name alone."""
    drawings = draw(study, findings)
    found = {}
    for name in names:
        if name in drawings:
            found[name] = Caption(drawings[name].title, drawings[name].caption)
        elif name.startswith(GENES):
            run = name.removeprefix(GENES)
            text = f"What the run {run} drew, gene by gene, as its samples went by."
            found[name] = Caption("A run, gene by gene", text)
        else:
            found[name] = Caption(name, "")
    return found
