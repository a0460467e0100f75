"""`dse certify`, what it writes, and the certificates that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.bench import certify as bench
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.optimum import certify
from tests.cli.certify_options import RESNET, problem
from tests.conftest import Dse
from workloads import load

MAESTRO = ("--cost-model", "maestro", "--tiles", "factors")
POWER = ("--tiles", "any", "--cost-model", "maestro", "--objective", "power")


BEST_KEYS = ["loss", "index", "genes", "cycles", "energy_nj", "macs", "l1_size", "l2_size", "mapping", "case"]


NETWORK = """
name = "tiny"

[[layers]]
name = "conv"
type = "CONV"
K = 2
C = 2
Y = 4
X = 4
R = 3
S = 3
repeats = 3

[[layers]]
name = "fc"
type = "FC"
outputs = 4
inputs = 8
"""


@pytest.fixture(autouse=True)
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, inside this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dse-arena" / "certificates"


@pytest.fixture
def network(tmp_path: Path) -> str:
    """A network file of two layers."""
    path = tmp_path / "tiny.toml"
    path.write_text(NETWORK)
    return str(path)


def named_layers(network: str) -> list[tuple[str, Layer]]:
    return [(f"{network}:{layer.name}", layer) for layer in load(network).layers]


# The command


def test_a_layer_is_certified_as_json(dse: Dse) -> None:
    outcome = dse("certify", *RESNET, *MAESTRO, "--objective", "edp", "--json")
    found, data = certify(problem(), cache=False), outcome.json
    assert outcome.code == 0
    assert (data["status"], data["lower_bound"], data["gap"]) == ("optimal", found.lower_bound, 0.0)
    assert sorted(data["best"]) == sorted(BEST_KEYS)
    assert data["best"]["loss"] == found.lower_bound
    assert data["certificate"]["solved"] > 0
    assert data["certificate"]["mappings"] == problem().space.mappings


def test_the_optimum_is_that_of_loopnest_unless_another_model_is_named(dse: Dse) -> None:
    layer = ("--layer", "mobilenet_v2:25", "--accelerator", "edge")
    for options, model in (((), "loopnest"), (MAESTRO, "maestro")):
        data = dse("certify", *layer, *options, "--json").json
        found = certify(problem("latency", "mobilenet_v2:25", model), cache=False)
        assert (data["cost_model"], data["lower_bound"]) == (model, found.lower_bound)
        assert f"cost model {model}" in dse("certify", *layer, *options).out


@pytest.mark.parametrize("model", ["maestro", "loopnest"])
def test_the_best_case_costs_what_is_said(dse: Dse, tmp_path: Path, model: str) -> None:
    best = dse("certify", *RESNET, "--cost-model", model, "--tiles", "factors", "--json").json["best"]
    (tmp_path / "cases.jsonl").write_text(json.dumps(best["case"]) + "\n")
    cases = ("--cases", str(tmp_path / "cases.jsonl"), "--cost-model", model, "--json")
    found = dse("evaluate", *cases).json
    assert (found["cycles"], found["energy_nj"]) == (best["cycles"], best["energy_nj"])


@pytest.mark.parametrize(
    ("options", "tiles"),
    [
        ((), "any"),
        (("--cost-model", "maestro"), "any"),
        (("--tiles", "factors"), "factors"),
        (("--objective", "latency, energy"), "factors"),
        (("--format", "timeloop", "--out", "out"), "factors"),
        (("--objective", "area"), "factors"),
    ],
)
def test_who_names_no_tiles_gets_those_of_any_size_where_that_is_proven_and_can_be_written(
    dse: Dse,
    network: str,
    options: tuple[str, ...],
    tiles: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    data = dse("certify", "--layer", f"{network}:fc", "--accelerator", "edge", *options, "--json").json
    assert (data["status"], data["tiles"]) == ("optimal", tiles)


def test_people_are_shown_the_mapping_and_what_was_proven(dse: Dse) -> None:
    outcome = dse("certify", *RESNET, *MAESTRO, "--objective", "edp", "--verify")
    assert outcome.code == 0
    assert "optimal edp" in outcome.out
    assert "ruled out by their bound" in outcome.out
    assert "parallel" in outcome.out
    assert outcome.out.count("verified: ") == 4
    assert "NOT VERIFIED" not in outcome.out


def test_a_fixed_gene_stays_fixed(dse: Dse) -> None:
    data = dse("certify", *RESNET, "--fix", "outer.parallel=Y", "--fix", "cluster=4", "--json").json
    assert data["fixed"] == {"outer.parallel": "Y", "cluster": 4}
    assert data["best"]["mapping"]["outer"]["parallel"] == "Y"
    assert data["best"]["mapping"]["cluster_size"] == 4
    shown = dse("certify", *RESNET, "--fix", "outer.parallel=Y", "--fix", "cluster=4").out
    assert shown.splitlines()[0].endswith(", fixed outer.parallel=Y cluster=4")


def test_too_little_time_gives_a_bound_and_a_gap(dse: Dse) -> None:
    layer = ("--layer", "vgg16:conv1_2", "--accelerator", "eyeriss-small")
    big = (*layer, "--time-limit", "1e-9", *MAESTRO, "--fresh")
    data = dse("certify", *big, "--json").json
    assert data["status"] == "bounded"
    assert 0 < data["lower_bound"] < data["best"]["loss"]
    shown = dse("certify", *big)
    assert shown.code == 0
    assert "above the optimum" in shown.out
    assert "no mapping is below" in shown.out


def test_on_machines_of_levels_a_proof_ends_in_time_by_itself(
    dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.domains.levels.domain.Levels.proof_seconds", 1e-9)
    levels = (
        "--layer",
        "alexnet:conv1",
        "--accelerator",
        "edge",
        "--cost-model",
        "timeloop",
        "--objective",
        "edp",
        "--fresh",
    )
    assert "the time ran out, --time-limit gives more" in dse("certify", *levels).out


def test_a_layer_that_fits_nowhere_fails_and_says_that_it_is_proven(dse: Dse) -> None:
    nowhere = ("--layer", "alexnet:conv1", "--accelerator", "edge", *MAESTRO)
    outcome = dse("certify", *nowhere, "--json")
    assert outcome.code == 1
    assert outcome.json["status"] == "infeasible"
    assert (outcome.json["best"], outcome.json["lower_bound"]) == (None, None)
    assert "that is proven" in dse("certify", *nowhere).out


def test_wrong_input_is_refused_in_a_line(dse: Dse, network: str) -> None:
    for arguments, words in (
        ((*RESNET, *POWER), "of tiles 'any' objective 'power' cannot be certified"),
        (("--accelerator", "edge"), "--layer LAYER or --network NETWORK"),
        ((*RESNET, "--network", network), "--layer LAYER or --network NETWORK"),
        ((*RESNET, "--objective", "speed"), "unknown objective 'speed'"),
        ((*RESNET, "--time-limit", "0"), "--time-limit must be a finite number above 0"),
        ((*RESNET, "--fix", "cluster=7"), "does not divide the 256 PEs"),
        ((*RESNET, "--fresh", "--cache", "somewhere"), "choose one"),
        (
            ("--network", network, "--accelerator", "edge", *POWER),
            "tiny.toml:conv: of tiles 'any' objective 'power'",
        ),
    ):
        outcome = dse("certify", *arguments)
        assert outcome.code == 2, arguments
        assert outcome.out == ""
        assert words in outcome.err
        assert outcome.err.count("\n") == 1


def test_a_network_is_certified_layer_by_layer_with_totals_and_a_folder(
    dse: Dse, network: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    outcome = dse("certify", "--network", network, "--accelerator", "edge", "--out", str(folder), "--json")
    data = outcome.json
    conv, fc = data["layers"]
    assert outcome.code == 0
    assert [layer["repeats"] for layer in data["layers"]] == [3, 1]
    assert data["totals"]["latency"] == pytest.approx(3 * conv["lower_bound"] + fc["lower_bound"])
    assert data["lower_bound"] == pytest.approx(data["totals"]["latency"])
    assert json.loads((folder / "network.json").read_text()) == data
    assert sorted(path.name for path in (folder / "mappings").iterdir()) == ["00-conv.json", "01-fc.json"]
    mapping = json.loads((folder / "mappings" / "00-conv.json").read_text())
    assert mapping == conv["best"]["mapping"]
    assert json.loads((folder / "certificates" / "01-fc.json").read_text())["status"] == "optimal"


def test_the_table_of_a_network_has_a_row_a_layer(dse: Dse, network: str) -> None:
    where = ("--network", network, "--accelerator", "edge", "--objective", "edp", "--tiles", "factors")
    near = dse("certify", *where).out
    assert "what was found is at most 0.0" in near
    assert "that is within --gap 0.10%; --gap 0 proves the least total" in near
    outcome = dse("certify", *where, "--verify", "--gap", "0")
    assert outcome.code == 0
    assert outcome.out.count("tiny.toml:") == 2
    assert "whole network" in outcome.out
    assert "2 distinct layers, each times its repeats" in outcome.out
    assert "optimal total EDP, by " in outcome.out
    assert "verified: no totals that the proofs allow are below the bound" in outcome.out
    assert "verified: 2 of 2 layers" in outcome.out
    assert "gap" not in outcome.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gap", "-0.1"), "--gap must be a share of at least 0"),
        (("--gap", "0.1", "--chains"), "--gap and --workers are of a --network and one objective"),
        (("--workers", "0"), "--workers must be at least 1"),
    ],
)
def test_a_gap_and_processes_that_cannot_be_are_refused(
    dse: Dse, network: str, options: tuple[str, ...], message: str
) -> None:
    refused = dse("certify", "--network", network, "--accelerator", "edge", *options)
    assert (refused.code, message in refused.err) == (2, True)


def test_a_network_with_layers_that_are_not_proven_says_how_far_each_and_the_total_may_be_off(
    dse: Dse, network: str, tmp_path: Path
) -> None:
    Path(network).write_text(NETWORK.replace("K = 2\nC = 2\nY = 4\nX = 4", "K = 4\nC = 4\nY = 6\nX = 6"))
    certain = ("--network", network, "--accelerator", "edge", *MAESTRO, "--objective", "latency")
    command = (*certain, "--time-limit", "1e-9", "--out", str(tmp_path / "out"))
    proven = dse("certify", *certain, "--fresh", "--json").json
    data = dse("certify", *command, "--json").json
    conv, fc = data["layers"]
    assert (proven["status"], proven["gap"], data["status"]) == ("optimal", 0.0, "bounded")
    assert (conv["status"], fc["status"]) == ("bounded", "bounded")
    assert data["lower_bound"] == pytest.approx(3 * conv["lower_bound"] + fc["lower_bound"])
    assert data["lower_bound"] < proven["totals"]["latency"] <= data["totals"]["latency"]
    assert data["gap"] == pytest.approx(data["totals"]["latency"] / data["lower_bound"] - 1)
    assert json.loads((tmp_path / "out" / "network.json").read_text()) == data
    shown = dse("certify", *certain, "--time-limit", "1e-9", "--fresh").out
    assert f"{conv['gap']:.2%}" in shown
    assert "proven: 0 of 2 layers\n" in shown
    assert f"at most {data['gap']:.2%} above it" in shown


def without_seconds(data: Any) -> Any:
    """What a command said, but for how long it took."""
    if isinstance(data, dict):
        return {key: without_seconds(value) for key, value in data.items() if "seconds" not in key}
    return [without_seconds(one) for one in data] if isinstance(data, list) else data


@pytest.mark.parametrize(("objective", "power"), [("edp", 1), ("energy * latency^2", 2)])
def test_the_least_product_of_a_networks_totals_is_proven(
    dse: Dse, network: str, objective: str, power: int
) -> None:
    where = ("--network", network, "--accelerator", "edge")
    options = ("--objective", objective, "--gap", "0", "--fresh", "--json")
    data = dse("certify", *where, *options, "--workers", "1").json
    if objective == "edp":
        # In any number of processes it is the same.
        shared = dse("certify", *where, *options, "--workers", "2").json
        assert without_seconds(shared) == without_seconds(data)
    layers = {spec: Problem(layer, PRESETS["edge"], objective) for spec, layer in named_layers(network)}
    # Of both layers together: the product of the sums, over some hundred mappings of each.
    drawn = []
    for one in layers.values():
        found = one.price(one.space.sample(np.random.default_rng(0), 2000))
        best = np.argsort(found.loss)[:200]
        drawn.append((one.layer.repeats, found.cycles[best] * 1e-9, found.energy_nj[best] * 1e-9))
    (times, cycles, energy), (_, other_cycles, other_energy) = drawn
    latency, joules = np.add.outer(times * cycles, other_cycles), np.add.outer(times * energy, other_energy)
    total = data["totals"][objective]
    assert total == pytest.approx(data["totals"]["energy"] * data["totals"]["latency"] ** power)
    assert {layer["status"] for layer in data["layers"]} == {"optimal"}
    assert (data["status"], data["gap"], data["lower_bound"]) == ("optimal", 0.0, total)
    assert total <= (joules * latency**power).min()
    assert total <= data["layer_by_layer"][objective]


def test_a_network_with_a_layer_that_fits_nowhere_has_no_total(dse: Dse) -> None:
    outcome = dse("certify", "--network", "alexnet", "--accelerator", "edge", *MAESTRO, "--json")
    assert outcome.code == 1
    data = outcome.json
    assert (data["status"], data["totals"], data["lower_bound"], data["gap"]) == (
        "infeasible",
        None,
        None,
        None,
    )


def test_a_layers_folder_holds_the_mapping_and_the_certificate(dse: Dse, tmp_path: Path) -> None:
    data = dse("certify", *RESNET, "--out", str(tmp_path / "out"), "--json").json
    assert json.loads((tmp_path / "out" / "mapping.json").read_text()) == data["best"]["mapping"]
    assert json.loads((tmp_path / "out" / "certificate.json").read_text()) == data
    evaluated = dse("evaluate", *RESNET, "--mapping", str(tmp_path / "out" / "mapping.json"), "--json").json
    assert evaluated["loss"]["latency"] == data["best"]["loss"]


def test_proofs_are_timed(dse: Dse) -> None:
    alexnet = ("bench", "certify", "alexnet", "--accelerator", "edge", *MAESTRO)
    outcome = dse(*alexnet, "--json")
    rows, (every,) = outcome.json["certify"], outcome.json["certify_all"]
    assert [row["objective"] for row in rows] == list(bench.OBJECTIVES)
    assert all(0 < row["median_seconds"] <= row["worst_seconds"] for row in rows)
    assert {row["cost_model"] for row in (*rows, every)} == {"maestro"}
    assert (every["layers"], every["optimal"], every["infeasible"]) == (24, 21, 3)
    assert "Proofs of every distinct layer" in dse(*alexnet).out
