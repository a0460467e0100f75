"""Words of results/README.md on simulators as judges, and what they follow from."""

from __future__ import annotations

from collections.abc import Callable

from experiments import RESULTS


def row(start: str) -> list[str]:
    """The cells of the line of the RTL judge's page that begins so; of several, those of the last."""
    lines = (RESULTS / "judges" / "rtl.md").read_text("utf-8").splitlines()
    found = [line for line in lines if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in found[-1].strip("|").split("|")][1:]


def arm(name: str, place: int = 0) -> list[float]:
    """An arm's ratios after 5, 10, 20 and 50 samples."""
    lines = (RESULTS / "judges" / "rtl.md").read_text("utf-8").splitlines()
    line = [line for line in lines if line.startswith(f"| {name} |")][place]
    return [float(cell) for cell in line.strip("|").split("|")[3:7]]


def aims() -> list[bool]:
    """Whether `calibrated` meets its aims."""
    return [got <= aim for got, aim in zip(arm("calibrated"), arm("aim of calibrated"), strict=True)]


WORDS: dict[str, Callable[[], bool]] = {
    "`calibrated` is ahead of `team` and `bayesian` after 10 and 20 samples, with significance": lambda: all(
        float(row(other)[place]) < 1 and float(row(other)[place + 2]) < 0.05
        for other in ("team", "bayesian")
        for place in (0, 3)
    ),
    "its aims are met after 5 samples and missed after 10, 20 and 50": (
        lambda: aims() == [True, False, False, False]
    ),
    "| calibrated | 1.133 | 1.081 | 1.055 | 1.030 |": lambda: (
        arm("calibrated") == [1.133, 1.081, 1.055, 1.03]
    ),
    "| team | 1.404 | 1.170 | 1.148 | 1.106 |": lambda: arm("team") == [1.404, 1.17, 1.148, 1.106],
    "| bayesian | 4.198 | 3.593 | 2.200 | 1.414 |": lambda: arm("bayesian") == [4.198, 3.593, 2.2, 1.414],
}
