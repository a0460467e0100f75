"""What experiments.mast found: its tables and its figure.

A seed has one number an arm: its return, or the geometric mean over problems of best loss over the optimum.
Tables have the mean over seeds; on games what is gained over `random` as a share of what `dense` gains, of
mappings, which have no zero, how many per cent worse than `dense` (the mean of the ratios' logarithms, of a
seed beside the same seed); all with 95 % intervals of Student's t over seeds; and the FLOPs of training and
of inference over those of `dense`. `mast` with values mixed by a network is set beside a dense team with
values mixed so, and arms that are tuned, wide or recurrent beside a dense one that is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dse.support.arrays import FloatArray
from experiments import RESULTS, keep, read_rows
from experiments.intervals import Estimate, Verdict, at_most, mean_of

HERE = RESULTS / "sparse"
WORSE = 0.03
"""The claim: no worse than by this."""


def read(task: str) -> list[dict[str, Any]]:
    """The runs that are done."""
    return list(read_rows(HERE / f"mast_{task}.csv"))


class Found:
    """The runs of a task, an arm with its density a key."""

    def __init__(self, task: str) -> None:
        self.task, self._rows = task, read(task)
        found = {(row["arm"], float(row["density"])) for row in self._rows}
        self.arms = sorted(found, key=lambda key: (-key[1], key[0] not in ("dense", "random"), key[0]))
        self.game = task != "refine"
        self._dense = ("dense" if ("dense", 1.0) in found else "dense, tuned", 1.0)

    def outcomes(self, arm: str, density: float) -> FloatArray:
        """One number a seed, (seeds,)."""
        own, found = self._runs(arm, density), []
        for seed in sorted({int(row["seed"]) for row in own}):
            values = np.array([float(row["outcome"]) for row in own if int(row["seed"]) == seed])
            found.append(values.mean() if self.game else np.exp(np.log(values).mean()))
        return np.array(found)

    def beside(self, arm: str) -> tuple[str, float]:
        """The dense arm that an arm is compared with: one that mixes values so, or is tuned, or as wide."""
        last = arm.split(", ")[-1]
        for dense in ((last, 1.0), (f"dense, {last}", 1.0)):
            if dense in self.arms and dense[0] != "random":
                return dense
        return self._dense

    def worse(self, arm: str, density: float) -> FloatArray:
        """Logarithms of the ratio to what it is `beside`, (seeds,): above 0 is worse."""
        own, dense = self.outcomes(arm, density), self.outcomes(*self.beside(arm))
        return np.log(own / dense[: len(own)])

    def gained(self, arm: str, density: float) -> FloatArray:
        """The share of the way from `random` to `dense`, (seeds,)."""
        own, dense, random = (self.outcomes(*key) for key in ((arm, density), self._dense, ("random", 1.0)))
        return (own - random.mean()) / (dense.mean() - random.mean())

    def lost(self, arm: str, density: float, beside: tuple[str, float] | None = None) -> Estimate:
        """What a seed gives up beside the same seed of another arm, `beside(arm)` if none is named.

        A share of what that gains over `random`; of mappings, which have no zero, of that one's loss.
        """
        beside = beside or self.beside(arm)
        own, other, random = (self.outcomes(*key) for key in ((arm, density), beside, ("random", 1.0)))
        both = min(len(own), len(other))
        if self.game:
            return mean_of((other[:both] - own[:both]) / (other.mean() - random.mean()))
        return mean_of(own[:both] / other[:both] - 1)

    def fewer(self, arm: str, density: float, name: str) -> float:
        """How many times fewer FLOPs than what it is `beside`, of `training` or `inference`."""
        dense, own = (
            np.mean([float(row[f"{name}_flops"]) for row in self._runs(*key)])
            for key in (self.beside(arm), (arm, density))
        )
        return float(dense / own) if own else np.inf

    def _runs(self, arm: str, density: float) -> list[dict[str, Any]]:
        return [row for row in self._rows if (row["arm"], float(row["density"])) == (arm, density)]


def between(values: FloatArray) -> tuple[float, float, float]:
    """The mean, and its 95 % interval of Student's t."""
    from scipy import stats

    if len(values) < 2:
        return float(values.mean()), -np.inf, np.inf
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def show(task: str) -> None:
    """Print the table, and write it beside the runs."""
    keep(HERE / f"mast_{task}.md", f"experiments.mast {task}", table(task))


