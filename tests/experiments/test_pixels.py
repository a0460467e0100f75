"""Convolutional policies in few bits: what is seen, what rounds, and what follows from returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from experiments import read_rows
from experiments.quantised import pixels
from learners.qat import RoundedConv2d, Rounding, learn_with_rounding, round_layers
from learners.quantised import FULL, Precision, rounded_activations, rounded_weights


def test_a_pole_that_leans_is_seen_to_lean() -> None:
    upright, leaning = (pixels.picture(np.array([0.0, 0.0, angle, 0.0])) for angle in (0.0, 0.15))
    columns = np.arange(pixels.COLUMNS)
    middle = [(seen[2:5].sum(axis=0) * columns).sum() / seen[2:5].sum() for seen in (upright, leaning)]
    assert middle[0] == pytest.approx((pixels.COLUMNS - 1) / 2)
    assert middle[1] > middle[0] + 1


def test_what_moves_is_seen_to_move() -> None:
    game = pixels.Pixels()
    still, _ = game.reset(seed=0)
    assert not still[1].any()
    seen = still
    for _ in range(pixels.BACK):
        seen, *_ = game.step(1)
    assert seen.shape == game.observation_space.shape
    assert np.abs(seen[1]).max() > 0.05


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_convolution_rounds_its_filters_and_what_it_sees(per_channel: bool) -> None:
    rounding = Rounding(Precision(4, 4, per_channel), on=False)
    torch.manual_seed(0)
    plain = nn.Conv2d(2, 3, 3, stride=2)
    module = nn.Sequential(plain)
    with learn_with_rounding(rounding):
        round_layers(module)
    images = torch.rand(5, 2, 8, 8)
    assert isinstance(module[0], RoundedConv2d)
    assert torch.equal(module(images), plain(images))
    rounding.on = True
    filters = rounded_weights(plain.weight.detach().flatten(1), 4, per_channel).view_as(plain.weight)
    left = rounded_activations(images.flatten(1), 4).view_as(images)
    expected = nn.functional.conv2d(left, filters, plain.bias, stride=2)
    torch.testing.assert_close(module(images), expected)
    module(images).sum().backward()
    assert plain.weight.grad is not None
    assert plain.weight.grad.abs().sum() > 0


def rows(loss: float, in_training: float) -> list[dict[str, Any]]:
    """Returns of a seed each, less by a share where bits are few, by another where they were taught so."""
    made = []
    for seed in pixels.SEEDS:
        full = 400 + 10 * seed
        lines = [(FULL, FULL, False, 0.0)]
        lines += [
            (FULL, few, channel, loss + 0.001 * seed) for few in pixels.BITS for channel in (False, True)
        ]
        lines += [(few, few, False, in_training + 0.001 * seed) for few in pixels.TAUGHT]
        for taught, bits, channel, lost in lines:
            found = {"seed": seed, "taught": taught, "bits": bits, "per_channel": channel}
            made.append(
                {key: str(value) for key, value in found.items()} | {"return": str(full * (1 - lost))}
            )
    return made


@pytest.mark.parametrize(
    ("loss", "in_training", "cost", "better"),
    [(0.01, 0.3, "borne out", "not borne out"), (0.4, 0.1, "not borne out", "borne out")],
)
def test_verdicts_turn_with_returns(loss: float, in_training: float, cost: str, better: str) -> None:
    found = {claim: verdict for claim, _, verdict in pixels.verdicts(rows(loss, in_training))}
    assert found["8 bits cost 5 % or less"] == cost
    assert found["training with 4 bits is better than quantising afterwards"] == better


def test_the_committed_page_follows_from_the_committed_returns() -> None:
    written = pixels.PATH.with_suffix(".md").read_text(encoding="utf-8")
    assert written.endswith(f"\n\n{pixels.page(read_rows(pixels.PATH))}\n")


def test_what_has_not_been_taught_has_no_verdict() -> None:
    done = [row for row in rows(0.1, 0.1) if row["taught"] == str(FULL)]
    assert not [claim for claim, _, _ in pixels.verdicts(done) if "training" in claim]
    assert "| in training | - |" in pixels.page(done)


def test_a_policy_plays_the_same_games_each_time() -> None:
    agent = pixels.begun(0, Rounding(Precision(4, 4), on=False))
    assert pixels.earned(agent.policy) == pixels.earned(agent.policy) > 5
