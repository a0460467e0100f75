"""Pages of small campaigns, and a browser to look at them with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dse.analysis.analysis import analyse_study
from dse.analysis.findings import Findings
from dse.analysis.study import Study, load_study
from dse.report.formats import Section, Table
from dse.report.plots.canvas import COLUMN
from dse.report.plots.drawing import draw_figures
from dse.report.plots.files import svg_text
from tests.report.browser import Browser, chromium
from tests.report.drawn_cases import STUDIES, findings_of
from tests.report.figure_cases import OURS, PROBLEMS, made_up
from tests.report.page_cases import nasty, run_small_campaign
from tests.report.rendering import render_page

LOSSES = Section(
    "losses",
    ["searcher", "loss", "seeds"],
    [
        ["marl-10", "2.5", "3"],
        ["walk", "infeasible", "10"],
        ["marl-9", "1.5e-3", "2"],
        ["ppo", "-", "1,000"],
        ["<b>cem</b>", "10 [9, 11]", "1"],
    ],
)
TABLE = Table("losses", "Who loses?", (), (), (), (LOSSES,))
DRAWN = ("gap", "distributions", "ecdf", "improvement")


@dataclass(frozen=True)
class Pages:
    """A page of a campaign, one of the same under names that would be markup, and one of many searchers."""

    plain: Path
    nasty: Path
    many: Path


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory, study: Study) -> Pages:
    folder = tmp_path_factory.mktemp("pages")
    problems = [PROBLEMS[0], (f"{'network' * 12}:layer", "eyeriss-small", "edp")]
    many = made_up([*OURS, "ppo-categorical", "team", "a", "b"], problems)
    found = Pages(folder / "plain.html", folder / "nasty & <b>.html", folder / "many.html")
    for path, shown in ((found.plain, study), (found.nasty, nasty(study)), (found.many, many)):
        findings = analyse_study(shown, resamples=20)
        drawn = {name: one for name, one in draw_figures(shown, findings).items() if name in DRAWN}
        figures = {name: svg_text(one.build(COLUMN)) for name, one in drawn.items()} if shown is many else {}
        page = render_page(shown, findings, figures, [TABLE], ["tables/reduction.csv"])
        path.write_text(page, encoding="utf-8")
    return found


@pytest.fixture(scope="session")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def page(window: Browser, pages: Pages) -> Browser:
    """The plain page, just loaded, in a wide light window."""
    window.begin(pages.plain)
    return window


@pytest.fixture(scope="session")
def usual() -> tuple[Study, Findings]:
    return STUDIES["usual"], findings_of(STUDIES["usual"])


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A small campaign that has been run; tests change copies of it alone."""
    return load_study(run_small_campaign(tmp_path_factory.mktemp("page")))


@pytest.fixture(scope="session")
def findings(study: Study) -> Findings:
    return analyse_study(study, resamples=50)


@pytest.fixture(scope="session")
def rendered(study: Study, findings: Findings) -> str:
    """The page of the small campaign, without figures and tables."""
    return render_page(study, findings)