def table(task: str) -> str:
    """The table in Markdown, an arm and density a line."""
    found = Found(task)
    outcome = "return" if found.game else "best loss / optimum"
    head = ["arm", "density", "seeds", outcome, "of dense's gain, %" if found.game else "worse than dense, %"]
    head += ["training FLOPs", "inference FLOPs"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for arm, density in found.arms:
        own = found.outcomes(arm, density)
        cells = [arm, f"{density:g}", str(len(own))]
        if found.game:
            gained = [100 * end for end in between(found.gained(arm, density))]
            cells.append("{:.1f} [{:.1f}, {:.1f}]".format(*between(own)))
            cells.append("{:.0f} [{:.0f}, {:.0f}]".format(*gained))
        else:
            worse = [100 * np.expm1(end) for end in between(found.worse(arm, density))]
            cells.append("{:.2f} [{:.2f}, {:.2f}]".format(*np.exp(between(np.log(own)))))
            cells.append("{:+.1f} [{:+.1f}, {:+.1f}]".format(*worse))
        for name in ("training", "inference"):
            cells.append("none" if arm == "random" else f"1 / {found.fewer(arm, density, name):.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *judged(found)])


def judged(found: Found) -> list[str]:
    """The claim, arm by arm, and what each aid of `mast` does, in sentences."""
    arms: dict[Verdict, list[str]] = {"borne out": [], "not borne out": [], "inconclusive": []}
    for arm, density in found.arms:
        if density < 1:
            arms[at_most(WORSE, found.lost(arm, density))].append(f"{arm} at {density:g}")
    gain = "of dense's gain over random given up"
    share = gain if found.game else "more loss than dense's"
    told = "; ".join(f"{verdict} of {', '.join(names) or 'none'}" for verdict, names in arms.items())
    lines = [f"Less than {WORSE:.0%} {share}: {told}."]
    tuned = [key for key in found.arms if key[0].endswith(", tuned") and key[1] < 1]
    wide = [key for key in found.arms if key[0].endswith(", wide") and key[1] < 1]
    recurrent = [key for key in found.arms if key[0].endswith(", recurrent") and key[1] < 1]
    rigl = [key for key in tuned if key[0] == "rigl, tuned"]
    kinds = (("tuned", tuned), ("wide", wide), ("recurrent", recurrent), ("as rigl", rigl))
    for how, keys in kinds:
        dense = (f"dense, {how}", 1.0)
        if keys and dense in found.arms:
            given_up = [f"{arm} {found.lost(arm, density, dense).shown(1, 100)} %" for arm, density in keys]
            lines += ["", f"Given up beside dense, {how}: {'; '.join(given_up)}."]
    known = {arm for arm, _ in found.arms}
    for base in (each for each in ("mast", "rigl", "static", "small") if each in known):
        others = ("mast, qmix", f"{base}, wide", f"{base}, recurrent")
        changed = [key for key in found.arms if key[0].startswith(f"{base}, ") and key[0] not in others]
        said = []
        for arm, density in changed:
            lost = found.lost(arm, density, (base, density))
            word = "not significant" if lost.low <= 0 <= lost.high else "significant"
            said.append(f"{arm} {lost.shown(1, 100)} % ({word})")
        lines += ["", f"Given up beside {base}: {'; '.join(said)}."] if said else []
    return lines


def draw(path: Path) -> None:
    """Draw outcomes against how many times fewer FLOPs training takes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = {
        "spread": "simple_spread: return (more is better)",
        "refine": "mappings: best loss / proven optimum (less is better)",
    }
    figure, both = plt.subplots(1, 2, figsize=(10, 4))
    for axes, (task, title) in zip(both, titles.items(), strict=True):
        found = Found(task)
        dense, random = (_middle(found, arm, 1.0)[0] for arm in ("dense", "random"))
        # As the claim is judged: a share of what is gained over random, or of the loss.
        worst = dense + WORSE * (random - dense) if task == "spread" else dense * (1 + WORSE)
        axes.axhspan(*sorted((dense, worst)), color="0.85", label="dense, to 3 % worse")
        axes.axhline(random, color="#7f7f7f", linestyle=":", label="random")
        looks = [("small", "#009e73", "s"), ("static", "#e69f00", "^"), ("mast", "#d55e00", "o")]
        if ("mast, tuned", 0.1) in found.arms:
            looks += [("mast, tuned", "#d55e00", "D"), ("rigl, tuned", "#0072b2", "D")]
        for place, (arm, colour, marker) in enumerate(looks):
            points = [key for key in found.arms if key[0] == arm]
            fewer = np.array([found.fewer(*key, "training") for key in points])
            if len(points) > 1:
                # Lines begin at dense's, side by side.
                points = [("dense", 1.0), *points]
                fewer = np.array([1.0, *fewer]) * 1.02 ** (place - 1)
            middles, lows, highs = np.array([_middle(found, *key) for key in points]).T
            ends = [middles - lows, highs - middles]
            axes.errorbar(
                fewer, middles, yerr=ends, color=colour, marker=marker, markersize=5, capsize=3, label=arm
            )
        axes.set(xscale="log", xlabel="times fewer training FLOPs than dense")
        axes.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axes.set_xticks([], minor=True)
        axes.set_title(title, fontsize=9, loc="left")
        axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


def _middle(found: Found, arm: str, density: float) -> FloatArray:
    """The mean with the ends of its interval, as the table has them."""
    own = found.outcomes(arm, density)
    if found.game:
        return np.array(between(own))
    return np.exp(between(np.log(own)))
