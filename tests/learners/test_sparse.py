"""Sparse networks keep to their masks, change them as they say, and cost what is counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from learners.errors import InputError
from learners.networks import Networks
from learners.sparse import SparseNetworks, Sparsity, erdos_renyi, forward_flops, training_flops

SHAPES = [(100, 100), (100, 10)]


def networks(method: str, density: float = 0.25, **settings: Any) -> SparseNetworks:
    rng = np.random.default_rng(0)
    drawn = Networks.drawn(rng, 2, (6, 8, 4))
    return SparseNetworks(drawn, Sparsity(method, density, **settings), 0.01, 10.0, rng)


def descend(made: SparseNetworks, updates: int) -> None:
    rows = torch.ones(2, 3, 6)
    for _ in range(updates):
        loss = (made.networks(rows) - 1).square().sum()
        made.step(torch.autograd.grad(loss, made.networks.weights))


def test_layers_share_connections_by_erdos_renyi() -> None:
    # 100 x 100 has 200 / 10,000 to scale, 100 x 10 has 110 / 1,000: k (200 + 110) = 0.1 * 11,000.
    assert np.allclose(erdos_renyi(SHAPES, 0.1), [1100 / 310 * 0.02, 1100 / 310 * 0.11])
    # At 0.3 the small layer would be above 1: it is whole, and the other has what is left.
    assert np.allclose(erdos_renyi(SHAPES, 0.3), [2300 / 10_000, 1.0])
    assert erdos_renyi(SHAPES, 1.0) == [1.0, 1.0]


def test_flops_of_a_small_network_are_those_counted_by_hand() -> None:
    # 6 -> 8 -> 4: 48 + 32 weights, 12 biases. Forward 2 * 80 + 12; back twice as much.
    dense = networks("dense", 1.0)
    assert (dense.connections, dense.biases, dense.flops, dense.training_flops()) == (80, 12, 172, 516)
    # A quarter of 80: by Erdos-Renyi 14 k + 12 k = 20, so that 10.8 and 9.2 connections are 11 and 9.
    sparse = networks("rigl", every=2)
    assert sparse.connections == 20
    assert sparse.flops == forward_flops(20, 12) == 52
    assert sparse.training_flops() == training_flops(20, 12, 20) == 156
    descend(sparse, 1)
    # The second update looks at the gradients of all 80 weights.
    assert sparse.training_flops() == 2 * 52 + 172


def test_what_units_are_given_varies_at_first_as_in_a_dense_network() -> None:
    drawn = Networks.drawn(np.random.default_rng(0), 1, (400, 200, 200))
    dense = [weight.detach().square().sum(dim=1).mean() for weight in drawn.weights[::2]]
    made = SparseNetworks(drawn, Sparsity("static", 0.1), 0.01, 10.0, np.random.default_rng(1))
    for weight, mask, before in zip(drawn.weights[::2], made.masks, dense, strict=True):
        assert mask.mean() < 0.2
        assert np.isclose(float(weight.detach().square().sum(dim=1).mean()), float(before), rtol=0.05)


@pytest.mark.parametrize("method", ["static", "set", "rigl"])
def test_nothing_lies_outside_the_masks_and_connections_stay_as_many(method: str) -> None:
    made = networks(method, every=3, until=100)
    before = [mask.clone() for mask in made.masks]
    descend(made, 10)
    for mask, weight, old in zip(made.masks, made.networks.weights[::2], before, strict=True):
        assert (weight[mask == 0] == 0).all()
        for moment in ("exp_avg", "exp_avg_sq"):
            assert (made._adam.state[weight][moment][mask == 0] == 0).all()
        assert (mask.sum(dim=(1, 2)) == old.sum(dim=(1, 2))).all()
        assert torch.equal(mask, old) == (method == "static")


def first_step_of_grown(squares: str) -> float:
    """How far connections that have just grown go in a step, over how far the others do."""
    made = networks("rigl", every=20, until=1000, squares=squares)
    descend(made, 19)
    weight, before = made.networks.weights[0], made.masks[0].clone()
    descend(made, 1)
    grown, kept = (made.masks[0] > before), (made.masks[0] * before > 0)
    assert grown.any()
    assert (weight[grown] == 0).all()
    held = weight.detach().clone()
    descend(made, 1)
    moved = (weight.detach() - held).abs()
    return float(moved[grown].mean() / moved[kept].mean())


def test_what_grows_goes_less_far_at_first_where_it_begins_with_its_layers_mean_of_squares() -> None:
    assert first_step_of_grown("mean") < 0.6 * first_step_of_grown("zero")


def test_rigl_drops_the_weakest_and_grows_where_the_gradient_is_largest() -> None:
    made = networks("rigl", every=1, until=1000)
    weight, mask = made.networks.weights[0], made.masks[0]
    with torch.no_grad():
        weight.copy_(mask * (1 + torch.arange(48).view(6, 8)))
    held = [np.flatnonzero(mask[agent].flatten()) for agent in range(2)]
    gradients = [torch.zeros_like(each) for each in made.networks.weights]
    free = [int(np.flatnonzero(mask[agent].flatten() == 0)[3]) for agent in range(2)]
    for agent in range(2):
        gradients[0].view(2, -1)[agent, free[agent]] = 1.0
    made._rewire(1 / len(held[0]), gradients[::2])
    for agent in range(2):
        now = set(np.flatnonzero(made.masks[0][agent].flatten()).tolist())
        assert now == set(held[agent][1:].tolist()) | {free[agent]}
        assert float(weight.detach().view(2, -1)[agent, free[agent]]) == 0


def test_the_share_that_is_replaced_falls_to_nothing() -> None:
    settings = Sparsity("set", 0.5, every=10, share=0.4, until=100)
    shares = [settings.replaced(update) for update in (10, 50, 90)]
    assert np.allclose(shares, [0.2 * (1 + np.cos(np.pi * update / 100)) for update in (10, 50, 90)])
    assert [settings.replaced(update) for update in (0, 11, 100, 110)] == [0, 0, 0, 0]


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="unknown method 'pruned'"):
        Sparsity("pruned")
    with pytest.raises(InputError, match="unknown squares 'median'"):
        Sparsity(squares="median")
    with pytest.raises(InputError, match="density must be 1 where the method is dense"):
        Sparsity("dense", 0.5)
