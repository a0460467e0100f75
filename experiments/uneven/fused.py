"""What AccelForge's fused figures are beside chains of products whose tensors stay in the global buffer.

`results/uneven/fused.json` has the 16 figures of its regression tests that were made with fusion, without
leakage. Of two or three products in a row, what one makes and the next reads stays there whole: each product
is proven with what it holds, over even nests, and the sum is the chain's. Rows of `results/uneven/fused.csv`
stay when this is called again; `results/uneven/fused.md` has the table. Of GPT-3 there is no sum: a softmax,
which is no layer, is fused with the products of heads before and behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dse.domains.levels.machine import Machine
from dse.models.timeloop.proof.search import warm
from experiments import keep, read_rows, write_rows
from experiments.uneven.regression import FOLDER, ROUNDED, energy_of, machines_of, proven, words_of

HOME = "GlobalBuffer"
CHAINS = {"matmuls": ("O", "I"), "three_matmuls_annotated": ("O", "IO", "I")}
"""What each product of a workload holds."""
HEAD = ("machine", "workload", "unfused", "fused", "pj")


def holding(machine: Machine, tensors: str, words: int) -> Machine:
    """The machine whose global buffer holds tensors of so many words each."""
    levels = [
        replace(level, holds=tuple(tensors), capacity=(level.capacity or 0) - words * len(tensors))
        if level.name == HOME
        else level
        for level in machine.levels
    ]
    return replace(machine, levels=tuple(levels))


def least(figure: Mapping[str, Any], data: Mapping[str, Any], tensors: str, limit: float) -> float:
    """The least energy of a product that holds these, in pJ, counted as published."""
    found = []
    for machine in machines_of(figure["machine"], data, figure["bits"]):
        there = holding(machine, tensors, figure["M"] * figure["N"])
        proof = proven(figure, there, "even", limit)
        if proof.best is not None:
            assert proof.status == "optimal"
            words = words_of(proof.best.mapping, figure, there, "even")
            found.append(energy_of(words, there, figure["M"] * figure["N"] * figure["K"]))
    return min(found)


def chain(machine: str, workload: str, limit: float) -> float:
    """The energy of a chain of products of the same size, in pJ."""
    data = json.loads((FOLDER / "regression.json").read_text())
    figure = next(one for one in data["figures"] if (one["machine"], one["workload"]) == (machine, workload))
    return sum(least(figure, data["machines"][machine], held, limit) for held in CHAINS[workload])


def asked(limit: float) -> Iterator[tuple[object, ...]]:
    """The rows that are not there yet; without a sum where none is had, or fusion brings them nothing."""
    done = {(row["machine"], row["workload"]) for row in read_rows(FOLDER / "fused.csv")}
    warm()
    for figure in json.loads((FOLDER / "fused.json").read_text())["figures"]:
        machine, workload = figure["machine"], figure["workload"]
        if (machine, workload) not in done:
            gains = figure["fused"] < figure["unfused"] * (1 - ROUNDED)
            ours = f"{chain(machine, workload, limit):.10g}" if gains and workload in CHAINS else ""
            yield machine, workload, f"{figure['unfused']:.10g}", f"{figure['fused']:.10g}", ours


def table() -> str:
    """A line a figure: what fusion saves there, and the chain beside it."""
    lines = ["| machine | workload | pJ, fused | fused / unfused | here / it |", "|---|---|---|---|---|"]
    count = above = same = 0
    for row in read_rows(FOLDER / "fused.csv"):
        fused, unfused = float(row["fused"]), float(row["unfused"])
        idle = fused >= unfused * (1 - ROUNDED)
        same += idle
        ours = "fusion saves nothing" if idle else "no sum: a softmax is fused"
        ours = f"{float(row['pj']) / fused:.4f}" if row["pj"] else ours
        count += bool(row["pj"])
        above += bool(row["pj"]) and float(row["pj"]) > fused * (1 + ROUNDED)
        lines.append(
            f"| {row['machine']} | {row['workload']} | {fused:.6g} | {fused / unfused:.4f} | {ours} |"
        )
    told = (
        f"Of {count} chains of products {above} are above AccelForge's; in {same} figures fusion saves\n"
        "nothing. The rest are GPT-3, where a softmax, which is no layer here, is fused with products."
    )
    return "\n".join([*lines, "", told])


def write(limit: float) -> None:
    """Prove what is not in the file yet, and write the table."""
    for row in asked(limit):
        write_rows(FOLDER / "fused.csv", HEAD, [row], add=True)
        print(*row, flush=True)
    keep(FOLDER / "fused.md", "experiments.uneven", table())
