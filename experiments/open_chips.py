"""How many layers are proven on chips of open loops and spreads: `python -m experiments.open_chips [FILE]`.

Two published machines and eight drawn ones of three to five levels, on which every level loops over all dims
and spreads any, with twenty layers of four networks. A row for each chip and layer of FILE, a CSV: how the
proof ended after `--limit` seconds of CPU time, its gap, and the seconds, which on several cores pass faster.
Pairs are gone through in a drawn order, from `--start K` on every `--take N`th. Rows that are there stay: a
run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dse.core.clock import Clock
from dse.core.layer import Layer
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.presets import load_machine
from dse.models.timeloop.proof.search import solve, warm
from experiments import RESULTS, read_rows, write_rows
from workloads import load_layer

SEED, DRAWN = 32, 8
PUBLISHED = ("simba_like", "eyeriss_like")
NAMED = (
    *(f"resnet50:{place}" for place in (0, 2, 4, 8, 12, 18, 20)),
    *(f"mobilenet_v2:{place}" for place in (0, 3, 6, 12, 20)),
)
GEMMS = {
    "bert:query": (512, 768, 768),
    "bert:scores": (512, 64, 512),
    "bert:context": (512, 512, 64),
    "bert:up": (512, 768, 3072),
    "llama3-8b:query": (2048, 4096, 4096),
    "llama3-8b:key": (2048, 4096, 1024),
    "llama3-8b:up": (2048, 4096, 14336),
    "llama3-8b:decode": (1, 4096, 4096),
}
"""M, K and N of the products of BERT-base at 512 tokens and of Llama-3-8B at 2,048, and at one."""
HEAD = ("chip", "layer", "objective", "status", "gap", "seconds")


def chips() -> Iterator[tuple[str, Machine]]:
    """The machines by name."""
    for name in PUBLISHED:
        yield name, load_machine(name)
    rng = np.random.default_rng(SEED)
    for number in range(DRAWN):
        name = f"open-{number}"
        yield name, drawn(rng, name)


def drawn(rng: np.random.Generator, name: str) -> Machine:
    """A machine of three to five levels, each smaller and cheaper than the one outside of it."""
    inner = int(rng.integers(2, 5))
    sizes = np.sort(rng.choice([32, 64, 512, 2048, 16384, 131072, 524288], inner, replace=False))[::-1]
    fan_outs = rng.permutation(
        [1] * (inner - 2) + [int(rng.choice([8, 14, 16])), int(rng.choice([8, 12, 16]))]
    )
    levels = [
        Level(
            "DRAM", keeps=TENSORS, bandwidth=Bandwidth(shared=float(rng.choice([4, 8, 16]))), block=64,
            energy=Energy.of_any(6400.0),
        )
    ]  # fmt: skip
    for place, (size, fan_out) in enumerate(zip(sizes.tolist(), fan_outs.tolist(), strict=True)):
        levels.append(
            Level(
                f"L{place + 1}", capacity=size, fan_out=fan_out, keeps=TENSORS,
                bandwidth=Bandwidth(shared=float(rng.choice([16, 32, 64]))),
                energy=Energy.of_any(round(0.02 * size**0.5, 3)),
            )
        )  # fmt: skip
    return Machine(name, tuple(levels), 0.5)


def layers() -> Iterator[tuple[str, Layer]]:
    """The layers by name."""
    for name in NAMED:
        yield name, load_layer(name)
    for name, sizes in GEMMS.items():
        yield name, Layer.gemm(*sizes)


def main() -> None:
    """Prove what is not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=RESULTS / "optima" / "open-chips.csv")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--take", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--objective", default="edp")
    given = parser.parse_args()
    done = {(row["chip"], row["layer"], row["objective"]) for row in read_rows(given.file)}
    warm()
    pairs = [(chip, layer) for layer in layers() for chip in chips()]
    mixed = [pairs[place] for place in np.random.default_rng(SEED).permutation(len(pairs))]
    for (chip, machine), (name, layer) in mixed[given.start :: given.take]:
        if (chip, name, given.objective) in done:
            continue
        problem = MachineProblem(layer, machine, given.objective, "timeloop")
        found = solve(problem, Clock(given.limit, time.process_time))
        row = (chip, name, given.objective, found.status, f"{found.gap:.4f}", f"{found.seconds:.1f}")
        write_rows(given.file, HEAD, [row], add=True)
        print(*row, flush=True)


if __name__ == "__main__":
    main()
