"""A report's page and figures as files: the page at once, then its figures, then each figure as a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dse.analysis.findings import Findings
from dse.analysis.repriced import Repriced
from dse.analysis.study import Study
from dse.report.formats import Section
from dse.report.page.page import Page
from dse.report.plots import Drawing, draw, remove_stale, svg, write_drawing
from dse.report.plots.canvas import COLUMN
from dse.support.files import write_whole
from dse.support.telling import Tell

PAGE = "index.html"
AGAIN_SECONDS = 2.0
"""The page is written again when figures have been drawn for so long."""


def write_pictures(
    study: Study,
    findings: Findings,
    sections: Sequence[Section],
    repriced: Sequence[Repriced],
    *,
    more: Sequence[Drawing] = (),
    tables: Sequence[str] = (),
    tell: Tell,
    clock: Callable[[], float] = time.monotonic,
) -> Path:
    """Write the page and, in place of an earlier report's, the figures; returns the page's path.

    The page is there, with its tables and charts, before the first figure is drawn, and says which are to
    come. `more` are figures besides the study's own; `tables` are the files of tables, which the page names.
    """
    path, folder = study.folder / PAGE, study.folder / "figures"
    drawings = draw(study, findings) | {drawing.name: drawing for drawing in more}
    page = Page.of(study, findings, sections, repriced)

    def write(figures: Mapping[str, str], linked: Sequence[str]) -> None:
        coming = [drawing.title for name, drawing in drawings.items() if name not in figures]
        write_whole(path, page.html(figures, linked, coming), "report")

    figures: dict[str, str] = {}
    write(figures, tables)
    written = clock()
    for place, (name, drawing) in enumerate(drawings.items(), 1):
        tell(f"report: {path} can be opened; drawing figure {place} of {len(drawings)} on it")
        figures[name] = svg(drawing.build(COLUMN))
        if clock() - written > AGAIN_SECONDS:
            write(figures, tables)
            written = clock()
    write(figures, tables)
    files = []
    for place, drawing in enumerate(drawings.values(), 1):
        files_of = f"{folder / drawing.name}.png and .pdf"
        tell(f"report: {path} has all its figures; writing {files_of}, {place} of {len(drawings)}")
        files += write_drawing(drawing, folder)
    remove_stale(folder, files)
    write(figures, [*tables, *(file.relative_to(study.folder).as_posix() for file in files)])
    return path
