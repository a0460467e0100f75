"""That all which SCALE-Sim can be told is gone through, and that no run is below what is called the best."""

from __future__ import annotations

import sys
import tomllib

import numpy as np
import pytest

import dse
from experiments import RESULTS, read_rows
from experiments.judges.enumeration import NAME, bound_of, question_of, questions
from experiments.judges.references import JUDGES, best, problem, proven


def asked(number: int) -> dse.Problem:
    """A problem as the campaign has it, but of any Python: the judge itself is never asked."""
    campaign = tomllib.loads((JUDGES / NAME / "campaign.toml").read_text())
    campaign["cost_model"] = campaign["cost_model"].replace("scale/bin/python", sys.executable)
    return problem(NAME, campaign, campaign["problems"][number - 1])


@pytest.mark.parametrize("number", [7, 8])
def test_every_mapping_that_fits_asks_one_of_the_questions(number: int) -> None:
    of = asked(number)
    points, bounds = questions(of)
    designs = of.space.decode(points)
    known = {question_of(of.case(designs[place])): bound for place, bound in enumerate(bounds.tolist())}
    drawn = of.space.sample(np.random.default_rng(1), 250)
    free = of.free(drawn)
    assert free is not None
    assert free.any()
    fitting = drawn[~free]
    designs = of.space.decode(fitting)
    told = [question_of(of.case(designs[place])) for place in range(len(fitting))]
    assert sum(question is not None for question in told) > 60
    for question in told:
        if question is not None:
            assert known[question] == bound_of(question)
    assert (np.diff(bounds) >= 0).all()


def test_no_run_is_below_the_best_that_is_proven() -> None:
    least = best(NAME)
    assert proven(NAME) == set(least)
    for row in read_rows(RESULTS / "judges" / f"{NAME}-runs.csv"):
        assert round(float(row["50"]) * 1e9) >= least[row["problem"]]
