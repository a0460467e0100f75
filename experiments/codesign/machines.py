"""The best machine of a space for a network, with the gap that is left: a row for each of RUNS.

    python -m experiments.codesign.machines [NAME...]

writes results/codesign/NAME.json, and the table of all that are there. CPU seconds are of all processes.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import dataclass
from typing import Any

from dse.domains.codesign.reading import read_space
from dse.optimum.codesign import codesign
from dse.support.files import write_json
from experiments import RESULTS, keep
from experiments.comparisons.showing import table
from workloads import load

FOLDER = RESULTS / "codesign"
WORKERS = 2


@dataclass(frozen=True)
class Run:
    """A network, a space of hardware, and how long there is."""

    network: str
    space: str
    objective: str = "edp"
    area: float | None = None
    minutes: float = 30.0


DOSA = ("bert", "resnet50", "retinanet", "unet")
RUNS = {
    **{
        f"{space}-{network}": Run(
            f"experiments/codesign/dosa/{network}.toml", f"experiments/codesign/{space}.toml"
        )
        for space in ("dosa", "dosa-whole-kb")
        for network in DOSA
    },
    **{
        f"chips-{network}-{objective}-{area:g}": Run(
            network, "experiments/codesign/chips.toml", objective, area
        )
        for area in (0.2, 7.0)
        for network in ("mobilenet_v2", "resnet50")
        for objective in ("latency", "edp")
    },
}


def cpu_seconds() -> float:
    """Of this process, and of those that it has waited for."""
    both = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(of.ru_utime + of.ru_stime for of in both)


def run(name: str) -> dict[str, Any]:
    """One of RUNS, from no proofs on."""
    what, begun = RUNS[name], cpu_seconds()
    limits = {} if what.area is None else {"area_mm2": what.area}
    found = codesign(
        load(what.network),
        read_space(what.space, limits=limits),
        what.objective,
        time_limit=what.minutes * 60,
        workers=WORKERS,
        cache=False,
    )
    return {**found.to_dict(), "area_limit": what.area, "cpu_seconds": cpu_seconds() - begun}


def row(entry: dict[str, Any]) -> list[str]:
    """A run in a line of the table."""
    best, limit = entry["best"], entry["area_limit"]
    machine = ", ".join(f"{value:,g}" for value in best["parameters"].values())
    return [
        entry["network"],
        f"{entry['space']}, {entry['machines']:,}" + (f", {limit:g} mm2" if limit else ""),
        entry["objective"],
        machine,
        f"{best['value']:.6g}",
        f"{entry['gap']:.3%}" if entry["gap"] else "0",
        f"{entry['boxes']:,}",
        f"{entry['proofs']:,}",
        f"{entry['cpu_seconds']:,.0f}",
        f"{entry['seconds']:,.0f}",
    ]


def main(names: list[str]) -> None:
    """Run what is asked for, all by default, and write the table."""
    for name in names or [*RUNS]:
        write_json(FOLDER / f"{name}.json", run(name))
    entries = [
        json.loads((FOLDER / f"{name}.json").read_text())
        for name in RUNS
        if (FOLDER / f"{name}.json").exists()
    ]
    heads = ["network", "machines", "objective", "best", "value", "gap", "boxes", "proofs", "CPU s", "s"]
    rows = [row(entry) for entry in entries]
    keep(FOLDER / "machines.md", "experiments.codesign.machines", table(heads, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
