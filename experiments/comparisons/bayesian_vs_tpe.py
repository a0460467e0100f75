"""Compares `bayesian` with Optuna's multivariate TPE: `python -m experiments.comparisons.bayesian_vs_tpe`.

On the problems and from the seeds of campaign dev8, both draw 2,000 samples; the best losses of the first 300
and of all are compared. Prints a table, and writes bayesian_vs_tpe.csv beside this file. Needs the extra
`tpe` (`pip install 'dse-arena[tpe]'`); ten seeds take about an hour on one core, most of it TPE's, and
`--seeds 3` runs the first three only. A run that was stopped goes on where it was: rows in the file are kept,
unless `--redo bayesian` or `--redo tpe` asks for new ones.

TPE (Bergstra et al., NeurIPS 2011; Watanabe, arXiv:2304.11127) is TPESampler(multivariate=True) with Optuna's
defaults. Tiles and clusters are integer parameters, loop orders and parallel dims categorical ones, and an
infeasible point gets a loss above all others. As TPE only ranks trials, and pruned ones behind all complete
ones, to prune such points would draw the same samples.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dse.campaign.config import Campaign, NamedProblem
from dse.campaign.reading import load_campaign
from dse.domains.clustered.problem import Problem
from dse.search.run import Cell, run_cell
from dse.support.arrays import FloatArray
from experiments import RESULTS
from searchers.bayesian import Bayesian
from workloads import load_layer

HERE = RESULTS / "comparisons"
SAMPLES = (300, 2000)
BAYESIAN, TPE = "bayesian", "tpe"
HEAD = ("layer", "accelerator", "objective", "seed", "searcher", "samples", "loss")
INFEASIBLE_LOSS = 1e30

Key = tuple[str, str, str, int, str]
"""A run: its layer, accelerator, objective, seed and searcher."""
Runs = dict[Key, dict[int, float]]
"""The best loss of each run by numbers of samples."""


def bayesian_losses(problem: Problem, seed: int, samples: int) -> FloatArray:
    """The losses of the cell that a campaign would run."""
    return run_cell(Cell(problem, BAYESIAN, Bayesian(), seed, samples)).evaluations().loss


def tpe_losses(problem: Problem, seed: int, samples: int) -> FloatArray:
    """The losses of a study of so many trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    genes = problem.space.genes
    choices: dict[str, optuna.distributions.BaseDistribution] = {
        gene.name: optuna.distributions.IntDistribution(0, gene.size - 1)
        if gene.kind == "ordinal"
        else optuna.distributions.CategoricalDistribution(range(gene.size))
        for gene in genes
    }
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(multivariate=True, seed=seed))
    losses = np.empty(samples)
    for sample in range(samples):
        trial = study.ask(choices)
        vector = np.array([[trial.params[gene.name] for gene in genes]])
        losses[sample] = problem.price(vector).loss[0]
        study.tell(trial, min(losses[sample], INFEASIBLE_LOSS))
    return losses


def missing(campaign: Campaign, seeds: int, runs: Runs) -> Iterator[tuple[NamedProblem, Key]]:
    """The runs that are still to be made, seed by seed."""
    for seed in campaign.seeds[:seeds]:
        for problem in campaign.problems:
            for searcher in (BAYESIAN, TPE):
                key = (problem.layer, problem.accelerator, problem.objective, seed, searcher)
                if key not in runs:
                    yield problem, key


def read(path: Path) -> Runs:
    """The runs in the file, none if there is no file."""
    runs: Runs = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                key = (row["layer"], row["accelerator"], row["objective"], int(row["seed"]), row["searcher"])
                runs.setdefault(key, {})[int(row["samples"])] = float(row["loss"])
    return runs


def write(path: Path, runs: Runs) -> None:
    """All runs, in the order of their names."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for key in sorted(runs):
            for samples, loss in runs[key].items():
                writer.writerow([*key, samples, loss])


def table(campaign: Campaign, runs: Runs) -> str:
    """Medians over the seeds that both have run, their ratios, and the ratios' geometric mean."""
    lines = []
    ratios: dict[int, list[float]] = {samples: [] for samples in SAMPLES}
    for problem in campaign.problems:
        name = (problem.layer, problem.accelerator, problem.objective)
        seeds = [seed for seed in campaign.seeds if all((*name, seed, by) in runs for by in (BAYESIAN, TPE))]
        if not seeds:
            continue
        line = f"{problem.label:<50}{len(seeds):>6}"
        for samples in SAMPLES:
            ours, theirs = (
                float(np.median([runs[*name, seed, by][samples] for seed in seeds])) for by in (BAYESIAN, TPE)
            )
            ratios[samples].append(ours / theirs)
            line += f"{ours:>16.4g}{theirs:>11.4g}{ours / theirs:>8.3f}"
        lines.append(line)
    columns = [f"{f'bayesian, {samples}':>16}{'TPE':>11}{'ratio':>8}" for samples in SAMPLES]
    head = f"{'median best losses':<50}{'seeds':>6}" + "".join(columns)
    foot = f"{'geometric mean':<56}" + "".join(
        f"{np.exp(np.mean(np.log(ratios[samples]))):>35.3f}" for samples in SAMPLES if ratios[samples]
    )
    return "\n".join([head, *lines, foot])


def main() -> None:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many of the campaign's seeds to run")
    parser.add_argument("--redo", choices=(BAYESIAN, TPE), help="forget the runs of one searcher first")
    parser.add_argument("--csv", type=Path, default=HERE / "bayesian_vs_tpe.csv", help="the file of the runs")
    options = parser.parse_args()
    campaign = load_campaign(str(RESULTS / "campaigns" / "dev8.toml"), lambda name: {name: load_layer(name)})
    runs = {key: best for key, best in read(options.csv).items() if key[-1] != options.redo}
    for problem, key in list(missing(campaign, options.seeds, runs)):
        losses = {BAYESIAN: bayesian_losses, TPE: tpe_losses}[key[-1]]
        best = np.minimum.accumulate(losses(problem.problem, key[-2], max(SAMPLES)))
        runs[key] = {samples: float(best[samples - 1]) for samples in SAMPLES}
        write(options.csv, runs)
    print(table(campaign, runs))


if __name__ == "__main__":
    main()
