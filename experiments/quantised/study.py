"""Tables and figures of policies in few bits: `python -m experiments.quantised.study`.

From ptq.csv, qat.csv, speed.csv and memory.csv of results/quantised it makes study.md, weights.png and
aware.png there. A figure is the mean over seeds of the share by which a policy is worse than in full
precision (geometric for mappings, over layers too), with the 95 % interval of Student's t over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from dse.report.plots.files import png_bytes
from dse.support.files import write_whole
from experiments.intervals import Estimate, Verdict, at_least, at_most, mean_of, mean_over_groups
from experiments.quantised.ptq import HERE
from experiments.quantised.speed import A_SAMPLE
from experiments.quantised.taught import DRAWN, EPISODES, PROBLEMS, SEARCHES
from searchers.commands.bits_plot import Points, bits_figure

MAPPINGS = "mappings"


def read(name: str) -> pd.DataFrame:
    """A file of figures, with `group`: the task, or mappings of any layer."""
    frame = pd.read_csv(HERE / name)
    tasks = frame.task.str.rpartition(":")[2]  # Without the module that Gymnasium finds one by.
    return frame.assign(group=tasks.where(~frame.task.isin(list(PROBLEMS)), MAPPINGS))


def interval(frame: pd.DataFrame) -> Estimate:
    """The mean share by which it is worse, with its interval over seeds: mappings' on these layers."""
    if (frame.group == MAPPINGS).all():
        logs = mean_over_groups(np.log1p(frame.worse.to_numpy()).tolist(), frame.seed.to_list())
        return Estimate(*(float(np.expm1(value)) for value in logs[:3]), logs.count)
    return mean_of(frame.worse.to_list())


def shown(share: tuple[float, float, float]) -> str:
    """Per cent, with the interval."""
    mean, low, high = (100 * part for part in share)
    return f"{mean:.1f}" if np.isinf(low) else f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def alike(frame: pd.DataFrame, weights_alone: bool = False, per_channel: bool = False) -> pd.DataFrame:
    """The lines of whole numbers, of weights alone or of activations too, by what shares a scale."""
    whole = frame[(frame.weights <= 8) & (frame.per_channel == per_channel)]
    return whole[(whole.activations == 32) == weights_alone]


def table_1(ptq: pd.DataFrame) -> str:
    """Policies in half precision and in 8 bits."""
    halves, eight = ptq[ptq.weights == 16], alike(ptq).query("weights == 8")
    channels = alike(ptq, per_channel=True).query("weights == 8")
    rows = []
    for (group, algorithm), full in ptq[ptq.weights == 32].groupby(["group", "algorithm"], sort=False):
        means = "" if group == MAPPINGS else ", ".join(f"{mean:.4g}" for mean in full["mean"])
        parts = [
            part[(part.group == group) & (part.algorithm == algorithm)] for part in (halves, eight, channels)
        ]
        rows.append(
            (group, algorithm, means, *(shown(interval(part)[:3]) if len(part) else "" for part in parts))
        )
    head = ("task", "by", "in full, by seed", "fp16: worse by, %", "int8", "int8, by channel")
    return table(head, rows)


def by_bits(frame: pd.DataFrame) -> dict[str, dict[str, Points]]:
    """What is worse by how much, by group, algorithm and bits."""
    found: dict[str, dict[str, dict[int, tuple[float, float, float]]]] = {}
    for (group, algorithm, bits), part in frame.groupby(["group", "algorithm", "weights"], sort=False):
        found.setdefault(group, {}).setdefault(algorithm, {})[int(bits)] = interval(part)[:3]
    return {group: dict(lines) for group, lines in found.items()}


def table_of_bits(panels: Mapping[str, Mapping[str, Points]]) -> str:
    """The same as a table."""
    bits = sorted({b for lines in panels.values() for points in lines.values() for b in points}, reverse=True)
    rows = [
        (group, name, *(shown(points[b]) if b in points else "" for b in bits))
        for group, lines in panels.items()
        for name, points in lines.items()
    ]
    return table(("task", "by", *(f"{b} bits" for b in bits)), rows)


