"""The CPU judge: its loops do the work, its counts are the same each time, and what it cannot run it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dse.core.layer import Layer
from examples.judges.cpu import judge
from tests.judges.cases import answers, drawn, needs

CONVOLUTION = Layer("CONV", K=6, C=5, Y=9, X=8, R=3, S=3, stride=(2, 1), padding=(1, 1))
PRODUCT = Layer.gemm(12, 10, 9)
DEPTHWISE = Layer("DSCONV", K=1, C=8, Y=9, X=9, R=3, S=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    needs("gcc", "valgrind")
    yield tmp_path_factory.mktemp("cpu")
    judge.untiled.cache_clear()


def test_counts_are_the_same_when_asked_again() -> None:
    needs("gcc", "valgrind")
    (case,) = drawn("cpu", PRODUCT, 1)
    first, again = answers("cpu", [case, case])
    assert first == {**again, "id": 0}
    assert first["cycles"] > first["counters"]["instructions"] > PRODUCT.macs


def test_a_convolution_that_strides_has_the_outputs_of_untiled_loops(folder: Path) -> None:
    for case in drawn("cpu", CONVOLUTION, 2):
        assert judge.judge(case, folder)["cycles"] > 0


def test_wrong_outputs_are_no_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = drawn("cpu", PRODUCT, 1)
    plain = judge.loops
    wrong = "output[k][y][x] -="
    monkeypatch.setattr(judge, "loops", lambda *asked: plain(*asked).replace("output[k][y][x] +=", wrong))
    with pytest.raises(AssertionError, match="wrong outputs"):
        judge.judge(case, folder)


def test_the_clock_says_how_many_repeats_and_how_far_they_are_apart() -> None:
    needs("gcc")
    (case,) = drawn("cpu", PRODUCT, 1)
    (answer,) = answers("cpu", [case], "--time")
    assert answer["repeats"] >= judge.LEAST_REPEATS
    assert answer["deviation"] >= 0 < answer["cycles"]


def test_the_nest_has_the_mappings_tiles_in_its_orders() -> None:
    (case,) = drawn("cpu", CONVOLUTION, 1, seed=3)
    lines = judge.loops(case["mapping"], judge.layer_sizes(case["layer"])).splitlines()
    for number, level in enumerate(("outer", "inner")):
        asked = case["mapping"][level]
        names = [line.split("int ")[1][0].upper() for line in lines[4 * number : 4 * number + 4]]
        assert names == [dim for dim in asked["order"] if dim in judge.DIMS]
        for dim, line in zip(names, lines[4 * number :], strict=False):
            assert line.endswith(f"+= {asked['tile'][dim]})")


def test_a_depthwise_layer_is_refused_with_the_reason() -> None:
    needs("gcc", "valgrind")
    (answer,) = answers("cpu", drawn("cpu", DEPTHWISE, 1))
    assert answer["status"] == "invalid"
    assert "depthwise" in answer["reason"]
