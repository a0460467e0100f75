"""Regret by samples where a machine is the judge: `python -m experiments.judges rtl --seeds 3`.

Runs the arms on the problems of a judge in examples/judges: `calibrated`; the same with an adviser that is
wrong on purpose; `team`; `team` started at the mappings that `loopnest` proves the best; `team` without its
expectations; `bayesian`. What does not fit by the machine's file is no sample of any. Runs go to
results/judges/NAME-runs.csv, and those that are there are not run again. The table, results/judges/NAME.md,
compares their best with the least that anybody has found, the long searches of
`experiments.judges.references` too, or with the proven best of `experiments.judges.enumeration`.
"""

from __future__ import annotations

import argparse
import shlex
import tomllib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import dse
from dse.analysis.stats.comparing import holm_corrected, order_of, signed_rank_p
from dse.domains.clustered.advice import Adviser
from dse.support.arrays import FloatArray
from dse.support.quantities import counted_noun
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.judges.references import JUDGES, best, problem, proven, searches

READ = (1, 2, 5, 10, 20, 50)
GOALS = {5: 1.15, 10: 1.05, 20: 1.02, 50: 1.01}
"""What `calibrated` is to reach after so many samples."""
WORST = 100.0
"""What a run counts that has found nothing feasible, or worse than that."""
CERTIFIED = 3
MINE, WRONG, TEAM = "calibrated", "wrong adviser", "team"
STARTED, UNTAUGHT = "team, certified start", "team, no expectations"
TESTED = (10, 20)
ARMS = (MINE, WRONG, TEAM, STARTED, UNTAUGHT, "bayesian")
PAIRS = (
    f"`{MINE}` beside the others: geometric means of ratios, those below 1 for it; pairs, of one\n"
    "problem and seed, in which it is lower and higher; p values by Wilcoxon's test, corrected together\n"
    "by Holm. The last column is the worst problem's ratio at the end, a mean of its seeds."
)
COLUMNS = ("problem", "arm", "seed", *map(str, READ))


