"""Mappings in the files of other tools: what is written means the mapping, and what is read back is it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.core.cost_models import cost_model_class
from dse.core.layer import Layer
from dse.core.widths import Widths
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.formats import FORMATS, export_mapping, read_mapping
from dse.domains.clustered.nest import nest
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.models.loopnest import LoopNest
from dse.support.errors import InputError
from dse.support.strict_yaml import parse_yaml as load
from tests.conftest import Dse
from tests.domains.clustered.formats.timeloop_files import as_case

EDGE, SMALL = PRESETS["edge"], PRESETS["eyeriss-small"]
LAYERS = (
    Layer("CONV", 12, 8, 14, 10, 3, 3, (2, 1), (1, 0), name="strided"),
    Layer("CONV", 64, 32, 28, 28, 3, 3, (1, 1), (2, 2), dilation=(2, 2)),
    Layer("DSCONV", 1, 30, 15, 15, 5, 3, (1, 1), (2, 1)),
    Layer.gemm(7, 96, 40, bits=Widths(4, 8, 32)),
)
TIMELOOP = FORMATS["timeloop"]


def drawn(layer: Layer, accelerator: Accelerator, seed: int, tiles: str = "factors") -> Any:
    space = MappingSpace(layer, accelerator, tiles=tiles)
    return space.decode(space.sample(np.random.default_rng(seed), 1))[0]


def written(name: str, layer: Layer, accelerator: Accelerator, mapping: Any) -> Any:
    """The texts; None where the format is one that cannot say everything, and says so."""
    try:
        return FORMATS[name].write(layer, accelerator, mapping)
    except InputError as error:
        if name == "timeloop" and re.search("must divide|leave some idle", str(error)):
            return None
        raise


@settings(max_examples=25)
@given(st.sampled_from(LAYERS), st.sampled_from([EDGE, SMALL]), st.integers(0, 10**6))
def test_what_is_read_back_is_the_mapping(layer: Layer, accelerator: Accelerator, seed: int) -> None:
    for tiles in ("factors", "any"):
        mapping = drawn(layer, accelerator, seed, tiles)
        for name in ("json", "maestro", "timeloop"):
            kind = FORMATS[name]
            texts = written(name, layer, accelerator, mapping)
            if texts is None:
                continue
            text = "".join(texts[file] for file in texts if "problem" not in file)
            assert kind.read(text, "here", layer, accelerator) == mapping


def test_timeloops_files_mean_the_mapping_word_for_word() -> None:
    """Priced as a hierarchy, the files move the weights and outputs that loopnest counts for the mapping."""
    layer = Layer("CONV", 128, 128, 28, 28, 3, 3, (1, 1), (1, 1))
    space, seen = MappingSpace(layer, EDGE), 0
    genes = space.sample(np.random.default_rng(0), 3000)
    mappings = space.decode(genes)
    costs = LoopNest().evaluate(layer, EDGE, mappings)
    for row in np.flatnonzero((costs.l1_size <= EDGE.l1_size) & (costs.l2_size <= EDGE.l2_size))[:12]:
        if not nest(layer, EDGE, mappings[row]).even:
            continue
        case = as_case(TIMELOOP.write(layer, EDGE, mappings[row]))
        [priced] = cost_model_class("timeloop")().price_lines([("here", json.dumps(case))], detail=True)
        ours = LoopNest().count(layer, EDGE, mappings[row])
        assert priced["status"] == "ok"
        assert ours is not None
        words = priced["counts"]
        assert words["DRAM"]["Weights"]["reads"] == ours.dram_weight
        assert words["L2"]["Weights"]["reads"] == ours.l2_weight
        fills = words["L1"]["Weights"]
        assert fills["fills"] * fills["instances"] == ours.pe_weight
        assert words["DRAM"]["Outputs"]["updates"] == ours.dram_output_up
        seen += 1
    assert seen >= 8


def test_timeloops_files_keep_the_published_syntax() -> None:
    layer = LAYERS[0]
    files = {
        name: load(text, name) for name, text in TIMELOOP.write(layer, EDGE, drawn(layer, EDGE, 3)).items()
    }
    nodes = files["timeloop-arch.yaml"]["architecture"]["nodes"]
    assert files["timeloop-arch.yaml"]["architecture"]["version"] == 0.4
    kept = {"!", "name", "spatial", "constraints"}
    assert {(node["!"], *sorted(set(node) - kept)) for node in nodes[1:]} == {
        ("Component", "attributes", "class"),
        ("Container",),
    }
    problem = files["timeloop-problem.yaml"]["problem"]
    dims = problem["shape"]["dimensions"]
    assert set(problem["instance"]) == {*dims, "Wstride", "Hstride", "Wdilation", "Hdilation"}
    assert (problem["instance"]["Wstride"], problem["instance"]["Hstride"]) == layer.stride
    products = dict.fromkeys(dims, 1)
    for entry in files["timeloop-mapping.yaml"]["mapping"]:
        assert entry["target"] in {node["name"] for node in nodes}
        assert sorted(entry["permutation"]) == sorted(dims)
        assert ("split" in entry) == (entry["type"] == "spatial")
        for factor in entry["factors"]:
            dim, count = re.fullmatch(r"([MCPQRS])=(\d+)(?:,\d+)?", factor).groups()  # type: ignore[union-attr]
            products[dim] *= int(count)
    assert all(products[dim] >= problem["instance"][dim] for dim in dims)


MAPPING = """
mapping:
- {target: DRAM, type: temporal, factors: M=2 P1 Q=5, permutation: QPM}
- {target: inter_cluster_spatial, type: spatial, factors: [P=13], permutation: [P], split: 1}
- {target: cluster_loops, type: temporal, factors: [C=4]}
- {target: PE, type: spatial, factors: [M=6], split: 0}
- {target: L1, type: temporal, factors: [C=2, Q=2, R=3, S=3], permutation: [S, R, C]}
"""


def test_a_mapping_that_somebody_wrote_by_hand_is_read() -> None:
    layer = Layer("CONV", 12, 8, 15, 12, 3, 3)
    mapping = TIMELOOP.read(MAPPING, "here", layer, EDGE)
    assert mapping.outer.parallel == "Y"
    assert mapping.inner.parallel == "K"
    assert dict(zip("KCYXRS", mapping.outer.tile, strict=True)) == {
        "K": 6,
        "C": 8,
        "Y": 1,
        "X": 2,
        "R": 3,
        "S": 3,
    }
    assert mapping.outer.order[-3:] == ("K", "Y", "X")
    # Clusters are the smallest that six PEs fit into.
    assert mapping.cluster_size == 8


BOTH = "[C=1]}\n- {target: PE, type: spatial, factors: [M=6, C=4]"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mapping:", "maping:", "lacks 'mapping', a list of directives"),
        ("target: DRAM", "target: DRUM", r"unknown target 'DRUM' in here: mapping\[0\]; did you mean 'DRAM'"),
        ("Q=5", "Q=4", "the factors of Q make 8, the layer has 10"),
        ("Q=5", "Z=5", "unknown dim 'Z'"),
        ("Q=5", "Q=five", "factors must be as in"),
        ("[C=4]", "5", r"mapping\[2\].factors must be as in"),
        ("[C=4]", "!!int ''", "'' is not what its tag says, int, in line"),
        ("Q=5", f"Q={'9' * 5000}", "factors must be at most 400 letters"),
        ("Q=5", f"Q={'M' * 100_000}", "factors must be at most 400 letters"),
        ("mapping:", "mapping: &m [*m]\nother:", "the alias 'm' is within what it stands for"),
        (
            "[C=4]}\n- {target: PE, type: spatial, factors: [M=6]",
            BOTH,
            "PE spreads M and C; here a level has one parallel dim",
        ),
        (
            "target: cluster_loops, type: temporal",
            "target: cluster_loops, type: spatial",
            "is not spread over",
        ),
        ("[C=2, Q=2", "[C=2, Q=2, ]]", "is not usable YAML: .* in line"),
        ("[S, R, C]", "[S, S]", "permutation must hold each dim once"),
        ("[S, R, C]", "[S, R, Z]", r"unknown dim 'Z' in here: mapping\[\d\].permutation"),
        (
            "factors: [C=4]",
            "factor: [C=4]",
            r"unknown key 'factor' in here: mapping\[2\], line \d+; did you mean",
        ),
        ("mapping:", "mapspace: {}\nmapping:", "unknown key 'mapspace' in here"),
        ("mapping:", "mapping:\n- {target: DRAM, type: temporal}", "DRAM has a temporal directive already"),
        (
            "mapping:",
            "mapping:\n- {target: L2, type: bypass, bypass: [Inputs]}",
            "L2 holds all three tensors",
        ),
    ],
)
def test_what_is_wrong_with_a_timeloop_mapping_is_said_with_its_place(
    old: str, new: str, message: str
) -> None:
    assert old in MAPPING
    with pytest.raises(InputError, match=message):
        TIMELOOP.read(MAPPING.replace(old, new), "here", Layer("CONV", 12, 8, 15, 12, 3, 3), EDGE)


def test_zigzags_files_say_what_they_can_and_refuse_the_rest() -> None:
    layer, kind = LAYERS[1], FORMATS["zigzag"]
    refused = set()
    for seed in range(12):
        try:
            files = kind.write(layer, SMALL, drawn(layer, SMALL, seed, "any" if seed % 3 == 0 else "factors"))
        except InputError as error:
            refused.add(str(error).partition(",")[0])
            continue
        [mapping] = load(files["zigzag-mapping.yaml"], "mapping")
        loops = load(files["zigzag-workload.yaml"], "workload")[0]
        products = dict.fromkeys(loops["loop_dims"], 1)
        for text in mapping["spatial_mapping"]["D1"]:
            dim, count = text.split(", ")
            products[dim] *= int(count)
        for dim, count in mapping["temporal_ordering"]:
            products[dim] *= count
        assert products == dict(zip(loops["loop_dims"], loops["loop_sizes"], strict=True))
    assert "format zigzag: each tile must divide what it cuts" in refused


# The command


def test_the_command_writes_what_evaluate_reads(dse: Dse, tmp_path: Path) -> None:
    where = ("--layer", "resnet18:3", "--accelerator", "edge")
    ours = dse("evaluate", *where, "--mapping", "nvdla", "--json").json
    for name in FORMATS:
        written = dse("export", "nvdla", *where, "--format", name, "--out", str(tmp_path), "--json").json
        assert all(Path(file).is_file() for file in written["files"])
    for file in ("mapping.json", "mapping.m", "timeloop-mapping.yaml"):
        again = dse("evaluate", *where, "--mapping", str(tmp_path / file), "--json").json
        assert again["mapping"] == ours["mapping"]
        assert again["cycles"] == ours["cycles"]
    other = ("--layer", "resnet18:5", "--accelerator", "edge", "--mapping", str(tmp_path / "mapping.m"))
    assert "is of CONV K128 C128 Y30 X30" in dse("evaluate", *other).refused()
    for arguments, message in (
        (("export", "nvdla", *where, "--format", "timelop", "--out", "x"), "did you mean 'timeloop'"),
        (("search", *where, "--format", "nest"), "--format writes files; add --out DIR"),
        (("evaluate", *where, "--mapping", str(tmp_path / "none.yaml")), "cannot be read"),
        (("evaluate", *where, "--mapping", "nvdia"), "did you mean 'nvdla'"),
    ):
        assert message in dse(*arguments).refused()


def test_a_search_leaves_its_best_mapping_in_the_formats_asked_for(dse: Dse, tmp_path: Path) -> None:
    where = ("--layer", "mobilenet_v2:25", "--accelerator", "edge", "--searcher", "random", "--budget", "30")
    formats = ("--format", "maestro", "--format", "timeloop", "--out", str(tmp_path))
    found = dse("search", *where, *formats, "--json").json
    from workloads import load_layer

    layer = load_layer("mobilenet_v2:25")
    for file in ("mapping.m", "timeloop-mapping.yaml"):
        assert read_mapping(str(tmp_path / file), layer, EDGE).to_dict() == found["best"]["mapping"]


def test_without_the_library_yaml_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match=r"need the library PyYAML; pip install 'dse-arena\[yaml\]'"):
        export_mapping("timeloop", LAYERS[0], EDGE, drawn(LAYERS[0], EDGE, 0), tmp_path)
