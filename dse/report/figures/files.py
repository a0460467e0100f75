"""Figures as files: PNG and PDF for papers, SVG for the page; the same bytes for the same figure."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dse.errors import StorageError
from dse.report.figures.drawing import Drawing, draw
from dse.report.figures.style import FONT, house_style
from dse.report.findings import Findings
from dse.report.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 200
COLOURS = 255
"""In a PNG: bands and smooth edges look the same, in a third of the bytes."""
SCREEN_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""Text in an SVG is set in the reader's own font: all these are narrower than the one it is laid out in."""

_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_PATH = re.compile(r'(?<= d=")[^"]*')
_USE = re.compile(r'<use ((?:xlink:href|x|y)="[^"]*"(?: (?:xlink:href|x|y)="[^"]*")*) style="[^"]*"/>')
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BETWEEN = re.compile(r">\s+<")


def write_figures(study: Study, findings: Findings, folder: Path) -> dict[str, list[Path]]:
    """Draw all figures into `folder` (made if need be) as PNG and PDF; returns the paths by figure.

    A StorageError says what could not be written.
    """
    return {name: write_drawing(drawing, folder) for name, drawing in draw(study, findings).items()}


def write_drawing(drawing: Drawing, folder: Path) -> list[Path]:
    """Draw one figure into `folder` as PNG and PDF."""
    figure = drawing.build()
    found = []
    for suffix, content in ((".png", png(figure)), (".pdf", pdf(figure))):
        path = folder / f"{drawing.name}{suffix}"
        _write(path, content)
        found.append(path)
    return found


def png(figure: Figure) -> bytes:
    """The figure as a PNG of 200 dots an inch and few colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    with _saving():
        figure.set_dpi(DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()  # type: ignore[no-untyped-call]
        image = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    few = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True, dpi=(DPI, DPI))
    return out.getvalue()


def pdf(figure: Figure) -> bytes:
    """The figure as a PDF with its text as text, in an embedded font."""
    out = io.BytesIO()
    with _saving():
        figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return out.getvalue()


def svg(figure: Figure) -> str:
    """The figure as a small SVG document, opaque, with its text as text in the reader's own font."""
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with _saving():
        figure.savefig(out, format="svg", metadata=nothing)
    return _shrink(out.getvalue())


def svgs(drawings: Mapping[str, Drawing]) -> dict[str, str]:
    """Every figure as SVG, by name."""
    return {name: svg(drawing.build()) for name, drawing in drawings.items()}


@contextmanager
def _saving() -> Iterator[None]:
    with house_style(), warnings.catch_warnings():
        # A name may hold letters that the font lacks; they are boxes in a PNG and right in an SVG.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _shrink(text: str) -> str:
    """The SVG with as few bytes as look the same: lengths to a tenth of a point, no words for machines."""
    text = _COMMENT.sub("", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head, body = text.split("</defs>", 1)
    text = f"{head}</defs>{_USE.sub(_plain_use, body)}"
    text = _PATH.sub(lambda match: _short_path(match.group()), text)
    text = re.sub(r"'?" + re.escape(FONT) + r"'?(, [^;\"]*)?(?=[;\"])", SCREEN_FONTS, text)
    return _BETWEEN.sub("><", text)


def _plain_use(match: re.Match[str]) -> str:
    return f"<use {match.group(1)}/>"


def _short_path(path: str) -> str:
    path = _NUMBER.sub(lambda match: f"{float(match.group()):.1f}".removesuffix(".0"), path)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", path)


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StorageError(f"figure {str(path)!r} cannot be written: {error.strerror or error}") from None
