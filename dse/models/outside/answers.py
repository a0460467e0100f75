"""What something outside says of a mapping: figures that can be used, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.core.figures import CostBatch, Figures
from dse.core.reasons import Reason
from dse.support.errors import format_exception, one_line, shorten
from dse.support.validation import INT64_MAX

NEEDED = ("cycles",)
FIGURES = tuple(Figures.types())
WHOLE = (*(name for name, kind in Figures.types().items() if kind().dtype.kind == "i"), "repeats")
AT_LEAST_0 = ("power", "area", "deviation")
FILLED_IN = ("l1_size", "l2_size", "macs")
"""Figures that are filled in where nothing is said of them, as 0 says in a CostBatch."""
MAX_LETTERS = 300
"""Of what is said for a refusal."""
LABELS = ("status", "reason", "id")
"""Keys of an answer that are no figures."""
COUNTERS = "counters"
NOTES = (COUNTERS, "repeats", "deviation")
"""What an answer may tell beside its figures: it is kept with them, and changes none."""
MOST_COUNTERS = 100
STATUSES = ("ok", "invalid")


@dataclass(frozen=True)
class Refusal:
    """No figures: the reason, and what was said or seen, in words.

    `fault` is not empty where something is wrong with what answers, and not with the mapping; faults that are
    equal are the same one. `shown` says at length what is wrong.
    """

    reason: Reason
    text: str = ""
    fault: str = ""
    shown: str = ""

    def __str__(self) -> str:
        return f"{self.reason.text}: {self.text}" if self.text else self.reason.text


Answer = dict[str, Any] | Refusal
"""Figures by name (`cycles`, and what else was said) and perhaps notes, or why there are none."""


def read_answer(said: object) -> Answer:
    """What was said, as an answer; what is neither figures nor a refusal is garbled.

    Figures are a table as `dse evaluate --cases --json` prints it: cycles, and perhaps the others; cycles are
    rounded up. `counters` (a table of numbers), `repeats` and a `deviation` of the cycles may stand beside
    them. None, a text, or `{"status": "invalid", "reason": ...}` is a refusal.
    """
    answer: Answer = _read(_answer, said)
    return answer


def read_batch(said: object, count: int) -> list[Answer] | Refusal:
    """What was said of `count` mappings: an answer each, or what is wrong with all that was said.

    It is a list of answers, a table of columns, a data frame or a CostBatch.
    """
    answers: list[Answer] | Refusal = _read(_batch, said, count)
    return answers


def garbled_answer(text: str, fault: str = "") -> Refusal:
    """A refusal, because what was said is nothing that can be used; a `fault`, if that is so of all of it."""
    return Refusal(Reason.GARBLED, text, fault, f"it returned what cannot be used: {text}" if fault else "")


def _read(reader: Callable[..., Any], *said: object) -> Any:
    try:
        return reader(*said)
    except Exception as error:
        # Even to look at somebody's object runs code of theirs.
        return garbled_answer(f"it cannot be read: {format_exception(error)}", fault=type(error).__name__)


def _answer(said: object) -> Answer:
    if said is None or isinstance(said, str):
        return _refused(said or "")
    if not isinstance(said, Mapping):
        return garbled_answer(f"expected a table of figures, got {_what(said)}", fault="no table")
    for name in said:
        if name not in (*LABELS, *NOTES, *FIGURES):
            return _no_figure(name)
    status, reason = said.get("status", "ok"), said.get("reason")
    if status not in STATUSES:
        return garbled_answer(
            f"status must be {' or '.join(STATUSES)}, got {shorten(status)}", fault="no status"
        )
    if status != "ok":
        return _refused(str(reason or ""))
    if isinstance(reason, str) and reason:
        return garbled_answer(
            f"it has a reason and no status 'invalid': {shorten(reason)}", fault="a reason alone"
        )
    figures: dict[str, Any] = {}
    for name, value in said.items():
        if name in LABELS:
            continue
        figure = _counters(value) if name == COUNTERS else _figure(name, value)
        if isinstance(figure, Refusal):
            return figure
        figures[name] = figure
    return _lacks(figures) or figures


def _refused(text: str) -> Refusal:
    return Refusal(Reason.REFUSED, one_line(text[: 2 * MAX_LETTERS])[:MAX_LETTERS])


def _batch(said: Any, count: int) -> list[Answer] | Refusal:
    if isinstance(said, CostBatch):
        columns: Any = said.columns()
    elif isinstance(said, Mapping) or (hasattr(said, "columns") and hasattr(said, "keys")):
        columns = {name: said[name] for name in said.keys()}  # noqa: SIM118 - a data frame iterates otherwise
    elif isinstance(said, list | tuple) and len(said) == count:
        return [read_answer(item) for item in said]
    else:
        wanted = f"a list of {count} answers or a table of columns of length {count}"
        got = f"a list of {len(said)}" if isinstance(said, list | tuple) else _what(said)
        return garbled_answer(f"expected {wanted}, got {got}", fault="no batch")
    known = (*FIGURES, *LABELS, *NOTES, *(("valid",) if isinstance(said, CostBatch) else ()))
    odd = [name for name in columns if name not in known]
    if odd:
        return _no_figure(odd[0])
    if missing := _lacks(columns):
        return missing
    lists = {}
    for name, column in columns.items():
        values = _column(name, column, count)
        if isinstance(values, Refusal):
            return values
        lists[name] = values
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return [_of_cost_batch(row) if isinstance(said, CostBatch) else read_answer(row) for row in rows]


def _column(name: str, column: Any, count: int) -> list[Any] | Refusal:
    """A column's values, if there are as many as mappings."""
    ordered = isinstance(column, list | tuple) or hasattr(column, "__array__")
    if not ordered:
        return garbled_answer(
            f"column {name} must be a list or an array, got {_what(column)}", fault="no column"
        )
    shape = (len(column),) if isinstance(column, list | tuple) else np.asarray(column).shape
    if shape != (count,):
        got = "x".join(map(str, shape)) or "a single number"
        return garbled_answer(f"column {name} must have {count} numbers, got {got}", fault="another length")
    return list(column) if isinstance(column, list | tuple) else list(np.asarray(column))


