"""Networks in few bits: what computes in whole numbers does what the simulation says, and files keep it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from learners.heads import Choices
from learners.networks import Networks
from learners.policy import Policy, load_policy, save_policy
from learners.qat import Rounding
from learners.quantised import Precision
from learners.quantised_networks import Executed, executed, quantised_networks
from learners.team import Team
from tests.learners.toys import Signals

RNG = np.random.default_rng(7)
ROWS = torch.from_numpy(RNG.normal(size=(3, 40, 8)).astype(np.float32))
TOLERANCE = {16: 1e-6, 8: 0.02, 4: 0.02}
"""Of the largest output: by how much what is executed may differ from what is simulated."""


def networks(shift: float = 0.0) -> Networks:
    drawn = Networks.drawn(np.random.default_rng(1), 3, (8, 32, 32, 5))
    return Networks([weight + shift * (place % 2 == 0) for place, weight in enumerate(drawn.weights)], "relu")


@pytest.mark.parametrize("shift", [0.0, 0.1, -0.2])
@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize(("weights", "activations"), [(8, 8), (4, 8), (16, 32)])
def test_real_layers_do_what_is_simulated(
    weights: int, activations: int, per_channel: bool, shift: float
) -> None:
    full = networks(shift)
    few = quantised_networks(full, Precision(weights, activations, per_channel))
    simulated = few(ROWS).detach()
    one_by_one = [Executed(few.quantised, few.activation)(row[:, None]) for row in ROWS.unbind(1)]
    difference = (torch.cat(one_by_one, 1) - simulated).abs().max() / simulated.abs().max()
    assert difference < TOLERANCE[weights]
    assert weights == 8 or (simulated - full(ROWS)).abs().max() / simulated.abs().max() > TOLERANCE[weights]


def test_networks_of_full_precision_are_executed_as_they_are() -> None:
    full = networks()
    assert executed(full) is full
    few = quantised_networks(full, Precision(32, 8))
    assert executed(few) is few
    assert (few(ROWS) - full(ROWS)).abs().max() > 0
    np.testing.assert_array_equal(quantised_networks(full, Precision())(ROWS).detach(), full(ROWS).detach())


def test_learning_goes_through_rounding_to_what_is_behind_it() -> None:
    rounding = Rounding(Precision(2, 2), on=False)
    learning = Networks(networks().weights, "relu", rounding)
    np.testing.assert_array_equal(learning(ROWS).detach(), networks()(ROWS).detach())
    rounding.on = True
    outputs = learning(ROWS)
    few = quantised_networks(learning, Precision(2, 2))
    np.testing.assert_allclose(outputs.detach(), few(ROWS).detach(), atol=1e-5)
    gradients = torch.autograd.grad(outputs.square().sum(), learning.weights)
    assert all(gradient.abs().max() > 0 for gradient in gradients)


@pytest.mark.parametrize("precision", [Precision(3, 8), Precision(8, 8, True), Precision(16)])
def test_a_policy_in_few_bits_is_saved_in_few_bits(tmp_path: Path, precision: Precision) -> None:
    pytest.importorskip("safetensors")
    team = Team.of(Signals())
    full = Policy(
        "made", team, Choices(team.real), Networks.drawn(RNG, 3, (team.observed, 32, 32, team.width))
    )
    few = full.quantised(precision)
    for policy, folder in ((full, "full"), (few, "few")):
        save_policy(policy, tmp_path / folder, {"samples": 3})
    sizes = {path.parent.name: path.stat().st_size for path in tmp_path.rglob("*.safetensors")}
    assert sizes["few"] < 0.7 * sizes["full"]
    loaded = load_policy(tmp_path / "few").policy
    seen = RNG.random((3, full.team.observed), dtype=np.float32)
    np.testing.assert_array_equal(
        loaded.act(seen, np.random.default_rng(1)), few.act(seen, np.random.default_rng(1))
    )
    outputs = [policy.actors(torch.from_numpy(seen)[:, None]).detach() for policy in (loaded, few, full)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert (outputs[1] != outputs[2]).any()
