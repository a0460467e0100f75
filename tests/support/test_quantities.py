"""Figures with their units, as everybody shows them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.support.quantities import PREFIXES, energy_in_words, energy_of_mapping, quantity_in_words

POWERS = {prefix: power for power, prefix in PREFIXES.items()}


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0001732, "s", "173.2 µs"),
        (0.99994e-3, "s", "999.9 µs"),
        (0.99996e-3, "s", "1.000 ms"),
        (1234.4, "J", "1.234 kJ"),
        (1e-18, "J", "0.001000 fJ"),
        (0.0, "s", "0 s"),
        (-2.5e-6, "J", "-2.500 µJ"),
        (7.462004e-10, "J s", "7.462e-10 J s"),
        (2821.6, "mW", "2,822 mW"),
        (6.25, "mm2", "6.25 mm2"),
        (3.5, "", "3.5"),
        (math.inf, "J", "infeasible"),
        (math.nan, "s", "infeasible"),
    ],
)
def test_a_figure_has_its_unit_and_a_prefix_where_that_is_usual(value: float, unit: str, shown: str) -> None:
    assert quantity_in_words(value, unit) == shown


def test_figures_in_nanojoule_are_energies_like_any_other() -> None:
    assert energy_in_words(1153.0) == quantity_in_words(1153e-9, "J") == "1.153 µJ"
    assert energy_in_words(6180.57, 6) == "6.18057 µJ"


@given(st.floats(1e-15, 1e11), st.integers(3, 6))
def test_what_is_shown_is_the_figure_to_its_last_digit(value: float, digits: int) -> None:
    number, unit = quantity_in_words(value, "J", digits).split(" ")
    assert float(number) * 10.0 ** POWERS[unit[:-1]] == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))
    assert 1 <= float(number) < 1000


def test_the_energy_of_a_mapping_whose_cost_model_says_none_is_unknown_not_0() -> None:
    assert energy_of_mapping(0.0) == "energy unknown"
    assert energy_of_mapping(2_500.0) == "2.500 µJ"
