"""`dse list`: what there is to choose from, a line each, and all that is known of one."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from dse.cli.listing import first_sentence, listed_kinds
from dse.core.cost_models import all_models, cost_model
from dse.core.objective import OBJECTIVES
from dse.domains.clustered.accelerator import PRESETS
from dse.search.searcher import make_searcher
from tests.conftest import Dse
from workloads import NETWORKS, load_layers


def test_list_names_what_there_is(dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results" / "campaigns").mkdir(parents=True)
    (tmp_path / "results/campaigns/small.toml").write_text(
        'name = "small"\nbudget = 50\n[searchers.random]\n'
    )
    (tmp_path / "results/campaigns/layers.toml").write_text('[[layers]]\nname = "no campaign"\n')
    (tmp_path / "results/campaigns/torn.toml").write_text('name = "to')
    found = dse("list", "--json").json
    assert list(found) == [
        "searchers",
        "workloads",
        "accelerators",
        "machines",
        "objectives",
        "cost-models",
        "technologies",
        "campaigns",
    ]
    assert [entry["name"] for entry in found["workloads"]] == list(NETWORKS)
    assert [entry["name"] for entry in found["accelerators"]] == list(PRESETS)
    assert [entry["name"] for entry in found["objectives"]] == list(OBJECTIVES)
    models = {entry["name"]: entry for entry in found["cost-models"]}
    assert set(models) == {*all_models()}
    assert [name for name, entry in models.items() if entry["default"]] == ["loopnest"]
    assert [name for name, entry in models.items() if entry["domain"] == "levels"] == ["timeloop"]
    abilities = ("strides", "cases", "detail", "proofs", "settings")
    assert {ability for ability in abilities if models["loopnest"][ability]} == set(abilities)
    assert {ability for ability in abilities if models["maestro"][ability]} == {"cases", "proofs"}
    assert {entry["name"]: entry["unit"] for entry in found["objectives"]} == {
        "latency": "s",
        "energy": "J",
        "edp": "J s",
        "area": "mm2 (loopnest), um2 (maestro)",
        "area_maestro": "model units",
        "power": "mW (loopnest), model units (maestro)",
    }
    quickstart, small, torn = found["campaigns"]
    assert quickstart["sentence"].startswith("The paper's six searchers and our own, `team`")
    assert (quickstart["file"], quickstart["name"]) == ("quickstart", "quickstart")
    assert small == {
        "file": "results/campaigns/small.toml",
        "name": "small",
        "budget": 50,
        "seeds": None,
        "cost_model": None,
        "searchers": ["random"],
        "sentence": "Compares random",
    }
    assert torn["name"] is None


@pytest.mark.parametrize("kind", ["searchers", "workloads", "accelerators", "objectives", "cost-models"])
def test_list_of_one_kind_shows_that_kind_alone(dse: Dse, kind: str) -> None:
    found = dse("list", kind, "--json").json
    assert list(found) == [kind]
    shown = dse("list", kind)
    assert shown.code == 0
    assert all(entry["name"] in shown.out for entry in found[kind])


def test_searchers_are_listed_with_a_sentence_and_their_settings(dse: Dse) -> None:
    for entry in dse("list", "searchers", "--json").json["searchers"]:
        assert " " in entry["sentence"]
        made = make_searcher(entry["name"])
        # A default that is made anew for each searcher stands in its factory.
        defaults = {
            item.name: item.default_factory() if callable(item.default_factory) else item.default
            for item in dataclasses.fields(made)
            if item.init
        }
        assert entry["settings"] == json.loads(json.dumps(defaults))
    assert "population_size = 30\n" in dse("list", "searchers", "genetic").out


def test_a_networks_layers_are_listed_with_their_loops(dse: Dse) -> None:
    layers = load_layers("mobilenet_v2")
    found = dse("list", "layers", "mobilenet_v2", "--json").json["layers"]
    assert [entry["macs"] for entry in found] == [layer.macs for layer in layers]
    first, second = found[:2]
    assert first["name"] == f"mobilenet_v2:{layers[0].name}"
    assert (first["loops"], first["stride"], first["padding"]) == (
        "CONV K32 C3 Y224 X224 R3 S3",
        [2, 2],
        [1, 1],
    )
    assert second["loops"].startswith("DSCONV K1 C32")
    assert any(entry["repeats"] > 1 for entry in found)
    shown = dse("list", "layers", "mobilenet_v2").out
    assert "CONV K32 C3 Y224 X224 R3 S3" in shown
    assert f"{layers[0].macs:,}" in shown
    assert "takes one network" in dse("list", "layers").refused()
    assert "did you mean 'vgg16'" in dse("list", "layers", "vgg1").refused()


def test_everything_has_a_line_of_its_own_with_a_sentence(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entries = dse("list", "--json").json
    lines = [line for line in dse("list").out.splitlines() if line.startswith("  ")]
    assert len(lines) == sum(map(len, entries.values()))
    for line, entry in zip(lines, (entry for kind in listed_kinds() for entry in entries[kind]), strict=True):
        name, sentence = line.split(maxsplit=1)
        assert name == (entry.get("file") or entry["name"])
        assert sentence.startswith(entry["sentence"])
        assert " " in sentence


@pytest.mark.parametrize(
    ("alias", "kinds"), [("networks", ["workloads"]), ("presets", ["accelerators", "machines"])]
)
def test_networks_and_presets_are_other_names(dse: Dse, alias: str, kinds: list[str]) -> None:
    found = dse("list", alias, "--json").json
    assert list(found) == kinds
    for kind in kinds:
        assert found[kind] == dse("list", kind, "--json").json[kind]
        assert all(entry["name"] in dse("list", alias).out for entry in found[kind])


def test_every_machine_that_is_listed_can_be_named(dse: Dse) -> None:
    machines = [entry["name"] for entry in dse("list", "machines", "--json").json["machines"]]
    model = cost_model("timeloop")
    made = [model.load_machine(name.replace("PES-SCRATCHPAD-ACCUMULATOR", "8-512-64")) for name in machines]
    assert len(made) == 6


def test_one_thing_is_shown_with_all_that_is_known_of_it(dse: Dse) -> None:
    edge = dse("list", "accelerators", "edge", "--json").json
    assert [entry["num_pes"] for entry in edge["accelerators"]] == [PRESETS["edge"].num_pes]
    shown = dse("list", "presets", "edge").out
    assert "L2, elements: 131,072" in shown
    assert "cloud" not in shown
    assert "NoC, elements per cycle: unlimited" in dse("list", "presets", "paper").out
    assert "searchers: random, bayesian, genetic" in dse("list", "campaigns", "quickstart").out
    assert "proofs: yes" in dse("list", "cost-models", "loopnest").out
    assert "did you mean 'edge'" in dse("list", "presets", "edgy").refused()
    assert "unknown name 'vgg16' in dse list searchers" in dse("list", "searchers", "vgg16").refused()


def test_a_line_is_cut_where_a_terminal_ends_and_whole_in_a_pipe(
    dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = dse("list", "cost-models").out.splitlines()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    cut = dse("list", "cost-models").out.splitlines()
    assert len(cut) == len(whole)
    assert max(map(len, whole)) > 80


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One"),
        ("ResNet v1.5 of\n    2015, e.g. as it is. `more` of it.", "ResNet v1.5 of 2015, e.g. as it is"),
        ("One\n\nTwo", "One"),
        ("", ""),
    ],
)
def test_of_a_text_the_first_sentence_is_taken(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
