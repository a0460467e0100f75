"""Figures of the hardware as genes, from the command line and in a campaign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.analysis.reduction import layer_at
from dse.analysis.study import load_study, make_problems
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.support.errors import InputError
from tests.conftest import Dse

LAYER = ("--layer", "resnet18:2", "--accelerator", "edge")
SEARCH = ("search", *LAYER, "--objective", "edp", "--searcher", "genetic", "--budget", "120")

CAMPAIGN = """
name = "hardware"
budget = 10
seeds = 1
objectives = ["edp"]
accelerators = ["edge"]
layers = ["resnet18:2"]
[hardware]
num_pes = [64, 128]
noc_bandwidth = {from = 8, to = 64, step = 8}
[searchers.random]
"""
PROBLEMS = """
name = "hardware"
budget = 10
seeds = 1
hardware = {l1_size = [128, 256]}
[[problems]]
layer = "resnet18:2"
accelerator = "edge"
objective = "edp"
[[problems]]
layer = "resnet18:3"
accelerator = "edge"
objective = "edp"
hardware = {l2_size = [1000, 2000]}
[searchers.random]
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "file.toml"
    path.write_text(text)
    return str(path)


def test_a_search_names_the_hardware_that_it_found(dse: Dse) -> None:
    options = ("--hardware", "l1_size=128,256,512", "--hardware", "noc_bandwidth=8:64:8")
    best = dse(*SEARCH, *options, "--json").json["best"]
    assert best["accelerator"] == best["case"]["hardware"]
    assert best["accelerator"]["l1_size"] in (128, 256, 512)
    assert best["accelerator"]["noc_bandwidth"] in range(8, 65, 8)
    shown = dse(*SEARCH, *options).out
    figures = "l1_size {l1_size}, noc_bandwidth {noc_bandwidth}".format(**best["accelerator"])
    assert f", on {figures}: " in shown.replace("\n", " ")


def test_a_networks_layers_are_each_shown_with_the_hardware_found_for_them(dse: Dse) -> None:
    network = (
        "search",
        "--network",
        "mlp",
        "--accelerator",
        "edge",
        "--searcher",
        "random",
        "--budget",
        "30",
    )
    options = ("--hardware", "num_pes=64,128", "--hardware", "l1_size=256,512")
    layers = dse(*network, *options, "--json").json["layers"]
    shown = dse(*network, *options).out
    for entry in layers:
        figures = "num_pes {num_pes}, l1_size {l1_size}".format(**entry["best"]["accelerator"])
        (line,) = [line for line in shown.splitlines() if f" {entry['layer'].rpartition(':')[2]} " in line]
        assert line.rstrip().endswith(figures)
    assert "each layer is on hardware of its own" in shown
    assert "hardware" not in dse(*network).out


def test_hardware_that_is_fixed_is_not_named_as_found(dse: Dse) -> None:
    assert "accelerator" not in dse(*SEARCH, "--json").json["best"]


def test_the_case_of_the_best_costs_what_the_search_says(dse: Dse, tmp_path: Path) -> None:
    import json

    options = ("--hardware", "l1_size=128,256,512", "--hardware", "clock_ghz=0.5,1.5")
    best = dse(*SEARCH, *options, "--json").json["best"]
    cases = written(tmp_path, json.dumps(best["case"]))
    (line,) = dse("evaluate", "--cases", cases, "--cost-model", "loopnest", "--json").lines
    assert (line["cycles"], line["energy_nj"]) == (best["cycles"], best["energy_nj"])


def test_a_space_file_opens_hardware_of_a_space_with_a_name(dse: Dse, tmp_path: Path) -> None:
    space = written(tmp_path, 'name = "paper"\n[hardware]\nl1_size = [128, 256]\n')
    options = ("space", "--layer", "resnet18:2", "--accelerator", "paper", "--json")
    genes = [gene["name"] for gene in dse(*options, "--space", space).json["genes"]]
    assert len(genes) == 18
    assert genes[-2:] == ["num_pes", "hardware.l1_size"]
    added = dse(*options, "--space", "paper", "--hardware", "l1_size=128,256").json["genes"]
    assert [gene["name"] for gene in added] == genes


def test_a_proof_of_open_hardware_names_the_hardware(dse: Dse) -> None:
    found = dse("certify", *LAYER, "--objective", "edp", "--hardware", "l1_size=128,512", "--json").json
    assert found["status"] == "optimal"
    assert found["lower_bound"] == found["best"]["loss"]
    assert found["best"]["accelerator"]["l1_size"] == 512


