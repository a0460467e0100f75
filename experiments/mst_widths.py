"""Whether MST gives up less loss in wider models: `python -m experiments.mst_widths [--show]`.

MST's claim is of FLOPs at equal loss in models thousands wide. Here `dense` and `mst` of experiments.mst
learn the same text at two widths, in 2,000 steps of half as many characters, each with the best of four
learning rates, tried for 600 steps from a seed that the table does not have. Writes
results/sparse/mst_widths.csv, a line a point of a curve, goes on where it was stopped, and mst_widths.md:
last losses and FLOPs, means over three seeds with Student's 95 % intervals, paired by seed, and what follows.
Some two hours of one core without AVX-512.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np

from experiments import RESULTS, keep, read_rows
from experiments.intervals import Estimate, Verdict, at_most, mean_of
from experiments.mst import ARMS, BEGUN, CHARACTERS, text

PATH = RESULTS / "sparse" / "mst_widths.csv"
WIDTHS, PAIR = (48, 256), ("dense", "mst")
STEPS, TRIAL_STEPS, BATCH = 2000, 600, 8
RATES = (0.0015, 0.003, 0.006, 0.012)
SEEDS, TRIAL_SEED = (0, 1, 2), 100
HEAD = ("width", "arm", "learning_rate", "seed", "step", "flops", "loss", "density")

Rows = list[dict[str, Any]]


def run(width: int, arm: str, rate: float, seed: int) -> None:
    """Train once, unless that is done, and add the curve to the file."""
    from learners.gpt import Shape
    from learners.mst import Pretraining, pretrain_model
    from searchers.common.torch_apart import torch_apart

    key = {"width": str(width), "arm": arm, "learning_rate": str(rate), "seed": str(seed)}
    rows = read_rows(PATH)
    if any(key.items() <= row.items() for row in rows):
        return
    steps = TRIAL_STEPS if seed == TRIAL_SEED else STEPS
    made = replace(Pretraining(steps=steps, batch=BATCH, learning_rate=rate), **{**BEGUN, **ARMS[arm]})
    learned, apart = text()
    with torch_apart():
        points = pretrain_model(made, Shape(len(CHARACTERS), width=width), learned, apart, seed, points=30)
    lines = [{name: f"{value:.5g}" for name, value in asdict(point).items()} for point in points]
    rows += [{**key, **line} for line in lines]
    with PATH.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(*rows[-1].values(), flush=True)


def rate_of(rows: Rows, width: int, arm: str) -> float:
    """The learning rate with which the trial of an arm ended lowest."""
    tried = {rate: ends(rows, width, arm, rate, [TRIAL_SEED])[0] for rate in RATES}
    return min(tried, key=lambda rate: tried[rate])


def curve(rows: Rows, width: int, arm: str, rate: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """FLOPs and losses of a run, (points,) each."""
    key = {"width": str(width), "arm": arm, "learning_rate": str(rate), "seed": str(seed)}
    own = [row for row in rows if key.items() <= row.items()]
    flops, losses = (np.array([float(row[name]) for row in own]) for name in ("flops", "loss"))
    return flops, losses


def ends(rows: Rows, width: int, arm: str, rate: float, seeds: Sequence[int]) -> list[float]:
    """The last losses by seed."""
    return [float(curve(rows, width, arm, rate, seed)[1][-1]) for seed in seeds]


def given_up(rows: Rows, width: int) -> np.ndarray:
    """The logarithm of what `mst` ends at over what `dense` ends at, by seed."""
    dense, mst = (np.array(ends(rows, width, arm, rate_of(rows, width, arm), SEEDS)) for arm in PAIR)
    logs: np.ndarray = np.log(mst / dense)
    return logs


def saved(rows: Rows, width: int) -> np.ndarray:
    """FLOPs that `dense` takes to the last loss of `mst` over those of `mst`, by seed."""
    found = []
    for seed in SEEDS:
        (spent, losses), (flops, dense) = (
            curve(rows, width, arm, rate_of(rows, width, arm), seed) for arm in reversed(PAIR)
        )
        # Losses of a curve fall but for noise: the first crossing is what counts.
        lowest = np.minimum.accumulate(dense)
        found.append(np.interp(-losses[-1], -lowest, flops, right=np.inf) / spent[-1])
    return np.array(found)


def verdicts(lost: dict[int, np.ndarray], times: dict[int, np.ndarray]) -> list[tuple[str, str, Verdict]]:
    """What of the claim can be told, by logarithms of the loss given up and times that FLOPs are saved."""
    narrow, wide = min(lost), max(lost)
    less = mean_of(np.exp(lost[wide]) - np.exp(lost[narrow]))
    more = mean_of(np.log(times[wide] / times[narrow])).exp()
    equal: list[tuple[str, str, Verdict]] = [
        (
            f"4 times fewer FLOPs at equal loss, {width} wide",
            f"{mean_of(np.log(times[width])).exp().shown()} times",
            "not tested",
        )
        for width in times
    ]
    return [
        *equal,
        (
            f"less loss is given up at {wide} than at {narrow}",
            f"{less.shown(1, 100)} % of dense's",
            at_most(0, less),
        ),
        (
            f"more FLOPs are saved at {wide} than at {narrow}",
            f"{more.shown()} times",
            at_most(1, inverse(more)),
        ),
    ]


def inverse(ratio: Estimate) -> Estimate:
    """One over a ratio."""
    return Estimate(1 / ratio.value, 1 / ratio.high, 1 / ratio.low, ratio.count)


def page(rows: Rows) -> str:
    """The tables in Markdown."""
    head = ["width", "learning rates, dense and mst", "dense's last loss", "mst's", "worse, %", "FLOPs"]
    head.append("dense's to that loss")
    lines = [f"| {' | '.join(head)} |", "|---:|---:|---:|---:|---:|---:|---:|"]
    lost, times = ({width: of(rows, width) for width in WIDTHS} for of in (given_up, saved))
    for width in WIDTHS:
        rates = [rate_of(rows, width, arm) for arm in PAIR]
        last = [mean_of(ends(rows, width, arm, rate, SEEDS)) for arm, rate in zip(PAIR, rates, strict=True)]
        flops = [
            np.mean([curve(rows, width, arm, rate, seed)[0][-1] for seed in SEEDS])
            for arm, rate in zip(PAIR, rates, strict=True)
        ]
        worse = mean_of(100 * np.expm1(lost[width]))
        cells = [str(width), " and ".join(map(str, rates)), *(one.shown(3) for one in last), worse.shown(1)]
        cells += [f"1 / {flops[0] / flops[1]:.2f}", mean_of(np.log(times[width])).exp().shown() + " times"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| claim | here | verdict |", "|---|---:|---|"]
    lines += [f"| {' | '.join(row)} |" for row in verdicts(lost, times)]
    said = f"Characters, {STEPS} steps, {len(SEEDS)} seeds; losses are nats a character on text apart."
    return "\n".join([said, "", *lines])


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--show", action="store_true", help="run nothing")
    if not parser.parse_args().show:
        for width, arm, rate in product(WIDTHS, PAIR, RATES):
            run(width, arm, rate, TRIAL_SEED)
        for seed, width, arm in product(SEEDS, WIDTHS, PAIR):
            run(width, arm, rate_of(read_rows(PATH), width, arm), seed)
    keep(PATH.with_suffix(".md"), "experiments.mst_widths", page(read_rows(PATH)))


if __name__ == "__main__":
    main()
