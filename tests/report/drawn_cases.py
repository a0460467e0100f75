"""Studies for the tests of figures."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.text import Text

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import Findings
from dse.analysis.study import Study
from tests.report.figure_cases import ODD, OURS, PROBLEMS, made_up

STUDIES: dict[str, Study] = {
    "usual": made_up(),
    "one of everything": made_up(["random"], PROBLEMS[:1], 1),
    "a budget of one sample": made_up(OURS[:2], PROBLEMS[:1], 2, budget=1),
    "fourteen searchers": made_up([*OURS, "a", "b", "c", "d"], PROBLEMS[:3], 2),
    "odd names": made_up(
        ODD,
        [("net<$>:l&_1", "acc$1", "edp"), ("x" * 80, "other\n", "area"), ("l", "o", "weird")],
        infeasible={"_hidden": 1.0, " ": 0.5},
    ),
    "some infeasible": made_up(infeasible={"random": 1.0, "grid": 0.7, "ppo": 0.4}),
    "nothing feasible": made_up(OURS[:3], infeasible=dict.fromkeys(OURS, 1.0)),
    "partial": made_up(undone={"marl": 1.0, "grid": 0.9, "walk": 0.3}),
    "nothing done": made_up(OURS[:3], undone=dict.fromkeys(OURS, 1.0)),
}


def findings_of(study: Study) -> Findings:
    return analyse_study(study, resamples=30)


def lines_of(figure: Figure, colour: str, panel: int = 0) -> list[Any]:
    """A panel's curves of that colour: neither markers nor what stands beside the panel."""
    axes = figure.axes[panel]
    return [
        line
        for line in axes.lines
        if line.get_color() == colour
        and len(line.get_xdata()) > 1
        and line.get_linestyle() != "None"
        and line.get_clip_on()
    ]


def texts_of(figure: Figure) -> list[str]:
    """Everything that is written in a figure."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
