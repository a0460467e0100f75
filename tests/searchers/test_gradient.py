"""gradient: relaxed genes round to designs, relaxed equations are those of `loopnest`, descents go down."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import dse
from dse.models.loopnest.constants import Constants
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from dse.testing.toy_problem import ToySpace
from searchers.gradient import OFFLINE_SAMPLES, nest
from searchers.gradient.offline import PATH, taught_for
from searchers.gradient.relaxation import _Descents, has_equations
from searchers.gradient.relaxed import Relaxed, on_simplex
from workloads import load_layer

PROBLEM = dse.Problem(load_layer("resnet18:layer2.0.conv2"), dse.load_accelerator("edge-small"), "edp")
QUICK = {"gradient_steps": 4, "descent_steps": 4}


def test_vectors_are_their_own_rounding() -> None:
    rng = np.random.default_rng(0)
    for space in (PROBLEM.space, ToySpace()):
        genes = space.sample(rng, 50)
        relaxed = Relaxed(space, rng)
        assert (relaxed.rounded(relaxed.of(genes)) == genes).all()


def test_shares_are_projected_on_the_simplex() -> None:
    rows = np.array([[0.2, 0.3, 0.5], [2.0, 0.0, 0.0], [0.6, 0.6, -1.0]])
    np.testing.assert_allclose(on_simplex(rows), [[0.2, 0.3, 0.5], [1, 0, 0], [0.5, 0.5, 0]])


def test_relaxed_equations_have_the_prices_of_loopnest() -> None:
    prices = Constants()
    assert (prices.mac_pj, prices.l1_pj, prices.noc_pj) == (nest.MAC_PJ, nest.L1_PJ, nest.NOC_PJ)
    assert (prices.l2_pj, prices.dram_pj) == (nest.L2_PJ, nest.DRAM_PJ)


def test_a_descent_goes_down_what_it_is_given_the_slopes_of() -> None:
    rng = np.random.default_rng(1)
    space = PROBLEM.space
    starts = space.sample(rng, 8)
    weights = rng.standard_normal(len(space.feature_names))
    passed, values = Relaxed(space, rng).descend(
        starts, space.features, lambda rows: (rows @ weights, np.tile(weights, (len(rows), 1))), steps=8
    )
    assert space.contains(passed).all()
    assert values[-8:].max() < values[:8].min()


@pytest.mark.parametrize("layer", ["resnet18:layer2.0.conv2", "resnet50:layer3.1.conv1"])
def test_the_relaxed_equations_are_near_those_of_the_model_at_mappings(layer: str) -> None:
    problem = dse.Problem(load_layer(layer), dse.load_accelerator("edge"), "edp", "loopnest")
    space = problem.space
    genes = space.sample(np.random.default_rng(0), 400)
    descents = _Descents(make_searcher("gradient"), space, space.structure, "edp")
    costs = descents._nest.costs(descents._points(genes))
    names = [gene.name for gene in space.genes]
    orders = [genes[:, names.index(f"{level}.order")] for level in ("outer", "inner")]
    rows = np.arange(len(genes))
    priced = problem.price(genes)
    energy = costs.energy.numpy()[rows, *orders] - np.log2(1e3 * priced.energy_nj)
    cycles = costs.cycles.numpy()[rows, *orders] - np.log2(priced.cycles)
    # Halos are moved anew, and edges, the NoC's latency and its waits step by step are left out.
    assert np.median(np.abs(energy)) < (0.2 if problem.layer.loops["R"] > 1 else 0.01)
    assert np.median(np.abs(cycles)) < 0.01
    needs = costs.needs.numpy() - np.log2(priced.needs)
    assert np.abs(needs).max() < 1e-3


def drawn(form: str, objective: str = "edp", samples: int = 64, **settings: object) -> np.ndarray:
    problem = dse.Problem(PROBLEM.layer, PROBLEM.accelerator, objective, "loopnest")
    record = Record(len(problem.space.genes))
    with suppress(BudgetExhausted):
        made = make_searcher("gradient", {"form": form, **settings})
        made.search(Evaluator(problem, samples, record=record), np.random.default_rng(0))
    assert len(record) == samples
    return record.evaluations().loss


def test_the_relaxation_s_first_samples_are_better_than_a_thousand_random_ones() -> None:
    space = PROBLEM.space
    chance = dse.Problem(PROBLEM.layer, PROBLEM.accelerator, "edp", "loopnest").price(
        space.sample(np.random.default_rng(0), 1000)
    )
    assert drawn("relaxation", samples=16, steps=6).min() < chance.loss.min()


def test_samples_of_other_layers_are_declared_and_help_from_the_first_batch_on() -> None:
    with np.load(PATH) as held:
        assert (
            int(held["samples"])
            == OFFLINE_SAMPLES
            == make_searcher("gradient", {"offline": True}).samples_elsewhere
        )
    assert make_searcher("gradient").samples_elsewhere == 0
    assert drawn("surrogate", offline=True, **QUICK).min() < drawn("surrogate", samples=24, **QUICK).min()


def test_spaces_without_mappings_have_no_equations_and_no_lessons() -> None:
    assert has_equations(PROBLEM.space)
    assert not has_equations(ToySpace())
    assert taught_for(ToySpace(), "edp") is None
    assert taught_for(PROBLEM.space, "area") is None


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="offline is for form = 'surrogate'"):
        make_searcher("gradient", {"form": "relaxation", "offline": True})
    with pytest.raises(InputError, match="steps must be"):
        make_searcher("gradient", {"descent_steps": 0})
