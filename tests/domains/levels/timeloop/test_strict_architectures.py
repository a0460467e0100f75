"""What a Timeloop architecture says is read, or refused by name with its line; nothing is passed over."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dse.domains.levels.machine import Machine
from dse.models.timeloop.presets import load_machine
from dse.models.timeloop.yaml_schema import NO_CHANGE, READ
from dse.support.errors import InputError

pytest.importorskip("yaml")

CHIP = """\
architecture:
  version: 0.4
  nodes:
  - !Component
    name: Main
    class: DRAM
    attributes: {width: 8, datawidth: 8}
  - !Container
    name: row
    spatial: {meshX: 4}
    constraints:
      spatial: {no_reuse: [Outputs]}
  - !Component
    name: Reg
    class: SRAM
    attributes: {depth: 64, width: 8, datawidth: 8}
    constraints:
      dataspace: {keep: [Inputs, Weights, Outputs]}
      temporal: {factors: [N=1]}
  - !Component
    name: mac
    class: intmac
"""
ERT = """\
ERT:
  version: 0.4
  tables:
  - {name: "top.Main[1..1]", actions: [{name: read, energy: 100}, {name: write, energy: 90}]}
  - name: "top.Reg[1..1]"
    actions: [{name: read, energy: 1}, {name: write, energy: 2}, {name: update, energy: 3}]
  - {name: "top.mac[1..1]", actions: [{name: compute, energy: 0.5}]}
"""


def read(tmp_path: Path, text: str) -> Machine:
    path = tmp_path / "chip.yaml"
    path.write_text(text)
    return load_machine(str(path))


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ("sizeKB: 1, datawidth: 8", 1024),
        ("sizeKB: 1, datawidth: 16", 512),
        ("depth: 48, datawidth: 8, multiple_buffering: 2", 24),
        ("memory_depth: 3, memory_width: 16, datawidth: 8", 6),
        ("data_storage_depth: 3, data_storage_width: 8, datawidth: 8", 3),
        ("depth: 3, memory-depth: 3, word-bits: 8", 3),
    ],
)
def test_a_size_is_read_however_it_is_said(tmp_path: Path, attributes: str, words: int) -> None:
    machine = read(tmp_path, CHIP.replace("depth: 64, width: 8, datawidth: 8", attributes))
    assert machine.levels[-1].capacity == words


def test_a_bandwidth_of_old_is_a_half_for_reads_and_for_writes(tmp_path: Path) -> None:
    machine = read(tmp_path, CHIP.replace("{width: 8, datawidth: 8}", "{width: 8, bandwidth: 0.5}"))
    rates = machine.levels[0].bandwidth
    assert (rates.read, rates.write, rates.shared) == (0.25, 0.25, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    spatial: {meshX: 4}\n", "    attributes: {meshX: 4}\n"),
        ("    name: row\n    spatial: {meshX: 4}\n", "    name: row[0..3]\n"),
        ("    spatial: {meshX: 4}\n", "    attributes: {instances: 4}\n"),
        ("{meshX: 4}", "{meshX: 2, meshY: 2}"),
    ],
)
def test_a_mesh_is_read_however_it_is_said(tmp_path: Path, old: str, new: str) -> None:
    assert read(tmp_path, CHIP.replace(old, new)).macs == 4


@pytest.mark.parametrize(
    ("temporal", "loops"),
    [
        ("factors_only: []", ()),
        ("factors: [C=1, M=1, P=1, Q=1, R=1, S=1, N=1]", ()),
        ("no_iteration_over_dataspaces: [Weights]", ("P", "Q", "N")),
        ("factors: [C<2, M<=1]", ("R", "S", "P", "Q", "N")),
    ],
)
def test_dims_that_a_constraint_closes_are_closed(tmp_path: Path, temporal: str, loops: Any) -> None:
    machine = read(tmp_path, CHIP.replace("factors: [N=1]", temporal))
    assert machine.levels[-1].loops == loops


@pytest.mark.parametrize(
    "section", ["constraints", "architecture_constraints", "mapspace", "mapspace_constraints"]
)
def test_constraints_in_a_section_of_their_own_are_the_nodes(tmp_path: Path, section: str) -> None:
    text = f"""{CHIP}{section}:
  version: 0.4
  targets:
  - {{target: row, type: spatial, factors: [C=1, M=1, P=1, Q=1, R=1, S=1, N=1]}}
  - {{target: Reg, type: dataspace, bypass: []}}
