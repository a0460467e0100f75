"""How plots look: one style for all, and for each searcher a colour, dash and marker.

Colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any common colour
vision tell apart, without the yellow that is lost on white. Dashes and markers carry the same in grey.
"""

from __future__ import annotations

import colorsys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dse.analysis.study import Study
from dse.campaign.showing import MARKERS

INK = "#1a1a1a"
MUTED = "#5f5f5f"
RULE = "#d9d9d9"
BACKGROUND = "#ffffff"

VERMILLION, BLUE, GREEN, SKY = "#d55e00", "#0072b2", "#009e73", "#56b4e9"
ORANGE, PURPLE, BLACK, GREY = "#e69f00", "#b35a93", "#000000", "#7f7f7f"

Dash = tuple[float, ...]
SOLID: Dash = ()
DASHED: Dash = (4.5, 1.8)
DOTTED: Dash = (1.1, 1.4)
MIXED: Dash = (6.0, 1.5, 1.1, 1.5)
NO_LOOKS: Mapping[str, Mapping[str, str]] = MappingProxyType({})

FONT = "DejaVu Sans"
"""The one font that matplotlib brings along, so that pictures are the same on every machine."""


@dataclass(frozen=True)
class Style:
    """How a searcher is drawn. `text` is its colour darkened until it can be read as small text on white."""

    colour: str
    dash: Dash
    marker: str
    text: str
    leading: bool = False

    @property
    def width(self) -> float:
        """The line's width in points: the reference's is heavier."""
        return 2.0 if self.leading else 1.2

    @property
    def line(self) -> Any:
        """The dash as matplotlib's `linestyle`, which scales it by the line's width."""
        return (0, self.dash) if self.dash else "-"


_LINES = {"solid": SOLID, "dashed": DASHED, "dotted": DOTTED, "mixed": MIXED}
_HUES = (ORANGE, BLACK, GREEN, SKY, PURPLE, BLUE, VERMILLION, GREY)


def searcher_styles(
    searchers: Sequence[str], reference: str | None = None, looks: Mapping[str, Mapping[str, str]] = NO_LOOKS
) -> dict[str, Style]:
    """A style for each of a campaign's searchers: that of `looks`, or else the next that is free.

    It depends on the names and their order alone, not on which of them a plot shows. The `reference` leads.
    Beyond 32 names looks come round again.
    """
    own = {name: _look(looks[name]) for name in searchers if name in looks}
    taken = {look[:2] for look in own.values()}
    free = [(hue, dash) for dash in _LINES.values() for hue in _HUES if (hue, dash) not in taken]
    found, others = {}, 0
    for name in searchers:
        if name in own:
            colour, dash, marker = own[name]
        else:
            (colour, dash), marker = free[others % len(free)], MARKERS[others % len(MARKERS)]
            others += 1
        found[name] = Style(colour, dash, marker, readable_colour(colour), name == reference)
    return found


def styles_of(study: Study) -> dict[str, Style]:
    """The styles of a study's searchers."""
    return searcher_styles(study.searchers, study.reference, study.looks)


def _look(look: Mapping[str, str]) -> tuple[str, Dash, str]:
    return look["colour"], _LINES[look["line"]], look["marker"]


def readable_colour(colour: str) -> str:
    """The colour, darkened until it has WCAG's contrast for small text on white, 4.5."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    while 1.05 / (relative_luminance(red, green, blue) + 0.05) < 4.5:
        light *= 0.96
        red, green, blue = colorsys.hls_to_rgb(hue, light, saturation)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def relative_luminance(*channels: float) -> float:
    """WCAG's relative luminance of a colour's red, green and blue, each 0 to 1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def clean_text(text: str) -> str:
    """The text on one line, without what no font shows and no SVG may hold."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "?"


def short_text(text: str, width: int) -> str:
    """The text in at most `width` characters: a long one loses its middle."""
    text = clean_text(text)
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def short_names(names: Sequence[str], width: int = 18) -> dict[str, str]:
    """A short form of each name; those that would become the same are numbered."""
    found: dict[str, str] = {}
    for name in names:
        form, number = short_text(name, width), 2
        while form in found.values():
            form = f"{short_text(name, width - 3)} {number}"
            number += 1
        found[name] = form
    return found


def text_width(text: str, size: float) -> float:
    """Inches that a text of that size in points takes when it is bold."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, weight="bold", size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72


def wrapped_text(text: str, width: float, size: float) -> list[str]:
    """The text's words in lines of at most so many inches; a word that is longer has a line of its own."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def widest_name(names: Iterable[str], size: float = 7) -> float:
    """Inches that the widest of the names takes."""
    return max((text_width(name, size) for name in names), default=0.0)


@contextmanager
def house_style() -> Iterator[None]:
    """matplotlib as we set it, whatever the user's own settings are; they are back afterwards."""
    import matplotlib

    ours: dict[str, Any] = {
        "font.family": FONT,
        "font.size": 8,
        "text.color": INK,
        "text.parse_math": False,  # Names from outside may hold a $.
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.6,
        "axes.unicode_minus": True,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "xtick.major.size": 3,
        "ytick.major.size": 3,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.pad": 2.5,
        "ytick.major.pad": 2.5,
        "figure.facecolor": BACKGROUND,
        "savefig.facecolor": BACKGROUND,
        "svg.fonttype": "none",
        "svg.hashsalt": "dse",
        "pdf.fonttype": 42,
        "path.simplify_threshold": 0.2,
    }
    settings: dict[Any, Any] = dict(matplotlib.rcParamsDefault) | ours
    mine = {name: settings[name] for name in settings if "backend" not in name}
    with matplotlib.rc_context(mine), warnings.catch_warnings():
        # A name may hold letters that the font lacks: they are boxes in a PNG and right in an SVG.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield
