"""Limits of a user's own: what they read, and what follows from them exactly."""

from __future__ import annotations

from typing import Any

import pytest

from dse.core.limits import AT_LEAST, AT_MOST, Limit, read_limits, words_of
from dse.support.errors import InputError

FIGURES = {"l1_use": AT_MOST, "l2_use": AT_MOST, "pe_use": AT_LEAST}


def only(text: str) -> Limit:
    (limit,) = read_limits(text, FIGURES).values()
    return limit


@pytest.mark.parametrize("text", ["l2_use <= 0.8", "l2_use<=0.80", " l2_use <= 80% ", "l2_use <= 80 %"])
def test_a_share_may_be_written_in_several_ways_and_is_the_same_limit(text: str) -> None:
    assert words_of(read_limits([text], FIGURES)) == ("l2_use <= 0.8",)


def test_limits_are_in_the_order_of_the_figures() -> None:
    assert words_of(read_limits(["pe_use >= 1", "l1_use <= 0.25"], FIGURES)) == (
        "l1_use <= 0.25",
        "pe_use >= 1",
    )


def test_what_follows_from_a_share_is_exact() -> None:
    # In floats 0.29 * 100 is 28.999999999999996, and 57 / 0.57 is 100.00000000000001.
    assert only("l2_use <= 0.29").of(100) == 29
    assert only("l2_use <= 0.29").of(99) == 28
    assert only("pe_use >= 0.57").most_cycles(57) == 100
    assert only("pe_use >= 0.57").most_cycles(56) == 98


def test_a_loosened_limit_is_kept_by_the_use_that_it_is_for() -> None:
    assert str(only("l2_use <= 0.1").loosened(1 / 3)) == "l2_use <= 0.3334"
    assert str(only("pe_use >= 0.9").loosened(2 / 3)) == "pe_use >= 0.6666"
    assert str(only("pe_use >= 0.9").loosened(1e-9)) == "pe_use >= 0.0001"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("l3_use <= 0.5", "unknown figure 'l3_use' in limit; expected one of l1_use, l2_use, pe_use"),
        ("l2_use >= 0.5", "l2_use takes '<=', as a share that may be used at most"),
        ("pe_use <= 0.5", "pe_use takes '>=', as a share that has to be used at least"),
        ("l2_use < 0.5", "l2_use takes '<='"),
        ("l2_use <= 80", "a share must be above 0 and at most 1"),
        ("l2_use <= 0", "a share must be above 0 and at most 1"),
        ("l2_use <= -0.5", "a share must be above 0"),
        ("l2_use <= 120 %", "a share must be above 0 and at most 1"),
        ("l2_use <= nan", "a share must be above 0"),
        ("l2_use <= 1e-400", "with up to 12 decimals"),
        ("l2_use <= half", "as in 0.8 or 80 %, got 'half'"),
        ("l2_use", "must read FIGURE <= SHARE or FIGURE >= SHARE, in quotes"),
        ("l2_use <= " + "9" * 500, "must read FIGURE <= SHARE"),
        (["l2_use <= 0.5", "l2_use <= 0.6"], "l2_use is limited twice: l2_use <= 0.5 and l2_use <= 0.6"),
        ({"l2_use": 0.5}, "limits must be a list of texts"),
        (5, "limits must be a list of texts"),
        ([0.5], "a limit must read"),
    ],
)
def test_what_is_no_limit_is_refused_in_a_line(given: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_limits(given, FIGURES)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
