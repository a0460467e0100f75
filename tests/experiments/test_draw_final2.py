"""The problems of `final2` are unseen: their layers and machines are nowhere else, and each is there once."""

from __future__ import annotations

import ast
import gzip
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

from dse.campaign.config import Campaign
from dse.campaign.reading import load_campaign
from dse.cli.commands.run import find_layers
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from tests import ROOT
from workloads import NETWORKS, load

FOLDERS = ("dse", "learners", "searchers", "workloads", "experiments", "examples", "results", "tests", "docs")
HAS = re.compile(r"\bK=\d|Accelerator\(|gemm\(|fc\(")
"""What a module has that may make a layer or a machine."""
FIGURES = ("num_pes", "l1_size", "l2_size", "noc_bandwidth", "offchip_bandwidth")

Sizes = tuple[Any, ...]


def loops(layer: Layer) -> Sizes:
    return (layer.type, layer.K, layer.C, layer.Y, layer.X, layer.R, layer.S, layer.stride, layer.padding)


def sizes(table: dict[str, Any]) -> Sizes | None:
    """The six dims of a table or of the keywords of a call; strides aside, which makes the test harder."""
    found = tuple(table.get(dim) for dim in "KCYXRS")
    return found if None not in found[1:] else None


def figures(table: dict[str, Any]) -> Sizes | None:
    found = tuple(table.get(name) for name in FIGURES)
    return None if None in found else found


def files(*endings: str) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            # The suites that are shipped have the problems of campaigns, those of final2 too.
            shipped = path.parent == ROOT / "dse" / "suite" / "named"
            if path.suffix in endings and "final2" not in path.as_posix() and not shipped:
                yield path


def tables(entry: Any) -> Iterator[dict[str, Any]]:
    """Every table in a TOML or JSON file, at whatever depth."""
    if isinstance(entry, dict):
        yield entry
        for value in entry.values():
            yield from tables(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from tables(value)


def calls(text: str) -> Iterator[dict[str, Any]]:
    """What the calls in a module are given by name, and machines by place."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        by_name = {key.arg: getattr(key.value, "value", None) for key in node.keywords if key.arg}
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        places = [getattr(value, "value", None) for value in node.args]
        if name == "Accelerator":
            by_name |= dict(zip(FIGURES, places, strict=False))
        if name in ("gemm", "fc") and all(isinstance(place, int) and place > 0 for place in places):
            made = getattr(Layer, name)(*places)
            by_name |= {dim: getattr(made, dim) for dim in "KCYXRS"}
        yield by_name


@cache
def campaigns() -> list[Campaign]:
    with chdir(ROOT):
        names = (f"results/campaigns/final2-{model}.toml" for model in ("loopnest", "maestro"))
        return [load_campaign(name, find_layers) for name in names]


@cache
def elsewhere() -> tuple[set[Sizes], set[Sizes]]:
    """The sizes of all layers, and the figures of all machines, that the repository has outside of final2."""
    layers = {
        tuple(getattr(layer, dim) for dim in "KCYXRS") for name in NETWORKS for layer in load(name).layers
    }
    machines = {tuple(getattr(preset, name) for name in FIGURES) for preset in PRESETS.values()}
    texts = [text for path in files(".py") if re.search(HAS, text := path.read_text(encoding="utf-8"))]
    found = [table for text in texts for table in calls(text)]
    found += [table for path in files(".toml") for table in tables(tomllib.loads(path.read_text("utf-8")))]
    found += [table for path in files(".json") for table in tables(json.loads(path.read_text("utf-8")))]
    with gzip.open(ROOT / "tests" / "data" / "golden.jsonl.gz") as golden:
        found += [table for line in golden for table in tables(json.loads(line)["layer"])]
    layers |= {size for table in found if (size := sizes({"K": 1, **table})) is not None}
    machines |= {machine for table in found if (machine := figures(table)) is not None}
    return layers, machines


def drawn() -> list[tuple[Layer, Accelerator]]:
    found = [(at.problem.layer, at.problem.accelerator) for each in campaigns() for at in each.problems]
    assert len(found) == 24
    return found


def test_what_is_looked_through_has_what_other_campaigns_use() -> None:
    layers, machines = elsewhere()
    assert (2304, 768, 1024, 1, 1, 1) in layers, "a layer of small/layers.toml"
    assert (64, 3, 224, 224, 11, 11) in layers, "a layer of the public program's"
    assert (168, 512, 108_000, 64, 16) in machines, "a preset"
    assert len(layers) > 300
    assert len(machines) > 40


def test_no_layer_of_final2_is_anywhere_else_in_the_repository() -> None:
    layers, _ = elsewhere()
    assert [layer.name for layer, _ in drawn() if tuple(getattr(layer, d) for d in "KCYXRS") in layers] == []


def test_no_machine_of_final2_is_anywhere_else_in_the_repository() -> None:
    _, machines = elsewhere()
    assert [on for _, on in drawn() if tuple(getattr(on, name) for name in FIGURES) in machines] == []


def test_every_problem_of_final2_has_a_layer_and_a_machine_of_its_own() -> None:
    assert len({loops(layer) for layer, _ in drawn()}) == 24
    assert len({tuple(on.to_dict().values()) for _, on in drawn()}) == 24


def test_a_third_has_any_tiles_under_both_models() -> None:
    tiles = [[at.problem.options["tiles"] for at in each.problems] for each in campaigns()]
    assert [each.count("any") for each in tiles] == [4, 4]
