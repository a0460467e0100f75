"""Machines of levels, layers and mappings in Timeloop's and ZigZag's files, written and read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dse.domains.levels.formats import export_levels
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.workload import workload_of
from dse.models.timeloop.presets import load_machine
from dse.support.errors import InputError
from dse.support.strict_yaml import parse_yaml as load
from tests.conftest import Dse
from tests.domains.levels.formats.levels_cases import (
    CHIP,
    FILES,
    MACHINES,
    a_problem,
    drawn,
    exported,
    read_back,
    strip_notes,
)
from workloads import load_layer

pytest.importorskip("yaml")

LAYERS = ("resnet18:0", "mobilenet_v2:4", "bert_base:scores")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("machine", MACHINES)
def test_machine_layer_and_mapping_are_read_back_equal_with_their_price(
    machine: str, name: str, tmp_path: Path
) -> None:
    """All layers on one machine, one on the others; `prove_levels_files.py` has all on all."""
    assert_read_back_equal(machine, name, LAYERS if machine == CHIP else LAYERS[1:2], tmp_path)


def assert_read_back_equal(machine: str, name: str, layers: Sequence[str], tmp_path: Path) -> None:
    for layer in layers:
        problem = a_problem(layer, machine)
        for mapping, home in exported(name, problem, 1, tmp_path / layer.replace(":", "-")):
            again, found = read_back(name, home)
            assert again.accelerator == problem.accelerator
            assert again.layer.to_dict() == problem.layer.to_dict()
            assert again.fingerprint == problem.fingerprint
            assert found == mapping
            assert again.judge(found).figures == problem.judge(mapping).figures


@pytest.mark.parametrize("machine", [machine for machine in MACHINES if machine != "gemmini"])
def test_timeloops_files_alone_without_our_notes_have_the_same_price(machine: str, tmp_path: Path) -> None:
    for layer in LAYERS:
        problem = a_problem(layer, machine)
        for mapping, home in exported("timeloop", problem, 1, tmp_path / layer.replace(":", "-")):
            strip_notes(home)
            again, found = read_back("timeloop", home)
            assert workload_of(again.layer) == workload_of(problem.layer)
            ours, theirs = problem.judge(mapping), again.judge(found)
            assert theirs.feasible
            assert theirs.figures["cycles"] == ours.figures["cycles"]
            assert theirs.figures["energy_nj"] == ours.figures["energy_nj"]
            # Meshes are levels of their own there; those that store are the same, word for word.
            assert theirs.figures["counts"] == ours.figures["counts"]


def test_zigzags_files_alone_without_our_notes_have_the_same_price_where_accesses_are_words(
    tmp_path: Path,
) -> None:
    problem = a_problem("bert_base:scores", "edge")
    for mapping, home in exported("zigzag", problem, 4, tmp_path):
        strip_notes(home)
        again, found = read_back("zigzag", home)
        ours, theirs = problem.judge(mapping).figures, again.judge(found).figures
        assert theirs["cycles"] == ours["cycles"]
        assert theirs["energy_nj"] == pytest.approx(ours["energy_nj"], rel=1e-12)


def test_a_file_that_somebody_changed_is_read_as_it_stands(tmp_path: Path) -> None:
    problem = a_problem("resnet18:6", CHIP)
    ((_, home),) = exported("timeloop", problem, 1, tmp_path)
    arch = home / "timeloop-arch.yaml"
    arch.write_text(arch.read_text().replace("depth: 4096", "depth: 2048"))
    tile = next(level for level in load_machine(str(arch)).levels if level.name == "Tile")
    assert tile.capacity == 2048
    problem_file = home / "timeloop-problem.yaml"
    problem_file.write_text(problem_file.read_text().replace(" C: ", " C: 1"))
    assert int(f"1{problem.layer.C}") == load_layer(str(problem_file)).C


def test_timeloops_directives_are_for_nodes_of_the_architecture_and_multiply_to_the_problem(
    tmp_path: Path,
) -> None:
    problem = a_problem("resnet18:6", "simba_like")
    seen = set()
    for _, home in exported("timeloop", problem, 6, tmp_path):
        arch, layer, mapping = (load((home / file).read_text(), file) for file in FILES["timeloop"])
        nodes = {node["name"]: node for node in arch["architecture"]["nodes"]}
        sizes = {dim: layer["problem"]["instance"][dim] for dim in layer["problem"]["shape"]["dimensions"]}
        products = dict.fromkeys(sizes, 1)
        for entry in mapping["mapping"]:
            node = nodes[entry["target"]]
            seen.add(entry["type"])
            if entry["type"] == "dataspace":
                assert sorted(entry["keep"] + entry["bypass"]) == ["Inputs", "Outputs", "Weights"]
                continue
            assert sorted(entry["permutation"]) == sorted(sizes)
            assert ("spatial" in node) == (entry["type"] == "spatial") == ("split" in entry)
            wide = 1
            for factor in entry["factors"]:
                dim, count = factor.split("=")
                products[dim] *= int(count)
                wide *= int(count)
            assert entry["type"] == "temporal" or wide <= node["spatial"]["meshX"]
        assert products == sizes
        for node in nodes.values():
            if node["!"] == "Component" and node["class"] == "SRAM":
                stored = node["attributes"]
                assert stored["width"] == stored["datawidth"] * stored["block_size"] * stored["cluster_size"]
    assert seen == {"temporal", "spatial", "dataspace"}


def test_what_a_format_has_no_words_for_is_said(dse: Dse, tmp_path: Path) -> None:
    where = ("--layer", "resnet18:6", "--accelerator", "gemmini", "--cost-model", "timeloop")
    mapping = tmp_path / "mapping.txt"
    mapping.write_text(drawn(a_problem("resnet18:6", "gemmini"), 1)[0].text())
    timeloop = dse("export", str(mapping), *where, "--format", "timeloop", "--out", str(tmp_path))
    assert 'timeloop has no words for first_fill = "counted"' in timeloop.err
    zigzag = dse("export", str(mapping), *where, "--format", "zigzag", "--out", str(tmp_path), "--json")
    (said,) = zigzag.json["unsaid"]
    assert said == zigzag.err.strip()
    assert "accesses of whole blocks (DRAM, Scratchpad)" in said
    assert "loops, spreads and tensors that are open or closed" in said
    # Of a preset Timeloop's files say all, and nothing is said.
    edge = (*where[:2], "--accelerator", "edge", *where[4:])
    mapping.write_text(drawn(a_problem("resnet18:6", "edge"), 1)[0].text())
    assert dse("export", str(mapping), *edge, "--format", "timeloop", "--out", str(tmp_path)).err == ""


@pytest.mark.parametrize("name", FILES)
def test_the_commands_write_the_files_and_read_them(dse: Dse, name: str, tmp_path: Path) -> None:
    layer = "examples/network.toml:classifier"
    options = ("--cost-model", "timeloop", "--objective", "edp")
    out = tmp_path / "best"
    best = dse(
        *("certify", "--layer", layer, "--accelerator", CHIP, *options, "--fresh", "--out", str(out)),
        *("--format", name, "--json"),
    ).json["best"]  # fmt: skip
    machine, problem, mapping = (str(out / file) for file in FILES[name])
    priced = ("--accelerator", machine, "--layer", problem, "--mapping", mapping)
    found = dse("evaluate", *priced, *options, "--json").json
    assert (found["cycles"], found["energy_nj"]) == (best["cycles"], best["energy_nj"])
    assert found["mapping"] == best["mapping"]
    (listed,) = dse("list", "layers", problem, "--json").json["layers"]
    assert (listed["name"], listed["loops"]) == (f"{problem}:classifier", "GEMM M1 N12 K64")
    space = dse("space", "--layer", problem, "--accelerator", machine, "--cost-model", "timeloop").out
    assert "Buffer.temporal.K" in space


TWO = """
name = "two"
mac_pj = 1
[[levels]]
name = "DRAM"
[[levels]]
name = "L1"
keeps = ["W", "I", "O"]
size = 64
"""
BELOW = "C64" + "".join(f" - L{place}[]" for place in reversed(range(6)))
FANS = "".join(f'[[levels]]\nname = "S{place}"\nfan_out = 2\n' for place in range(5))


@pytest.mark.parametrize(
    ("name", "machine", "mapping", "message"),
    [
        ("timeloop", TWO.replace("DRAM", "D RAM"), "C64 - L0[WIO]", "a level's name there is a letter, then"),
        ("timeloop", TWO, "K12 - L0[WIO] C64X", "L1 spreads loops over the one instance below it"),
        ("zigzag", TWO, "K12 - L0[WIO] C64X", "L1 spreads loops over the one instance below it"),
        ("zigzag", TWO, "K12 - L0[WIO] C64", "L1 needs 129 of 64 words"),
        ("zigzag", TWO + FANS, BELOW, "have 4 dims of an array, the machine is spread at 5"),
        (
            "zigzag",
            TWO + "fan_out = 16\nbandwidth = 8\n",
            "K12 - L0[WIO] C16X",
            "L1 feeds 8 words of W a cycle, so ZigZag would not spread C over 16",
        ),
        ("maestro", TWO, "C64 - L0[WIO]", "format maestro is of two levels"),
    ],
)
def test_what_a_format_cannot_say_is_refused_in_a_line(
    name: str, machine: str, mapping: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "machine.toml"
    file.write_text(machine)
    problem = a_problem("examples/network.toml:classifier", str(file))
    with pytest.raises(InputError, match=message) as caught:
        export_levels(
            name, problem, HierarchyMapping.parse(f"L{mapping.count(' - ')}[WIO] {mapping}"), tmp_path / "out"
        )
    assert str(caught.value).startswith(f"format {name}")
    assert not (tmp_path / "out").exists()


MAPPING = """
mapping:
- {target: DRAM, type: temporal, factors: M=8 P=28 Q=28, permutation: QPM}
- {target: inter_below_Buffer_spatial, type: spatial, factors: [M=16], permutation: [M]}
- {target: Buffer, type: dataspace, keep: [Inputs, Outputs], bypass: [Weights]}
- {target: Buffer, type: temporal, factors: [C=128]}
- {target: Sums, type: temporal, factors: [R=3, S=3]}
"""


def mapped(text: str, tmp_path: Path, layer: str = "resnet18:3") -> HierarchyMapping:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return a_problem(layer, CHIP).find_mapping(str(path))


def test_a_timeloop_mapping_that_somebody_wrote_by_hand_is_read(tmp_path: Path) -> None:
    found = mapped(MAPPING, tmp_path)
    assert found.text() == "L4[WIO] K8 P28 Q28 - L3[IO] C128 K16X - L2[W] - L1[O] S3 R3 - L0[W]"
    assert a_problem("resnet18:3", CHIP).judge(found).feasible


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mapping:", "maping:", "lacks 'mapping', a list of directives"),
        ("target: DRAM", "target: DRUM", r"unknown target 'DRUM' in .*mapping\[0\]; did you mean 'DRAM'"),
        ("type: temporal", "type: sideways", "unknown type 'sideways'"),
        ("M=8", "Z=8", "unknown dim 'Z'"),
        ("M=8 P=28 Q=28", "'M=8,3 P=28 Q=28'", "M=8,3: here every round has all of a factor"),
        ("M=8", "M=eight", "factors must be as in"),
        ("permutation: QPM", "permutation: QQ", "permutation must hold each dim once"),
        ("[Weights]}", "[Wheels]}", "unknown dataspace 'Wheels'; did you mean 'Weights'|unknown dataspace"),
        ("keep: [Inputs, Outputs]", "keep: 5", "keep must be a list of dataspaces, got 5"),
        ("- {target: Sums", "- 7\n- {target: Sums", "must be a table with target, type, factors"),
        ("[R=3, S=3]", "[R=3, S=3, ]]", "not usable YAML"),
        (
            "permutation: QPM",
            "permuation: QPM",
            r"unknown key 'permuation' in .*mapping\[.\], line \d+; did you",
        ),
        ("permutation: QPM", "permutation: QPZ", "unknown dim 'Z' in .*permutation"),
        ("mapping:", "sparse_optimizations: {}\nmapping:", "unknown key 'sparse_optimizations'"),
        ("keep: [Inputs, Outputs]", "keep_only: [Inputs]", "unknown key 'keep_only'"),
        ("mapping:", "mapping:\n- {target: DRAM, type: temporal}", "DRAM has a temporal directive already"),
    ],
)
def test_what_is_wrong_with_a_timeloop_mapping_is_said(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in MAPPING
    with pytest.raises(InputError, match=message) as caught:
        mapped(MAPPING.replace(old, new, 1), tmp_path)
    assert "\n" not in str(caught.value)


ZIGZAG = """
- name: default
  spatial_mapping: {D1: ["K, 16"]}
  temporal_ordering: [[FX, 3], [FY, 3], [C, 128], [OX, 28], [OY, 28], [K, 8]]
  memory_operand_links: {O: O, W: I2, I: I1}