def test_a_proof_with_the_pes_open_is_a_floor_and_names_the_hardware(dse: Dse) -> None:
    found = dse("certify", *LAYER, "--objective", "edp", "--hardware", "num_pes=64,128", "--json").json
    assert found["status"] == "bounded"
    assert found["lower_bound"] < found["best"]["loss"]
    assert found["best"]["accelerator"]["num_pes"] in (64, 128)


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ("l1_sise=128", "unknown key 'l1_sise' in hardware; did you mean 'l1_size'?"),
        ("l1_size", "--hardware must read FIGURE=VALUE,VALUE or FIGURE=FROM:TO:STEP"),
        ("l1_size=", "--hardware must read FIGURE=VALUE,VALUE or FIGURE=FROM:TO:STEP"),
        ("l1_size=a,b", "--hardware l1_size: values must be numbers, got 'a'"),
        ("l1_size=1,,2", "--hardware l1_size: values must be numbers, got ''"),
        ("l1_size=256,128", "hardware.l1_size must hold ascending values, each once, got 128 after 256"),
        ("l1_size=8:64", "--hardware l1_size: a range must read FROM:TO:STEP, got '8:64'"),
        ("l1_size=8:64:inf", "hardware.l1_size.step must be a number above 0, got inf"),
        ("levels=4", "hardware.levels is of machines of levels"),
    ],
)
def test_options_that_are_wrong_are_refused_in_one_line(dse: Dse, figure: str, message: str) -> None:
    assert message in dse(*SEARCH, "--hardware", figure).refused()


def test_one_figure_is_named_once(dse: Dse) -> None:
    twice = dse(*SEARCH, "--hardware", "l1_size=8", "--hardware", "l1_size=9")
    assert "--hardware names l1_size twice" in twice.refused()
    both = dse(*SEARCH, "--hardware", "levels=8", "--hardware", "levels.L2.size=9")
    assert "--hardware names levels and levels.L2.size; keep one of them" in both.refused()


def test_a_campaign_opens_hardware_for_all_its_problems(tmp_path: Path) -> None:
    (problem,) = load_campaign(written(tmp_path, CAMPAIGN), find_layers).problems
    figures = problem.problem.parts.figures
    assert figures == {"num_pes": (64, 128), "noc_bandwidth": tuple(range(8, 65, 8))}


def test_a_problem_of_a_campaign_may_open_hardware_of_its_own(tmp_path: Path) -> None:
    campaign = load_campaign(written(tmp_path, PROBLEMS), find_layers)
    opened = [problem.problem.parts.figures for problem in campaign.problems]
    assert opened == [{"l1_size": (128, 256)}, {"l2_size": (1000, 2000)}]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_pes = [64, 128]", "num_pes = [128, 64]", "hardware.num_pes must hold ascending values"),
        ("num_pes = [64, 128]", 'num_pes = "64"', "hardware.num_pes must be a list"),
        ("num_pes = [64, 128]", "pes = [64]", "unknown key 'pes' in hardware"),
        ("step = 8", "step = 0", "hardware.noc_bandwidth.step must be a number above 0"),
        (", step = 8", "", "hardware.noc_bandwidth lacks 'step'"),
    ],
)
def test_a_campaign_with_hardware_that_cannot_be_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = written(tmp_path, CAMPAIGN.replace(old, new))
    with pytest.raises(InputError, match=rf"^campaign '.*': {message}"):
        load_campaign(path, find_layers)


@pytest.mark.usefixtures("one_picture")
@pytest.mark.parametrize("objective", ["latency", "edp"])
def test_a_campaign_with_an_open_clock_counts_seconds_by_the_clock_of_each_point(
    dse: Dse, tmp_path: Path, objective: str
) -> None:
    text = CAMPAIGN.replace("num_pes = [64, 128]", "clock_ghz = [0.5, 1.0]").replace("edp", objective)
    out = tmp_path / "out"
    assert (
        dse("run", written(tmp_path, text.replace("budget = 10", "budget = 60")), "--out", str(out)).code == 0
    )
    study = load_study(out)
    (summary,), (problem,) = study.summaries, make_problems(study).values()
    there = problem.problem.on_machine_of(summary.genes)
    best = there.price(np.array([summary.genes]))
    found = layer_at(summary, summary.samples)
    assert found.seconds == pytest.approx(best.cycles[0] * there.accelerator.cycle_seconds, rel=1e-12)
    page = (out / "index.html").read_text()
    assert "clock_ghz" in page
