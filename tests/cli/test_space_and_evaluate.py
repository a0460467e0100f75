"""`dse space` and `dse evaluate` from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dse.cli import commands
from dse.cli.application import build_application
from dse.core.cost_models import cost_model
from dse.core.objective import objectives_of
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.templates import TEMPLATES
from tests.cli.shell_cases import RESNET_ON_EDGE
from tests.conftest import Dse
from workloads import load_layer

MAESTRO = ("--cost-model", "maestro")


# space


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_space_gives_the_genes_and_the_exact_sizes(dse: Dse, tiles: str) -> None:
    space = MappingSpace(load_layer("vgg16:1"), PRESETS["edge"], tiles=tiles)
    found = dse("space", "--layer", "vgg16:1", "--accelerator", "edge", "--tiles", tiles, "--json").json
    assert list(found) == ["genes", "vectors", "mappings", "eq1"]
    assert [gene["name"] for gene in found["genes"]] == [gene.name for gene in space.genes]
    assert [gene["size"] for gene in found["genes"]] == space.sizes.tolist()
    assert (found["vectors"], found["mappings"]) == (space.vectors, space.mappings)
    assert found["eq1"] == space.estimates["eq1"]


def test_a_fixed_gene_shrinks_the_space_and_is_shown(dse: Dse) -> None:
    free = dse("space", *RESNET_ON_EDGE, "--json").json
    fixes = ("--fix", "outer.parallel=K", "--fix", "cluster=16")
    fixed = dse("space", *RESNET_ON_EDGE, *fixes, "--json").json
    sizes = {gene["name"]: gene["size"] for gene in fixed["genes"]}
    assert sizes["outer.parallel"] == sizes["cluster"] == 1
    clusters = len(PRESETS["edge"].cluster_sizes)
    assert free["vectors"] == fixed["vectors"] * 4 * clusters
    assert free["mappings"] == fixed["mappings"] * 4 * clusters
    shown = dse("space", *RESNET_ON_EDGE, *fixes).out
    assert "fixed at" in shown
    assert f"{fixed['mappings']:,}" in shown


def test_equation_1_has_table_iis_sizes_with_its_parts(dse: Dse) -> None:
    found = dse("space", "--equation1", "--json").json
    assert [row["layer"] for row in found] == ["MLP", "attention", "convolution"]
    for row in found:
        level = row["tilings"] * row["orders"] * row["parallel"]
        assert [row["1 level"], row["2 levels"], row["3 levels"]] == [level, level**2, level**3]
    assert found[0]["1 level"] == 36_000
    shown = dse("space", "--equation1").out
    assert "720,000,000" in shown
    assert "1.186e+39" in shown


def test_a_space_without_a_layer_is_refused_in_one_line(dse: Dse) -> None:
    outcome = dse("space", "--accelerator", "edge")
    assert outcome.code == 2
    assert "missing option '--layer'; see 'dse space --help'" in outcome.err


# evaluate


def evaluated(dse: Dse, *arguments: str) -> dict[str, Any]:
    outcome = dse("evaluate", *arguments, "--json")
    assert outcome.code == (0 if outcome.json["feasible"] else 1)
    assert outcome.err == ""
    result = outcome.json
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize("template", list(TEMPLATES))
@pytest.mark.parametrize(("options", "model"), [((), "loopnest"), (MAESTRO, "maestro")])
def test_a_template_is_priced_as_its_mapping_is(
    dse: Dse, template: str, options: tuple[str, ...], model: str
) -> None:
    layer, edge = load_layer("resnet18:1"), PRESETS["edge"]
    mapping = Problem(layer, edge, cost_model=model).template(template)
    costs = cost_model(model).evaluate(layer, edge, MappingBatch.of([mapping]))
    result = evaluated(dse, *RESNET_ON_EDGE, "--mapping", template, *options)
    assert result["cost_model"] == model
    assert result["status"] == "ok"
    for name in ("cycles", "macs", "energy_nj", "power", "area", "l1_size", "l2_size"):
        assert result[name] == getattr(costs, name)[0]
    assert result["feasible"] is True
    assert result["reason"] is None
    expected = {name: one.value(costs, edge.hertz)[0] for name, one in objectives_of(model).items()}
    # `area` is of what the mapping needs, as tests/domains/clustered/test_area.py has it.
    assert {**result["loss"], "area": expected["area"]} == expected
    assert result["mapping"] == mapping.to_dict()


def test_a_mapping_file_gives_what_its_template_gives_and_its_folder_too(dse: Dse, tmp_path: Path) -> None:
    template = evaluated(dse, *RESNET_ON_EDGE, "--mapping", "shidiannao")
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(template["mapping"]), encoding="utf-8")
    assert evaluated(dse, *RESNET_ON_EDGE, "--mapping", str(path)) == template
    assert evaluated(dse, *RESNET_ON_EDGE, "--mapping", str(tmp_path)) == template


def test_of_levels_a_folder_that_a_search_has_written_is_its_mapping(dse: Dse, tmp_path: Path) -> None:
    asked = ("--layer", "alexnet:conv2", "--accelerator", "gemmini", "--cost-model", "timeloop")
    best = dse(
        "search", *asked, "--searcher", "random", "--budget", "50", "--out", str(tmp_path), "--json"
    ).json
    assert evaluated(dse, *asked, "--mapping", str(tmp_path))["mapping"] == best["best"]["mapping"]


def test_what_a_judge_of_cycles_alone_does_not_say_is_unknown(dse: Dse, tmp_path: Path) -> None:
    judge = tmp_path / "judge.sh"
    judge.write_text("#!/bin/sh\nwhile read line; do echo '{\"cycles\": 100000000}'; done\n")
    judge.chmod(0o755)
    shown = dse("evaluate", *RESNET_ON_EDGE, "--mapping", "nvdla", "--cost-model", f"command:{judge}").out
    rows = [line.split() for line in shown.splitlines()]
    for figure in ("energy", "power", "area"):
        assert [figure, "unknown"] in rows
        assert [figure, "-"] in rows, "as an objective"


def test_the_breakdown_adds_up(dse: Dse) -> None:
    conv = ("--layer", "vgg16:conv4_2", "--accelerator", "eyeriss", "--mapping", "eyeriss")
    result = evaluated(dse, *conv, *MAESTRO)
    parts = result["breakdown"]
    assert parts["l1"] == {
        "needed": result["l1_size"],
        "capacity": PRESETS["eyeriss"].l1_size,
        "use": result["l1_size"] / PRESETS["eyeriss"].l1_size,
    }
    assert parts["ideal_cycles"] <= parts["busiest_pe_cycles"] <= result["cycles"]
    assert parts["utilisation"] == pytest.approx(parts["ideal_cycles"] / result["cycles"])
    assert parts["utilisation"] == pytest.approx(parts["busy_pes"] * parts["busy_time"])
    assert parts["bound"] in ("compute", "data movement")


def test_a_mapping_that_does_not_fit_has_costs_and_says_why_it_is_infeasible(
    dse: Dse, tmp_path: Path
) -> None:
    path = tmp_path / "mapping.json"
    path.write_text(TEMPLATES["nvdla"](load_layer("resnet18:1"), PRESETS["paper"]).to_json())
    result = evaluated(dse, *RESNET_ON_EDGE, "--mapping", str(path))
    assert result["status"] == "ok"
    assert result["cycles"] > 0
    assert result["feasible"] is False
    assert f"L1 needs {result['l1_size']} of 512 elements" in result["reason"]
    assert set(result["loss"].values()) == {None}
    shown = dse("evaluate", *RESNET_ON_EDGE, "--mapping", str(path)).out
    assert f"not feasible: {result['reason']}" in shown
    assert "loss by objective" not in shown


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("outer.tile.K", -4, "outer.tile.K must be from 1 to 64 (what the layer has of K), got -4"),
        ("inner.tile.X", 0, "inner.tile.X must be from 1 to 56 (what the layer has of X), got 0"),
        ("outer.tile.Y", 100_000, "outer.tile.Y must be from 1 to 56 (what the layer has of Y), got 100000"),
        ("cluster_size", -1, "cluster_size must be from 1 to 256 (the accelerator's PEs), got -1"),
        ("cluster_size", 257, "cluster_size must be from 1 to 256 (the accelerator's PEs), got 257"),
    ],
)
def test_a_mapping_file_with_sizes_out_of_range_is_refused_by_field(
    dse: Dse, tmp_path: Path, field: str, value: int, complaint: str
) -> None:
    data = TEMPLATES["nvdla"](load_layer("resnet18:1"), PRESETS["edge"]).to_dict()
    *parents, last = field.split(".")
    place = data
    for key in parents:
        place = place[key]
    place[last] = value
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(data))
    message = dse("evaluate", *RESNET_ON_EDGE, "--mapping", str(path)).refused()
    assert message == f"mapping file {str(path)!r}: {complaint}"


def test_a_mapping_that_the_model_refuses_is_invalid_with_its_reason(dse: Dse, tmp_path: Path) -> None:
    data = TEMPLATES["nvdla"](load_layer("resnet18:1"), PRESETS["edge"]).to_dict()
    data["outer"]["tile"]["R"] = 1
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(data))
    result = evaluated(dse, *RESNET_ON_EDGE, "--mapping", str(path))
    assert (result["status"], result["feasible"]) == ("invalid", False)
    assert result["reason"] == "a filter dim (R or S) is neither parallel nor whole"
    assert result["cycles"] is result["breakdown"] is None
    shown = dse("evaluate", *RESNET_ON_EDGE, "--mapping", str(path))
    assert shown.code == 1
    assert "not feasible: a filter dim (R or S) is neither parallel nor whole" in shown.out


def test_people_see_the_loss_the_costs_and_the_loops(dse: Dse) -> None:
    result = evaluated(dse, *RESNET_ON_EDGE, "--mapping", "nvdla", "--objective", "edp")
    shown = dse("evaluate", *RESNET_ON_EDGE, "--mapping", "nvdla", "--objective", "edp").out
    assert f"feasible: edp {result['loss']['edp']:.4g} J s" in shown
    assert f"{result['cycles']:,}" in shown
    assert f"{result['breakdown']['l2']['use']:.1%}" in shown
    assert "parallel k0 in 0..63" in shown


def test_a_table_cuts_no_number_where_the_terminal_is_narrow(
    dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = dse("list", "accelerators").out
    assert "eyeriss-small" in shown
    assert "1,048,576" in shown
    assert "…" not in shown


# Adding a command


def test_a_module_among_the_commands_is_a_command(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greet.py").write_text(
        "import typer\nfrom dse.support.errors import InputError\n"
        "def command(name: str) -> None:\n"
        '    """Greet someone."""\n'
        "    if name == 'nobody':\n        raise InputError('name must be somebody')\n"
        "    if name == 'failure':\n        raise typer.Exit(1)\n"
        "    print('hello', name)\n"
    )
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    monkeypatch.setattr("dse.cli.build_application", build_application.__wrapped__)
    assert dse("greet", "you").out == "hello you\n"
    assert dse("greet", "nobody").refused() == "name must be somebody"
    assert dse("greet", "failure").code == 1
    assert dse("greet").refused() == "missing argument 'name'; see 'dse greet --help'"


def test_an_installed_package_offers_commands_and_a_broken_one_says_so_when_it_is_asked_for(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greeting.py").write_text("def command(name: str) -> None:\n    print('hello', name)\n")
    info = tmp_path / "dse_greeting-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dse-greeting\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[dse.commands]\ngreet = greeting:command\nbroken = greeting:absent\nsearch = greeting:command\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("dse.cli.build_application", build_application.__wrapped__)
    assert dse("greet", "you").out == "hello you\n"
    assert "command 'broken' (entry point 'greeting:absent' of dse-greeting 1.2)" in dse("broken").refused()
    # What comes along is not replaced.
    assert dse("search", "you").code == 2
    assert {"profile", "quantise"} <= set(build_application.__wrapped__().commands)
