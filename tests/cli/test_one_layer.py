"""A layer by itself: the same default of tiles in Python, and what all of its runs take."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse as package
from dse.optimum import certify as prove
from tests.conftest import Dse
from workloads import load_layer

GROUPED = """
name = "grouped"
[[layers]]
name = "conv"
type = "CONV"
K = 64
C = 32
Y = 28
X = 28
R = 3
S = 3
padding = 4
dilation = 4
groups = 8
"""
SMALL = """
name = "small"
[[layers]]
name = "fc"
type = "FC"
outputs = 9
inputs = 7
"""
SAMPLES = """
name = "samples"
[[layers]]
name = "conv"
type = "CONV"
K = 8
C = 4
Y = 14
X = 14
R = 3
S = 3
padding = 1
batch = 4
"""


def test_python_proves_over_the_tiles_that_the_command_does(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(SMALL)
    layer = f"{tmp_path / 'net.toml'}:fc"
    said = dse("certify", "--layer", layer, "--accelerator", "edge", "--objective", "edp", "--json").json
    small = package.Problem(load_layer(layer), package.load_accelerator("edge"), "edp")
    found, factors = package.certify(small), package.certify(small, tiles="factors")
    assert (found.tiles, factors.tiles) == (said["tiles"], "factors") == ("any", "factors")
    assert found.best is not None
    assert factors.best is not None
    assert found.best.loss == said["best"]["loss"] <= factors.best.loss
    assert factors.best == prove(small).best
    assert all(one.passed for certificate in (found, factors) for one in package.verify(small, certificate))


def test_python_proves_over_factors_where_there_is_no_other_proof() -> None:
    found = package.certify(package.make_problem(load_layer("mlp:2"), "edge", "edp", "timeloop"))
    assert (found.status, found.tiles) == ("optimal", "factors")


@pytest.mark.parametrize(("text", "runs"), [(GROUPED, 8), (SAMPLES, 4)], ids=["groups", "samples"])
def test_a_layer_of_several_equal_runs_says_what_all_of_them_take(
    dse: Dse, tmp_path: Path, text: str, runs: int
) -> None:
    (tmp_path / "net.toml").write_text(text)
    layer = ("--layer", f"{tmp_path / 'net.toml'}:conv", "--accelerator", "edge")
    for command in (
        ("certify", "--tiles", "factors"),
        ("search", "--searcher", "random", "--budget", "50"),
        ("evaluate", "--mapping", "eyeriss"),
    ):
        found = dse(*command, *layer, "--json").json
        one = found.get("best", found)
        assert found["in_all"] == {
            "repeats": runs,
            "cycles": runs * one["cycles"],
            "energy_nj": pytest.approx(runs * one["energy_nj"]),
        }
        shown = dse(*command, *layer).out
        assert f"one of the {runs} equal runs of the layer; all of them take" in shown
        assert f"{runs * one['cycles']:,} cycles" in shown


def test_a_layer_that_is_run_once_says_nothing_of_runs(dse: Dse) -> None:
    shown = dse("evaluate", "--layer", "vgg16:1", "--accelerator", "edge", "--mapping", "eyeriss").out
    assert "equal runs" not in shown
