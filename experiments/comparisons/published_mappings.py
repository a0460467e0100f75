"""The best of published random mappings beside the proven optimum, layer by layer and machine by machine.

    python -m experiments.comparisons.published_mappings [CASES.jsonl.gz [CAMPAIGN.toml]]

CASES holds rows of the data set of DOSA, as `dse evaluate --cases` reads them, with what was published. By
default it is `results/gemmini/published.jsonl.gz`: of the 19,117, those of the campaign's problems. Writes
the table beside CASES, as published.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.optimum import certify
from dse.support.case_lines import case_lines
from experiments import keep
from experiments.comparisons.showing import table

CASES, CAMPAIGN = "results/gemmini/published.jsonl.gz", "results/campaigns/gemmini.toml"
SECONDS = 60.0

Key = tuple[str, tuple[tuple[str, int], ...], tuple[int, ...]]


def published(path: str) -> dict[Key, dict[str, Any]]:
    """By machine, sizes and strides: how many rows there are, and the least EDP and cycles of them."""
    found: dict[Key, dict[str, Any]] = {}
    for _, text in case_lines(path):
        row = json.loads(text)
        layer, expected = row["layer"], row["expected"]
        key = (
            row["hardware"]["name"],
            tuple(sorted(layer["dims"].items())),
            tuple(layer.get("stride", (1, 1))),
        )
        best = found.setdefault(key, {"rows": 0, "edp": float("inf"), "latency": float("inf")})
        best["rows"] += 1
        best["edp"] = min(best["edp"], float(expected["edp"]))
        best["latency"] = min(best["latency"], float(expected["cycles"]))
    return found


def main(path: str = CASES, campaign: str = CAMPAIGN) -> None:
    """Print and write a row a problem: its optimum, and the best published mapping over it."""
    known, rows = published(path), []
    for named in load_campaign(campaign, find_layers).problems:
        problem: Any = named.problem
        sizes = tuple(sorted(problem.space.workload.sizes.items()))
        best = known.get((problem.accelerator.name, sizes, problem.layer.stride))
        optimum = certify(problem, SECONDS)
        # Published figures are in cycles, and in joules times cycles.
        cycles = optimum.lower_bound * problem.criteria.hertz
        ratio = f"{best[named.objective] / cycles:.3f}" if best else "-"
        rows.append([named.label, optimum.status, f"{cycles:.6g}", str(best["rows"] if best else 0), ratio])
    shown = table(["problem", "proof", "optimum", "published", "best published over it"], rows)
    keep(Path(path).with_name("published.md"), "experiments.comparisons.published_mappings", shown)


if __name__ == "__main__":
    main(*sys.argv[1:])
