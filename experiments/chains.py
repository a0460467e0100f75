"""What chains gain over layers, by network and size of the buffer: `python -m experiments.chains [FOLDER]`.

Least energy of the chains of each network (of a transformer its blocks, without the vocabulary's product) on
examples/systolic.toml with buffers of several sizes, against the least where nothing stays on chip; and that
where whole intermediates stay but no tiles are shared. A row of chains.csv for each network and size, proven
in `--limit` seconds for all of it; rows that are there stay. Then chains.md and chains.png. With
`--line-buffers` line_buffers.csv instead: what these gain besides, of networks of convolutions.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

from dse.core.certificate import Certificate
from dse.core.clock import Clock
from dse.core.cost_models import cost_model
from dse.core.domains import domain_of, make_problem
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.core.residence import residence_of
from dse.optimum import certify
from dse.optimum.chains.solve import certify_chains
from dse.optimum.chains.tilings import is_product
from dse.support.toml import read_toml
from experiments import RESULTS
from workloads import load

MODEL, CHIP = "timeloop", "examples/systolic.toml"
NETWORKS = (
    "llama3-8b@prefill=2048",
    "llama3-8b@decode=1,kv=2048",
    "gpt3-175b@prefill=2048",
    "gpt3-175b@decode=1,kv=2048",
    "mobilenet_v2",
    "bert_base",
    "mlp",
)
SIZES = (4, 1, 16, 0.25, 64, 0.5)
"""Of the buffer, in MiB, in the order in which they are run."""
HEAD = (
    "network",
    "mib",
    "status",
    "gap",
    "energy",
    "latency",
    "whole",
    "layers",
    "stays",
    "proofs",
    "seconds",
)
LINES_NETWORKS, LINES_SIZES = ("mobilenet_v2", "resnet18", "vgg16"), (0.25, 1, 4)
LINES_HEAD = ("network", "mib", "status", "gap", "energy", "without", "line_buffers", "cpu_seconds")


def chip(mib: float) -> Any:
    """The chip with a buffer of another size; the energy of an access goes with it."""
    data = read_toml(CHIP, CHIP)
    data["levels"][1]["size_bytes"] = int(mib * 2**20)
    return domain_of(MODEL).hardware_from_dict(data)


def row_of(name: str, mib: float, limit: float) -> dict[str, Any]:
    """The gains of one network on the chip with a buffer of one size."""
    hardware, residence, clock = chip(mib), residence_of(cost_model(MODEL)), Clock(limit)
    assert residence is not None

    def make(layer: Layer) -> AnyProblem:
        return make_problem(replace(layer), hardware, "energy", MODEL)

    known: dict[str, Certificate] = {}

    def prove(problem: AnyProblem) -> Certificate:
        if problem.fingerprint not in known:
            left = max(limit - clock.seconds, 1e-2)
            known[problem.fingerprint] = certify(problem, left, cache=False)
        return known[problem.fingerprint]

    network = load(name)
    proof = certify_chains(network.chains, make, residence, prove, over=lambda: clock.over)
    seconds = clock.seconds
    whole = certify_chains(network.chains, make, residence, prove, most=1, over=lambda: clock.over)
    found = proof.to_dict()
    assert proof.best is not None
    assert whole.best is not None
    shared = [layer.name for one in proof.best.shared for layer in one.group.layers[:-1]]
    return {
        "network": name,
        "mib": f"{mib:g}",
        "status": proof.status,
        "gap": f"{proof.gap or 0:.2g}",
        "energy": f"{found['gain']['energy']:.4f}",
        "latency": f"{found['gain']['latency']:.4f}",
        "whole": f"{whole.to_dict()['gain']['energy']:.4f}",
        "layers": sum(len(chain.layers) for chain in network.chains),
        "stays": len(proof.best.staying) + len(shared),
        "proofs": found["proofs"],
        "seconds": f"{seconds:.1f}",
    }


def row_of_lines(name: str, mib: float, limit: float) -> dict[str, Any]:
    """The gains of one network with line buffers and without; seconds are of computing."""
    hardware, residence, clock = chip(mib), residence_of(cost_model(MODEL)), Clock(limit)
    assert residence is not None
    known: dict[str, Certificate] = {}

    def make(layer: Layer) -> AnyProblem:
        return make_problem(replace(layer), hardware, "energy", MODEL)

    def prove(problem: AnyProblem) -> Certificate:
        if problem.fingerprint not in known:
            known[problem.fingerprint] = certify(problem, max(limit - clock.seconds, 1e-2), cache=False)
        return known[problem.fingerprint]

    chains, began = load(name).chains, process_time()
    found = certify_chains(chains, make, residence, prove, lines=True, over=lambda: clock.over)
    seconds = process_time() - began
    without = certify_chains(chains, make, residence, prove, over=lambda: clock.over)
    assert found.best is not None
    pairs = [one for one in found.best.shared if not all(map(is_product, one.group.layers))]
    return {
        "network": name,
        "mib": f"{mib:g}",
        "status": found.status,
        "gap": f"{found.gap or 0:.2g}",
        "energy": f"{found.to_dict()['gain']['energy']:.4f}",
        "without": f"{without.to_dict()['gain']['energy']:.4f}",
        "line_buffers": len(pairs),
        "cpu_seconds": f"{seconds:.1f}",
    }


def add_lines(path: Path, limit: float) -> None:
    """Rows of line buffers that are not there yet."""
    done = {(row["network"], float(row["mib"])) for row in read(path, LINES_HEAD)}
    for name, size in product(LINES_NETWORKS, LINES_SIZES):
        if (name, size) not in done:
            found = row_of_lines(name, size, limit)
            with path.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, LINES_HEAD, lineterminator="\n").writerow(found)
            print(*found.values(), flush=True)


def read(path: Path, head: Sequence[str] = HEAD) -> list[dict[str, str]]:
    """The rows that there are."""
    if not path.exists():
        path.write_text(",".join(head) + "\n", encoding="utf-8")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(rows: Sequence[dict[str, str]]) -> str:
    """The gains of energy (and of latency) by network and size."""
    sizes = sorted({float(row["mib"]) for row in rows})
    lines = [
        "Least energy layer by layer over that of chains, proven, and in brackets how many times less time",
        "they take at their least; on `examples/systolic.toml` with a buffer of so many MiB; of transformers",
        "without the vocabulary's product. By `python -m experiments.chains`.",
        "",
        "| network | " + " | ".join(f"{size:g} MiB" for size in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for name in NETWORKS:
        cells = []
        for size in sizes:
            here = [row for row in rows if row["network"] == name and float(row["mib"]) == size]
            cells.append(
                " ".join(f"{float(row['energy']):.3f} ({float(row['latency']):.3f})" for row in here)
            )
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(rows: Sequence[dict[str, str]], path: Path) -> None:
    """A curve a network: how many times less energy, by the size of the buffer."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    for name in NETWORKS:
        mine = sorted((float(row["mib"]), float(row["energy"])) for row in rows if row["network"] == name)
        if mine:
            axes.plot(*zip(*mine, strict=True), marker="o", label=name)
    axes.set_xscale("log", base=4)
    ticks = sorted({float(row["mib"]) for row in rows})
    axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
    axes.set_xlabel("buffer, MiB")
    axes.set_ylabel("energy layer by layer / energy of chains")
    axes.axhline(1.0, color="grey", linewidth=0.8)
    figure.legend(fontsize="small", loc="outside upper center", ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    """Prove what is not in the table yet, and write it all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS / "optima")
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--line-buffers", action="store_true")
    given = parser.parse_args()
    if given.line_buffers:
        add_lines(given.folder / "line_buffers.csv", given.limit)
        return
    path = given.folder / "chains.csv"
    done = {(row["network"], float(row["mib"])) for row in read(path)}
    for size in SIZES:
        for name in NETWORKS:
            if (name, size) in done:
                continue
            found = row_of(name, size, given.limit)
            with path.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, HEAD, lineterminator="\n").writerow(found)
            print(*found.values(), flush=True)
    rows = read(path)
    (given.folder / "chains.md").write_text(table(rows), encoding="utf-8")
    draw(rows, given.folder / "chains.png")


if __name__ == "__main__":
    main()
