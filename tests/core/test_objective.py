"""Objectives: what their figures are called."""

from __future__ import annotations

import pytest

from dse.core.cost_models import unit_of
from dse.support.errors import InputError


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
