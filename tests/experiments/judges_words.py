"""Words of results/README.md on simulators as judges, and what they follow from."""

from __future__ import annotations

from collections.abc import Callable

from experiments import RESULTS
from experiments.judges.references import proven

NAMES = {"RTL": "rtl", "CPU": "cpu", "SCALE-Sim": "scalesim"}
UNTAUGHT, WRONG = "team, no expectations", "wrong adviser beside team"
OTHERS = ("team", "team, certified start", UNTAUGHT, "bayesian")


def lines_of(judge: str, start: str) -> list[list[str]]:
    """The cells of the lines of a judge's page that begin so."""
    lines = (RESULTS / "judges" / f"{NAMES[judge]}.md").read_text("utf-8").splitlines()
    found = [line for line in lines if line.startswith(f"| {start} |")]
    return [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in found]


def arm(judge: str, name: str) -> list[float]:
    """An arm's ratios after 5, 10, 20 and 50 samples."""
    return [float(cell) for cell in lines_of(judge, name)[0][2:6]]


def beside(judge: str, other: str) -> list[float]:
    """After 10 and 20 samples the ratio to another arm and its p value; the worst ratio at the end."""
    cells = lines_of(judge, other)[-1]
    return [float(cells[place]) for place in (0, 2, 3, 5, 6)]


def aims(judge: str) -> list[bool]:
    """Whether `calibrated` meets its aims."""
    return [got <= aim for got, aim in pairs_of_aims(judge)]


def pairs_of_aims(judge: str) -> list[tuple[float, float]]:
    """What `calibrated` reaches, each with its aim."""
    return list(zip(arm(judge, "calibrated"), arm(judge, "aim of calibrated"), strict=True))


def is_ahead(judge: str, other: str) -> bool:
    """Whether `calibrated` is ahead of another arm after 10 and 20 samples, with significance."""
    early, early_p, late, late_p, _ = beside(judge, other)
    return max(early, late) < 1 and max(early_p, late_p) < 0.05


def is_misled() -> bool:
    """Whether a wrong adviser on the RTL costs samples early, and next to nothing at the end."""
    early, early_p, _, late_p, worst = beside("RTL", WRONG)
    return early > 1 and early_p < 0.05 <= late_p and 1.0075 <= worst < 1.0085


def in_table(judge: str, name: str, *figures: float) -> tuple[str, Callable[[], bool]]:
    """A line of the page's table, and whether its figures are those of the judge's page."""
    return (
        f"| {name} | {' | '.join(f'{each:.3f}' for each in figures)} |",
        lambda: arm(judge, name) == list(figures),
    )


def in_words(judge: str, name: str, *figures: float) -> tuple[str, Callable[[], bool]]:
    """Figures as a sentence lists them, and whether they are those of the judge's page."""
    *first, last = (f"{each:.3f}" for each in figures)
    return f"{', '.join(first)} and {last}", lambda: arm(judge, name) == list(figures)


WORDS: dict[str, Callable[[], bool]] = {
    "On the RTL and CPU judges `calibrated` is ahead of `team` and `bayesian` after 10 and 20 samples": (
        lambda: all(is_ahead(judge, other) for judge in ("RTL", "CPU") for other in ("team", "bayesian"))
    ),
    "after 10 samples, with significance, not after 20, and after 50 by at most 0.8 % on any": is_misled,
    "with a certified start and without its expectations too, and after 50 at most 0.1 % behind": lambda: (
        is_ahead("RTL", "team, certified start")
        and is_ahead("RTL", UNTAUGHT)
        and beside("RTL", "team")[-1] <= 1.0015
    ),
    "It meets its aim after 5 samples on the RTL, and misses all others": lambda: (
        aims("RTL") == [True, False, False, False] and not any(aims("CPU") + aims("SCALE-Sim"))
    ),
    "of the same four after 10 and 20 samples, with significance. It misses all four aims": lambda: (
        all(is_ahead("CPU", other) for other in OTHERS) and not any(aims("CPU"))
    ),
    "after 10 and 20 too, and after 50 at most 0.8 % behind on any problem": lambda: (
        is_ahead("CPU", WRONG) and 1.0075 <= beside("CPU", WRONG)[-1] < 1.0085
    ),
    "(judges/scalesim.md) all aims are missed by far": lambda: all(
        got > 1.1 * aim for got, aim in pairs_of_aims("SCALE-Sim")
    ),
    "It is ahead of `bayesian` with significance, not of `team`; after 50 it is up to 10 %": lambda: (
        is_ahead("SCALE-Sim", "bayesian")
        and not is_ahead("SCALE-Sim", "team")
        and 1.095 <= beside("SCALE-Sim", "team")[-1] < 1.105
    ),
    "These are ratios to the optimum, proven by enumeration": lambda: (
        proven("scalesim") == {f"l{number}" for number in range(1, 9)}
    ),
    "is significantly behind `team` after 20 samples, and after 50 up to 14 % on a problem": lambda: (
        beside("SCALE-Sim", WRONG)[2] > 1
        and beside("SCALE-Sim", WRONG)[3] < 0.05
        and 1.135 <= beside("SCALE-Sim", WRONG)[-1] < 1.145
    ),
    **dict(
        [
            in_table("RTL", "calibrated", 1.103, 1.061, 1.044, 1.028),
            in_table("RTL", "team", 1.475, 1.173, 1.135, 1.095),
            in_table("RTL", "team, certified start", 1.272, 1.217, 1.134, 1.080),
            in_table("RTL", "bayesian", 4.458, 3.397, 2.137, 1.412),
            in_words("SCALE-Sim", "calibrated", 4.923, 2.692, 1.720, 1.329),
            in_words("SCALE-Sim", "team", 4.226, 2.920, 1.770, 1.354),
            in_words("SCALE-Sim", "bayesian", 6.666, 4.094, 2.683, 1.480),
            in_words("CPU", "calibrated", 1.424, 1.165, 1.092, 1.051),
            in_words("CPU", "team", 3.025, 1.903, 1.414, 1.135),
        ]
    ),
}
