"""Equal trials of MAST's arms on simple_spread: `python -m experiments.mast_trials [dense mast]`.

The settings of experiments.mast, SPREAD, were chosen for `dense`; here that and each sparse arm, at a tenth
of the connections, has twelve trials: those settings, and settings drawn from RANGES, from one seed that the
table does not have. What is drawn twice runs once: `dense` has nine trials and `static` ten. The best two of
them and those settings run again from two other seeds, and with what is best then the arm is in the table as
`ARM, tuned`. Arms with twice the units are tried with `ARM`'s best settings at six learning rates, the best
two in finals; `recurrent` arms with the settings of experiments.mast at the first four rates, from one seed.
How many updates there are, and of what size, is the same for all of a kind, and so are FLOPs. A score is the
return over the mean return of `dense`: less is better. Writes ARM.csv in results/tuning/mast, a line a trial,
and goes on where it was stopped. A minute a trial.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.mast import RECURRENT, TUNED, WIDE, density_of, particles, trials_of
from experiments.mast_figures import Found
from experiments.tuning.ranges import Settings
from experiments.tuning.trials import FINALISTS, drawn
from searchers.common.torch_apart import torch_apart

COUNT = 12
RATES = (0.0005, 0.001, 0.002, 0.004, 0.00025, 0.008)
"""Of arms with twice the units: the rates of all, and beyond them, where `dense` and `rigl` ended."""
FIRST_SEED, FINAL_SEEDS = 100, (101, 102)
_LEARNING: Mapping[str, Sequence[Any]] = {
    "learning_rate": [0.0005, 0.001, 0.002, 0.004],
    "tau": [0.01, 0.03, 0.1],
    "gamma": [0.85, 0.9, 0.95],
    "exploration_steps": [8_000, 15_000, 25_000],
}
_CHANGING: Mapping[str, Sequence[Any]] = {
    "changes": [20, 40, 80],
    "share": [0.2, 0.35, 0.5],
    "squares": ["zero", "mean"],
}
RANGES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "dense": _LEARNING,
    "small": _LEARNING,
    "static": _LEARNING,
    "rigl": {**_LEARNING, **_CHANGING},
    "mast": {
        **_LEARNING,
        **_CHANGING,
        "returns": ["one-step", "hybrid", "delayed"],
        "omega": [5.0, 10.0, 20.0],
    },
}


def tune(arm: str) -> None:
    """Run the trials that are missing, and the finals, and write each as it is done."""
    trials = trials_of(arm)
    dense = Found("spread").outcomes("dense", 1.0).mean()

    def run(stage: str, settings: Settings, seeds: Sequence[int]) -> None:
        with torch_apart():
            trials.run(stage, settings, lambda: [[_played(arm, seed, settings) / dense] for seed in seeds])

    for settings in tried(arm):
        run("trial", settings, [FIRST_SEED])
    if arm in RECURRENT:
        return
    for settings in (*([] if arm in WIDE else [{}]), *trials.best("trial", FINALISTS)):
        run("final", settings, FINAL_SEEDS)


def tried(arm: str) -> list[Settings]:
    """The settings of an arm's trials."""
    if arm in WIDE:
        (best,) = trials_of(WIDE[arm]).best("final")
        return [{**best, "learning_rate": rate} for rate in RATES]
    if arm in RECURRENT:
        return [{"learning_rate": rate} for rate in RATES[:4]]
    return drawn(arm, [{}], RANGES[arm], COUNT)


def _played(arm: str, seed: int, settings: Settings) -> float:
    return float(next(particles("spread", arm, density_of(arm), seed, settings))["outcome"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "arms",
        nargs="*",
        metavar="ARM",
        help="of dense, small, static, rigl, mast, 'mast, wide'...; else all",
    )
    options = parser.parse_args()
    known = [*TUNED.values(), *WIDE, *RECURRENT]
    if unknown := sorted(set(options.arms) - set(known)):
        parser.error(f"{unknown[0]!r} has no trials; choose of {'; '.join(known)}")
    for each in options.arms or known:
        tune(each)
