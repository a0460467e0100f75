"""MST's claim, 4 times fewer training FLOPs at equal validation loss: `python -m experiments.mst`.

A GPT of 4 layers learns characters of the Python library's sources: the files at the top of the standard
library of the Python that runs this, in alphabetical order; every tenth is kept apart. Arms: `dense`; `mst`;
`mst` without warm-up, without ultra-sparsification, without restoration, with dense attention. Writes
results/sparse/mst.csv, a line a point of a curve, goes on where it was stopped, and `--show` prints a table:
medians over seeds of the last loss, of the FLOPs, and of those that `dense` takes to the same loss.
`--figure FILE` draws loss against FLOPs.
"""

from __future__ import annotations

import argparse
import csv
import sysconfig
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from experiments import RESULTS
from searchers.common.torch_apart import torch_apart

PATH = RESULTS / "sparse" / "mst.csv"
STEPS = 300
ARMS: dict[str, dict[str, Any]] = {
    "dense": {"sparse": 1.0, "ultra": 1.0, "sparse_attention": False},
    "mst": {},
    "mst, no warm-up": {"warm_up": 0.0, "sparse": 0.1},
    "mst, no ultra-sparsification": {"ultra": 0.3},
    "mst, no restoration": {"restored": 0.0},
    "mst, dense attention": {"sparse_attention": False},
}
_MST: dict[str, Any] = {"sparse": 0.3, "ultra": 0.1, "sparse_attention": True}
HEAD = ("arm", "seed", "step", "flops", "loss", "density")
_CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


def text() -> tuple[IntArray, IntArray]:
    """The text to learn, and that kept apart, as numbers of characters."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    numbers = np.full(256, _CHARACTERS.index("?"))
    numbers[[ord(character) for character in _CHARACTERS]] = np.arange(len(_CHARACTERS))
    read = [numbers[np.frombuffer(file.read_bytes(), np.uint8)] for file in files]
    apart = [part for place, part in enumerate(read) if place % 10 == 9]
    return np.concatenate([part for place, part in enumerate(read) if place % 10 != 9]), np.concatenate(apart)


def run(seeds: int) -> None:
    """Do the runs that are missing, and write each as it is done."""
    from learners.gpt import Shape
    from learners.mst import Pretraining, pretrain

    learned, apart = text()
    rows = read()
    done = {(row["arm"], str(row["seed"])) for row in rows}
    PATH.parent.mkdir(exist_ok=True)
    for seed in range(seeds):
        for arm, settings in ARMS.items():
            if (arm, str(seed)) in done:
                continue
            made = replace(Pretraining(steps=STEPS), **{**_MST, **settings})
            with torch_apart():
                curve = pretrain(made, Shape(len(_CHARACTERS)), learned, apart, seed)
            rows += [{"arm": arm, "seed": seed, **_rounded(asdict(point))} for point in curve]
            with PATH.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, HEAD)
                writer.writeheader()
                writer.writerows(rows)
            print(*rows[-1].values(), flush=True)


def _rounded(point: dict[str, Any]) -> dict[str, Any]:
    return {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in point.items()}


def read() -> list[dict[str, Any]]:
    """The points of the runs that are done."""
    if not PATH.exists():
        return []
    with PATH.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def curve(rows: list[dict[str, Any]], arm: str, seed: str) -> FloatArray:
    """FLOPs and losses of a run: (2, points)."""
    own = [row for row in rows if row["arm"] == arm and row["seed"] == seed]
    return np.array([[float(row[name]) for row in own] for name in ("flops", "loss")])


def show() -> None:
    """Print the table."""
    rows = read()
    print(
        "| arm | seeds | last loss, nats a character | FLOPs over dense's | dense's to that loss over these |"
    )
    print("|---|---:|---:|---:|---:|")
    for arm in dict.fromkeys(row["arm"] for row in rows):
        seeds = sorted({row["seed"] for row in rows if row["arm"] == arm})
        last, shares, gains = [], [], []
        for seed in seeds:
            flops, losses = curve(rows, arm, seed)
            dense_flops, dense_losses = curve(rows, "dense", seed)
            last.append(losses[-1])
            shares.append(flops[-1] / dense_flops[-1])
            there = np.flatnonzero(np.minimum.accumulate(dense_losses) <= losses[-1])
            gains.append(dense_flops[there[0]] / flops[-1] if len(there) else np.inf)
        cells = [arm, len(seeds), f"{np.median(last):.3f} ({min(last):.3f} to {max(last):.3f})"]
        cells += [f"{np.median(shares):.2f}", f"{np.median(gains):.2f}"]
        print("|", " | ".join(map(str, cells)), "|")


def draw(path: Path) -> None:
    """Draw loss against FLOPs, a line a run."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = read()
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for number, arm in enumerate(dict.fromkeys(row["arm"] for row in rows)):
        for place, seed in enumerate(sorted({row["seed"] for row in rows if row["arm"] == arm})):
            axes.plot(*curve(rows, arm, seed), color=f"C{number}", label=None if place else arm, linewidth=1)
    axes.set(xlabel="training FLOPs", ylabel="validation loss, nats a character", xscale="log")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main() -> None:
    """Run, or show what has been run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--show", action="store_true", help="run nothing, print the table")
    parser.add_argument("--figure", type=Path, help="run nothing, draw the curves into this file")
    options = parser.parse_args()
    if options.figure:
        draw(options.figure)
        return
    if not options.show:
        run(options.seeds)
    show()


if __name__ == "__main__":
    main()
