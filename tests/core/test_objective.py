"""Objectives: how they are written, what they make of figures, and what these are called."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dse import certify, compare
from dse.core.cost_models import unit_of
from dse.core.objective import canonical_objective, objective_named, parse_objectives
from dse.core.objective_terms import FIGURES, Figure
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["eyeriss-small"], "edp", "loopnest")
GENES = PROBLEM.space.sample(np.random.default_rng(0), 500)


@pytest.mark.parametrize(
    ("objective", "loopnest", "maestro"),
    [
        ("latency", "s", "s"),
        ("energy", "J", "J"),
        ("edp", "J s", "J s"),
        ("area_maestro", "model units", "model units"),
        ("power", "mW", "model units"),
    ],
)
def test_a_figure_has_the_unit_of_the_model_that_gave_it(objective: str, loopnest: str, maestro: str) -> None:
    assert unit_of(objective, "loopnest") == loopnest
    assert unit_of(objective, "maestro") == maestro
    assert unit_of(objective, "a model of somebody's own") == maestro


def test_an_area_is_in_the_units_of_each_models_own_formula() -> None:
    units = [unit_of("area", model) for model in ("loopnest", "maestro", "another")]
    assert units == ["mm2", "um2", "model units"]


def test_the_unit_of_an_unknown_objective_is_refused() -> None:
    with pytest.raises(InputError, match=r"latncy.*latency"):
        unit_of("latncy", "loopnest")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("edp", "edp"),
        ("latency*energy", "edp"),
        (" energy^1 *  latency**1.0 ", "edp"),
        ("latency ** 2 * energy", "energy * latency^2"),
        ("edp * latency", "energy * latency^2"),
        ("latency * energy * latency", "energy * latency^2"),
        ("edp^2", "energy^2 * latency^2"),
        ("energy^.50", "energy^0.5"),
        ("latency^0.1 * latency^0.2", "latency^0.3"),
        ("latency, energy", "energy, latency"),
        ("latency,edp * latency", "energy * latency^2, latency"),
        ("latency+energy", "energy + latency"),
        ("0.250 *latency + 1*energy", "energy + 0.25 * latency"),
        ("2e+3 * latency + energy", "energy + 2000.0 * latency"),
        ("latency where energy<=1E-3", "latency where energy <= 0.001"),
        ("latency*energy where latency <= 2 and energy <= .5", "edp where energy <= 0.5 and latency <= 2.0"),
    ],
)
def test_an_objective_has_one_name_however_it_is_written(written: str, canonical: str) -> None:
    assert canonical_objective(written) == canonical_objective(canonical) == canonical


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "lacks a figure; expected one of latency, energy, edp"),
        ("energy * ", "lacks a figure"),
        ("latency,", "lacks a figure"),
        ("^2", "lacks a figure"),
        ("enrgy * latency", "unknown figure 'enrgy' in objective .*; did you mean 'energy'"),
        ("2 * energy", "unknown figure '2'"),
        ("energy + ", "sums and caps are of figures, as 'energy \\+ 0.25"),
        ("energy + energy", "has energy twice"),
        ("energy + edp", "unknown figure 'edp'"),
        ("energy^2 + latency", "sums and caps are of figures"),
        *(
            (f"energy + {weight} * latency", "the weight of latency must be a finite number above 0")
            for weight in ("0", "-1", "nan", "1e999", "1e-999", "x", "")
        ),
        ("energy where latency", "a cap is written 'latency <= 0.001', got 'latency'"),
        ("energy where latency <= -1", "the cap of latency must be a finite number above 0"),
        ("energy where latency <= 1 and latency <= 2", "has a cap twice"),
        ("energy where latency <= 1, latency", "a cap goes with one objective"),
        ("area where area_maestro <= 1", "area and area_maestro do not go together"),
        ("energy / latency", "is no product of powers"),
        *(
            (f"energy^{power}", "exponent of energy must be a number from 0.01 to 10 with at most 4 decimals")
            for power in ("0", "-1", "nan", "inf", "1e3", "11", "", "2^3", "1/2", "0.00001", "٢", "9" * 60)
        ),
        ("energy^9 * edp^2", "exponent of energy must be .* got '11'"),
        ("latency, latency", "has an objective twice"),
        ("area * area_maestro", "area and area_maestro do not go together"),
        ("energy * " * 50, "at most 200 letters long, got 450"),
        (3, "objective must be text such as 'edp' or 'energy \\* latency\\^2', got 3"),
    ],
)
def test_what_is_no_objective_is_refused_in_a_line(written: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refusal:
        parse_objectives(written)
    assert "\n" not in str(refusal.value)


def test_the_unit_of_a_product_is_that_of_its_figures() -> None:
    written = ("energy * latency^2", "area * latency", "area^0.5", "power^2 * energy")
    assert [unit_of(one, "loopnest") for one in written] == ["J s^2", "(mm2) s", "(mm2)^0.5", "J mW^2"]
    assert unit_of("power * latency", "maestro") == "s (model units)"


def test_a_sum_is_that_of_its_weighted_figures_and_a_cap_rules_points_out() -> None:
    costs = PROBLEM.price(GENES)
    joules, seconds = costs.energy_nj * 1e-9, costs.cycles / PROBLEM.accelerator.hertz
    value = objective_named("3 * energy + 0.25 * latency").value(costs, PROBLEM.accelerator.hertz)
    np.testing.assert_allclose(value, 3 * joules + 0.25 * seconds, rtol=1e-13)
    middle = float(np.median(seconds[costs.reason == 0]))
    capped = PROBLEM.with_changes(objective=f"energy where latency <= {middle!r}").price(GENES)
    ruled_out = (costs.reason == 0) & (seconds > middle)
    assert ruled_out.any()
    assert (capped.reason == np.where(ruled_out, Reason.OVER_CAP, costs.reason)).all()
    assert (capped.loss == np.where(capped.reason == 0, joules, np.inf)).all()
    assert (capped.objective_value == joules).all()


def test_a_product_is_that_of_its_figures_powers() -> None:
    costs = PROBLEM.price(GENES)
    joules, seconds = costs.energy_nj * 1e-9, costs.cycles / PROBLEM.accelerator.hertz
    for powers in ((1.0, 2.0), (0.37, 1.0), (3.25, 0.01)):
        objective = objective_named(f"energy^{powers[0]} * latency^{powers[1]}")
        value = objective.value(costs, PROBLEM.accelerator.hertz)
        np.testing.assert_allclose(value, joules ** powers[0] * seconds ** powers[1], rtol=1e-13)
        losses = replace(PROBLEM, objective=objective.name).price(GENES).loss
        feasible = costs.reason == 0
        np.testing.assert_array_equal(losses[feasible], value[feasible])
        assert np.isinf(losses[~feasible]).all()


def test_a_product_never_falls_where_a_figure_rises_by_its_last_bit() -> None:
    cycles = 1e6 * np.nextafter(1.0, 2.0) ** np.arange(2000)
    for power in (0.3, 0.5, 1.7, 2.0, 9.9999):
        costs = SimpleNamespace(cycles=cycles, energy_nj=np.full(2000, 3e5))
        values = objective_named(f"energy * latency^{power}").value(costs, 1e9)
        assert (np.diff(values) >= 0).all()


def test_problems_that_minimise_the_same_are_the_same() -> None:
    product = replace(PROBLEM, objective="latency * energy")
    assert (product, product.fingerprint) == (PROBLEM, PROBLEM.fingerprint)
    assert product.fingerprint == "50f1919c8b334818e7ec0e553d7eb41f3ebf74cab862d2fdda535f64abd75d2f"
    assert replace(PROBLEM, objective="energy * latency^2").fingerprint != product.fingerprint


def test_several_objectives_keep_all_figures_and_are_nothing_to_rank_by() -> None:
    several = replace(PROBLEM, objective="latency, energy")
    costs, one = several.price(GENES), PROBLEM.price(GENES)
    assert several.objective == "energy, latency"
    np.testing.assert_array_equal(costs.energy_nj, one.energy_nj)
    assert np.isnan(costs.loss[one.reason == 0]).all()
    assert np.isinf(costs.loss[one.reason != 0]).all()
    for refused in (
        lambda: certify(several, cache=False),
        lambda: compare([several], ["random"], budget=10),
    ):
        with pytest.raises(InputError, match="is 2 objectives, and one is minimised here: take one of them"):
            refused()


def test_a_new_figure_is_one_line_whatever_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = Figure("l2_words", "words", "elements of L2 that the mapping needs", "l2_size")
    monkeypatch.setitem(FIGURES, figure.name, figure)
    problem = replace(PROBLEM, objective="l2_words * latency")
    found = problem.price(GENES[:50])
    fits = found.reason == 0
    assert fits.any()
    np.testing.assert_allclose(found.loss[fits], found.l2_size[fits] * found.cycles[fits] * 1e-9, rtol=1e-12)
