"""A front as a page of its own: points to point at, each with its figures and its mapping."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from dse.report.page.markup import nest_markup
from dse.report.plots.scales import log_ticks
from dse.support.quantities import quantity

WIDTH, HEIGHT, LEFT, BELOW, ROOM = 760, 420, 90, 44, 1.1
DIGITS = 6

_PAGE = Markup("""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}
svg {{ width: 100%; height: auto; }} svg text {{ fill: var(--muted); font-size: 12px; }}
svg circle {{ fill: var(--accent); }} svg a:is(:hover, :focus) circle {{ fill: var(--bad); r: 7px; }}
details {{ border-top: 1px solid var(--rule); padding: .3rem 0; }} pre {{ overflow-x: auto; }}
</style></head>
<body><header><h1>{title}</h1><p class="line">{how}</p></header>
<main><svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}">{drawn}</svg>
<p class="note">Each dot is a mapping: hover to see it, click to go to it.</p>
{points}</main></body></html>
""")


@dataclass(frozen=True)
class Shown:
    """A point of a front: seconds, joules, and its mapping as a nest of loops.

    Where there are several fronts, `of` says whose it is, and `colour` is theirs.
    """

    seconds: float
    joules: float
    nest: str
    of: str = ""
    colour: str = ""

    @property
    def words(self) -> str:
        """Its figures."""
        return f"{quantity(self.seconds, 's', DIGITS)}, {quantity(self.joules, 'J', DIGITS)}"


def front_page(title: str, how: str, points: Sequence[Shown]) -> str:
    """The page, whole and without scripts, of one point or more."""
    found = Markup("\n").join(
        Markup('<details id="p{}"><summary>{}</summary><pre>{}</pre></details>').format(
            place, point.words, nest_markup(point.nest)
        )
        for place, point in enumerate(points)
    )
    return _PAGE.format(
        title=title,
        how=how,
        style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),
        width=WIDTH,
        height=HEIGHT,
        drawn=drawn(points),
        points=found,
    )


def drawn(points: Sequence[Shown], *, linked: bool = True) -> Markup:
    """Both axes, logarithmic, and the dots; `linked` to the points' places on the page."""
    across = _axis([point.seconds for point in points], LEFT, WIDTH - 12)
    up = _axis([point.joules for point in points], HEIGHT - BELOW, 12)
    parts = [
        Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
            x, HEIGHT - 20, quantity(tick, "s", 3)
        )
        for tick, x in across[1]
    ]
    for tick, y in up[1]:
        parts += [
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="var(--rule)"/>').format(LEFT, WIDTH, y, y),
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                LEFT - 6, y + 4, quantity(tick, "J", 3)
            ),
        ]
    for place, point in enumerate(points):
        colour = Markup(' style="fill:{}"').format(point.colour) if point.colour else ""
        dot = Markup('<circle cx="{}" cy="{}" r="5"{}/><title>{}</title>').format(
            across[0](point.seconds),
            up[0](point.joules),
            colour,
            f"{point.of}{': ' if point.of else ''}{point.words}\n{point.nest}",
        )
        link = Markup('<a href="#p{}">{}</a>').format(place, dot)
        parts.append(link if linked else Markup("<g>{}</g>").format(dot))
    return Markup("\n").join(parts)


def _axis(
    values: Sequence[float], begin: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, float]]]:
    """Where a value is between two ends of an axis, and its ticks with their places."""
    low, high = min(values) / ROOM, max(values) * ROOM
    span = math.log(high / low)

    def place(value: float) -> float:
        return round(begin + (end - begin) * math.log(value / low) / span, 2)

    return place, [(tick, place(tick)) for tick in log_ticks(low, high)]