def run(asked: dse.Problem, arm: str, seed: int) -> list[float]:
    """The best loss after the samples READ of one run."""
    options: dict[str, Any] = {"budget": READ[-1], "seed": seed}
    name = MINE if arm == WRONG else arm.partition(",")[0]
    if arm == WRONG:
        options["settings"] = {"adviser": "experiments.judges.wrong:price"}
    if arm == UNTAUGHT:
        options["settings"] = {"expert_prior": False}
    if arm == STARTED:
        points = Adviser(asked.space, "latency", "loopnest").best(CERTIFIED, np.random.default_rng(0))
        designs = asked.space.decode(points)
        options["start"] = [designs[place] for place in range(len(designs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dse.search(asked, name, **options)
    lowest = np.minimum.accumulate(found.record.evaluations().loss)
    return [float(lowest[samples - 1]) for samples in READ]


def regrets(
    name: str, rows: list[dict[str, str]], hertz: dict[str, float], arms: Sequence[str]
) -> dict[str, FloatArray]:
    """By arm the ratios to the best known: (problems, seeds, READ)."""
    least = {key: cycles / hertz[key] for key, cycles in best(name).items() if key in hertz}
    for row in rows:
        key, last = row["problem"], float(row[str(READ[-1])])
        least[key] = min(last, least.get(key, last))
    found: dict[str, FloatArray] = {}
    rows = sorted(rows, key=lambda row: (row["problem"], int(row["seed"])))
    for arm in arms:
        runs: dict[str, list[list[float]]] = {}
        for row in rows:
            if row["arm"] == arm:
                ratios = [min(float(row[str(each)]) / least[row["problem"]], WORST) for each in READ]
                runs.setdefault(row["problem"], []).append(ratios)
        found[arm] = np.array(list(runs.values()))
    return found


def table(found: dict[str, FloatArray]) -> str:
    """Geometric means over problems and seeds by samples, and the worst problem's at the end."""
    lines = [["arm", *map(str, READ), f"worst at {READ[-1]}"], ["---", *["---:"] * (len(READ) + 1)]]
    for arm, ratios in found.items():
        logs = np.log(ratios)
        means, worst = np.exp(logs.mean(axis=(0, 1))), np.exp(logs[:, :, -1].mean(axis=1)).max()
        lines.append([arm, *(f"{mean:.3f}" for mean in means), f"{worst:.3f}"])
    lines.append([f"aim of {MINE}", *(str(GOALS.get(samples, "")) for samples in READ), ""])
    return in_rows(lines)


def by_problem(ratios: FloatArray) -> str:
    """The calibrated search's means over seeds, a row a problem."""
    lines = [[f"{MINE} on", *map(str, READ)], ["---", *["---:"] * len(READ)]]
    for number, means in enumerate(np.exp(np.log(ratios).mean(axis=1)), 1):
        lines.append([f"l{number}", *(f"{mean:.3f}" for mean in means)])
    return in_rows(lines)


def beside(found: dict[str, FloatArray]) -> str:
    """The calibrated search beside each other arm, and with a wrong adviser beside the team."""
    heads = [f"{what} at {samples}" for samples in TESTED for what in ("ratio", "lower, higher", "p")]
    lines = [["beside", *heads, f"worst at {READ[-1]}"], ["---", *["---:"] * (len(heads) + 1)]]
    pairs = {arm: (found[MINE], found[arm]) for arm in found if arm not in (MINE, WRONG)}
    if WRONG in found and TEAM in found:
        pairs[f"{WRONG} beside {TEAM}"] = (found[WRONG], found[TEAM])
    tests = [compared(*pair, READ.index(samples)) for pair in pairs.values() for samples in TESTED]
    corrected = iter(holm_corrected([test[-1] for test in tests]))
    for place, (label, (mine, theirs)) in enumerate(pairs.items()):
        cells = []
        for ratio, lower, higher, _ in tests[len(TESTED) * place :][: len(TESTED)]:
            cells += [f"{ratio:.3f}", f"{lower}, {higher}", f"{next(corrected):.2g}"]
        each = np.exp((np.log(mine) - np.log(theirs))[:, :, -1].mean(axis=1))
        lines.append([label, *cells, f"{each.max():.3f}"])
    return in_rows(lines)


def compared(mine: FloatArray, theirs: FloatArray, at: int) -> tuple[float, int, int, float]:
    """My ratio to theirs, how many pairs are lower and higher, and the p value."""
    mine, theirs = mine[:, :, at].ravel(), theirs[:, :, at].ravel()
    order, logs = order_of(mine, theirs), np.log(mine) - np.log(theirs)
    p = signed_rank_p(order, np.abs(logs))
    return float(np.exp(logs.mean())), int((order < 0).sum()), int((order > 0).sum()), p


def in_rows(lines: list[list[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def known(name: str, problems: set[str]) -> str:
    """What the ratios are to, in words."""
    if problems <= proven(name):
        command = "`python -m experiments.judges.enumeration`"
        return f"the\nbest mapping, proven by [enumeration](references.csv): {command}"
    text = "best\nknown, the least of these runs and of [long searches](references.csv)"
    of = [f"{key}: {count}" for key, count in searches(name).items() if key in problems]
    if not of:
        return text + ", of\nwhich there are none: true ratios may be higher"
    return f"{text}. Of these there are, by\nproblem, with their samples in all:\n{', '.join(of)}"


def main() -> None:
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("judge")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problems", type=int, default=8)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    given = parser.parse_args()
    campaign = tomllib.loads((JUDGES / given.judge / "campaign.toml").read_text())
    file, hertz = RESULTS / "judges" / f"{given.judge}-runs.csv", {}
    file.parent.mkdir(exist_ok=True)
    for seed in range(given.seeds):
        for number, entry in enumerate(campaign["problems"][: given.problems], 1):
            asked = problem(given.judge, campaign, entry)
            hertz[f"l{number}"] = asked.accelerator.hertz
            for arm in given.arms:
                key = (f"l{number}", arm, str(seed))
                if key not in {tuple(row[each] for each in COLUMNS[:3]) for row in read_rows(file)}:
                    losses = [f"{loss:.9g}" for loss in run(asked, arm, seed)]
                    write_rows(file, COLUMNS, [[*key, *losses]], add=True)
    rows = [row for row in read_rows(file) if row["problem"] in hertz and int(row["seed"]) < given.seeds]
    found = regrets(given.judge, rows, hertz, given.arms)
    about = f"{counted_noun(given.seeds, 'seed')} on each of {given.problems} problems of `{given.judge}`: "
    about += f"best over {known(given.judge, set(hertz))}."
    command = f"experiments.judges {given.judge} --seeds {given.seeds} --problems {given.problems}"
    if given.arms != ARMS:
        command += f" --arms {shlex.join(given.arms)}"
    told = (table(found), by_problem(found[MINE]), PAIRS, beside(found))
    keep(RESULTS / "judges" / f"{given.judge}.md", command, about, *told)


if __name__ == "__main__":
    main()
