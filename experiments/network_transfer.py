"""What a network's other layers help with: `python -m experiments.network_transfer small [--seeds 3]`.

For each problem up to three other layers of its network are searched first, on its machine, by `team` with
100 samples each; then `transfer`, taught by these, and `team` have 50 samples for the problem itself. `small`
are the problems of small-loopnest.toml and small-maestro.toml, for reports; `dev` are layers of the
development networks on drawn machines, for tuning. Prints best loss over the best known (of `dev`: over the
proven optimum) after 1, 5, 20 and 50 samples: the geometric mean over problems of the median over seeds, with
Student's interval over problems, and the worst problem; then the ratio of both, paired by problem. `small`
writes results/transfer/small.csv, a line a run, from which `--show` prints again, and small.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dse.analysis.study import load_study
from dse.campaign.reading import load_campaign
from dse.core.layer import Layer
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from dse.search.abilities import current_settings
from dse.search.api import search
from experiments import RESULTS, keep, read_rows, write_rows
from experiments.draw_small import MODELS, OBJECTIVES, machine, solvable
from experiments.draw_small import SAMPLES as SAMPLED
from experiments.intervals import mean_of
from experiments.tuning.try_out import WORST, setting
from searchers.team import Team
from searchers.transfer import Transfer
from workloads import load_layer, load_layers

PATH = RESULTS / "transfer" / "small.csv"
COMMAND = "experiments.network_transfer small --seeds 2"
SAMPLES = (1, 5, 20, 50)
OTHERS, OTHERS_SAMPLES = 3, 100
SEED, FIRST_SEED = 660_066, 6000
DEVELOPMENT = ("resnet18", "resnet50", "alexnet", "bert_base")
EACH = 4
"""Development problems of each network."""


@dataclass(frozen=True)
class Task:
    """A problem, its network's other layers, and the loss that ratios are to."""

    name: str
    problem: Problem
    others: tuple[Layer, ...]
    target: float


def development() -> Iterator[Task]:
    """Layers of the development networks, always the same ones."""
    rng = np.random.default_rng(SEED)
    for place in range(EACH * len(DEVELOPMENT)):
        network = DEVELOPMENT[place % len(DEVELOPMENT)]
        layers = load_layers(network)
        model, objective = MODELS[place % 2], OBJECTIVES[place % 3]
        while True:
            chosen = [layers[index] for index in rng.permutation(len(layers))[: OTHERS + 1]]
            problem = Problem(chosen[0], machine(rng), objective, model)
            if solvable(problem, problem.space.sample(rng, SAMPLED)):
                break
        best = certify(problem).best
        assert best is not None, "solvable"
        yield Task(f"{network} {place}", problem, tuple(chosen[1:]), best.loss)


def small() -> Iterator[Task]:
    """The problems of the benchmark of small budgets; a network has the layers that share a name's stem."""
    drawn = load_layers(str(RESULTS / "campaigns" / "small" / "layers.toml"))
    rng = np.random.default_rng(SEED)
    for model in MODELS:
        study = load_study(RESULTS / f"small-{model}")
        path = str(RESULTS / "campaigns" / f"small-{model}.toml")
        campaign = load_campaign(path, lambda name: {name: load_layer(name)})
        for named, target in zip(campaign.problems, study.problems, strict=True):
            own = str(named.problem.layer.name)
            others = [
                layer
                for layer in drawn
                if layer.name != own and str(layer.name).split(".")[0] == own.split(".")[0]
            ]
            chosen = [others[index] for index in rng.permutation(len(others))[:OTHERS]]
            name = f"{model}: {own}, {named.objective}"
            yield Task(name, named.problem, tuple(chosen), study.target(target)[0])


def run(task: Task, searchers: dict[str, Team], seed: int, folder: Path) -> Iterator[tuple[str, list[float]]]:
    """The ratios of each searcher after so many samples; the folder has what other layers taught."""
    for place, layer in enumerate(task.others):
        other = replace(task.problem, layer=layer, tiles=task.problem.tiles)
        search(other, Team(), budget=OTHERS_SAMPLES, seed=seed, out=folder / str(place))
    for name, searcher in searchers.items():
        taught = replace(searcher, folder=str(folder)) if isinstance(searcher, Transfer) else searcher
        found = search(task.problem, taught, budget=SAMPLES[-1], seed=seed)
        best = np.minimum.accumulate(found.record.evaluations().loss) / task.target
        yield name, [float(min(best[count - 1], WORST)) for count in SAMPLES]


def table(rows: list[dict[str, str]]) -> str:
    """The table of runs."""
    lines = [f"| searcher | {' | '.join(map(str, SAMPLES))} |", "| --- |" + " ---: |" * len(SAMPLES)]
    for name in dict.fromkeys(row["searcher"] for row in rows):
        cells = []
        for count in SAMPLES:
            logs = np.array([*_logs(rows, name, count).values()])
            cells.append(f"{mean_of(logs).exp().shown(3)} ({np.exp(logs.max()):.2f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    taught, plain = "transfer", "team"
    if {taught, plain} <= {row["searcher"] for row in rows}:
        cells = []
        for count in SAMPLES:
            theirs = _logs(rows, plain, count)
            pairs = (ours - theirs[problem] for problem, ours in _logs(rows, taught, count).items())
            cells.append(mean_of(pairs).exp().shown(3))
        lines.append(f"| {taught} over {plain}, paired by problem | {' | '.join(cells)} |")
    lines.append("")
    for name in dict.fromkeys(row["searcher"] for row in rows):
        first = [float(row[str(SAMPLES[0])]) for row in rows if row["searcher"] == name]
        unfit = sum(ratio >= WORST for ratio in first)
        lines.append(f"- {name}: in {unfit} of {len(first)} runs the first sample counts for {WORST:g}")
    return "\n".join(lines)


def _logs(rows: list[dict[str, str]], searcher: str, count: int) -> dict[str, float]:
    """By problem, the logarithm of the searcher's median ratio after so many samples."""
    by_problem: dict[str, list[float]] = {}
    for row in rows:
        if row["searcher"] == searcher:
            by_problem.setdefault(row["problem"], []).append(float(row[str(count)]))
    return {problem: float(np.log(np.median(ratios))) for problem, ratios in by_problem.items()}


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("problems", choices=("small", "dev"))
    parser.add_argument("settings", nargs="*", type=setting, help="of transfer, such as extra_teams=6")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--out", type=Path, default=Path("network_transfer"), help="what other layers taught")
    parser.add_argument("--only", action="store_true", help="leave `team` out")
    parser.add_argument("--show", action="store_true", help="print what is written, and run nothing")
    options = parser.parse_args()
    if options.show:
        keep(PATH.with_suffix(".md"), COMMAND, table(read_rows(PATH)))
        return
    searchers: dict[str, Team] = {"transfer": Transfer(**current_settings(Transfer, dict(options.settings)))}
    if not options.only:
        searchers["team"] = Team()
    rows = []
    for task in development() if options.problems == "dev" else small():
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
            folder = options.out / task.name.replace(" ", "_") / str(seed)
            for name, ratios in run(task, searchers, seed, folder):
                figures = {str(count): f"{ratio:.5g}" for count, ratio in zip(SAMPLES, ratios, strict=True)}
                rows.append({"problem": task.name, "searcher": name, "seed": str(seed), **figures})
                print(*rows[-1].values(), flush=True)
    if options.problems == "dev":
        print(table(rows))
    else:
        write_rows(PATH, rows[0], rows)
        keep(PATH.with_suffix(".md"), COMMAND, table(rows))


if __name__ == "__main__":
    main()
