"""The RTL judge before any simulation: what it cannot run it says, and its reference is a convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dse.core.layer import Layer
from examples.judges.rtl import judge
from tests.judges.cases import drawn

CONVOLUTION = Layer("CONV", K=6, C=4, Y=9, X=8, R=3, S=3, stride=(2, 1), padding=(1, 2))
(CASE,) = drawn("rtl", CONVOLUTION, 1)


def refused(**changes: Any) -> str:
    """Why a case is not run whose mapping, or machine, has these figures instead."""
    case = {"mapping": dict(CASE["mapping"]), "hardware": dict(CASE["hardware"])}
    for name, value in changes.items():
        case["mapping" if name in case["mapping"] else "hardware"][name] = value
    with pytest.raises(judge.CannotRun) as found:
        judge.configure(judge.layer_sizes(CASE["layer"]), case["mapping"], case["hardware"])
    return str(found.value)


def test_what_the_accelerator_cannot_run_is_refused_with_the_reason() -> None:
    outer = CASE["mapping"]["outer"]
    assert "outer.parallel C" in refused(outer={**outer, "parallel": "C"})
    assert "filter is not spread" in refused(outer={**outer, "parallel": "R"})
    assert "whole filter" in refused(outer={**outer, "tile": {**outer["tile"], "R": 1}})
    assert "from 1 to 16, got 17" in refused(cluster_size=17)
    assert "l1_size 4 is too small" in refused(outer={**outer, "parallel": "K"}, l1_size=4)


def test_a_depthwise_layer_is_refused() -> None:
    with pytest.raises(judge.CannotRun, match="depthwise"):
        judge.layer_sizes(Layer("DSCONV", K=1, C=4, Y=9, X=9, R=3, S=3).to_dict())


def test_buffers_are_counted_as_loopnest_counts_them() -> None:
    layer = Layer("CONV", K=6, C=4, Y=9, X=8, R=3, S=3)
    sizes, tile = judge.layer_sizes(layer.to_dict()), {"K": 2, "C": 4, "Y": 3, "X": 2}
    assert judge.boxes(sizes, tile) == [4 * 5 * 4, 2 * 4 * 9, 2 * 3 * 2]
    assert judge.halves([80, 72, 12]) == [0, 80, 160, 232, 304, 316]


def test_what_outputs_are_compared_with_is_a_convolution_with_zeros_round_its_image() -> None:
    sizes = judge.layer_sizes(CONVOLUTION.to_dict())
    image, weights, outputs = judge.data(tuple(sizes.items()))
    assert image.shape == (4, 11, 12)
    assert not image[:, [0, -1]].any()
    assert not image[:, :, [0, 1, -2, -1]].any()
    assert image[:, 1:-1, 2:-2].any()
    for k, y, x in np.ndindex(outputs.shape):
        assert outputs[k, y, x] == (weights[k] * image[:, 2 * y : 2 * y + 3, x : x + 3]).sum()