def sides(panels: Mapping[str, Mapping[str, Points]]) -> str:
    """How many intervals lie on one side of nothing."""
    points = [point for lines in panels.values() for found in lines.values() for point in found.values()]
    known = [point for point in points if not np.isnan(point[1])]
    better, worse = sum(point[2] < 0 for point in known), sum(point[1] > 0 for point in known)
    return f"Of {len(known)} intervals {better} are wholly better than full precision, {worse} wholly worse."


def aware_beside(ptq: pd.DataFrame, qat: pd.DataFrame) -> dict[str, dict[str, Points]]:
    """For each policy taught again, both ways."""
    keys = ["task", "algorithm", "seed", "weights"]
    same = alike(ptq).merge(qat[keys], on=keys)
    found = {}
    for (group, algorithm), part in qat.groupby(["group", "algorithm"], sort=False):
        ours = same[(same.group == group) & (same.algorithm == algorithm)]
        found[f"{group}, {algorithm}"] = {
            "after": next(iter(by_bits(ours)[group].values())),
            "in training": next(iter(by_bits(part)[group].values())),
        }
    return found


def table_2() -> str:
    """Time and memory."""
    speed, memory = (pd.read_csv(HERE / name) for name in ("speed.csv", "memory.csv"))
    rows = []
    for (network, count, way), part in speed.groupby(["network", "rows", "way"], sort=False):
        same = speed[(speed.network == network) & (speed.rows == count)]
        (found,) = part.itertuples()
        held = memory.query("network == @network and way == @way") if count == 1 else memory[:0]
        cells = [f"{held[name].item() / 1e6:.2f}" if len(held) else "" for name in ("file", "least")]
        taken = f"{found.microseconds:.1f} [{found.low:.1f}, {found.high:.1f}]"
        faster = [
            f"{base.item() / found.microseconds:.2f}"
            for name in ("single", "modules, single")
            if len(base := same[same.way == name].microseconds) and way != A_SAMPLE
        ]
        rows.append((network, count, way, taken, *faster, *[""] * (2 - len(faster)), *cells))
    head = (
        "units",
        "rows",
        "way",
        "us",
        "times faster than single",
        "than modules, single",
        "file, MB",
        "least memory, MB",
    )
    return table(head, rows)


def mean_error(ptq: pd.DataFrame, weights: int) -> Estimate:
    """The mean size of the relative error over tasks of Gymnasium, each with an algorithm."""
    part = ptq[(ptq.weights == weights) & (ptq.group != MAPPINGS) & ~ptq.per_channel]
    part = part[part.activations == weights] if weights == 8 else part
    # Policies of a task by one algorithm differ by seed alone: they are one group.
    found = mean_over_groups(part.worse.abs().to_list(), list(zip(part.group, part.algorithm, strict=True)))
    return found


HOLDS = 0.05
"""The largest error that Table 1 of the paper calls small."""


