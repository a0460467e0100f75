"""What SCALE-Sim is told of a mapping, and what it cannot be told."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from dse.core.layer import Layer
from examples.judges.scalesim import judge
from experiments.judges.enumeration import bound_of, question_of
from tests.judges.cases import JUDGES, answers, drawn

LAYER = Layer("CONV", K=32, C=16, Y=14, X=14, R=3, S=3, padding=(1, 1))
MACHINE = {"num_pes": 64, "l2_size": 24576, "offchip_bandwidth": 8}


def mapping(outer: str, inner: str, cluster: int = 4) -> dict[str, Any]:
    return {"outer": {"parallel": outer}, "cluster_size": cluster, "inner": {"parallel": inner}}


@pytest.mark.parametrize(
    ("outer", "inner", "said"),
    [
        ("K", "Y", ("os", 4, 16)),
        ("X", "K", ("os", 16, 4)),
        ("C", "K", ("ws", 16, 4)),
        ("K", "C", ("ws", 4, 16)),
        ("Y", "C", ("is", 4, 16)),
    ],
)
def test_parallel_dims_say_the_dataflow_and_clusters_the_aspect(outer: str, inner: str, said: object) -> None:
    assert judge.array(mapping(outer, inner), MACHINE) == said


@pytest.mark.parametrize(("outer", "inner"), [("Y", "X"), ("K", "K"), ("R", "K")])
def test_other_pairs_are_no_dataflow(outer: str, inner: str) -> None:
    with pytest.raises(judge.CannotRun, match=f"no dataflow spreads {outer} and {inner}"):
        judge.array(mapping(outer, inner), MACHINE)


def test_all_kinds_of_outer_tiles_together_are_the_layer() -> None:
    found = judge.tiles(LAYER.to_dict(), {"K": 12, "C": 16, "Y": 5, "X": 14, "R": 3, "S": 3})
    assert [count for count, _ in found] == [4, 2, 2, 1]
    assert found[0][1] == "layer,7,16,3,3,16,12,1,1:1,"
    macs = 0
    for count, line in found:
        rows, columns, *_, channels, filters = map(int, line.split(",")[1:7])
        macs += count * (rows - 2) * (columns - 2) * channels * filters * 9
    assert macs == LAYER.macs


def test_layers_that_it_cannot_be_told_are_refused() -> None:
    whole = {"K": 1, "C": 1, "Y": 1, "X": 1, "R": 3, "S": 3}
    for layer, reason in (
        (Layer("DSCONV", K=1, C=8, Y=9, X=9, R=3, S=3), "depthwise"),
        (Layer("CONV", K=2, C=2, Y=9, X=9, R=3, S=3, dilation=(2, 2)), "no dilation"),
        (Layer("CONV", K=2, C=2, Y=9, X=9, R=3, S=3, stride=(2, 1)), "one stride"),
    ):
        with pytest.raises(judge.CannotRun, match=reason):
            judge.tiles(layer.to_dict(), whole)


def test_without_scalesim_it_says_what_to_install() -> None:
    program = JUDGES / "scalesim" / "judge.py"
    done = subprocess.run([sys.executable, "-S", str(program)], input="", capture_output=True, text=True)
    assert (done.returncode, "pip install scalesim==3.0.0" in done.stderr) == (1, True)


def test_scalesim_takes_as_many_cycles_as_its_array_needs_at_least() -> None:
    python = os.environ.get("DSE_SCALESIM")
    if not python:
        pytest.skip("DSE_SCALESIM, the python of an environment with scalesim, is not set")
    cases = drawn("scalesim", Layer("CONV", K=8, C=8, Y=8, X=8, R=3, S=3), 12)
    said = answers("scalesim", cases, python=python)
    ran = [(case, answer) for case, answer in zip(cases, said, strict=True) if "cycles" in answer]
    assert len(ran) > 2
    for case, answer in ran:
        question = question_of(case)
        assert question is not None
        assert answer["cycles"] >= bound_of(question)
        assert answer["counters"]["dram_writes"] >= 8 * 36
