"""Constants of one's own under `loopnest`: from a file, in a problem's identity, all the way to a report."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dse import search
from dse.analysis.study import load_study
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.core.cost_models import cost_model
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import Constants, LoopNest
from dse.search.run import Cell
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from tests import ROOT
from tests.conftest import Dse
from workloads import load_layer

LAYER, EDGE = load_layer("resnet18:0"), PRESETS["edge"]
EXAMPLE = ROOT / "examples" / "constants.toml"
WHERE = ("--layer", "resnet18:0", "--accelerator", "edge")
OWN = Constants(dram_pj=640, l1_pj=0.1 + 0.2)


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A file of the constants OWN."""
    path = tmp_path / "own.toml"
    path.write_text(f"dram_pj = 640\nl1_pj = {0.1 + 0.2!r}\n")
    return str(path)


# What a problem is


@pytest.mark.parametrize(
    ("layer", "objective", "model", "fingerprint", "drawn", "record"),
    [
        (
            "resnet18:0", "edp", "loopnest",
            "cf73e11238cb724f6fe762b80f28a481b2531c29cfb7f95ba5498d39d2e48ea9", [1647148536, 2696507797],
            "aa613f344bba356f8d7c73f0a3335ece4f7a4c713f015419d57a484a13c5432b",
        ),
        (
            "mobilenet_v2:1", "latency", "loopnest",
            "c34be3f5762fa2f4ef21f7c3dc2cffd843f031b99caea395c21a89f9f86dcabe", [1093209798, 661059233],
            "a4ccfad7e021dc5a22c1a4865d5510c6846b8273297f07c3099798863123042d",
        ),
        (
            "resnet18:0", "edp", "maestro",
            "c9541d78e8c4a628246a8543ed0764a7863d37ca60e292fa6aa7bb4cc963cf9f", [3142053499, 3368646012],
            "b5bd2a713fdb7c17fe32f93a7976c8dc3a3b35631face687b7d5869fcaa671d6",
        ),
    ],
)  # fmt: skip
def test_problems_generators_and_records_are_those_of_campaigns_recorded_before(
    layer: str, objective: str, model: str, fingerprint: str, drawn: list[int], record: str
) -> None:
    problem = Problem(load_layer(layer), EDGE, objective, model)
    assert problem.identity["cost_model"] == model
    assert problem.fingerprint == fingerprint
    cell = Cell(problem, "random", make_searcher("random"), 3, 200)
    assert cell.rng().integers(0, 2**32, 2).tolist() == drawn
    found, digest = search(problem, "walk", budget=200, seed=3).record, hashlib.sha256()
    for column in (found.genes(), *found.evaluations().columns().values()):
        digest.update(column.tobytes())
    assert digest.hexdigest() == record


def test_the_default_constants_are_the_default_model_however_they_are_given() -> None:
    named = Problem(LAYER, EDGE, "edp", "loopnest")
    for model in (LoopNest(), LoopNest(Constants()), LoopNest(Constants(dram_pj=300))):
        same = Problem(LAYER, EDGE, "edp", model)
        assert same.identity == named.identity
        assert same.fingerprint == named.fingerprint


def test_replaced_constants_are_part_of_what_a_problem_is() -> None:
    models = ("loopnest", LoopNest(OWN), LoopNest(Constants(dram_pj=640)), LoopNest(Constants(dram_pj=641)))
    problems = [Problem(LAYER, EDGE, "energy", model) for model in models]
    assert len({problem.fingerprint for problem in problems}) == len(models)
    assert problems[1].identity["cost_model"] == "loopnest(l1_pj=0.30000000000000004, dram_pj=640.0)"
    cells = [Cell(problem, "random", make_searcher("random"), 0, 10) for problem in problems]
    assert len({cell.fingerprint for cell in cells}) == len(models)
    # The same points are drawn under every cost model.
    assert len({tuple(cell.rng().integers(0, 2**32, 4)) for cell in cells}) == 1


@pytest.mark.parametrize("model", [LoopNest(), LoopNest(OWN), LoopNest(Constants(mac_pj=1e-30, l2_pj=1e30))])
def test_a_model_in_words_is_read_back_as_the_model(model: LoopNest) -> None:
    assert cost_model(model.spec) == model


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("loopnest()", "'' must be NAME=VALUE"),
        ("loopnest(dram_pj)", "'dram_pj' must be NAME=VALUE"),
        ("loopnest(dram_pj=much)", "'dram_pj=much' must be NAME=VALUE"),
        ("loopnest(dram_pj=1, dram_pj=2)", "'dram_pj=1, dram_pj=2' must be NAME=VALUE, .* each name once"),
        ("loopnest(dram=1)", "unknown key 'dram'"),
        ("loopnest(dram_pj=0)", "dram_pj must be a finite number above 0"),
        ("loopnest(dram_pj=nan)", "dram_pj must be a finite number above 0"),
        ("loopnest(dram_pj=1", r"unknown cost model 'loopnest\(dram_pj=1'"),
        ("maestro(dram_pj=1)", r"unknown cost model 'maestro\(dram_pj=1\)'"),
    ],
)
def test_words_that_name_no_model_are_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem(LAYER, EDGE, "edp", spec)


# The file