def verdicts(ptq: pd.DataFrame, qat: pd.DataFrame) -> Iterator[tuple[str, str, Verdict]]:
    """Claims, what they come to here, and what follows: of the paper's tasks, then of mappings."""
    error = mean_error(ptq, 8)
    yield "Table 1: 8 bits cost 2 to 5 %", f"{error.shown(1, 100)} %", at_most(HOLDS, error)
    for name, weights_alone in (("weights alone", True), ("weights and activations", False)):
        frame = alike(ptq, weights_alone)
        cells = frame.groupby(["group", "algorithm", "weights"], sort=False)
        found = [interval(part) for _, part in cells]
        better = sum(one.high < 0 for one in found)
        # By chance one interval of forty lies on the better side.
        told = binomtest(better, len(found), 0.025, "greater").pvalue < 0.05
        yield (
            f"Fig. 2: some number of bits is better than full precision, {name}",
            f"{better} of {len(found)} intervals are wholly better, by chance {0.025 * len(found):.1f}",
            "borne out" if told else "inconclusive",
        )
    fewest = qat[qat.weights == qat.weights.max()]
    for (group, algorithm), part in fewest.groupby(["group", "algorithm"], sort=False):
        found_in = interval(part)
        yield (
            f"Fig. 4: trained with {part.weights.max()} bits it holds, {group}, {algorithm}",
            f"worse by {found_in.shown(1, 100)} %",
            at_most(HOLDS, found_in),
        )
    keys = ["group", "task", "algorithm", "seed", "weights"]
    both = alike(ptq).merge(qat, on=keys, suffixes=("_after", ""))
    both = both.assign(gain=both.worse_after - both.worse)
    gains = [
        (key, mean_over_groups(part.gain.to_list(), part.seed.to_list()))
        for key, part in both.groupby(["group", "algorithm", "weights"], sort=False)
    ]
    higher, lower = (
        sum(sign * ends > 0 for ends in side)
        for sign, side in ((1, [one.low for _, one in gains]), (-1, [one.high for _, one in gains]))
    )
    told = binomtest(higher, len(gains), 0.025, "greater").pvalue < 0.05
    yield (
        "Fig. 4: training with few bits is better than quantising afterwards",
        f"better in {higher} and worse in {lower} of {len(gains)} paired differences, by chance "
        f"{0.025 * len(gains):.1f} each",
        "borne out" if told else "inconclusive",
    )
    speed = pd.read_csv(HERE / "speed.csv").set_index(["network", "rows", "way"])
    for network, rows in dict.fromkeys(key[:2] for key in speed.index):
        eight, full = (speed.loc[(network, rows, way)] for way in ("int8", "single"))
        ratio = Estimate(
            full.microseconds / eight.microseconds, full.low / eight.high, full.high / eight.low, 2
        )
        yield (
            f"Table 2: 8 bits are 1.2 times faster or more, {network}, {rows} rows at once",
            f"{ratio.shown()} times",
            at_least(1.2, ratio),
        )


def main() -> None:
    """Write all."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    ptq, qat = read("ptq.csv"), read("qat.csv")
    weights, both = by_bits(alike(ptq, weights_alone=True)), by_bits(alike(ptq))
    channels = by_bits(alike(ptq, per_channel=True))
    beside = aware_beside(ptq, qat)
    half, eight = mean_error(ptq, 16), mean_error(ptq, 8)
    how = f"mean over seeds, 95 % intervals; {EPISODES} episodes, or {SEARCHES} searches of {DRAWN} samples"
    parts = [
        "# Policies in few bits",
        "Made by `python -m experiments.quantised.study`. Shares are by how much a policy is worse than in "
        "full precision, in per cent, with 95 % intervals; below nothing it is better.",
        "## Verdicts",
        table(("claim", "here", "verdict"), verdicts(ptq, qat)),
        "## Table 1: quantised after training",
        f"Mean size of the relative error on tasks of Gymnasium, in per cent: {half.shown(1, 100)} in half "
        f"precision, {eight.shown(1, 100)} in 8 bits; {eight.count} tasks with their algorithm, three seeds.",
        table_1(ptq),
        "## Fig. 2: weights alone",
        sides(weights),
        table_of_bits(weights),
        "## Weights and activations",
        sides(both),
        table_of_bits(both),
        "## Weights and activations, a scale for each channel",
        table_of_bits(channels),
        "## Fig. 4: quantised after training, and in training",
        table_of_bits(beside),
        "## Table 2: time and memory of an inference",
        table_2(),
    ]
    write_whole(HERE / "study.md", "\n\n".join(parts) + "\n", "tables")
    figures = {
        "weights.png": ("What is lost where weights alone are quantised", weights),
        "aware.png": ("Quantised after training, and in training", beside),
    }
    for name, (title, panels) in figures.items():
        made = bits_figure(title, f"{how}; cut off at the ends", "worse by, %", panels, (-30, 110))
        write_whole(HERE / name, png_bytes(made), "figure")


if __name__ == "__main__":
    main()
