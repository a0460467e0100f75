"""Regret by samples where a machine is the judge: `python -m experiments.judges rtl --seeds 3`.

Runs the arms on the problems of a judge in examples/judges: `calibrated`; the same with an adviser that is
wrong on purpose; `team`; `team` started at the mappings that `loopnest` proves the best; `bayesian`. What
does not fit by the machine's file is no sample of any. Runs go to results/judges/NAME-runs.csv, and those
that are there are not run again. The table, results/judges/NAME.md, compares their best with the least that
anybody has found, the long searches of `experiments.judges.references` too.
"""

from __future__ import annotations

import argparse
import tomllib
import warnings
from typing import Any

import numpy as np

import dse
from dse.domains.clustered.advice import Adviser
from dse.support.arrays import FloatArray
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.judges.references import JUDGES, best, problem

READ = (1, 2, 5, 10, 20, 50)
WORST = 100.0
"""What a run counts that has found nothing feasible, or worse than that."""
CERTIFIED = 3
WRONG, STARTED = "wrong adviser", "team, certified start"
ARMS = ("calibrated", WRONG, "team", STARTED, "bayesian")
COLUMNS = ("problem", "arm", "seed", *map(str, READ))


def run(asked: dse.Problem, arm: str, seed: int) -> list[float]:
    """The best loss after the samples READ of one run."""
    options: dict[str, Any] = {"budget": READ[-1], "seed": seed}
    name = "calibrated" if arm == WRONG else arm.partition(",")[0]
    if arm == WRONG:
        options["settings"] = {"adviser": "experiments.judges.wrong:price"}
    if arm == STARTED:
        points = Adviser(asked.space, "latency", "loopnest").best(CERTIFIED, np.random.default_rng(0))
        designs = asked.space.decode(points)
        options["start"] = [designs[place] for place in range(len(designs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dse.search(asked, name, **options)
    lowest = np.minimum.accumulate(found.record.evaluations().loss)
    return [float(lowest[samples - 1]) for samples in READ]


def regrets(name: str, rows: list[dict[str, str]], hertz: dict[str, float]) -> dict[str, FloatArray]:
    """By arm the ratios to the best known: (problems, seeds, READ)."""
    least = {key: cycles / hertz[key] for key, cycles in best(name).items() if key in hertz}
    for row in rows:
        key, last = row["problem"], float(row[str(READ[-1])])
        least[key] = min(last, least.get(key, last))
    found: dict[str, FloatArray] = {}
    for arm in dict.fromkeys(row["arm"] for row in rows):
        by_problem: dict[str, list[list[float]]] = {}
        for row in rows:
            if row["arm"] == arm:
                ratios = [min(float(row[str(each)]) / least[row["problem"]], WORST) for each in READ]
                by_problem.setdefault(row["problem"], []).append(ratios)
        found[arm] = np.array(list(by_problem.values()))
    return found


def table(found: dict[str, FloatArray]) -> str:
    """Geometric means over problems and seeds by samples, and the worst problem's at the end."""
    lines = [["arm", *map(str, READ), f"worst at {READ[-1]}"], ["---", *["---:"] * (len(READ) + 1)]]
    for arm, ratios in found.items():
        logs = np.log(ratios)
        means, worst = np.exp(logs.mean(axis=(0, 1))), np.exp(logs[:, :, -1].mean(axis=1)).max()
        lines.append([arm, *(f"{mean:.3f}" for mean in means), f"{worst:.3f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("judge")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problems", type=int, default=8)
    given = parser.parse_args()
    campaign = tomllib.loads((JUDGES / given.judge / "campaign.toml").read_text())
    file, hertz = RESULTS / "judges" / f"{given.judge}-runs.csv", {}
    file.parent.mkdir(exist_ok=True)
    for seed in range(given.seeds):
        for number, entry in enumerate(campaign["problems"][: given.problems], 1):
            asked = problem(given.judge, campaign, entry)
            hertz[f"l{number}"] = asked.accelerator.hertz
            for arm in ARMS:
                key = (f"l{number}", arm, str(seed))
                if key not in {tuple(row[each] for each in COLUMNS[:3]) for row in read_rows(file)}:
                    losses = [f"{loss:.9g}" for loss in run(asked, arm, seed)]
                    write_rows(file, COLUMNS, [[*key, *losses]], add=True)
    text = (
        f"{given.seeds} seeds on each of {given.problems} problems of `{given.judge}`: best over best known."
    )
    command = f"experiments.judges {given.judge} --seeds {given.seeds} --problems {given.problems}"
    rows = [row for row in read_rows(file) if row["problem"] in hertz and int(row["seed"]) < given.seeds]
    keep(RESULTS / "judges" / f"{given.judge}.md", command, text, table(regrets(given.judge, rows, hertz)))


if __name__ == "__main__":
    main()
