"""Figures: they show what was found, look the same every time, and bear any campaign."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from dse.analysis.findings import Findings
from dse.analysis.study import Study
from dse.report.plots.canvas import COLUMN, WIDTH
from dse.report.plots.drawing import NAMES, draw_figures
from dse.report.plots.files import pdf_bytes, png_bytes, remove_stale, svg_text, write_drawing
from dse.report.plots.style import house_style
from dse.support.errors import StorageError
from tests import ROOT
from tests.report.drawn_cases import STUDIES, findings_of, lines_of, texts_of
from tests.report.figure_cases import made_up

FEW = ("random", "walk", "marl")

pytestmark = pytest.mark.filterwarnings("error")


DIFFERENT = ("fourteen searchers", "odd names", "a budget of one sample", "nothing done")
"""Studies whose figures differ most; `prove_figures.py` looks at those of all."""


@pytest.fixture(scope="module")
def few() -> tuple[Study, Findings]:
    """A study of three searchers: its figures are drawn sooner."""
    study = made_up(FEW)
    return study, findings_of(study)


@pytest.mark.parametrize("name", DIFFERENT)
def test_any_campaign_has_figures_whose_words_are_readable_and_small_pictures(name: str) -> None:
    """The one of most searchers in the width of a column, where there is least room."""
    assert_readable(name, COLUMN if name == DIFFERENT[0] else WIDTH, pictures=name == DIFFERENT[1])


def assert_readable(name: str, width: float = WIDTH, pictures: bool = False) -> None:
    """All words of all of the study's figures lie apart; as `pictures` they are small and without faults."""
    study = STUDIES[name]
    for drawing in draw_figures(study, findings_of(study)).values():
        figure = drawing.build(width)
        assert figure.get_size_inches()[0] == width
        with house_style():
            figure.draw_without_rendering()
        assert_no_words_on_words(figure, f"{name}: {drawing.name}")
        if pictures:
            text = svg_text(figure)
            assert len(text) < 150_000, drawing.name
            ET.fromstring(text)


