"""What is known of other layers helps with: `python -m experiments.transfer [--seeds 10]`.

Best loss over the proven optimum after 1, 5, 20 and 50 samples on the twelve problems of heldout12 under
`loopnest`, geometric means over problems and seeds, with Student's intervals over problems; a ratio above 12
counts for 12, and so does a run without a feasible mapping. Then the ratio of one arm to another, paired by
problem. `generative`, its transformer
trained dense and by mixed sparsity, and its control, copies of the nearest layer's best; `gradient` with what
other layers taught it, and by the equations of the cost model; beside them what knows no other layer:
`random`, `local`, `team`, and `local` begun at the templates. Writes results/sparse/transfer.csv and .md.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dse.campaign.config import Campaign
from dse.campaign.reading import load_campaign
from dse.campaign.reference import optimum_figures
from dse.search.run import Cell, run_cell
from dse.search.searcher import make_searcher
from dse.search.start import start_points
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.intervals import mean_of
from workloads import load_layer

PATH = RESULTS / "sparse" / "transfer.csv"
SAMPLES = (1, 5, 20, 50)
WORST = 12.0
ARMS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "generative": ("generative", {}, None),
    "generative, MST": ("generative", {"source": "sparse"}, None),
    "nearest": ("generative", {"source": "nearest"}, None),
    "gradient, offline": ("gradient", {"offline": True}, None),
    "gradient, relaxation": ("gradient", {"form": "relaxation"}, None),
    "random": ("random", {}, None),
    "local": ("local", {}, None),
    "local from templates": ("local", {}, "templates"),
    "team": ("team", {}, None),
}
PAIRS = (
    ("generative", "nearest"),
    ("generative, MST", "generative"),
    ("generative", "local from templates"),
    ("nearest", "local from templates"),
    ("team", "local from templates"),
)
"""Arms that are compared, the first with the second."""


def held_out() -> Campaign:
    """The problems."""
    path = RESULTS / "campaigns" / "heldout12-loopnest.toml"
    return load_campaign(str(path), lambda name: {name: load_layer(name)})


def run(arms: list[str], seeds: int) -> None:
    """Run the arms, and write them beside those that are there."""
    campaign = held_out()
    proven = optimum_figures(campaign)
    rows = [row for row in read() if row["arm"] not in arms]
    for arm in arms:
        name, settings, begin = ARMS[arm]
        for listed in campaign.problems:
            points = start_points(listed.problem, begin) if begin else ()
            for seed in range(seeds):
                cell = Cell(listed.problem, name, make_searcher(name, settings), seed, SAMPLES[-1], points)
                best = np.minimum.accumulate(run_cell(cell).evaluations().loss) / proven[listed.label]["loss"]
                ratios = {str(count): f"{min(best[count - 1], WORST):.5g}" for count in SAMPLES}
                rows.append({"arm": arm, "problem": listed.label, "seed": seed, **ratios})
        write_rows(PATH, ("arm", "problem", "seed", *map(str, SAMPLES)), rows)


def read() -> list[dict[str, Any]]:
    """The runs that are done."""
    return list(read_rows(PATH))


def logs(rows: list[dict[str, Any]], arm: str, count: int) -> dict[str, float]:
    """By problem, the mean logarithm of an arm's ratio after so many samples."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["arm"] == arm:
            found.setdefault(row["problem"], []).append(float(row[str(count)]))
    return {problem: float(np.log(ratios).mean()) for problem, ratios in found.items()}


def paired(rows: list[dict[str, Any]]) -> str:
    """The ratio of an arm to another, below 1 where the first is nearer to the optimum."""
    lines = [f"| paired by problem | {' | '.join(map(str, SAMPLES))} |", "|---|" + "---:|" * len(SAMPLES)]
    arms = {row["arm"] for row in rows}
    for one, other in PAIRS:
        if {one, other} <= arms:
            cells = []
            for count in SAMPLES:
                theirs = logs(rows, other, count)
                pairs = (ours - theirs[problem] for problem, ours in logs(rows, one, count).items())
                cells.append(mean_of(pairs).exp().shown())
            lines.append(f"| {one} / {other} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """What each arm comes to."""
    lines = [f"| arm | seeds | {' | '.join(map(str, SAMPLES))} |", "|---|---:|" + "---:|" * len(SAMPLES)]
    for arm in [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]:
        own = [row for row in rows if row["arm"] == arm]
        cells = [mean_of(logs(rows, arm, count).values()).exp().shown() for count in SAMPLES]
        lines.append(f"| {arm} | {len({row['seed'] for row in own})} | {' | '.join(cells)} |")
    return "\n".join(lines)


def show() -> None:
    """Print the tables, and write them."""
    rows = read()
    keep(PATH.with_suffix(".md"), "experiments.transfer", table(rows), paired(rows))


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("arms", nargs="*", help="which; all if not given")
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--show", action="store_true", help="run nothing, print the table")
    options = parser.parse_args()
    unknown = set(options.arms) - set(ARMS)
    if unknown:
        parser.error(f"no such arm: {', '.join(sorted(unknown))}; there are {', '.join(ARMS)}")
    if not options.show:
        run(options.arms or list(ARMS), options.seeds)
    show()


if __name__ == "__main__":
    main()
