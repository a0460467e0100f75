"""What something outside says of a mapping: figures that can be used, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.cost.figures import Figures
from dse.spec.reasons import Reason
from dse.support.errors import shorten
from dse.support.validation import INT64_MAX

NEEDED = ("cycles", "energy_nj")
FIGURES = tuple(Figures.types())
WHOLE = tuple(name for name, kind in Figures.types().items() if kind().dtype.kind == "i")
AT_LEAST_0 = ("power", "area")
LABELS = ("status", "reason", "id")
"""Keys of an answer that are no figures."""


@dataclass(frozen=True)
class Refusal:
    """No figures: the reason, and what was said or seen, in words."""

    reason: Reason
    text: str = ""

    def __str__(self) -> str:
        return f"{self.reason.text}: {self.text}" if self.text else self.reason.text


Answer = dict[str, float] | Refusal
"""Figures by name (`cycles` and `energy_nj`, and what else was said), or why there are none."""


def read_answer(said: object) -> Answer:
    """What was said, as an answer; what is neither figures nor a refusal is garbled.

    Figures are a table as `dse evaluate --cases --json` prints it: cycles and energy_nj, and perhaps the
    others; cycles are rounded up. None, a text, or `{"status": "invalid", "reason": ...}` is a refusal.
    """
    if said is None or isinstance(said, str):
        return Refusal(Reason.REFUSED, said or "")
    if not isinstance(said, Mapping):
        return garbled(f"expected a table of figures, got {shorten(said)}")
    if said.get("status", "ok") != "ok":
        return Refusal(Reason.REFUSED, str(said.get("reason") or ""))
    figures = {}
    for name, value in said.items():
        if name in LABELS:
            continue
        if name not in FIGURES:
            return garbled(f"{shorten(name)} is no figure; expected {', '.join(FIGURES)}")
        figure = _figure(name, value)
        if isinstance(figure, Refusal):
            return figure
        figures[name] = figure
    missing = [name for name in NEEDED if name not in figures]
    return garbled(f"it lacks {' and '.join(missing)}") if missing else figures


def garbled(text: str) -> Refusal:
    """A refusal, because what was said is nothing that can be used."""
    return Refusal(Reason.GARBLED, text)


def _figure(name: str, value: Any) -> float | Refusal:
    try:
        number = float(value) if not isinstance(value, bool | str) else math.nan
        exact = int(value) if name in WHOLE and hasattr(value, "__index__") else number
    except (TypeError, ValueError, OverflowError):
        return garbled(f"{name} must be a number, got {shorten(value)}")
    least = number >= 0 if name in AT_LEAST_0 else number > 0
    if not (least and number <= INT64_MAX / 2):
        wanted = "of at least 0" if name in AT_LEAST_0 else "above 0"
        return garbled(f"{name} must be a finite number {wanted}, got {shorten(value)}")
    return math.ceil(exact) if name in WHOLE else number
