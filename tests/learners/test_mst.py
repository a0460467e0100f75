"""MST: densities fall and come back, masks are kept, attention is causal, FLOPs are those counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from learners.errors import InputError
from learners.gpt import GPT, Shape, dense_attention, hybrid_attention
from learners.mst import Pretraining, SparseLayers, pretrain_model

SHAPE = Shape(5, width=8, layers=1, heads=4, length=16)
DENSE = Pretraining(steps=60, batch=8, learning_rate=0.03)
MST = replace(DENSE, sparse=0.5, ultra=0.2, every=4, sparse_attention=True)
TEXT = np.tile(np.array([0, 1, 2, 3, 4]), 200)


def test_the_density_falls_stays_low_and_comes_back() -> None:
    settings = Pretraining(steps=100, warm_up=0.2, restored=0.2, sparse=0.4, ultra=0.1)
    densities = [settings.density(step) for step in (0, 20, 50, 79, 85, 90, 99)]
    assert np.allclose(densities, [1.0, 0.4, 0.1, 0.1, 0.55, 1.0, 1.0])
    assert Pretraining().density(0) == Pretraining().density(200) == 1.0


def test_no_head_sees_what_comes_later_and_sparse_ones_see_less() -> None:
    dense, hybrid = dense_attention(SHAPE), hybrid_attention(SHAPE)
    for seen in (dense, hybrid):
        assert not seen.triu(1).any()
        assert seen.diagonal(dim1=1, dim2=2).all()
    assert (hybrid <= dense).all()
    assert hybrid.sum() < 0.8 * dense.sum()
    assert not torch.equal(hybrid[0], hybrid[1])


def test_a_later_character_changes_nothing_before_it() -> None:
    model = GPT(SHAPE, torch.Generator().manual_seed(0))
    text = torch.from_numpy(TEXT[:16])[None].repeat(2, 1)
    text[1, 9] = 0
    one, other = model(text, dense_attention(SHAPE))
    assert torch.equal(one[:9], other[:9])
    assert not torch.equal(one[9:], other[9:])


def test_flops_of_a_character_are_those_counted_by_hand() -> None:
    model = GPT(SHAPE, torch.Generator().manual_seed(0))
    # A layer: 8 x 24 + 8 x 8 + 8 x 32 + 32 x 8 = 768 connections, 24 + 8 + 32 + 8 biases; 5 x 8 to write.
    # Attention: of 4 heads of 2 numbers, 136 pairs of 16 places each, a product to compare and one to add up.
    by_hand = 2 * (768 + 40) + 72 + 2 * 2 * 4 * 136 / 16 * 2
    assert model.flops(768, dense_attention(SHAPE)) == by_hand


@pytest.mark.parametrize("settings", [DENSE, MST], ids=["dense", "mst"])
def test_a_pattern_is_learned_and_the_same_seed_learns_the_same(settings: Pretraining) -> None:
    torch.set_num_threads(1)
    curve = pretrain_model(settings, SHAPE, TEXT, TEXT, seed=0, points=4)
    assert curve[-1].loss < 0.5 < curve[0].loss
    assert curve[-1].density == 1.0
    assert curve == pretrain_model(settings, SHAPE, TEXT, TEXT, seed=0, points=4)


def test_sparse_training_costs_less() -> None:
    dense = pretrain_model(DENSE, SHAPE, TEXT, TEXT, seed=0, points=4)
    sparse = pretrain_model(MST, SHAPE, TEXT, TEXT, seed=0, points=4)
    assert sparse[2].density == pytest.approx(0.2, abs=0.01)
    assert sparse[-1].flops < 0.75 * dense[-1].flops


def test_a_connection_that_comes_back_goes_about_as_far_as_the_others() -> None:
    weight = torch.nn.Parameter(torch.ones(4, 4))
    layers = SparseLayers([weight], replace(MST, sparse=0.5, warm_up=0.0), np.random.default_rng(0))
    adam = torch.optim.Adam([weight], lr=0.01)

    def step() -> None:
        weight.grad = torch.ones(4, 4)
        layers.mask_gradients()
        adam.step()
        layers.keep(adam)

    for _ in range(200):
        step()
    (mask,) = layers.masks
    assert (weight[mask == 0] == 0).all()
    before, back = weight.detach().clone(), mask == 0
    mask.fill_(1.0)
    step()
    moved = (weight - before).abs()
    assert moved[back].max() < 1.5 * moved[~back].min()


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="warm_up and restored must be at most 1 together"):
        Pretraining(warm_up=0.6, restored=0.6)
    with pytest.raises(InputError, match="ultra must be between 0 and 1"):
        Pretraining(ultra=2.0)
