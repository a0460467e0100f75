"""What is known of a layer's energy and latency says what its weighted sums are not below."""

from __future__ import annotations

import numpy as np
import pytest

from dse.core.objective import objective_named
from dse.optimum.lines import Sum, least_of_weights, least_weighted
from dse.optimum.network import certify_network
from dse.optimum.network_options import NetworkOptions
from tests.optimum.test_total import least_of_all_choices, three_layers


@pytest.mark.parametrize("objective", ["edp", "energy * latency^2"])
def test_no_sum_of_any_mapping_is_below_what_is_known_and_both_say_more_than_each(objective: str) -> None:
    rng, product = np.random.default_rng(3), objective_named(objective)
    more = 0
    for _ in range(200):
        joules, seconds = np.exp(rng.normal(size=(2, 12)) * 0.2)
        bound = min(
            product.total({"energy": one, "latency": two}) for one, two in zip(joules, seconds, strict=True)
        )
        known: list[Sum] = [(1.0, 0.0, float(joules.min())), (0.0, 1.0, float(seconds.min()) * 0.98)]
        for weight in np.exp(rng.normal(size=rng.integers(0, 3))).tolist():
            known.append((1.0, weight, float((joules + weight * seconds).min())))
        weight = float(np.exp(rng.normal()))
        found = least_weighted(product, bound, known, 1.0, weight)
        assert found <= (joules + weight * seconds).min() * (1 + 1e-12)
        alone = least_of_weights(product, bound, 1.0, weight)
        assert found >= max(alone, known[0][2] + weight * known[1][2])
        more += found > max(alone, known[0][2] + weight * known[1][2]) * (1 + 1e-6)
    assert more > 20


def test_a_sum_that_is_proven_is_what_is_known_of_it() -> None:
    product = objective_named("edp")
    assert least_weighted(product, 1.0, [(1.0, 3.0, 5.0)], 1.0, 3.0) == pytest.approx(5.0)
    assert least_weighted(product, 1.0, [(1.0, 3.0, 5.0)], 2.0, 6.0) == pytest.approx(10.0)
    assert least_weighted(product, 1.0, [(1.0, 0.0, 5.0)], 0.0, 1.0) == 0.0


@pytest.mark.parametrize(("model", "objective"), [("loopnest", "edp"), ("maestro", "energy * latency^2")])
def test_bounds_of_totals_within_any_gap_are_below_all_choices_and_verified(
    model: str, objective: str
) -> None:
    problems, least = three_layers(model, objective), least_of_all_choices(model, objective)
    proofs = []
    for gap in (3e-3, 3e-5):
        data = certify_network("small", "any", problems, NetworkOptions(cache=False, gap=gap, check=True))
        assert data["gap"] <= gap
        assert data["lower_bound"] <= least * (1 + 1e-12)
        assert data["totals"][objective] >= least * (1 - 1e-12)
        if "total" in data:
            assert all(check["passed"] for check in data["total"]["verified"]), data["total"]["verified"]
            proofs.append(data["total"]["proofs"])
    assert proofs
