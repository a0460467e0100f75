"""What `team` and `bayesian` owe to what their surrogates see: `python -m experiments.learning_or_features`.

Both run as they are, with each other's features and with plain genes; `team` also without what it expects
before the first sample, and without sums: the same counts, but no trend that adds them up. The problems are
those of small-loopnest.toml and small-maestro.toml, which no tuning has used, and those of the former under a
third cost model in which a mapping costs no sum of counts (examples/conflicts.py) and under which nobody was
tuned. All begin with the dataflow templates. Writes results/ablations/MODEL: curves and tables.

An interrupted run goes on from `--out`, and so does one with more seeds.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from dse.campaign.config import Campaign, Variant
from dse.campaign.curves import CURVES
from dse.campaign.executors import LocalProcesses
from dse.campaign.progress import make_display
from dse.campaign.reading import load_campaign
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.core.layer import Layer
from dse.core.space import Space
from dse.report.writing import write_report
from dse.search.searcher import Searcher
from dse.search.start import TEMPLATES
from dse.support.arrays import FloatArray, IntArray
from experiments import RESULTS
from searchers.bayesian import Bayesian
from searchers.common.features import VaryingFeatures
from searchers.common.history import Describe
from searchers.team import Team
from searchers.team.features import Features, PlainFeatures, features_of
from workloads import load_layer

BUDGET = 100
MODELS = {"loopnest": "small-loopnest", "maestro": "small-maestro", "conflicts": "small-loopnest"}
"""The campaign that each cost model's problems are of."""
TABLES = ("standing", "versus")
"""Of the report, those that are kept."""
CONFLICTS = "examples.conflicts:price"


class AsGenes:
    """A space of which surrogates see the genes alone."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def sample(self, rng: np.random.Generator, count: int) -> IntArray:
        """Vectors drawn at random: (count, genes)."""
        return self._space.sample(rng, count)

    def features(self, genes: IntArray) -> FloatArray:
        """The vectors (n, genes) themselves."""
        return genes.astype(np.float64)


def _layer(name: str) -> dict[str, Layer]:
    return {name: load_layer(name)}


def _genes(space: Space) -> Space:
    return cast(Space, AsGenes(space))


class NoSums:
    """The features of a space, but for the addends: nothing adds up to a figure, and nothing is expected."""

    addends = 0

    def __init__(self, space: Space) -> None:
        self._features = features_of(space)
        self.groups, self.log2_scales = self._features.groups, self._features.log2_scales

    def __call__(self, genes: IntArray) -> Any:
        """The features of the vectors (n, genes): (n, width)."""
        return self._features(genes)[:, : len(self.groups)]

    def expected(self, factors: tuple[str, ...]) -> None:
        """Nothing."""
        return


TEAM_SEES: Mapping[str, Callable[[Space], Features]] = {
    "counts": features_of,
    "counts, no sums": NoSums,
    "space": PlainFeatures,
    "genes": lambda space: PlainFeatures(_genes(space)),
}
"""What `team` may see; `space` are the features that a space has for surrogates, which `bayesian` sees."""
BAYESIAN_SEES: Mapping[str, Callable[[Space], Describe]] = {
    "space": VaryingFeatures,
    "counts": NoSums,
    "genes": lambda space: VaryingFeatures(_genes(space)),
}


@dataclass(frozen=True)
class TeamSees(Team):
    """`team`, whose critic sees something else."""

    sees: str = "counts"

    def features(self, space: Space) -> Features:
        """As `sees` says."""
        return TEAM_SEES[self.sees](space)


@dataclass(frozen=True)
class BayesianSees(Bayesian):
    """`bayesian`, whose processes see something else."""

    sees: str = "space"

    def features(self, space: Space) -> Describe:
        """As `sees` says."""
        return BAYESIAN_SEES[self.sees](space)


SEARCHERS: Mapping[str, tuple[str, Searcher]] = {
    "team": ("team", Team()),
    "team-expects-nothing": ("team", Team(expert_prior=False)),
    "team-no-sums": ("TeamSees", TeamSees(sees="counts, no sums")),
    "team-bayesians-features": ("TeamSees", TeamSees(sees="space")),
    "team-genes": ("TeamSees", TeamSees(sees="genes")),
    "bayesian": ("bayesian", Bayesian()),
    "bayesian-teams-features": ("BayesianSees", BayesianSees(sees="counts")),
    "bayesian-genes": ("BayesianSees", BayesianSees(sees="genes")),
}


def campaign(model: str, seeds: int) -> Campaign:
    """The comparison under a cost model."""
    drawn = load_campaign(str(RESULTS / "campaigns" / f"{MODELS[model]}.toml"), _layer)
    problems = []
    for named in drawn.problems:
        problem = replace(named.problem, cost_model=CONFLICTS) if model == "conflicts" else named.problem
        problems.append(replace(named, layer=str(problem.layer.name), problem=problem))
    variants = tuple(
        Variant(name, kind, searcher, start=TEMPLATES) for name, (kind, searcher) in SEARCHERS.items()
    )
    return Campaign(
        f"ablations-{model}", BUDGET, tuple(range(seeds)), tuple(problems), variants, {"reference": "team"}
    )


def main() -> None:
    """Run, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], help="the cost models; by default all")
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, default=Path("ablations"), help="where the runs are kept")
    options = parser.parse_args()
    for model in options.models or MODELS:
        folder = options.out / model
        with Store(folder, campaign(model, options.seeds)) as store:
            run_campaign(store, make_display(), workers=options.workers, make_executor=LocalProcesses)
        write_report(folder, pictures=False)
        kept = RESULTS / "ablations" / model
        (kept / "tables").mkdir(parents=True, exist_ok=True)
        for name in (CURVES, *(f"tables/{table}.md" for table in TABLES)):
            shutil.copy(folder / name, kept / name)


if __name__ == "__main__":
    main()
