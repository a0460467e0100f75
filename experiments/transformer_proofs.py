"""How long proofs of a transformer's block take: `python -m experiments.transformer_proofs [FILE]`.

Every distinct product of one block of each network by name, as it is run, on two accelerators, perfect
factors, least EDP under `loopnest`. A row for each network, run and accelerator of FILE, a CSV: the products,
how many are proven in `--limit` seconds for all of them together, and the seconds of wall time that took.
Rows that are there stay: a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from dse.core.clock import Clock
from dse.core.domains import make_problem
from dse.optimum import certify
from experiments import RESULTS, read_rows, write_rows
from workloads import load

PRESETS = ("edge", "tpu-like")
DECODERS = ("llama3-8b", "llama3-70b", "gpt3-175b", "mixtral-8x7b", "deepseek-v2-lite")
ENCODERS = ("bert-large", "vit-b16")
KEYS, BATCHES = (2048, 32768, 131072), (1, 64)
OUTSIDE = ("patches", "lm_head", "head", "pooler")
"""Layers that are of no block."""
HEAD = ("network", "accelerator", "products", "proven", "seconds")


def runs() -> Iterator[str]:
    """The networks as they are run."""
    for batch in BATCHES:
        for name in ENCODERS:
            yield f"{name}@batch={batch}"
        for name in DECODERS:
            yield f"{name}@prefill=2048,batch={batch}"
            for keys in KEYS:
                yield f"{name}@decode=1,kv={keys},batch={batch}"


def proven(network: str, accelerator: str, limit: float) -> tuple[int, int, float]:
    """How many products a block has, how many of them are proven in all the time, and what that took."""
    layers = [layer for layer in load(network).layers if layer.name not in OUTSIDE]
    found, clock = 0, Clock(limit)
    for layer in layers:
        problem = make_problem(layer, accelerator, "edp", "loopnest")
        left = max(limit - clock.seconds, 1e-3)
        found += certify(problem, left, cache=False).status == "optimal"
    return len(layers), found, clock.seconds


def main() -> None:
    """Prove what is not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=RESULTS / "optima" / "transformers.csv")
    parser.add_argument("--limit", type=float, default=60.0)
    given = parser.parse_args()
    done = {(row["network"], row["accelerator"]) for row in read_rows(given.file)}
    for accelerator in PRESETS:
        for network in runs():
            if (network, accelerator) in done:
                continue
            products, found, seconds = proven(network, accelerator, given.limit)
            row = (network, accelerator, products, found, f"{seconds:.1f}")
            write_rows(given.file, HEAD, [row], add=True)
            print(*row, flush=True)


if __name__ == "__main__":
    main()