def test_a_file_replaces_what_it_names_and_nothing_else(own: str) -> None:
    assert Constants.load(own) == OWN
    assert OWN.replaced == {"l1_pj": 0.1 + 0.2, "dram_pj": 640.0}
    assert Constants.load(str(EXAMPLE)).replaced


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dram_pJ = 640", "unknown key 'dram_pJ' in constants file '{}'; did you mean 'dram_pj'?"),
        ("dram_pj = '640'", "constants file '{}': dram_pj must be a number, got '640'"),
        ("dram_pj = true", "constants file '{}': dram_pj must be a number, got True"),
        ("dram_pj = -1", "constants file '{}': dram_pj must be a finite number above 0, got -1"),
        ("dram_pj = inf", "constants file '{}': dram_pj must be a finite number above 0, got inf"),
        ("[energies]\ndram_pj = 640", "unknown key 'energies' in constants file '{}'"),
        ("dram_pj = ", "constants file '{}' is not TOML"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "search", "certify", "correlate"])
def test_a_file_that_is_wrong_is_refused_in_one_line(
    dse: Dse, tmp_path: Path, command: str, content: str, message: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(content)
    more = {"evaluate": ("--mapping", "nvdla"), "search": ("--searcher", "random", "--budget", "10")}
    arguments = (command, *WHERE, *more.get(command, ()), "--constants", str(path))
    assert message.format(path) in dse(*arguments).refused()
    missing = (*arguments[:-1], str(tmp_path / "none.toml"))
    assert "none.toml' cannot be read: No such file or directory" in dse(*missing).refused()


def test_a_model_without_settings_takes_no_file(dse: Dse, own: str) -> None:
    arguments = ("evaluate", *WHERE, "--mapping", "nvdla", "--constants", own, "--cost-model")
    refused = dse(*arguments, "maestro").refused()
    assert refused.startswith("settings are for cost model")
    assert "'loopnest'" in refused
    assert "did you mean 'maestro'" in dse(*arguments, "maestr").refused()


# The commands


def test_an_evaluation_is_priced_with_the_constants_of_the_file(dse: Dse, own: str) -> None:
    arguments = ("evaluate", *WHERE, "--mapping", "nvdla")
    plain = dse(*arguments, "--json").json
    found = dse(*arguments, "--constants", own, "--json").json
    assert found["cost_model"] == LoopNest(OWN).spec
    assert found["cycles"] == plain["cycles"]
    for part, factor in (("DRAM", 640 / 300), ("L1", (0.1 + 0.2) / 1.5), ("MACs", 1.0)):
        before = plain["breakdown"]["energy_nj"][part]
        assert found["breakdown"]["energy_nj"][part] == pytest.approx(factor * before)
    assert found["energy_nj"] == pytest.approx(sum(found["breakdown"]["energy_nj"].values()))
    shown = dse(*arguments, "--constants", own).out
    assert "cost model loopnest(l1_pj=0.30000000000000004, dram_pj=640.0)" in shown
    assert "mm2" in shown


def test_a_search_and_a_certificate_minimise_with_them(dse: Dse, own: str, tmp_path: Path) -> None:
    where = ("--layer", "mobilenet_v2:25", "--accelerator", "edge", "--objective", "energy")
    options = ("--searcher", "genetic", "--budget", "100", "--constants", own, "--json")
    found = dse("search", *where, *options).json
    factors = ("--tiles", "factors", "--fresh", "--json")
    proven = dse("certify", *where, "--constants", own, *factors, "--verify").json
    default = dse("certify", *where, *factors).json
    assert found["cost_model"] == proven["cost_model"] == LoopNest(OWN).spec
    assert proven["status"] == "optimal"
    assert proven["best"]["loss"] <= found["best"]["loss"]
    assert proven["best"]["loss"] != default["best"]["loss"]
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(found["best"]["case"]) + "\n")
    [priced] = dse("evaluate", "--cases", str(cases), "--constants", own, "--json").lines
    assert (priced["cycles"], priced["energy_nj"]) == (found["best"]["cycles"], found["best"]["energy_nj"])


CAMPAIGN = """
name = "own"
budget = 60
seeds = 1
cost_model = "loopnest"
constants = "own.toml"
objectives = ["energy"]
accelerators = ["edge"]
layers = ["mobilenet_v2:25"]
[searchers.random]
"""


def test_a_campaign_names_its_file_and_its_folder_keeps_the_constants(
    dse: Dse, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plan, folder = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(CAMPAIGN)
    run = dse("run", str(plan), "--out", str(folder), "--workers", "1", "--tables-only")
    assert run.code == 0, run
    # The folder tells it all: the file is not needed any more.
    Path(own).unlink()
    assert load_study(folder).cost_model == LoopNest(OWN).spec
    assert f"cost model {LoopNest(OWN).spec}" in dse("report", str(folder), "--tables-only").out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"own.toml"', "3", "constants must be the name of a TOML file, got 3"),
        ('"own.toml"', '"none.toml"', "constants file 'none.toml' cannot be read"),
        ('"loopnest"', '"maestro"', "settings are for cost model .*'loopnest'.*, got 'maestro'"),
        ('"loopnest"', '"loopnset"', "unknown cost model 'loopnset'"),
        ('"loopnest"', '"loopnest(dram=1)"\n#', "unknown key 'dram'"),
    ],
)
def test_a_campaign_with_wrong_constants_is_refused(
    own: str, tmp_path: Path, old: str, new: str, message: str
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(CAMPAIGN.replace(old, new))
    with pytest.raises(InputError, match=message) as refusal:
        load_campaign(str(plan), find_layers)
    assert "plan.toml" in str(refusal.value)
