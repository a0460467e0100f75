"""The best known mapping of each problem: `python -m experiments.judges.references [JUDGE ...]`.

Long searches, one after another: those whose line is in results/judges/references.csv are not run again, and
one that was stopped asks its judge for nothing twice (JUDGE.sqlite in the same folder has the answers).
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

import dse
from experiments import RESULTS, read_rows, write_rows
from workloads import load_layer

JUDGES = Path("examples") / "judges"
NAMES = ("rtl", "cpu", "scalesim")
SEARCHERS, SEEDS, BUDGET = ("team", "genetic"), (101, 102), 1000
"""Seeds that no comparison uses."""
TABLE = RESULTS / "judges" / "references.csv"
ENUMERATION = "enumeration"
"""In place of a searcher where `experiments.judges.enumeration` has proven the best."""
COLUMNS = ("judge", "problem", "searcher", "seed", "samples", "cycles", "mapping")


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("judges", nargs="*", metavar="JUDGE")
    parser.add_argument("--searchers", nargs="+", default=SEARCHERS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--budget", type=int, default=BUDGET)
    given = parser.parse_args()
    TABLE.parent.mkdir(exist_ok=True)
    for name in given.judges or NAMES:
        campaign = tomllib.loads((JUDGES / name / "campaign.toml").read_text())
        for number, entry in enumerate(campaign["problems"], 1):
            for searcher in given.searchers:
                for seed in given.seeds:
                    key = (name, f"l{number}", searcher, str(seed))
                    if key not in {tuple(row[column] for column in COLUMNS[:4]) for row in read_rows(TABLE)}:
                        found = searched(problem(name, campaign, entry), searcher, seed, given.budget)
                        write_rows(TABLE, COLUMNS, [[*key, *found]], add=True)


def problem(name: str, campaign: dict[str, Any], entry: dict[str, str]) -> dse.Problem:
    """A problem of a judge's campaign, its answers kept."""
    folder, kept = JUDGES / name, f"{TABLE.parent / name}.sqlite"
    model = campaign["cost_model"].removesuffix(")") + f", cache='{kept}', misfits='free')"
    return dse.Problem(
        load_layer(str(folder / entry["layer"])),
        dse.load_accelerator(str(folder / entry["accelerator"])),
        entry["objective"],
        cost_model=model,
        fixed=campaign.get("fixed", {}),
    )


def searched(asked: dse.Problem, searcher: str, seed: int, budget: int) -> tuple[int, int, str]:
    """Samples, and the least cycles and their mapping, of one long search."""
    found = dse.search(asked, searcher, budget=budget, seed=seed)
    assert found.best is not None
    return budget, found.best.cycles, found.best.mapping.to_json()


def best(name: str) -> dict[str, int]:
    """The least cycles known of each problem of a judge."""
    found: dict[str, int] = {}
    for row in read_rows(TABLE):
        if row["judge"] == name:
            found[row["problem"]] = min(int(row["cycles"]), found.get(row["problem"], int(row["cycles"])))
    return found


def proven(name: str) -> set[str]:
    """The problems of a judge whose best mapping is proven."""
    return {
        row["problem"] for row in read_rows(TABLE) if (row["judge"], row["searcher"]) == (name, ENUMERATION)
    }


def searches(name: str) -> dict[str, str]:
    """How many long searches there are of each problem of a judge, and their samples."""
    samples: dict[str, list[int]] = {}
    for row in read_rows(TABLE):
        if row["judge"] == name and row["searcher"] != ENUMERATION:
            samples.setdefault(row["problem"], []).append(int(row["samples"]))
    return {key: f"{len(each)} of {sum(each):,}" for key, each in samples.items()}


if __name__ == "__main__":
    main()
