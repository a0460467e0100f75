"""What a file that `dse calibrate` has written says of its fit: a table that no figure depends on.

[calibration]
samples = 60
error = 0.042
rank = 0.93
best = { "resnet18:3" = 51200.0 }    # cycles, of the best sample of each layer
clock_ghz = 1.0                      # of these cycles; the fitted machine has another
useful = false                       # only where the fit is of no use
reason = "..."                       # and then why
refused = "..."                      # only where a judge refused samples: how to leave such mappings out
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dse.support.errors import InputError, shorten
from dse.support.quantities import prefixed
from dse.support.toml import is_toml, read_toml, toml_value
from dse.support.validation import check_keys, check_table, positive_number, whole_number

KEY = "calibration"
LEAST_RANK = 0.6
"""The rank correlation below which a fit orders mappings poorly. At 0.6 it has 29 of 100 pairs the wrong way
round where logs are normal, as 1/2 - asin(2 sin(pi 0.6 / 6)) / pi is 0.29."""
CHANCE = 1.645
"""Deviations that 1 in 20 normal values is above."""
NO_BETTER = "its error on samples left out is no smaller than the old file's"
WRONG_ORDER = "it orders samples left out no better than chance does"
LARGE_ERROR = 0.5
"""The error of samples left out of a fit above which its figures need a warning."""
ERROR = (
    "error: the larger of predicted and measured over the smaller, less 1, of the median sample; "
    "each fifth of the samples is left out in turn"
)
USELESS = "do not use it"
NO_BETTER_THAN_SAMPLES = "its optimum need not be better than the best sample"
MEASURE = "measure this mapping before you rely on it"
MOST_LAYERS = 4
"""Whose best samples are said."""


@dataclass(frozen=True)
class FitNote:
    """The table. `error` is relative, of the median sample left out of the fit, and so is `rank` of those.

    `rank` is NaN where no layer has samples to order, and None in files that do not say it; `best` are the
    least measured cycles by layer, of the clock `clock_ghz`; `reason` says why it is not `useful`, and
    `refused` what a judge refused.
    """

    samples: int
    error: float
    rank: float | None = None
    best: Mapping[str, float] = field(default_factory=dict)
    useful: bool = True
    reason: str = ""
    refused: str = ""
    clock_ghz: float | None = None

    @property
    def lines(self) -> list[str]:
        """As lines of TOML; that a fit is of use goes without saying."""
        lines = ["", f"[{KEY}]", f"samples = {self.samples}", f"error = {self.error:.6g}"]
        if self.rank is not None:
            poor = order_in_words(self.rank)
            lines.append(f"rank = {self.rank:.6g}" + (f"  # {poor}" if poor else ""))
        if self.best:
            lines.append(f"best = {toml_value(dict(self.best))}  # cycles, of the best sample")
            if self.clock_ghz is not None:
                lines.append(f"clock_ghz = {self.clock_ghz:.17g}  # of these cycles")
        if not self.useful:
            lines += ["useful = false", f"reason = {toml_value(self.reason)}"]
        if self.refused:
            lines.append(f"refused = {toml_value(self.refused)}")
        return lines

    def measured(self, cycles: float) -> str:
        """Cycles of a sample, with the time that they take: those of a fitted machine have another clock."""
        if self.clock_ghz is None:
            return f"{cycles:,.0f} cycles"
        seconds = prefixed(cycles / self.clock_ghz * 1e-9, "s")
        return f"{cycles:,.0f} cycles of {self.clock_ghz:g} GHz, {seconds}"

    def __str__(self) -> str:
        said = [
            f"fitted to {self.samples} samples: its error on samples left out of the fit is {self.error:.1%}"
        ]
        if self.rank is not None:
            said[0] += f", {rank_in_words(self.rank)}"
        if not self.useful:
            said += [self.reason, USELESS]
        else:
            said += [large_error_in_words(self.error)]
            said += [order_in_words(self.rank)] if self.rank is not None else []
        said.append(self.refused)
        return "; ".join(filter(None, said))


def rank_in_words(rank: float) -> str:
    """A rank correlation, as it is shown."""
    return f"rank correlation {'unknown' if math.isnan(rank) else f'{rank:.2f}'}"


def large_error_in_words(error: float) -> str:
    """What is to be said of the error of samples left out of a fit; nothing if it is small."""
    if error <= LARGE_ERROR:
        return ""
    return f"its figures are off by {error:.1%} for the median sample: measure before you rely on them"


def order_in_words(rank: float) -> str:
    """What is to be said of a rank correlation of samples left out of a fit; nothing if it is high."""
    if math.isnan(rank):
        return f"how it orders a layer's mappings is not known: {NO_BETTER_THAN_SAMPLES}"
    poorly = f"it orders a layer's mappings poorly: {NO_BETTER_THAN_SAMPLES}"
    return "" if rank >= LEAST_RANK else poorly


def reason_of_no_use(error_is_less: bool, rank: float, samples: int) -> str:
    """Why a fit is of no use; nothing if it is of use.

    By chance a rank correlation of n samples has a deviation of 1 / sqrt(n - 1) (Kendall and Gibbons, Rank
    Correlation Methods, 1990).
    """
    by_chance = rank <= CHANCE / math.sqrt(max(samples - 1, 1))
    reasons = ["" if error_is_less else NO_BETTER, WRONG_ORDER if by_chance else ""]
    return ", and ".join(filter(None, reasons))


def without_calibration(data: dict[str, Any], where: str) -> dict[str, Any]:
    """The data of a file but for the table, which is checked."""
    if KEY in data:
        _read(data[KEY], where)
    return {name: value for name, value in data.items() if name != KEY}


def fits_said(files: Mapping[str, str | None], fix: Iterable[str] = ()) -> Iterator[str]:
    """What fits of files are worth, by what they are of: a line of each file that says it, and what to do.

    `fix` is what the user has fixed: advice that this follows is left out.
    """
    best: dict[str, str] = {}
    fitted = False
    for what, note in _notes(files):
        fitted, best = True, best | {name: note.measured(cycles) for name, cycles in note.best.items()}
        yield f"{what} {replace(note, refused='') if _follows(fix, note.refused) else note}"
    if fitted:
        shown = [f"{name} {measured}" for name, measured in list(best.items())[:MOST_LAYERS]]
        more = [f"{len(best) - MOST_LAYERS} more in the file"] if len(best) > MOST_LAYERS else []
        samples = f" (the best samples: {', '.join(shown + more)})" if best else ""
        yield f"{MEASURE}{samples}"


def slower_than_measured(files: Mapping[str, str | None], proven: Mapping[str, Any]) -> Iterator[str]:
    """That the fastest mapping of a layer, as a fit predicts it, is slower than one that was measured.

    `proven` is a certificate as plain data.
    """
    if proven["objective"] != "latency" or not proven["best"]:
        return
    seconds, cycles = proven["best"]["loss"], proven["best"]["cycles"]
    for what, note in _notes(files):
        best = note.best.get(proven["layer"], math.inf)
        if cycles > best if note.clock_ghz is None else seconds > best / note.clock_ghz * 1e-9:
            yield (
                f"by the fitted {what} this mapping is slower than the best sample, which was measured "
                f"({note.measured(best)}): that sample's mapping is the better choice"
            )


def _notes(files: Mapping[str, str | None]) -> Iterator[tuple[str, FitNote]]:
    """The tables of the files that have one, by what the files are of."""
    for what, path in files.items():
        if path is not None and is_toml(path) and KEY in (data := read_toml(path, f"file {path!r}")):
            yield what, _read(data[KEY], f"file {path!r}")


def _follows(fix: Iterable[str], advice: str) -> bool:
    """Whether one of what is fixed leaves a gene no value but those that a --fix in the advice names."""
    left = {gene: set(values.split(",")) for gene, values in re.findall(r"--fix ([\w.]+)=(\S+)", advice)}
    given = [text.replace(" ", "").partition("=") for text in fix]
    return any(gene in left and set(values.split(",")) <= left[gene] for gene, _, values in given)


def _read(said: object, where: str) -> FitNote:
    data = check_table(said, f"{where}: {KEY}")
    error, useful, rank = data.get("error"), data.get("useful", True), data.get("rank")
    if not isinstance(useful, bool):
        raise InputError(f"{where}: {KEY}: useful must be true or false, got {shorten(useful)}")
    if "samples" not in data or not isinstance(error, int | float) or not error >= 0:
        raise InputError(f"{where}: {KEY} must have samples, and error, a share of at least 0")
    check_keys(
        data,
        f"{where}: {KEY}",
        required=("samples", "error"),
        optional=("rank", "best", "useful", "reason", "refused", "clock_ghz"),
    )
    if rank is not None and not (isinstance(rank, int | float) and (math.isnan(rank) or -1 <= rank <= 1)):
        raise InputError(f"{where}: {KEY}: rank must be a number from -1 to 1, got {shorten(rank)}")
    at = f"{where}: {KEY}: best"
    best = {
        name: positive_number(cycles, f"{at}: {name}")
        for name, cycles in check_table(data.get("best", {}), at).items()
    }
    samples = whole_number(data["samples"], f"{where}: samples")
    return FitNote(
        samples,
        float(error),
        rank,
        best,
        useful,
        reason=str(data.get("reason", "")),
        refused=str(data.get("refused", "")),
        clock_ghz=positive_number(data["clock_ghz"], f"{where}: clock_ghz") if "clock_ghz" in data else None,
    )
