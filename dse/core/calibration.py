"""What a file that `dse calibrate` has written says of its fit: a table that no figure depends on.

[calibration]
samples = 60
error = 0.042
useful = false    # only where the file as it was foretells samples as well
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.support.errors import InputError, shorten
from dse.support.toml import is_toml, read_toml
from dse.support.validation import check_table, whole_number

KEY = "calibration"
USELESS = (
    "of samples that the fit has not seen, the error is no smaller than by the file as it was, "
    "or the order is wrong: do not use it"
)


def without_calibration(data: dict[str, Any], where: str) -> dict[str, Any]:
    """The data of a file but for the table, which is checked."""
    if KEY in data:
        _read(data[KEY], where)
    return {name: value for name, value in data.items() if name != KEY}


def errors_said(files: Mapping[str, str | None]) -> Iterator[str]:
    """How far off the fits of files were, by what they are of: a line of each file that says it."""
    for what, path in files.items():
        if path is not None and is_toml(path) and KEY in (data := read_toml(path, f"file {path!r}")):
            samples, error, useful = _read(data[KEY], f"file {path!r}")
            line = f"{what} fitted to {samples} samples: those left out of the fit are {error:.1%} off"
            yield line if useful else f"{line}; {USELESS}"


def lines_of(samples: int, error: float, useful: bool = True) -> list[str]:
    """The table, as lines of TOML; that a fit is of use goes without saying."""
    lines = ["", f"[{KEY}]", f"samples = {samples}", f"error = {error:.6g}"]
    return lines if useful else [*lines, f"useful = false  # {USELESS}"]


def _read(said: object, where: str) -> tuple[int, float, bool]:
    data = dict(check_table(said, f"{where}: {KEY}"))
    error, useful = data.get("error"), data.pop("useful", True)
    if not isinstance(useful, bool):
        raise InputError(f"{where}: {KEY}: useful must be true or false, got {shorten(useful)}")
    if set(data) != {"samples", "error"} or not isinstance(error, int | float) or not error >= 0:
        raise InputError(f"{where}: {KEY} must have samples, and error, a share of at least 0")
    return whole_number(data["samples"], f"{where}: samples"), float(error), useful
