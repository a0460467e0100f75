"""Which figures a study has, what each is called and how it is read; drawn only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.analysis.findings import Findings
from dse.analysis.study import Study, Triple
from dse.report.limits import missing_searchers, without_whom
from dse.report.plots.canvas import WIDTH
from dse.report.plots.contests import distribution_figure, efficiency_figure, improvement_figure
from dse.report.plots.convergence import convergence_figure, fronts_figure, gap_figure, mean_loss_figure
from dse.report.plots.shares import ecdf_figure, profile_figure
from dse.report.plots.style import house_style
from dse.report.plots.times import time_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = 8
"""Problems in a figure of convergence; more go on in a second one."""
ROWS = 4
"""Problems in a figure of mean losses."""
MAX = 16
"""Problems that have one: those of a campaign on whole networks would fill a book, and take a minute."""


NAMES = (
    "gap",
    "convergence",
    "distributions",
    "profiles",
    "ecdf",
    "time",
    "fronts",
    "improvement",
    "efficiency",
    "returns",
)
"""The figures of a study by name; those of many problems go on in NAME-2, ..."""


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn: the name of its files, a heading, and how to read it in a sentence or two.

    `make` draws it so many inches wide: WIDTH, or COLUMN, on its own terms.
    """

    name: str
    title: str
    caption: str
    make: Callable[[float], Figure]

    def build(self, width: float = WIDTH) -> Figure:
        """The figure, drawn anew."""
        with house_style():
            return self.make(width)


def draw_figures(study: Study, findings: Findings) -> dict[str, Drawing]:
    """The figures of a study by name, in the order in which they are read.

    What needs a second searcher is left out where there is one only.
    """
    drawings = _of_all(study, findings)
    if findings.fronts:
        drawings.append(_of_fronts(study, findings))
    if len(study.searchers) > 1:
        drawings += _of_pairs(study, findings)
    drawings += _paged(
        "returns",
        "What is drawn, and the best of it",
        "The mean loss of the feasible samples that a searcher draws, and the best loss so far."
        " A searcher that learns draws lower losses with time." + _first_of(study),
        study.problems[:MAX],
        ROWS,
        lambda problems, width: mean_loss_figure(study, findings, problems, width),
    )
    return {drawing.name: drawing for drawing in drawings}


def _of_all(study: Study, findings: Findings) -> list[Drawing]:
    """The figures that every study has."""
    return [
        Drawing(
            "gap",
            "Over all problems",
            "How far each searcher's best loss so far is from the best known, against the samples spent. "
            "The lower curve is better; 1 is the best known.",
            lambda width: gap_figure(study, findings, width),
        ),
        *_paged(
            "convergence",
            "On each problem",
            "The best loss so far against the samples spent. The lower curve is better; the line across "
            "is the proven optimum or the best loss known.",
            study.problems,
            PANELS,
            lambda problems, width: convergence_figure(study, findings, problems, width),
        ),
        Drawing(
            "distributions",
            "Where each run ends",
            "Each dot is a run: its final loss over the best known. The box holds the middle half of the "
            f"runs, its line is the median. Further left is better. {without_whom(study)}".strip(),
            lambda width: distribution_figure(study, findings, width),
        ),
        Drawing(
            "profiles",
            "How many runs end near the best known",
            "The share of runs whose final loss is at most so many times the best known. The higher curve is "
            f"better. {without_whom(study)}".strip(),
            lambda width: profile_figure(study, findings, width),
        ),
        Drawing(
            "ecdf",
            "How soon targets are reached",
            "A target is a loss, some factor above the best known. The share of targets, over all problems "
            "and seeds, that are reached after so many samples. The higher curve is better.",
            lambda width: ecdf_figure(study, findings, width),
        ),
        Drawing(
            "time",
            "By the clock",
            "The best loss so far over the best known, against time, if a sample took a microsecond, ten "
            "milliseconds or a minute. The searcher's own time is added.",
            lambda width: time_figure(study, findings, width),
        ),
    ]


def _of_fronts(study: Study, findings: Findings) -> Drawing:
    """How near searches of several objectives come to exact fronts."""
    return Drawing(
        "fronts",
        "What fronts lack",
        "The share of the exact front's hypervolume that each searcher has not found, against the "
        "samples spent: the regret of several objectives. The lower curve is better; 0 has the whole "
        "front.",
        lambda width: fronts_figure(study, findings, width),
    )


def _of_pairs(study: Study, findings: Findings) -> list[Drawing]:
    """How searchers compare with each other."""
    return [
        Drawing(
            "improvement",
            "Who ends lower",
            "The probability that a run of the row's searcher ends lower than a run of the column's, "
            "with its 95 % confidence interval. The stronger the shade, the more often the row's "
            f"searcher ends lower. {without_whom(study)}".strip(),
            lambda width: improvement_figure(study, findings, width),
        ),
        Drawing(
            "efficiency",
            "Who needs fewer samples",
            "Samples that the second searcher needs to reach its own median final loss, divided by those "
            f'that the first needs. In "{study.reference} against each" {study.reference} is the first. '
            "Right of 1, the first needs fewer. Open dots: not reached on every problem." + _shorter(study),
            lambda width: efficiency_figure(study, findings, width),
        ),
    ]


def _shorter(study: Study) -> str:
    """How a pair is compared of which one has the smaller budget."""
    return f" Both up to the smaller budget of a pair: {missing_searchers(study)}." if study.cut else ""


def _first_of(study: Study) -> str:
    count = len(study.problems)
    return f" Shown for the first {MAX} of {count} problems." if count > MAX else ""


def _paged(
    name: str,
    title: str,
    caption: str,
    problems: Sequence[Triple],
    size: int,
    make: Callable[[Sequence[Triple], float], Figure],
) -> list[Drawing]:
    """As many figures as are needed for all problems, at most `size` in each: NAME, NAME-2, ..."""
    pages = [problems[start : start + size] for start in range(0, len(problems), size)]
    return [
        Drawing(
            name if place == 1 else f"{name}-{place}",
            title if place == 1 else f"{title}, continued ({place} of {len(pages)})",
            caption,
            lambda width, page=page: make(page, width),  # type: ignore[misc]
        )
        for place, page in enumerate(pages, 1)
    ]
