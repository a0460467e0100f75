"""Networks in few bits: what computes in whole numbers does what the simulation says, and files keep it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from learners.heads import Choices
from learners.networks import Networks
from learners.policy import Policy, load_policy, save_policy
from learners.qat import Rounding
from learners.quantised import Precision
from learners.quantised_networks import (
    Executed,
    QuantisedNetworks,
    activation_bits,
    as_executed,
    executable_networks,
    quantised_networks,
)
from learners.team import Team
from tests.learners.toys import Signals

RNG = np.random.default_rng(7)
ROWS = torch.from_numpy(RNG.normal(size=(3, 40, 8)).astype(np.float32))
NEAR = 1e-5
"""Of the largest output: what single precision may lose in sums of some dozen products, with room."""


def networks(shift: float = 0.0, activation: str = "relu") -> Networks:
    drawn = Networks.drawn(np.random.default_rng(1), 3, (8, 32, 32, 5)).weights
    return Networks([weight + shift * (place % 2 == 0) for place, weight in enumerate(drawn)], activation)


def row_by_row(network: Callable[[torch.Tensor], torch.Tensor], rows: torch.Tensor = ROWS) -> torch.Tensor:
    """Each row alone, as an actor sees it: rows of one call share a range."""
    return torch.cat([network(row[:, None]).detach() for row in rows.unbind(1)], 1)


def share_alike(one: torch.Tensor, other: torch.Tensor) -> float:
    """The share of rows that are the same but for single precision.

    A number between two steps may go to either, and its row with it: that is by chance one of thousands.
    """
    same = (one - other).abs().amax(-1) < NEAR * other.abs().max()
    return float(same.float().mean())


def assert_simulated(few: QuantisedNetworks, activations: int | None) -> None:
    """Layers and simulation agree in as many bits, in rows alone and together, and in no others."""
    layers = Executed(few.quantised, few.activation, activations)
    found, bits = row_by_row(layers), layers.activations
    assert share_alike(found, row_by_row(as_executed(few, bits))) > 0.9
    assert share_alike(found, row_by_row(as_executed(few, 15 - bits))) < 0.5
    assert share_alike(layers(ROWS), as_executed(few, bits)(ROWS).detach()) > 0.9


NETWORKS = [("relu", 0.0), ("relu", 0.1), ("tanh", -0.1)]


@pytest.mark.parametrize(("activation", "shift"), NETWORKS)
@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize(("weights", "activations"), [(8, 7), (8, None), (7, 8), (4, 8), (4, 7), (2, None)])
def test_layers_of_whole_numbers_do_what_is_simulated_with_as_many_bits(
    weights: int, activations: int | None, per_channel: bool, activation: str, shift: float
) -> None:
    full = networks(shift, activation)
    assert_simulated(quantised_networks(full, Precision(weights, 8, per_channel)), activations)


@pytest.mark.skipif("qnnpack" not in torch.backends.quantized.supported_engines, reason="needs QNNPACK")
@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize(("weights", "sign"), [(8, 0), (8, -1), (7, -1), (8, 1)])
def test_qnnpack_does_what_is_simulated_also_with_weights_of_one_sign(
    weights: int, sign: int, per_channel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It adds in 32 bits, on any CPU, and has no zero point for 8 bits none of which is positive."""
    monkeypatch.setattr(torch.backends.quantized, "engine", "qnnpack")
    drawn = [sign * weight.abs() if sign else weight for weight in networks().weights]
    few = quantised_networks(Networks(drawn, "tanh"), Precision(weights, 8, per_channel))
    assert_simulated(few, 8)
    held, plain = as_executed(few, 8).weights[0].detach(), few.weights[0].detach()
    assert bool((held == plain).all()) == ((weights, sign) != (8, -1))
    assert float((held - plain).abs().max()) <= 1.01 * float(plain.abs().max()) / 255


def test_an_engine_that_has_no_zero_points_is_not_used_and_the_choice_is_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = next((one for one in torch.backends.quantized.supported_engines if one == "onednn"), "none")
    monkeypatch.setattr(torch.backends.quantized, "engine", other)
    assert_simulated(quantised_networks(networks(), Precision(8, 8)), 8)
    assert torch.backends.quantized.engine == other


@pytest.mark.parametrize("vnni", [False, True])
def test_activations_have_7_bits_just_where_sums_of_16_bits_would_overflow(
    vnni: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: vnni)
    assert [activation_bits(bits) for bits in (2, 7, 8, 16, 32)] == [8, 8, 8 if vnni else 7, 32, 32]
    for weights in range(2, 9):
        largest = (2 ** activation_bits(weights) - 1) * 2 ** (weights - 1)
        assert vnni or 2 * largest < 2**15
    monkeypatch.setattr(torch.backends.quantized, "engine", "qnnpack")
    assert activation_bits(8) == 8


@pytest.mark.parametrize("weights", [8, 4, 2])
def test_the_formula_and_the_layers_are_no_further_apart_than_their_roundings(weights: int) -> None:
    """A rounding moves an activation by half a step, at the ends of its range by one and a half."""
    alone = Networks(networks().weights[:2], "relu")
    few = quantised_networks(alone, Precision(weights, 8))
    layers = Executed(few.quantised, few.activation)
    ranges = ROWS.amax(-1).clamp(min=0) - ROWS.amin(-1).clamp(max=0)
    steps = ranges / 2**8 + ranges / (2**layers.activations - 1)
    most = 1.5 * steps[..., None] * few.weights[0].detach().abs().sum(1, keepdim=True)
    assert ((row_by_row(layers) - few(ROWS).detach()).abs() <= most).all()


@pytest.mark.parametrize(("activation", "shift"), NETWORKS)
def test_layers_of_halves_do_what_is_simulated(activation: str, shift: float) -> None:
    full = networks(shift, activation)
    few = quantised_networks(full, Precision(16))
    found = row_by_row(Executed(few.quantised, few.activation))
    assert share_alike(found, few(ROWS).detach()) == 1
    assert share_alike(found, full(ROWS).detach()) < 0.5


def test_networks_of_full_precision_are_executed_as_they_are() -> None:
    full = networks()
    assert executable_networks(full) is full
    few = quantised_networks(full, Precision(32, 8))
    assert executable_networks(few) is few
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
