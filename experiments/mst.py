"""MST's claim, 4 times fewer training FLOPs at equal validation loss: `python -m experiments.mst`.

A GPT of 4 layers learns characters of the Python library's sources: the files at the top of the standard
library of the Python that runs this, in alphabetical order; every tenth is kept apart. Arms: `dense`; `mst`;
`dense` with a quarter of the steps, which costs about what `mst` does, and that with `mst`'s attention; `mst`
without warm-up, without ultra-sparsification, without restoration, with dense attention. Writes
results/sparse/mst.csv, a line a point of a curve, goes on where it was stopped, and `--show` prints a table,
which mst.md has as well:
the last loss, its ratio to `dense`'s (means over seeds with 95 % intervals of Student's t), the FLOPs over
those of `dense` in as many steps, and those that `dense` takes to the same loss over these (medians).
`--figure` draws loss against FLOPs.
"""

from __future__ import annotations

import argparse
import sysconfig
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.support.arrays import FloatArray, IntArray
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.mast_figures import between
from searchers.common.torch_apart import torch_apart

PATH = RESULTS / "sparse" / "mst.csv"
STEPS = 1000
_DENSE: dict[str, Any] = {"sparse": 1.0, "ultra": 1.0, "sparse_attention": False}
ARMS: dict[str, dict[str, Any]] = {
    "dense": _DENSE,
    "mst": {},
    "dense, a quarter of the steps": {**_DENSE, "steps": STEPS // 4},
    "sparse attention alone, a quarter of the steps": {
        **_DENSE,
        "sparse_attention": True,
        "steps": STEPS // 4,
    },
    "mst, no warm-up": {"warm_up": 0.0},
    "mst, no ultra-sparsification": {"ultra": 0.2},
    "mst, no restoration": {"restored": 0.0},
    "mst, dense attention": {"sparse_attention": False},
}
BEGUN: dict[str, Any] = {
    "warm_up": 0.1,
    "sparse": 0.2,
    "ultra": 0.05,
    "restored": 0.15,
    "sparse_attention": True,
}
HEAD = ("arm", "seed", "step", "flops", "loss", "density")
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


def text() -> tuple[IntArray, IntArray]:
    """The text to learn, and that kept apart, as numbers of characters."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    numbers = np.full(256, CHARACTERS.index("?"))
    numbers[[ord(character) for character in CHARACTERS]] = np.arange(len(CHARACTERS))
    read = [numbers[np.frombuffer(file.read_bytes(), np.uint8)] for file in files]
    apart = [part for place, part in enumerate(read) if place % 10 == 9]
    return np.concatenate([part for place, part in enumerate(read) if place % 10 != 9]), np.concatenate(apart)


def run(seeds: int) -> None:
    """Do the runs that are missing, and write each as it is done."""
    from learners.gpt import Shape
    from learners.mst import Pretraining, pretrain_model

    learned, apart = text()
    rows = read()
    done = {(row["arm"], str(row["seed"])) for row in rows}
    for seed in range(seeds):
        for arm, settings in ARMS.items():
            if (arm, str(seed)) in done:
                continue
            made = replace(Pretraining(steps=STEPS), **{**BEGUN, **settings})
            with torch_apart():
                curve = pretrain_model(made, Shape(len(CHARACTERS)), learned, apart, seed)
            rows += [{"arm": arm, "seed": seed, **_rounded(asdict(point))} for point in curve]
            write_rows(PATH, HEAD, rows)
            print(*rows[-1].values(), flush=True)


def _rounded(point: dict[str, Any]) -> dict[str, Any]:
    return {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in point.items()}


def read() -> list[dict[str, Any]]:
    """The points of the runs that are done."""
    return list(read_rows(PATH))


def curve(rows: list[dict[str, Any]], arm: str, seed: str) -> FloatArray:
    """FLOPs and losses of a run: (2, points)."""
    own = [row for row in rows if row["arm"] == arm and row["seed"] == seed]
    return np.array([[float(row[name]) for row in own] for name in ("flops", "loss")])


def entropy() -> float:
    """Nats a character of text apart, told how often each comes in the text to learn and nothing else."""
    learned, apart = text()
    shares = np.bincount(learned, minlength=len(CHARACTERS)) / len(learned)
    return float(-np.log(np.maximum(shares[apart], 1e-9)).mean())


def table(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown, an arm a line."""
    lines = [
        "| arm | seeds | last loss, nats a character | worse than dense, % | FLOPs | dense's to that loss |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for arm in dict.fromkeys(row["arm"] for row in rows):
        seeds = sorted({row["seed"] for row in rows if row["arm"] == arm})
        last, ratios, shares, gains = [], [], [], []
        for seed in seeds:
            flops, losses = curve(rows, arm, seed)
            dense_flops, dense_losses = curve(rows, "dense", seed)
            last.append(losses[-1])
            ratios.append(np.log(losses[-1] / dense_losses[-1]))
            shares.append(dense_flops[-1] / flops[-1])
            # Losses rise with the place here; beyond the last of dense's it has not come to that loss.
            reached = np.minimum.accumulate(dense_losses)[::-1]
            gains.append(np.interp(losses[-1], reached, dense_flops[::-1], left=np.inf) / flops[-1])
        worse = [100 * np.expm1(end) for end in between(np.array(ratios))]
        cells = [arm, str(len(seeds)), "{:.3f} [{:.3f}, {:.3f}]".format(*between(np.array(last)))]
        cells += ["{:+.1f} [{:+.1f}, {:+.1f}]".format(*worse), f"1 / {np.median(shares):.2f}"]
        lines.append(f"| {' | '.join(cells)} | {np.median(gains):.2f} times |")
    return "\n".join(lines)


def show() -> None:
    """Print the table, and write it."""
    keep(PATH.with_suffix(".md"), "experiments.mst", table(read()))
    print(f"\nBy how often characters come: {entropy():.3f} nats.")


def draw(path: Path) -> None:
    """Draw loss against FLOPs: means over seeds, with all that they cover."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = read()
    figure, axes = plt.subplots(figsize=(7.5, 4.5))
    for number, arm in enumerate(dict.fromkeys(row["arm"] for row in rows)):
        seeds = sorted({row["seed"] for row in rows if row["arm"] == arm})
        flops, losses = np.array([curve(rows, arm, seed) for seed in seeds]).transpose(1, 0, 2)
        line = "-" if arm in ("dense", "mst") else "--"
        axes.plot(flops.mean(axis=0), losses.mean(axis=0), line, color=f"C{number}", label=arm, linewidth=1.2)
        axes.fill_between(
            flops.mean(axis=0), losses.min(axis=0), losses.max(axis=0), color=f"C{number}", alpha=0.2
        )
    axes.set(xlabel="training FLOPs", ylabel="validation loss, nats a character", xscale="log")
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Run, or show what has been run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--show", action="store_true", help="run nothing, print the table")
    parser.add_argument("--figure", action="store_true", help="run nothing, draw results/sparse/mst.png")
    options = parser.parse_args()
    if options.figure:
        draw(PATH.with_suffix(".png"))
        return
    if not options.show:
        run(options.seeds)
    show()


if __name__ == "__main__":
    main()
