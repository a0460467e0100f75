"""Objective `area`, what it costs of a mapping, and a budget of it."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.start import flat_objective
from dse.support.errors import InputError

LAYER = Layer("CONV", 12, 6, 9, 10, 3, 3, (1, 1), (1, 1))
PAPER = PRESETS["paper"]
CAPPED = "energy where latency <= 1e-9"


def points(problem: Problem, count: int = 100) -> np.ndarray:
    return problem.space.sample(np.random.default_rng(0), count)


def test_under_maestro_it_is_what_the_papers_environment_makes_of_pes_and_buffers() -> None:
    problem = Problem(LAYER, PAPER, "area", "maestro", space="paper")
    genes = points(problem, 400)
    priced, pes = problem.price(genes), problem.space.decode(genes).machines[:, 0]
    some = np.flatnonzero(priced.reason == 0)
    assert len(some) > 5
    for index in some:
        l1, l2 = -(-int(priced.l1_size[index]) // 64), -(-int(priced.l2_size[index]) // 32768)
        expected = pes[index] * 4470 + l2 * 4161.536 + l1 * 4505.1889 * pes[index]
        assert priced.loss[index] == priced.area[index] == pytest.approx(expected, rel=1e-12)
    assert len(np.unique(priced.loss[some])) > 3


def test_maestros_own_column_is_an_objective_of_maestros_alone() -> None:
    own, other = (Problem(LAYER, PAPER, name, "maestro") for name in ("area_maestro", "latency"))
    genes = points(own)
    assert np.array_equal(own.price(genes).area, other.price(genes).area)
    with pytest.raises(InputError, match="objective 'area_maestro' is of cost model 'maestro' only"):
        Problem(LAYER, PAPER, "area_maestro", "loopnest")


def test_under_loopnest_it_is_of_the_pes_at_work_and_the_buffers_needed() -> None:
    problem = Problem(LAYER, PRESETS["edge"], "area", "loopnest")
    genes = points(problem, 60)
    priced, batch = problem.price(genes), problem.space.decode(genes)
    for index in np.flatnonzero(priced.reason == 0)[:10]:
        working = int(problem.nest(batch[int(index)]).split("at most ")[1].split(" ")[0].replace(",", ""))
        pe = 3000.0 + 11.1 * priced.l1_size[index]
        assert priced.loss[index] == pytest.approx((working * pe + 11.1 * priced.l2_size[index]) * 1e-6)


@pytest.mark.parametrize("model", ["maestro", "loopnest"])
def test_other_objectives_have_the_figures_and_the_identity_that_they_had(model: str) -> None:
    latency, area = (Problem(LAYER, PAPER, name, model) for name in ("latency", "area"))
    assert "area" not in latency.identity
    assert area.identity["area"] == "of what the mapping needs"
    genes = points(latency, 20)
    one, other = latency.price(genes), area.price(genes)
    for name in ("cycles", "energy_nj", "power", "l1_size", "l2_size"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("model", "scale"), [("maestro", 1e-6), ("loopnest", 1.0)])
def test_a_budget_of_area_makes_larger_mappings_infeasible_with_a_reason(model: str, scale: float) -> None:
    free = Problem(LAYER, PAPER, "area", model)
    genes = points(free)
    areas = free.price(genes).loss
    middle = float(np.median(areas[np.isfinite(areas)])) * scale
    tight = Problem(LAYER, PAPER, "edp", model, area_budget=middle)
    priced = tight.price(genes)
    beyond = np.isfinite(areas) & (areas * scale > middle)
    assert beyond.any()
    assert np.array_equal(priced.reason == Reason.AREA_TOO_LARGE, beyond)
    assert np.isinf(priced.loss[beyond]).all()
    mapping = free.space.decode(genes)[int(np.flatnonzero(beyond)[0])]
    assert tight.explain(mapping).endswith(f"of {middle:g} mm2")
    assert tight.fingerprint != Problem(LAYER, PAPER, "edp", model).fingerprint


def test_budgets_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match="area budget must be"):
        Problem(LAYER, PAPER, area_budget=0)


def test_an_objective_that_never_changes_says_so() -> None:
    flat = flat_objective(Problem(LAYER, PAPER, "area_maestro", "maestro"))
    assert flat is not None
    assert "there is nothing to search" in flat
    assert flat_objective(Problem(LAYER, PAPER, "area", "maestro")) is None
    assert flat_objective(Problem(LAYER, PAPER, "area", "loopnest")) is None
    assert flat_objective(Problem(LAYER, PAPER, "edp", "loopnest")) is None


def test_a_single_mapping_has_every_objective_of_its_model() -> None:
    problem = Problem(LAYER, PAPER, "area", "maestro")
    genes = points(problem, 1)
    loss = Problem(LAYER, PAPER, cost_model="maestro").judge(problem.space.decode(genes)[0]).loss
    assert loss["area"] == problem.price(genes).loss[0]
    assert loss["area_maestro"] > loss["area"]
    assert (
        "area_maestro"
        not in Problem(LAYER, PAPER, cost_model="loopnest").judge(problem.space.decode(genes)[0]).loss
    )


def test_a_mapping_beyond_the_area_or_the_cap_of_the_objective_is_judged_as_a_search_judges_it() -> None:
    edge = PRESETS["edge"]
    for problem in (
        Problem(LAYER, edge, area_budget=0.001),
        Problem(LAYER, edge, CAPPED),
    ):
        mapping = problem.template("nvdla")
        judged = problem.judge(mapping)
        assert problem.evaluate(mapping).reason[0] != 0
        assert not judged.feasible
        assert judged.reason == problem.explain(mapping)
        assert set(judged.loss.values()) == {None}