def _of_cost_batch(row: dict[str, Any]) -> Answer:
    """The answer in a row of a CostBatch."""
    valid, code = bool(row.pop("valid")), int(row.pop("reason"))
    if valid and not code:
        return read_answer({name: value for name, value in row.items() if value or name not in FILLED_IN})
    if not code:
        return Refusal(Reason.REFUSED, "valid is false, and reason 0")
    known = code in set(Reason) and code != Reason.REFUSED
    return Refusal(Reason.REFUSED, Reason(code).text if known else "")


def _lacks(figures: Mapping[str, Any]) -> Refusal | None:
    missing = [name for name in NEEDED if name not in figures]
    if not missing:
        return None
    text = f"it lacks {' and '.join(missing)}"
    return garbled_answer(text, fault=text)


def _no_figure(name: object) -> Refusal:
    return garbled_answer(
        f"{shorten(name)} is no figure; expected {', '.join((*FIGURES, *NOTES))}",
        fault=f"has {shorten(name)}",
    )


def _figure(name: str, value: Any) -> float | Refusal:
    try:
        # A number of numpy's, torch's or pandas' knows best what it is in Python.
        plain = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
        number = math.nan if isinstance(plain, bool | str | bytes | bytearray) else float(plain)
        exact = int(plain) if name in WHOLE and hasattr(plain, "__index__") else number
    except (TypeError, ValueError, OverflowError):
        return garbled_answer(f"{name} must be a number, got {shorten(value)}")
    least = number >= 0 if name in AT_LEAST_0 else number > 0
    if not (least and number <= INT64_MAX / 2):
        wanted = "of at least 0" if name in AT_LEAST_0 else "above 0"
        return garbled_answer(f"{name} must be a finite number {wanted}, got {shorten(value)}")
    return math.ceil(exact) if name in WHOLE else number


def _counters(value: Any) -> dict[str, float] | Refusal:
    """What the judge has counted itself, by name: any finite numbers."""
    wanted = f"{COUNTERS} must be a table of at most {MOST_COUNTERS} numbers"
    if not isinstance(value, Mapping) or len(value) > MOST_COUNTERS:
        return garbled_answer(f"{wanted}, got {_what(value)}", fault="no counters")
    found = {}
    for name, number in value.items():
        # Functions count with numpy's numbers, too; its truths are no numbers, as Python's are none.
        usable = isinstance(number, int | float | np.integer | np.floating) and not isinstance(number, bool)
        if not usable or not math.isfinite(number):
            return garbled_answer(f"{wanted}, got {shorten(number)} for {shorten(name)}", fault="no counters")
        found[str(name)] = float(number)
    return found


def _what(said: object) -> str:
    """What was said, with its kind where that does not show."""
    kind, text = type(said).__name__, one_line(shorten(said))
    plain = said is None or isinstance(said, int | float | str | bytes | list | dict | set)
    return text if plain or kind in text else f"{kind} {text}"