def assert_no_words_on_words(figure: Figure, where: str) -> None:
    """All words lie in the picture, and none on others. The figure has been drawn."""
    shown = [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
    boxes = [(text, text.get_window_extent()) for text in shown if not text.get_rotation() % 90]
    for text, box in boxes:
        inside = (
            box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        )
        assert inside, f"{where}: {text.get_text()!r} sticks out"
    for (one, first), (other, second) in combinations(boxes, 2):
        width = min(first.x1, second.x1) - max(first.x0, second.x0)
        height = min(first.y1, second.y1) - max(first.y0, second.y0)
        overlap = width > 1.5 and height > 0.25 * min(first.height, second.height)
        assert not overlap, f"{where}: {one.get_text()!r} lies on {other.get_text()!r}"


def test_the_same_findings_give_the_same_bytes_whatever_the_users_settings_are(
    few: tuple[Study, Findings],
) -> None:
    drawing = draw_figures(*few)["gap"]
    first = [make(drawing.build()) for make in (png_bytes, pdf_bytes, svg_text)]
    with matplotlib.rc_context(
        {"font.size": 30, "axes.grid": True, "svg.fonttype": "path", "lines.color": "r"}
    ):
        again = [make(drawing.build()) for make in (png_bytes, pdf_bytes, svg_text)]
        assert matplotlib.rcParams["font.size"] == 30
    assert first == again


def test_drawing_leaves_no_state_and_never_imports_pyplot() -> None:
    script = (
        "import sys, matplotlib\n"
        "before = matplotlib.rcParams.copy()\n"
        "from tests.report.figure_cases import made_up\n"
        "from dse.analysis.analysis import analyse_study\n"
        "from dse.report.plots.drawing import draw_figures\n"
        "from dse.report.plots.files import png_bytes, svg_text\n"
        "study = made_up(['walk', 'marl'])\n"
        "figure = draw_figures(study, analyse_study(study, 10))['gap'].build()\n"
        "png_bytes(figure), svg_text(figure)\n"
        "assert matplotlib.rcParams.copy() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    root = ROOT
    subprocess.run([sys.executable, "-c", script], check=True, cwd=root)


def test_figures_are_written_as_pictures_and_as_pdf(tmp_path: Path) -> None:
    study = STUDIES["one of everything"]
    picture, document = write_drawing(draw_figures(study, findings_of(study))["gap"], tmp_path, also_pdf=True)
    assert (picture.name, document.name) == ("gap.png", "gap.pdf")
    with Image.open(picture) as image:
        assert image.width == 1440
    assert document.read_bytes().startswith(b"%PDF")
    assert set(tmp_path.iterdir()) == {picture, document}


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_figure(
    usual: tuple[Study, Findings], tmp_path: Path
) -> None:
    (tmp_path / "figures").write_text("a file")
    with pytest.raises(StorageError, match=r"gap\.png' cannot be written"):
        write_drawing(draw_figures(*usual)["gap"], tmp_path / "figures")


def test_figures_of_an_earlier_report_go_and_what_is_not_a_studys_stays(
    tmp_path: Path,
) -> None:
    names = {f"{name}.{kind}" for name in ("gap", "returns", "ecdf") for kind in ("png", "pdf")}
    folder = tmp_path / "figures"
    folder.mkdir()
    stale = {"returns-2.png", "convergence-13.pdf", "efficiency.png"}
    others = {"genes-a--b.png", "gap.svg", "returns-2b.png", "my-gap.png", "returns-2.png.txt"}
    for name in names | stale | others:
        (folder / name).write_text(name)
    remove_stale(folder, [folder / name for name in names])
    assert {path.name for path in folder.iterdir()} == names | others
    remove_stale(tmp_path / "absent", [])


def test_every_figure_of_a_study_is_known_by_name() -> None:
    study = STUDIES["usual"]
    assert {name.split("-")[0] for name in draw_figures(study, findings_of(study))} == set(NAMES) - {"fronts"}


def test_many_problems_are_spread_over_several_figures() -> None:
    problems = [(f"net:{n}", "edge", "edp") for n in range(9)]
    study = made_up(["walk", "marl"], problems, 2)
    drawings = draw_figures(study, findings_of(study))
    assert [name for name in drawings if name.startswith("convergence")] == ["convergence", "convergence-2"]
    first = drawings["convergence"].build()
    assert len(first.axes) == 8
    assert "net:8" not in " ".join(texts_of(first))
    assert "net:8" in texts_of(drawings["convergence-2"].build())
    assert drawings["convergence-2"].title.endswith("continued (2 of 2)")


def test_mean_losses_are_shown_for_the_first_of_very_many_problems() -> None:
    study = made_up(["walk"], [(f"net:{n}", "edge", "edp") for n in range(20)], 1)
    drawings = draw_figures(study, findings_of(study))
    assert "returns-4" in drawings
    assert "returns-5" not in drawings
    assert drawings["returns"].caption.endswith("Shown for the first 16 of 20 problems.")


def test_one_searcher_has_no_figures_that_compare(usual: tuple[Study, Findings]) -> None:
    alone = STUDIES["one of everything"]
    missing = set(draw_figures(*usual)) - set(draw_figures(alone, findings_of(alone)))
    assert missing == {"improvement", "efficiency"}


@pytest.mark.parametrize(
    ("name", "panels"),
    [
        ("gap", {0}),
        ("convergence", {0, 1}),
        ("ecdf", {0}),
        ("profiles", {0}),
        ("time", {0, 1, 2}),
        ("returns", {1, 3}),
    ],
)
def test_what_is_best_so_far_stays_so_until_a_better_one_is_found(
    few: tuple[Study, Findings], name: str, panels: set[int]
) -> None:
    figure = draw_figures(*few)[name].build()
    colours = {line.get_color() for axes in figure.axes for line in axes.lines}
    steps = {
        panel
        for panel in range(len(figure.axes))
        for colour in colours
        for line in lines_of(figure, colour, panel)
        if line.get_drawstyle() == "steps-post" and len(line.get_xdata()) > 2
    }
    assert steps == panels
    # The picture of a curve has level and upright parts alone.
    curves = re.findall(r'<path d="(M[^"]*)" clip-path', svg_text(figure))
    level = [path for path in curves if len(path) > 40 and "l" not in path and "v" in path]
    assert len(level) >= len(FEW) * len(panels)


def test_a_curve_runs_through_the_findings_to_their_end(usual: tuple[Study, Findings]) -> None:
    study, findings = usual
    figure = draw_figures(study, findings)["convergence"].build()
    band = findings.convergence[study.problems[1]]["marl"]
    (line,) = lines_of(figure, "#d55e00", panel=1)
    x, y = line.get_data()
    assert x[-1] == study.budget
    assert y[-1] == band.centre[-1]
    known = dict(zip(band.samples.tolist(), band.centre.tolist(), strict=True))
    assert all(known[int(sample)] == value for sample, value in zip(x, y, strict=True))
    # Between the points that are drawn, none that is left out is more than a hair from the step.
    shown = band.samples >= x[0]
    between = np.log(y)[np.searchsorted(x, band.samples[shown], side="right") - 1]
    low, high = figure.axes[1].get_ylim()
    inside = band.centre[shown] <= high
    misses = np.abs(between - np.log(band.centre[shown]))[inside] / np.log(high / low)
    assert misses.max() < 0.002


def test_the_gap_of_the_reference_has_its_interval_as_a_band(usual: tuple[Study, Findings]) -> None:
    study, findings = usual
    figure = draw_figures(study, findings)["gap"].build()
    (band,) = figure.axes[0].collections
    corners = band.get_paths()[0].vertices
    at_end = corners[corners[:, 0] == study.budget][:, 1]
    gap = findings.gap["marl"]
    assert at_end.min() == gap.low[-1]
    assert at_end.max() == gap.high[-1]
