"""Quantisation by its formula, and messages that hold what was sent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from learners.errors import InputError
from learners.quantised import (
    QuantisedWeights,
    quantise_weights,
    rounded_activations,
    rounded_values,
    rounded_weights,
)

pytest.importorskip("safetensors")


def drawn(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(5).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("bits", range(2, 9))
def test_values_are_the_nearest_multiples_of_delta(bits: int) -> None:
    values = drawn(40, 30)
    delta = (values.max() - values.min()) / 2**bits
    left = rounded_weights(values, bits)
    top = torch.round(values / delta) > torch.round(values.min() / delta) + 2**bits - 1
    np.testing.assert_allclose(left[~top], (delta * torch.round(values / delta))[~top], atol=1e-6)
    assert top.sum() < values.numel() / 100
    assert (left - values).abs().max() <= 1.5 * delta
    assert len(left.unique()) <= 2**bits
    np.testing.assert_array_equal(quantise_weights({"w": values}, bits).dequantise()["w"], left)


def test_values_of_one_sign_keep_zero_and_so_does_nothing_at_all() -> None:
    np.testing.assert_allclose(
        rounded_values(torch.tensor([0.0, 0.1, 0.5, 1.0]), 2, (0,)), [0.0, 0.0, 0.5, 0.75], atol=1e-7
    )
    np.testing.assert_array_equal(rounded_weights(torch.zeros(2, 3), 4), torch.zeros(2, 3))


def test_scales_are_of_a_network_of_a_channel_or_of_a_row() -> None:
    values = drawn(2, 3, 50) * torch.tensor([1.0, 100.0])[:, None, None]
    for agent in range(2):
        alone = rounded_weights(values[agent], 4)
        np.testing.assert_array_equal(rounded_weights(values, 4)[agent], alone)
        np.testing.assert_array_equal(
            rounded_weights(values, 4, per_channel=True)[agent, 1:2],
            rounded_weights(values[agent, 1:2], 4),
        )
    np.testing.assert_array_equal(rounded_activations(values, 6)[1, 2], rounded_activations(values[1, 2], 6))


@pytest.mark.parametrize("bits", [2, 3, 7, 8, 16, 32])
@pytest.mark.parametrize("per_channel", [False, True])
def test_a_message_holds_what_was_sent_in_so_many_bits(bits: int, per_channel: bool) -> None:
    weights = {"0.weight": drawn(2, 64, 32), "0.bias": drawn(2, 64)}
    sent = quantise_weights(weights, bits, per_channel)
    message = sent.to_bytes()
    got = QuantisedWeights.from_bytes(message)
    assert got.bits == bits
    for name, tensor in sent.dequantise().items():
        np.testing.assert_array_equal(got.dequantise()[name], tensor)
    numbers, biases, scales = 2 * 64 * 32, 2 * 64, 2 * (64 if per_channel else 1)
    np.testing.assert_array_equal(got.dequantise()["0.bias"], weights["0.bias"])
    if bits <= 8:
        assert got.nbytes == numbers * bits // 8 + 4 * biases + 6 * scales + 24 + 8
    else:
        assert got.nbytes == numbers * bits // 8 + 4 * biases + 8
    assert got.nbytes < len(message) < got.nbytes + 800


def test_what_is_no_message_is_refused_in_one_line() -> None:
    message = quantise_weights({"w": drawn(4, 4)}, 8).to_bytes()
    for wrong in (b"", message[:-3], message.replace(b"w/delta", b"w/other")):
        with pytest.raises(InputError, match="damaged"):
            QuantisedWeights.from_bytes(wrong)
    with pytest.raises(InputError, match="bits must be one of 2, 3, 4, 5, 6, 7, 8, 16, 32, got 9"):
        quantise_weights({}, 9)
