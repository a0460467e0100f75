"""The Verilog under Verilator: its outputs are numpy's, its counters what moved, the same each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.core.layer import Layer
from examples.judges.rtl import judge
from tests.judges.cases import answers, drawn, needs

LAYERS = {
    "padded": Layer("CONV", K=6, C=8, Y=9, X=8, R=3, S=3, padding=(1, 1)),
    "strided": Layer("CONV", K=8, C=6, Y=15, X=12, R=3, S=2, stride=(2, 1)),
    "dilated": Layer("CONV", K=5, C=4, Y=13, X=11, R=3, S=3, dilation=(2, 1), padding=(2, 0)),
    "stride beyond the filter": Layer("CONV", K=8, C=8, Y=13, X=13, R=1, S=1, stride=(3, 2)),
    "product": Layer.gemm(30, 14, 22),
}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("verilator", "g++")
    return tmp_path_factory.mktemp("rtl")


@pytest.mark.parametrize("name", LAYERS)
def test_outputs_of_drawn_mappings_are_those_of_numpy(name: str, build: Path) -> None:
    layer = LAYERS[name]
    cases = drawn("rtl", layer, 40)
    said = answers("rtl", cases, build=build)
    ran = [answer for answer in said if "cycles" in answer]
    assert len(ran) >= 10
    assert {answer["reason"].split(":")[0] for answer in said if answer not in ran} <= {
        "adders join the PEs of a cluster, not clusters"
    } | {answer["reason"] for answer in said if "too small" in answer.get("reason", "")}
    for answer in ran:
        assert answer["cycles"] * 16 >= layer.macs
        counters = answer["counters"]
        assert set(counters) == set(judge.COUNTERS)
        assert counters["compute"] <= answer["cycles"]
        used = layer.K * layer.C * layer.R * layer.S
        assert counters["dram_words"] >= used


def test_a_mapping_takes_as_long_when_it_is_run_again_after_others(build: Path) -> None:
    cases = [
        case for case in drawn("rtl", LAYERS["padded"], 12) if case["mapping"]["outer"]["parallel"] != "C"
    ]
    said = answers("rtl", [*cases, *cases], build=build)
    for first, again in zip(said[: len(cases)], said[len(cases) :], strict=True):
        assert {**first, "id": 0} == {**again, "id": 0}
