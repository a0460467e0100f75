"""A campaign goes on from what it has, where its budget grows and where it ended before its proofs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from dse.campaign.config import changes_of_identity
from dse.campaign.curves import CURVES, read_curves
from dse.campaign.executors import InProcess
from dse.campaign.runner import CampaignResult
from dse.campaign.store import Store
from dse.core.evaluations import Evaluations
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import Evaluator
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from searchers.genetic import Genetic
from tests.campaign.campaign_searchers import Breaking, Dying
from tests.campaign.test_campaign import campaign, records, run

SMALL, LARGE = 300, 700


@dataclass(frozen=True)
class Planning:
    """Its first sample tells how many it has."""

    plans_for_budget: ClassVar[bool] = True

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        steps = evaluate.space.sample(np.random.default_rng(evaluate.remaining), evaluate.remaining)
        evaluate(steps)


def test_a_larger_budget_goes_on_to_the_records_of_a_larger_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (("random", None), ("walk", None), ("planning", Planning()))
    small, large = (campaign(*names, budget=budget) for budget in (SMALL, LARGE))
    run(tmp_path / "grown", small)
    old = records(tmp_path / "grown")
    run(tmp_path / "large", large)
    priced = []
    price = Problem.price

    def counted(self: Problem, genes: IntArray) -> Evaluations:
        priced.append(len(genes))
        return price(self, genes)

    monkeypatch.setattr(Problem, "price", counted)
    result, shown = run(tmp_path / "grown", large)
    assert result.done == 6
    assert "budget 300 -> 700; cells that go on from their samples: 4" in shown
    assert "budget 300 -> 700; cells that begin anew: 2" in shown
    # Two kernels' worth of one sample each are priced to make ready.
    assert sum(priced) - 4 * (LARGE - SMALL) - 2 * LARGE <= 2
    assert records(tmp_path / "grown") == records(tmp_path / "large")
    kept = {path.name.rpartition("--")[0] for path in (tmp_path / "grown" / "replaced").iterdir()}
    assert kept == {name.removesuffix(".parquet") for name in old if "planning" in name}
    grown, whole = (read_curves(tmp_path / name / CURVES)[0] for name in ("grown", "large"))
    clock = {"searcher_seconds": 0.0, "model_seconds": 0.0}
    assert [dataclasses.replace(one, **clock) for one in grown] == [
        dataclasses.replace(one, **clock) for one in whole
    ]


def test_an_interrupted_cell_goes_on_under_a_larger_budget(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    # It dies with less than 1,000 samples left, and the journal holds what it had by then.
    small = campaign(("dying", Dying(once=str(flag))), budget=1300)

    class Once(Breaking):
        def submit(self, function, task, /):  # type: ignore[no-untyped-def]
            if flag.exists():
                raise KeyboardInterrupt
            return super().submit(function, task)

    result, _ = run(tmp_path / "grown", small, make_executor=Once)
    assert result.interrupted
    assert list((tmp_path / "grown" / "journals").glob("*.journal"))
    large = dataclasses.replace(small, budget=1600)
    _, shown = run(tmp_path / "grown", large)
    assert "budget 1,300 -> 1,600; cells that go on from their samples: 1" in shown
    run(tmp_path / "large", large)
    assert records(tmp_path / "grown") == records(tmp_path / "large")


def test_curves_alone_grow_too(tmp_path: Path) -> None:
    run(tmp_path / "old", campaign(("random", None), budget=SMALL))
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / CURVES).write_bytes((tmp_path / "old" / CURVES).read_bytes())
    large = campaign(("random", None), budget=LARGE)
    assert run(clone, large, make_executor=InProcess)[0].done == 2
    assert {len(losses) for _, losses in records(clone).values()} == {LARGE}
    assert {summary.budget for summary in read_curves(clone / CURVES)[0]} == {LARGE}


def test_what_differs_is_named(tmp_path: Path) -> None:
    run(tmp_path, campaign(("genetic", Genetic(population_size=40)), budget=SMALL))
    changed = campaign(("genetic", Genetic(population_size=60)), budget=LARGE)
    said = r": budget 300 -> 700; genetic.population_size 40 -> 60; run what made it"
    for _ in range(2):
        with pytest.raises(InputError, match=said):
            Store(tmp_path, changed)
        (tmp_path / CURVES).unlink(missing_ok=True)
    assert (
        changes_of_identity({"versions": {"numpy": "1"}}, {"versions": {"numpy": "2"}}, "a") == "numpy 1 -> 2"
    )
    assert (
        changes_of_identity({"problem": {"cost_model": "x"}}, {"problem": {}}, "a")
        == "cost_model x -> nothing"
    )


def test_optima_that_a_run_was_stopped_before_are_proven_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    plan = campaign(("random", None), budget=20)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "prove_optima", stopped)
        assert run(tmp_path, plan)[0] == CampaignResult(cells=2, done=2, failed=0, interrupted=True)
    assert not read_curves(tmp_path / CURVES)[1]["optima"]
    run(tmp_path, plan)
    optima = read_curves(tmp_path / CURVES)[1]["optima"]
    assert [optimum["status"] for optimum in optima.values()] == ["optimal", "optimal"]
