"""Where cycles, energy and words of a mapping go, as tables with bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dse.cli import output

if TYPE_CHECKING:
    from rich.console import Console

    from dse.cost import Detail

WIDTH = 40
EIGHTHS = " ▏▎▍▌▋▊▉"


def show_detail(console: Console, detail: Detail) -> None:
    """Print where the cycles and the energy go, each with a bar, and the words moved by store and kind."""
    _print_parts(console, f"where the cycles go: bound by {detail.bound}", "cycles", detail.cycles)
    _print_parts(console, "where the energy goes", "nJ", detail.energy_nj)
    kinds = list(dict.fromkeys(kind for words in detail.words.values() for kind in words))
    rows = [(store, *(words.get(kind) for kind in kinds)) for store, words in detail.words.items()]
    output.print_table(console, "words moved", ("to and from", *kinds), rows)


def bar(share: float, width: int = WIDTH) -> str:
    """A bar of a share from 0 to 1, to an eighth of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _print_parts(console: Console, title: str, unit: str, parts: Mapping[str, float]) -> None:
    total = sum(parts.values())
    rows = [(name, part, f"{part / total:.1%}", bar(part / total)) for name, part in parts.items()]
    output.print_table(console, title, ("part", unit, "share", ""), rows)
