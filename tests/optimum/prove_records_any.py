"""Committed records over tiles of any size beside their bounds, run by `make prove`: minutes."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from dse.campaign.config import Campaign, NamedProblem
from dse.campaign.curves import CURVES, read_curves
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.core.domains import prover_of
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from dse.support.errors import InputError
from tests import ROOT

RESULTS = ROOT / "results"
MODELS, SECONDS = ("loopnest", "maestro"), 60.0


def campaigns() -> list[tuple[str, Campaign]]:
    """The campaigns that have problems with tiles of any size, by the names of their folders."""
    every = sorted((RESULTS / "campaigns").glob("*.toml"))
    found = [
        (path.stem, load_campaign(str(path), find_layers))
        for path in every
        if (RESULTS / path.stem / CURVES).exists()
    ]
    return [(name, one) for name, one in found if any(map(over_any, one.problems))]


def over_any(named: NamedProblem) -> bool:
    """Whether a problem is over tiles of any size and can be proven: that of space `paper` is refused."""
    problem = named.problem
    if not (isinstance(problem, Problem) and problem.tiles == "any" and problem.model_spec in MODELS):
        return False
    with suppress(InputError):
        prover_of(problem).refuse()
        return True
    return False


@pytest.mark.parametrize(("name", "campaign"), campaigns())
def test_no_best_sample_of_any_searcher_is_below_the_bound(name: str, campaign: Campaign) -> None:
    summaries, _ = read_curves(RESULTS / name / CURVES)
    seen = 0
    for named in campaign.problems:
        if not over_any(named):
            continue
        parts = named.layer.removeprefix(f"{ROOT}/"), named.accelerator, named.objective
        own = [one for one in summaries if (one.layer, one.accelerator, one.objective) == parts]
        genes = np.array([one.genes for one in own if one.genes], dtype=np.int64)
        losses = named.problem.price(genes).loss
        found = certify(named.problem, SECONDS, cache=False)
        print(f"{name}: {named.label}: {found.status}, best {losses.min()!r}, bound {found.lower_bound!r}")
        assert losses.min() >= found.lower_bound, named.label
        seen += len(genes)
    assert seen > 0
