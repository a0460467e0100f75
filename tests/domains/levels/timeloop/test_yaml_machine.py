"""Architectures in Timeloop v4 YAML come in as machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.domains.levels.architecture import machine_from_dict
from dse.models.timeloop.presets import load_machine
from dse.support.errors import InputError

pytest.importorskip("yaml")

CHIP = """
architecture:
  version: 0.4
  nodes:
  - !Container
    name: system
    attributes: {datawidth: 8, technology: "45nm", global_cycle_seconds: 5e-10}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 64, shared_bandwidth: 8}
  - !Container
    name: chip
  - !Component
    name: buffer
    class: smartbuffer_sram
    attributes: {memory_depth: "1024 * 2", memory_width: 256, read_bandwidth: 16, write_bandwidth: 16}
    constraints:
      dataspace: {keep: [Inputs], bypass: [Weights]}
      temporal: {factors: [R=1, S=1]}
  - !Container
    name: PE
    spatial: {meshX: 4, meshY: 2}
    constraints:
      spatial: {factors: [N=1, P=1, Q=1, R=1, S=1], permutation: [C, M]}
  - !Component
    name: registers
    class: storage
    attributes: {depth: 4, width: 16, datawidth: 16, cluster_size: 2}
    constraints: {dataspace: {keep_only: [Weights]}}
  - !Component
    name: mac
    class: intmac
ERT:
  version: 0.4
  tables:
  - name: system.chip.buffer[1..1]
    actions: [{name: read, energy: 2.5}, {name: write, energy: 3.5}, {name: leak, energy: 0.01}]
  - name: system.chip.PE[1..8].mac[1..8]
    actions: [{name: compute, energy: 0.25}]
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "chip.yaml"
    path.write_text(text)
    return str(path)


def test_an_architecture_is_read_with_what_it_keeps_spreads_and_costs(tmp_path: Path) -> None:
    machine = load_machine(written(tmp_path, CHIP))
    dram, buffer, array, registers = machine.levels
    assert (machine.name, machine.macs, machine.mac_pj, machine.clock_ghz) == ("chip", 8, 0.25, 2.0)
    assert (dram.capacity, dram.block, dram.bandwidth.shared, dram.energy.read_pj) == (None, 8, 8, 512)
    assert (buffer.capacity, buffer.block, buffer.keeps, buffer.may_keep) == (65536, 32, ("I",), ("O",))
    assert (buffer.energy.read_pj, buffer.energy.write_pj, buffer.leak_pj) == (2.5, 3.5, 0.01)
    assert buffer.loops == ("P", "Q", "C", "K", "N")
    assert (array.name, array.fan_out, array.spread) == ("inter_PE_spatial", 8, ("C", "K"))
    assert (registers.capacity, registers.keeps, registers.may_keep) == (4, ("W",), ())
    assert registers.cluster == 2
    assert machine_from_dict(machine.to_dict(), "machine") == machine


def test_a_depth_counts_blocks_and_entries_are_words(tmp_path: Path) -> None:
    """As Timeloop's own front end has them, whether or not a width says what a block is."""
    for attributes, words, block in (
        ("depth: 4096, datawidth: 8, block_size: 8", 32768, 8),
        ("depth: 4096, datawidth: 8, block_size: 8, width: 64", 32768, 8),
        ("depth: 1, datawidth: 8, width: 512, cluster_size: 64", 1, 1),
        ("entries: 100, datawidth: 8, block_size: 8", 100, 8),
    ):
        text = CHIP.replace("depth: 4, width: 16, datawidth: 16, cluster_size: 2", attributes)
        registers = load_machine(written(tmp_path, text)).levels[-1]
        assert (registers.capacity, registers.block) == (words, block)


def test_no_reuse_is_neither_multicast_nor_reduction(tmp_path: Path) -> None:
    spaces = {"[Weights, Inputs]": (False, True), "[Outputs]": (True, False)}
    for alone, expected in spaces.items():
        text = CHIP.replace("permutation: [C, M]", f"permutation: [C, M], no_reuse: {alone}")
        array = load_machine(written(tmp_path, text)).levels[2]
        assert (array.multicast, array.reduction) == expected


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("!Container\n    name: chip", "!Parallel\n    name: chip", "!Parallel is not read"),
        ("depth: 4", "depth: SIZE", "node 'registers': depth: 'SIZE' is no number above 0"),
        ("depth: 4", f"depth: {'9' * 400}", "is no number above 0"),
        ("depth: 4", f"depth: {'-' * 100_000}1", "is no number above 0"),
        ("depth: 4", f"depth: '{'(' * 90}1{')' * 90}'", "is no number above 0"),
        ("depth: 4", "depth: 1e-300", "depth * block_size must be 1 to"),
        ("datawidth: 16,", "datawidth: 1e-300,", "node 'registers': block_size must be 1 to"),
        ("cluster_size: 2", "block_size: 0.5", "node 'registers': block_size must be 1 to"),
        ("meshX: 4", "meshX: 0.5", "node 'PE': meshX must be 1 to"),
        ("keep: [Inputs]", "keep: 5", "node 'buffer': keep must be a list of words, got 5"),
        ("[R=1, S=1]", "5", "node 'buffer': factors must be a list of words, got 5"),
        ("tables:", "tables: 5\n  other:", "ERT: tables must have a name and actions"),
        ("energy: 2.5", f"energy: {'9' * 5000}", "must be at most 1e+30"),
        ("version: 0.4", "version: &v [*v]", "the alias 'v' is within what it stands for"),
        ("version: 0.4", "version: !!int ''", "'' is not what its tag says, int, in line 3"),
        ("  nodes:", "  nodes: []\n  others:", "there is no architecture with nodes"),
        ("  - !Container\n    name: chip\n", "  - !Container {name: chip}\n" * 300, "nodes; at most 256"),
        (
            "  - !Container\n    name: chip\n",
            "".join(f"  - !Component {{name: b{n}}}\n" for n in range(70)),
            "levels; at most 64",
        ),
        ("permutation: [C, M]", "no_reuse: [Inputs]", "name both, or neither"),
        ("[Inputs]", "[Images]", "'Images' is no dataspace"),
        ("[R=1, S=1]", "[R]", "'R' is no factor"),
        ("energy: 0.25", "power: 0.25", "tables must have a name and actions"),
        ("  nodes:", "  leaves:", "there is no architecture with nodes"),
        ("version: 0.4", "version: {{x}}", "it holds templates"),
        ("meshX", "mesh", "unknown key 'mesh' in spatial of node 'PE'; did you mean 'meshY'?"),
        ("name: buffer", r'name: "\e[31m"', "level: name must be printable text"),
        ("name: system\n", "name: [system\n", "is not usable YAML"),
    ],
)
def test_what_is_not_right_is_said_in_a_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        load_machine(written(tmp_path, CHIP.replace(old, new, 1)))
    assert said in str(refusal.value)
    assert str(refusal.value).isprintable()
    assert "chip.yaml" in str(refusal.value)
