"""What searchers that compare points share: every point has a score."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.evaluations import Evaluations
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError
from searchers.common.scores import penalised_losses
from searchers.common.settings import check_probability, check_share
from workloads import load_layer

ACCELERATOR = PRESETS["eyeriss-small"]
PROBLEM = Problem(load_layer("alexnet:conv2"), ACCELERATOR, "edp", "maestro")


def evaluations(**columns: list) -> Evaluations:
    count = len(columns["loss"])
    figures = dict.fromkeys(("cycles", "energy_nj", "power", "area", "macs"), np.ones(count))
    given = {name: np.array(column) for name, column in columns.items()}
    return Evaluations(**figures, **given, criteria=PROBLEM.criteria)


def test_infeasible_points_come_after_all_losses_by_the_doublings_that_they_need() -> None:
    l1, l2 = ACCELERATOR.l1_size, ACCELERATOR.l2_size
    found = penalised_losses(
        evaluations(
            loss=[1e-9, 1e30, np.inf, np.inf, np.inf, np.inf, np.inf],
            reason=[0, 0, *[Reason.L1_TOO_SMALL] * 2, *[Reason.L2_TOO_SMALL] * 2, Reason.NO_WORK],
            l1_size=[1, l1, 2 * l1, 2 * l1, 1, l1, 0],
            l2_size=[1, l2, l2, 2 * l2, l2 + 1, 8 * l2, 0],
        )
    )
    assert np.argsort(found).tolist() == [0, 1, 4, 2, 3, 5, 6]
    assert found[:2].tolist() == [1e-9, 1e30]
    assert found[3] == 3e200
    assert found[6] == np.inf


def test_real_points_are_never_without_a_score() -> None:
    points = PROBLEM.price(PROBLEM.space.sample(np.random.default_rng(0), 5000))
    found = penalised_losses(points)
    assert not np.isnan(found).any()
    assert (found[points.reason == 0] == points.loss[points.reason == 0]).all()
    assert found[points.reason != 0].min() > found[points.reason == 0].max()
    assert len(np.unique(found[points.reason == Reason.L1_TOO_SMALL])) > 100


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "half"])
def test_a_probability_out_of_range_is_refused(value) -> None:
    with pytest.raises(InputError, match="rate must be between 0 and 1, got "):
        check_probability(value, "rate")


def test_a_share_of_nothing_is_refused() -> None:
    assert check_share(1, "elite") == 1
    with pytest.raises(InputError, match="elite must be above 0 and at most 1, got 0"):
        check_share(0, "elite")
