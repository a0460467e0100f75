"""`dse calibrate`: a machine's figures are found from measured cycles, with their intervals and the error."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse as package
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.problem import Problem
from tests.conftest import Dse
from workloads import load_layer

EDGE = PRESETS["edge"]
TRUE = replace(EDGE, noc_bandwidth=8, offchip_bandwidth=2)
LAYERS = ("resnet18:1", "resnet18:3")
SLOWER = 1.5


def measured(folder: Path, true: Accelerator = TRUE, count: int = 30) -> Path:
    """Mappings of two layers and their cycles on a machine that is not the one that is said, with noise."""
    rng = np.random.default_rng(1)
    with (folder / "samples.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["layer", "mapping", "cycles"])
        for name in LAYERS:
            problem = Problem(load_layer(name), true)
            genes = problem.space.sample(rng, count)
            cycles = problem.price(genes).cycles * SLOWER * np.exp(0.03 * rng.standard_normal(count))
            mappings = problem.space.decode(genes)
            writer.writerows([name, mappings[place].to_json(), cycles[place]] for place in range(count))
    return folder / "samples.csv"


def test_several_layers_find_the_bandwidths_and_the_clock_of_one_machine(dse: Dse, tmp_path: Path) -> None:
    file, out = measured(tmp_path), tmp_path / "mine"
    found = dse("calibrate", str(file), "--accelerator", "edge", "--out", str(out), "--json")
    assert found.code == 0
    said = json.loads(found.out)
    constants = said["constants"]
    assert (constants["noc_bandwidth"]["fitted"], constants["offchip_bandwidth"]["fitted"]) == (8, 2)
    assert constants["clock_ghz"]["low"] <= 1 / SLOWER <= constants["clock_ghz"]["high"]
    for constant in constants.values():
        assert constant["low"] <= constant["high"]
    assert said["error"]["after"] < 0.05 < said["error"]["before"]
    assert said["rank"]["before"] < said["rank"]["after"]
    assert said["layers"] == list(LAYERS)
    machine = package.load_accelerator(str(out / "machine.toml"))
    assert (machine.noc_bandwidth, machine.num_pes) == (8, EDGE.num_pes)
    assert "# error of samples that the fit has not seen" in (out / "machine.toml").read_text()
    assert {path.name for path in out.iterdir()} == {"machine.toml", "calibration.json", "calibration.png"}


def test_the_folder_of_a_search_is_samples_too(dse: Dse, tmp_path: Path) -> None:
    judge = Problem(load_layer(LAYERS[0]), EDGE, cost_model="maestro")
    package.search(judge, "random", budget=60, out=tmp_path / "run")
    found = dse("calibrate", str(tmp_path / "run"))
    assert found.code == 0
    assert "rank correlation" in found.out
    assert "noc_bandwidth" in found.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("layer,mapping\nresnet18:1,{}\n", "line 2 lacks cycles"),
        ("layer,mapping,cycles\nresnet18:1,{},soon\n", "line 2: cycles must be a number above 0, got 'soon'"),
        ("layer,mapping,cycles\nresnet18:1,{},-4\n", "line 2: cycles must be"),
        ("layer,mapping,cycles\nresnet18:99,{},4\n", "resnet18"),
        ("layer,mapping,cycles\nresnet18:1,{},4\n", "line 2"),
        ("layer,mapping,cycles\n", "has no samples"),
    ],
)
def test_samples_that_cannot_be_read_are_refused_in_a_line(
    dse: Dse, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "samples.csv").write_text(text)
    found = dse("calibrate", str(tmp_path / "samples.csv"), "--accelerator", "edge")
    assert found.code == 2
    assert words in found.err


def test_what_is_not_said_or_too_little_is_refused_in_a_line(dse: Dse, tmp_path: Path) -> None:
    file = measured(tmp_path, count=3)
    assert "need --accelerator" in dse("calibrate", str(file)).err
    found = dse("calibrate", str(file), "--accelerator", "edge")
    assert (found.code, "takes 8 samples" in found.err) == (2, True)
    (tmp_path / "empty").mkdir()
    assert "has no record.parquet" in dse("calibrate", str(tmp_path / "empty")).err