"""


def test_a_zigzag_mapping_that_somebody_wrote_by_hand_fills_the_levels_from_within(tmp_path: Path) -> None:
    found = mapped(ZIGZAG, tmp_path)
    problem = a_problem("resnet18:3", CHIP)
    judged = problem.judge(found)
    assert judged.feasible
    assert found.levels[1].spatial == (("K", 16),)
    # A register of one weight has room for no loop; 128 sums hold a row of 28, and no second one.
    assert found.text() == "L4[WIO] K8 - L3[IO] K16X - L2[W] P28 - L1[O] Q28 C128 R3 S3 - L0[W]"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("D1", "D9", "unknown dimension 'D9'"),
        ('["K, 16"]', "5", r"D1 must be a list such as \[\"K, 4\"\], got 5"),
        ('"K, 16"', '"K"', "a loop must be a dim and how often it runs"),
        ('"K, 16"', '"Z, 16"', "unknown dim 'Z'"),
        ("[FX, 3]", "[FX, 0]", "FX must be at least 1, got 0"),
        ("[FX, 3]", "[FX, '*']", "FX must be a whole number"),
        ("temporal_ordering: [[FX, 3]", "temporal_ordering: FX  #", "must be a list of loops such as"),
        ('spatial_mapping: {D1: ["K, 16"]}', "spatial_mapping: 5", "must be a table such as"),
        (
            "temporal_ordering",
            "ordering",
            r"unknown key 'ordering' in .*\[0\]; did you mean 'temporal_ordering'",
        ),
        ("spatial_mapping", "mapping", "unknown key 'mapping'"),
        ("W: I2, I: I1", "W: I1, I: I2", "memory_operand_links must be"),
        ("- name: default", "- 7\n- name: default", r"\[0\] must be a table with name"),
        ("- name", "- {name: other}\n- {name: other}\n- name", "two mappings of one name"),
        ("- name: default", "- {name: one}\n- name: two", "lacks a mapping of layer .*it has one, two"),
        ("[K, 8]", "[K, 4], [OX, 1], [C, 1], [OY, 2], [K, 2]", "OY has two loops at DRAM|K has two loops at"),
    ],
)
def test_what_is_wrong_with_a_zigzag_mapping_is_said(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in ZIGZAG
    with pytest.raises(InputError, match=message) as caught:
        mapped(ZIGZAG.replace(old, new, 1), tmp_path)
    assert "\n" not in str(caught.value)


def test_a_note_that_is_none_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its last lines, which begin with #:"):
        mapped(ZIGZAG + "#: {not json\n", tmp_path)
    with pytest.raises(InputError, match="are no note of dse's"):
        mapped(ZIGZAG + "#: [1]\n", tmp_path)
    # One that is of other data counts for nothing.
    stale = '#: {"of":"00","mapping":[]}\n'
    assert mapped(ZIGZAG + stale, tmp_path) == mapped(ZIGZAG, tmp_path)
