"""`loopnest` on the command line: where cycles and energy go, in JSON and as tables with bars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dse.cli.best_view import share_bar
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.templates import TEMPLATES
from dse.models.loopnest import LoopNest
from tests.conftest import Dse
from workloads import load_layer

LAYER, ACCELERATOR = "resnet18:0", "edge"
WHERE = ("--layer", LAYER, "--accelerator", ACCELERATOR, "--cost-model", "loopnest")


def evaluated(dse: Dse, template: str) -> dict[str, Any]:
    result: dict[str, Any] = dse("evaluate", *WHERE, "--mapping", template, "--json").json
    return result


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_parts_add_up_to_the_figures(dse: Dse, template: str) -> None:
    result = evaluated(dse, template)
    parts = result["breakdown"]
    assert sum(parts["cycles"].values()) == result["cycles"]
    assert min(parts["cycles"].values()) >= 0
    assert sum(parts["energy_nj"].values()) == pytest.approx(result["energy_nj"])
    assert sum(parts["buffers"]["L1"].values()) == result["l1_size"] == parts["l1"]["needed"]
    assert sum(parts["buffers"]["L2"].values()) == result["l2_size"] == parts["l2"]["needed"]
    assert parts["bound"] in ("compute", "NoC", "DRAM")
    assert parts["cycles"]["compute"] >= parts["busiest_pe_cycles"]


def test_a_strided_layer_is_priced_as_it_is(dse: Dse) -> None:
    layer, accelerator = load_layer(LAYER), PRESETS[ACCELERATOR]
    assert layer.strided
    result = evaluated(dse, "shidiannao")
    mapping = MappingBatch.of([Problem(layer, accelerator).template("shidiannao")])
    assert result["cycles"] == LoopNest().evaluate(layer, accelerator, mapping).cycles[0]
    lowered = LoopNest().evaluate(layer.lowered(), accelerator, mapping)
    assert result["energy_nj"] != lowered.energy_nj[0]


def test_people_see_bars_words_and_the_buffers_of_the_model(dse: Dse) -> None:
    result = evaluated(dse, "shidiannao")
    shown = dse("evaluate", *WHERE, "--mapping", "shidiannao").out
    assert f"where the cycles go: most on {result['breakdown']['bound']}" in shown
    assert "█" in shown
    for part, cycles in result["breakdown"]["cycles"].items():
        assert f"{cycles:,}" in row_of(shown, part)
        assert f"{cycles / result['cycles']:.1%}" in row_of(shown, part)
    assert f"{result['breakdown']['words']['DRAM']['inputs']:,}" in row_of(shown, "DRAM      ")
    assert "mW" in row_of(shown, "power")
    assert f"{result['l1_size']:,} of {PRESETS[ACCELERATOR].l1_size:,}" in row_of(shown, "L1 holds")
    assert "mapped as" not in shown


def row_of(shown: str, start: str) -> str:
    """The lines that begin with a text."""
    return "\n".join(line for line in shown.splitlines() if line.strip().startswith(start.strip()))


def test_maestro_says_no_more_than_it_did(dse: Dse) -> None:
    result = dse(
        "evaluate", "--layer", LAYER, "--accelerator", "edge", "--mapping", "nvdla",
        "--cost-model", "maestro", "--json",
    ).json  # fmt: skip
    assert list(result["breakdown"]) == [
        "l1", "l2", "ideal_cycles", "busiest_pe_cycles", "utilisation", "busy_pes", "busy_time", "bound",
    ]  # fmt: skip


def test_a_mapping_that_is_refused_has_no_breakdown(dse: Dse, tmp_path: Path) -> None:
    data = TEMPLATES["nvdla"](load_layer(LAYER), PRESETS[ACCELERATOR]).to_dict()
    data["inner"]["parallel"] = "R"
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    result = evaluated(dse, str(path))
    assert (result["status"], result["breakdown"]) == ("invalid", None)
    assert "R or S" in result["reason"]


def test_a_search_minimises_loopnest(dse: Dse, tmp_path: Path) -> None:
    options = ("--objective", "edp", "--searcher", "genetic", "--budget", "600", "--out", str(tmp_path))
    result = dse("search", *WHERE, *options, "--json").json
    assert result["cost_model"] == "loopnest"
    best = result["best"]
    assert best["macs"] == load_layer(LAYER).macs
    path = tmp_path / "best.json"
    path.write_text(json.dumps(best["mapping"]), encoding="utf-8")
    again = evaluated(dse, str(path))
    assert (again["cycles"], again["energy_nj"]) == (best["cycles"], best["energy_nj"])
    assert again["loss"]["edp"] == pytest.approx(best["loss"])


@pytest.mark.parametrize(
    ("share", "shown"), [(0, ""), (1, "█" * 8), (0.5, "█" * 4), (1 / 16, "▌"), (0.51, "████▏"), (7, "█" * 8)]
)
def test_a_bar_is_as_long_as_its_share(share: float, shown: str) -> None:
    assert share_bar(share, width=8) == shown
