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
from dse.domains.clustered.mapping import MappingBatch
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
    assert "# error on samples left out of the fit" in (out / "machine.toml").read_text()
    assert {path.name for path in out.iterdir()} == {"machine.toml", "calibration.json", "calibration.png"}


def test_a_plan_is_a_file_to_fill_in_from_which_the_figures_are_found(dse: Dse, tmp_path: Path) -> None:
    asked = [word for name in LAYERS for word in ("--layer", name)]
    said = dse("calibrate", "--plan", "12", *asked, "--accelerator", "edge")
    assert said.code == 0
    rows = list(csv.DictReader(said.out.splitlines()))
    assert {row["layer"] for row in rows} == set(LAYERS)
    assert len({row["mapping"] for row in rows}) == 12
    for row in rows:
        true = Problem(load_layer(row["layer"]), TRUE)
        mapping = true.read_mapping(json.loads(row["mapping"]), "plan")
        row["cycles"] = str(true.evaluate(MappingBatch.of([mapping])).cycles[0])
    with (tmp_path / "plan.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    found = json.loads(dse("calibrate", str(tmp_path / "plan.csv"), "--accelerator", "edge", "--json").out)
    constants = found["constants"]
    assert (constants["noc_bandwidth"]["fitted"], constants["offchip_bandwidth"]["fitted"]) == (8, 2)


def test_a_plan_without_a_layer_or_with_samples_is_refused_in_a_line(dse: Dse) -> None:
    for words in (["--plan", "5"], ["--layer", LAYERS[0]], ["samples.csv", "--plan", "5", "--layer", "x"]):
        found = dse("calibrate", *words, "--accelerator", "edge")
        assert (found.code, "a plan takes --plan N" in found.err) == (2, True)
    found = dse("calibrate", "--plan", "0", "--layer", LAYERS[0], "--accelerator", "edge")
    assert (found.code, "--plan must be at least 1" in found.err) == (2, True)
    assert "--plan N says which" in dse("calibrate", "--accelerator", "edge").err


def with_energies(folder: Path, count: int = 30, **constants: float) -> Path:
    """Mappings with their energies by other constants, and noise."""
    rng = np.random.default_rng(2)
    words = ", ".join(f"{name}={value}" for name, value in constants.items())
    problem = Problem(load_layer(LAYERS[1]), EDGE, cost_model=f"loopnest({words})")
    genes = problem.space.sample(rng, count)
    priced, mappings = problem.price(genes), problem.space.decode(genes)
    energies = priced.energy_nj * np.exp(0.02 * rng.standard_normal(count))
    lines = [
        json.dumps(
            {
                "layer": LAYERS[1],
                "mapping": mappings[place].to_dict(),
                "cycles": int(priced.cycles[place]),
                "energy_nj": energies[place],
            }
        )
        for place in range(count)
    ]
    (folder / "energies.jsonl").write_text("\n".join(lines))
    return folder / "energies.jsonl"


def test_energies_that_are_measured_give_constants_that_a_proof_takes(dse: Dse, tmp_path: Path) -> None:
    file, out = with_energies(tmp_path, dram_pj=120.0, l2_pj=30.0), tmp_path / "mine"
    said = json.loads(dse("calibrate", str(file), "--accelerator", "edge", "--out", str(out), "--json").out)[
        "energies"
    ]
    assert said["samples"] == 30
    assert said["constants"]["dram_pj"]["fitted"] == pytest.approx(120, rel=0.05)
    assert said["constants"]["dram_pj"]["low"] <= 120 <= said["constants"]["dram_pj"]["high"]
    assert said["error_after"] < 0.03 < said["error_before"]
    asked = [
        "certify",
        "--layer",
        LAYERS[1],
        "--accelerator",
        str(out / "machine.toml"),
        "--tiles",
        "factors",
    ]
    found = dse(*asked, "--objective", "energy", "--constants", str(out / "constants.toml"))
    assert found.code == 0
    assert "machine fitted to 30 samples" in found.out
    assert f"its error on samples left out of the fit is {said['error_after']:.1%}" in found.out
    assert package.load_accelerator(str(out / "machine.toml")).num_pes == EDGE.num_pes


RANKED = "[calibration]\nsamples = 3\nerror = 0.1\nrank = 2"


@pytest.mark.parametrize(
    "table", ["calibration = 3", "[calibration]\nsamples = 3", "[calibration]\nerror = -1", RANKED]
)
def test_a_calibration_that_says_too_little_is_refused_in_a_line(
    dse: Dse, tmp_path: Path, table: str
) -> None:
    (tmp_path / "constants.toml").write_text(f"dram_pj = 120.0\n{table}\n" if "[" in table else table)
    asked = ["certify", "--layer", LAYERS[1], "--accelerator", "edge"]
    found = dse(*asked, "--constants", str(tmp_path / "constants.toml"))
    assert (found.code, "calibration" in found.err) == (2, True)


def test_the_folder_of_a_search_is_samples_too(dse: Dse, tmp_path: Path) -> None:
    judge = Problem(load_layer(LAYERS[0]), EDGE, cost_model="maestro")
    package.search(judge, "random", budget=60, out=tmp_path / "run")
    found = dse("calibrate", str(tmp_path / "run"))
    assert found.code == 0
    assert "rank correlation" in found.out
    assert "noc_bandwidth" in found.out


def test_samples_of_two_judges_are_said_to_be_such_and_of_one_layer_counted_as_one(
    dse: Dse, tmp_path: Path
) -> None:
    layer = load_layer(LAYERS[1])
    for name, model in (("one", "loopnest"), ("again", "loopnest"), ("other", "loopnest(dram_pj=50)")):
        package.search(
            Problem(layer, EDGE, cost_model=model), "random", budget=20, seed=len(name), out=tmp_path / name
        )
    one, again, other = (str(tmp_path / name) for name in ("one", "again", "other"))
    found = dse("calibrate", one, again)
    assert "samples of 1 layer, cost model" in found.out
    assert "several judges" not in found.err
    said = dse("calibrate", one, other).err.splitlines()
    (warning,) = [line for line in said if "several judges" in line]
    assert warning.startswith("dse: warning: one machine is fitted to the samples of several judges: ")
    assert all(place in warning for place in (one, other, "loopnest(dram_pj=50"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("layer,mapping\nresnet18:1,{}\n", "line 2 lacks cycles"),
        ("layer,mapping,cycles\nresnet18:1,{},soon\n", "line 2: cycles must be a number above 0, got 'soon'"),
        ("layer,mapping,cycles\nresnet18:1,{},-4\n", "line 2: cycles must be"),
        ("layer,mapping,cycles,energy_nj\nresnet18:1,{},4,-1\n", "line 2: energy_nj must be"),
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
