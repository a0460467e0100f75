"""A report's page and figures as files: the page at once, then its figures, then each figure as a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dse.analysis.findings import Findings
from dse.analysis.study import Study
from dse.report.page.page import Page
from dse.report.plots.canvas import COLUMN
from dse.report.plots.drawing import Drawing, draw_figures
from dse.report.plots.files import remove_stale, svg_text, write_drawing
from dse.support.files import write_whole
from dse.support.telling import Tell

PAGE = "index.html"
AGAIN_SECONDS = 2.0
"""The page is written again when figures have been drawn for so long."""


def write_pictures(
    study: Study,
    findings: Findings,
    page: Page,
    *,
    more: Sequence[Drawing] = (),
    linked: Sequence[str] = (),
    pdf: bool = False,
    tell: Tell,
    clock: Callable[[], float] = time.monotonic,
) -> Path:
    """Write the page and, in place of an earlier report's, the figures; returns the page's path.

    The page is there, with its tables and charts, before the first figure is drawn, and says which are to
    come. `more` are figures besides the study's own; `linked` are the files of tables, which the page names.
    With `pdf` the figures are files for a paper too.
    """
    path, folder = study.folder / PAGE, study.folder / "figures"
    drawings = draw_figures(study, findings) | {drawing.name: drawing for drawing in more}

    def write(figures: Mapping[str, str], files: Sequence[str]) -> None:
        coming = [drawing.title for name, drawing in drawings.items() if name not in figures]
        write_whole(path, page.html(figures, files, coming), "report")

    figures: dict[str, str] = {}
    write(figures, linked)
    written = clock()
    for place, (name, drawing) in enumerate(drawings.items(), 1):
        tell(f"report: {path} can be opened; drawing figure {place} of {len(drawings)} on it")
        figures[name] = svg_text(drawing.build(COLUMN))
        if clock() - written > AGAIN_SECONDS:
            write(figures, linked)
            written = clock()
    write(figures, linked)
    files = []
    for place, drawing in enumerate(drawings.values(), 1):
        files_of = f"{folder / drawing.name}.png" + " and .pdf" * pdf
        tell(f"report: {path} has all its figures; writing {files_of}, {place} of {len(drawings)}")
        files += write_drawing(drawing, folder, pdf)
    remove_stale(folder, files)
    write(figures, [*linked, *(file.relative_to(study.folder).as_posix() for file in files)])
    return path
