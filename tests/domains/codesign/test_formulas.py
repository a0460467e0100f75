"""Formulas of figures: what they are worth for one machine, and between which bounds for many."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dse.domains.codesign.formulas import Formula
from dse.support.errors import InputError

FORMULAS = (
    "pe * ceil(kb * 1024 / pe)",
    "sram_pj(ceil(kb * 1024 / (4 * pe)), 32)",
    "max(pe, kb) - min(pe, 3) * sqrt(kb) / (pe + 0.5)",
    "(pe - kb) * (kb - 7) + floor(levels.L2.size / pe)",
)


def test_a_formula_is_worth_what_it_says() -> None:
    found = Formula(FORMULAS[0], "size")
    assert found.names == ("pe", "kb")
    assert found.value({"pe": 16, "kb": 108.5}) == 111_104


@pytest.mark.parametrize("text", FORMULAS)
def test_no_value_between_the_ends_is_outside_of_the_interval(text: str) -> None:
    rng, formula = np.random.default_rng(0), Formula(text, "figure")
    for _ in range(200):
        ends = {name: tuple(sorted(rng.uniform(1, 300, 2).tolist())) for name in formula.names}
        low, high = formula.interval(ends)
        for _ in range(10):
            value = formula.value({name: rng.uniform(*pair) for name, pair in ends.items()})
            assert low <= value <= high


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 +", "figure is no formula"),
        ("__import__('os')", "unknown function '__import__'"),
        ("pe ** 2", "may have numbers"),
        ("min(pe)", "min takes 2 numbers, got 1"),
        ("[pe]", "may have numbers"),
        ("1 + " * 200 + "1", "at most 500 letters"),
        ("(" * 120 + "1" + ")" * 120 + "+ [1]", "may have numbers"),
    ],
)
def test_what_is_no_formula_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        _ = Formula(text, "figure").names
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["1 / (pe - pe)", "sqrt(0 - pe)", "1e300 * pe * 1e300", "9" * 400 + " * pe"])
def test_a_formula_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"no value|leaves the range"):
        Formula(text, "figure").value({"pe": 2})