"""
    assert read(tmp_path, text).levels[1].spread == ()
    for wrong, said in (("target: ro", "did you mean 'row'"), ("type: spacial", "did you mean 'spatial'")):
        old = "target: row" if "target" in wrong else "type: spatial"
        with pytest.raises(InputError, match=f"line 26.*{said}"):
            read(tmp_path, text.replace(old, wrong))


def test_storages_side_by_side_keep_tensors_of_their_own(tmp_path: Path) -> None:
    inside = """\
  - !Parallel
    nodes:
    - !Component
      name: spad_i
      attributes: {depth: 16, width: 8}
      constraints: {dataspace: {keep: [Inputs]}}
    - !Component
      name: spad_w
      attributes: {depth: 8, width: 8}
      constraints: {dataspace: {keep: [Weights]}}
  - !Component
    name: mac
"""
    text = CHIP.replace("  - !Component\n    name: mac\n", inside)
    *_, one, two = read(tmp_path, text).levels
    assert (one.keeps, one.may_keep, two.keeps, two.may_keep) == (("I",), (), ("W",), ())
    with pytest.raises(InputError, match="only storages are read side by side"):
        read(tmp_path, text.replace("keep: [Weights]", "keep: [Inputs]"))


def test_actions_of_older_tables_are_todays(tmp_path: Path) -> None:
    text = (CHIP + ERT).replace("name: read, energy: 100", "name: random_read, energy: 100")
    machine = read(tmp_path, text.replace("name: compute", "name: mac_random"))
    assert machine.levels[0].energy.read_pj == 100
    assert machine.mac_pj == 0.5


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "depth: 64",
            "dept: 64",
            r"unknown key 'dept' in .*attributes, line 16; did you mean 'depth'",
        ),
        ("depth: 64", "depth: 64, sizeKB: 1", "its sizes differ, in words: depth 64, sizeKB 1,024"),
        ("depth: 64", "depth: 64, min_utilization: 1", "min_utilization of attributes is not read"),
        ("width: 8, datawidth: 8}", "width: 8, bandwidth: 1, read_bandwidth: 1}", "leave one out"),
        ("keep: [Inputs", "keeps: [Inputs", "unknown key 'keeps' in .*line 18; did you mean 'keep'"),
        ("dataspace:", "dataspaces:", "unknown key 'dataspaces' in .*line 18"),
        ("factors: [N=1]", "factors: [C=2]", "the factor 'C=2' is not read"),
        ("factors: [N=1]", "factors: [C<=2]", "the factor 'C<=2' is not read"),
        ("factors: [N=1]", "factors: [L=1]", "unknown dim 'L'"),
        ("factors: [N=1]", "permutation: [C, M]", "permutation of temporal is not read"),
        ("factors: [N=1]", "must_iterate_over_dataspaces: [Weights]", "must_iterate_over_dataspaces"),
        ("no_reuse: [Outputs]", "maximize_dims: [[M]]", "maximize_dims of spatial is not read"),
        (
            "{meshX: 4}",
            "{meshX: 4}\n    attributes: {meshX: 2}",
            "4 by spatial, 2 by its attributes",
        ),
        ("name: Reg", "name: Reg\n    sparse_optimizations: {x: 1}", "sparse machines are not modelled"),
        ("name: Reg", "name: Reg\n    enabled: false", "leave the node out of the file"),
        ("architecture:", "sparse_optimizations: {x: 1}\narchitecture:", "sparse_optimizations are not read"),
        ("architecture:", "architectures: 1\narchitecture:", "unknown key 'architectures'"),
        ("Main[1..1]", "MainMem[1..1]", "unknown node 'MainMem' in ERT.*did you mean 'Main'"),
        ("name: compute", "name: multiply", "mac, which computes, lacks the action 'compute'"),
        (
            "{name: update, energy: 3}",
            "{name: upd, energy: 3}",
            "action 'upd'.*did you mean 'update'",
        ),
        ("{name: write, energy: 90}", "{name: random_read, energy: 7}", "is there twice under names"),
    ],
)
def test_what_is_not_read_is_refused_by_name(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CHIP + ERT
    with pytest.raises(InputError) as refusal:
        read(tmp_path, (CHIP + ERT).replace(old, new))
    assert re.search(said, str(refusal.value)), str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_every_key_of_a_file_counts(tmp_path: Path) -> None:
    """Each key in turn is misspelt: that is refused, or it is on the list of what changes nothing."""
    text, free = CHIP + ERT, {name for names in NO_CHANGE.values() for name in names}
    assert not {name for kind in READ for name in READ[kind]} & {"version"}
    for found in re.finditer(r"([A-Za-z_]+):(?= |\n)", text):
        if found[1] in free | {"top"}:
            continue
        changed = f"{text[: found.start(1)]}{found[1]}q{text[found.end(1) :]}"
        with pytest.raises(InputError) as refusal:
            read(tmp_path, changed)
        assert "\n" not in str(refusal.value)
