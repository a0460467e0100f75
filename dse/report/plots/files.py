"""Figures as files: PNG, PDF for papers, SVG for the page; the same bytes for the same figure."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dse.report.plots.drawing import NAMES, Drawing
from dse.report.plots.style import house_style
from dse.support.arrays import CodeArray
from dse.support.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Bytes = CodeArray

DPI = 200
COLOURS = 256
"""In a PNG: it looks the same, in a third of the bytes."""
SCREEN_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""Text in an SVG is set in the reader's own font: all these are narrower than the one it is laid out in."""

_OURS = re.compile(rf"({'|'.join(NAMES)})(-\d+)?\.(png|pdf)")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_PATH = re.compile(r'(?<= d=")[^"]*')
_STYLE = re.compile(r'style="([^"]*)"')
_FAMILY = re.compile(r"font-family:[^;]*;?")
_PLACE = re.compile(r'(?<= [xy]=")[^"]*')
_TURN = re.compile(r' transform="rotate\(-?0 [^"]*"')
_GROUP_ID = re.compile(r'<g id="[^"]*"')
_DROPPED = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_BETWEEN = re.compile(r">\s+<")


def write_drawing(drawing: Drawing, folder: Path, also_pdf: bool = False) -> list[Path]:
    """Draw one figure into `folder` (made if need be) as PNG, and as PDF for a paper; returns the paths.

    A StorageError says what could not be written.
    """
    figure = drawing.build()
    found = []
    for suffix, write in ((".png", png_bytes), (".pdf", pdf_bytes))[: 2 if also_pdf else 1]:
        path = folder / f"{drawing.name}{suffix}"
        write_whole(path, write(figure), "figure")
        found.append(path)
    return found


def remove_stale(folder: Path, kept: Iterable[Path]) -> None:
    """Remove what an earlier report has drawn into `folder` and this one, which wrote `kept`, has not.

    Only files of a study's figures go: those of single runs, and what others have put there, stay.
    """
    old = {path for path in folder.iterdir() if _OURS.fullmatch(path.name)} if folder.is_dir() else set()
    for path in old - set(kept):
        path.unlink(missing_ok=True)


def png_bytes(figure: Figure) -> bytes:
    """The figure as a PNG of 200 dots an inch and few colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    with house_style():
        figure.set_dpi(DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()  # type: ignore[no-untyped-call]
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
    places, palette = few_colours(pixels)
    image = Image.fromarray(places)
    image.putpalette(palette.tobytes())
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True, dpi=(DPI, DPI))
    return out.getvalue()


def few_colours(pixels: Bytes) -> tuple[Bytes, Bytes]:
    """A picture (rows, columns, 3) as places in a palette (up to COLOURS, 3), and the palette.

    Half of it are the commonest colours, and half those that are least like any other in it: a thin line
    keeps its colour beside large areas, which common quantisers lose.
    """
    packed = (pixels.astype(np.uint32) << np.array([16, 8, 0], np.uint32)).sum(axis=2, dtype=np.uint32)
    codes, counts = np.unique(packed, return_counts=True)
    colours = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1).astype(np.float32)
    chosen = np.argsort(-counts, kind="stable")[: COLOURS // 2].tolist()
    nearest = np.full(len(colours), np.inf, np.float32)
    place_of = np.zeros(len(colours), np.uint8)
    for place in range(min(COLOURS, len(colours))):
        if place == len(chosen):
            chosen.append(int(np.argmax(nearest)))
        distance = np.square(colours - colours[chosen[place]]).sum(axis=1)
        closer = distance < nearest
        nearest[closer], place_of[closer] = distance[closer], place
    table = np.zeros(1 << 24, np.uint8)
    table[codes] = place_of
    return table[packed], colours[chosen].astype(np.uint8)


def pdf_bytes(figure: Figure) -> bytes:
    """The figure as a PDF with its text as text, in an embedded font."""
    out = io.BytesIO()
    with house_style():
        figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return out.getvalue()


def svg_text(figure: Figure) -> str:
    """The figure as a small SVG document, opaque, with its text as text in the reader's own font."""
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with house_style():
        figure.savefig(out, format="svg", metadata=nothing)
    return _shrink(out.getvalue())


def _shrink(text: str) -> str:
    """The SVG with as few bytes as look the same: lengths to a tenth of a point, each style said once."""
    text = _BETWEEN.sub("><", _DROPPED.sub("", text))
    text = _GROUP_ID.sub("<g", text)
    text = _TURN.sub("", text)
    text = _PATH.sub(lambda match: short_path(match.group()), text)
    text = _PLACE.sub(lambda match: _rounded(match.group()), text)
    styles: dict[str, str] = {}
    text = _STYLE.sub(lambda match: _style_class(match.group(1), styles), text)
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    text = text.replace("</style>", f"{rules}</style>", 1)
    return text.replace("<svg ", f'<svg font-family="{SCREEN_FONTS}" ', 1)


def short_path(path: str) -> str:
    """A path's `d` in tenths of a point, its lines as steps from point to point where it has no curves."""
    if not re.fullmatch(r"(?:\s*[ML]\s*-?[\d.]+\s+-?[\d.]+|\s*z)+\s*", path):
        return re.sub(r"\s*([A-Za-z])\s*", r"\1", _rounded(path))
    words, x, y = [], 0, 0
    for letter, across, down in re.findall(r"([MLz])(?:\s*(-?[\d.]+)\s+(-?[\d.]+))?", path):
        if letter == "z":
            words.append("z")
            continue
        # Whole tenths: the steps add up to where the points are.
        to_x, to_y = round(10 * float(across)), round(10 * float(down))
        if letter == "M":
            words.append(f"M{_tenths(to_x)} {_tenths(to_y)}")
        elif to_y == y:
            words.append(f"h{_tenths(to_x - x)}")
        elif to_x == x:
            words.append(f"v{_tenths(to_y - y)}")
        else:
            words.append(f"l{_tenths(to_x - x)} {_tenths(to_y - y)}")
        x, y = to_x, to_y
    return "".join(words)


def _tenths(value: int) -> str:
    return f"{value / 10:.1f}".removesuffix(".0")


def _rounded(numbers: str) -> str:
    return _NUMBER.sub(lambda match: f"{float(match.group()):.1f}".removesuffix(".0"), numbers)


def _style_class(style: str, known: dict[str, str]) -> str:
    """A class in place of a style, named by what it says: so figures on one page cannot disagree."""
    short = _FAMILY.sub("", style.replace(": ", ":").replace("; ", ";"))
    name = known.setdefault(short, "s" + hashlib.sha256(short.encode()).hexdigest()[:7])
    return f'class="{name}"'
