"""The roofline: each word once, and no mapping below it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.roofline import compulsory_words
from dse.support.errors import InputError
from tests.conftest import Dse
from workloads import load, load_layer

sizes = st.integers(1, 20)
few = st.integers(1, 6)


@settings(max_examples=200)
@given(sizes, sizes, few, few, few, few, st.integers(0, 9), st.integers(0, 9), few, few)
def test_inputs_are_the_ones_that_outputs_read_each_once(
    y: int, x: int, r: int, s: int, down: int, right: int, top: int, left: int, apart: int, wide: int
) -> None:
    try:
        layer = Layer(
            "CONV", K=2, C=3, Y=y, X=x, R=r, S=s, stride=(down, right), padding=(top, left),
            dilation=(apart, wide),
        )  # fmt: skip
    except InputError:
        assume(False)
    read = [
        {at * stride + tap * dilation - pad for at in range(outputs) for tap in range(taps)} & {*range(size)}
        for outputs, stride, taps, dilation, pad, size in zip(
            layer.output, layer.stride, (r, s), layer.dilation, layer.padding, (y, x), strict=True
        )
    ]
    words = compulsory_words(layer)
    assert words.inputs == 3 * len(read[0]) * len(read[1])
    assert (words.weights, words.outputs) == (2 * 3 * r * s, 2 * layer.output[0] * layer.output[1])


@pytest.mark.parametrize(
    ("layer", "machine", "model"),
    [
        ("mobilenet_v2:features.2.depthwise", "eyeriss-small", "loopnest"),
        ("resnet50:layer2.0.conv2", "edge", "loopnest"),
        ("llama3-8b@decode=1,kv=2048:scores", "tpu-like", "loopnest"),
        ("resnet50:layer2.0.conv2", "gemmini-16-8192-512", "timeloop"),
        ("bert_base:scores", "simba_like", "timeloop"),
    ],
)
def test_no_mapping_is_below_the_roofline(layer: str, machine: str, model: str) -> None:
    problem = make_problem(load_layer(layer), machine, "edp", model)
    bounds = problem.model.roofline(problem.layer, problem.accelerator)
    assert bounds is not None
    rng = np.random.default_rng(0)
    found = problem.price(problem.space.sample(rng, 2000))
    feasible = np.isfinite(found.loss)
    assert feasible.any()
    assert (found.cycles[feasible] >= bounds.cycles).all()
    assert (found.energy_nj[feasible] >= bounds.energy_nj * (1 - 1e-12)).all()
    assert bounds.cycles == max(bounds.compute_cycles, bounds.link_cycles)


def test_a_block_of_llama_moves_what_accelforge_counts() -> None:
    """Commit 1c1929c, `snowcat`, 256 tokens of 16 bits: 4,177,526,784 bits, with element-wise steps."""
    run = load("llama3-8b@prefill=256")
    products = sum(
        compulsory_words(layer).total * layer.repeats // 32
        for group in run.wholes
        for layer in group
        if layer.name != "lm_head"
    )
    scores, hidden = 32 * 256 * 256, 256 * 14336
    element_wise = 2 * scores + 3 * hidden  # Softmax reads and writes scores; gate and up become one.
    assert 16 * (products + element_wise) == 4_177_526_784


def test_a_proof_says_how_far_the_optimum_is_from_the_roofline(dse: Dse, tmp_path: Path) -> None:
    given_ = ("certify", "--network", "alexnet", "--accelerator", "edge", "--tiles", "factors")
    shown = dse(*given_, "--roofline", "--out", str(tmp_path), "--fresh")
    assert shown.code == 0, shown
    assert "Roofline: cycles and energy if each word moved once" in shown.out
    assert (tmp_path / "roofline.png").read_bytes().startswith(b"\x89PNG")
    data = json.loads((tmp_path / "network.json").read_text(encoding="utf-8"))
    for entry in data["layers"]:
        assert entry["roofline"]["cycles_above"] >= 1
        assert entry["roofline"]["energy_above"] >= 1
        times = entry["roofline"]["cycles_above"]
        assert entry["best"]["cycles"] == pytest.approx(times * entry["roofline"]["cycles"])


def test_models_without_a_roofline_and_single_layers_say_so(dse: Dse) -> None:
    layer = ("certify", "--layer", "alexnet:fc8", "--accelerator", "edge", "--tiles", "factors", "--fresh")
    assert "roofline: at least" in dse(*layer).out
    refused = dse(*layer, "--roofline")
    assert refused.code == 2
    assert "--roofline is of a network's layers" in refused.err
    assert "roofline" not in dse(*layer, "--cost-model", "maestro").out
