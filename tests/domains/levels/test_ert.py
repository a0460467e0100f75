"""Energies of a machine by an energy reference table, as Accelergy writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.models.timeloop.presets import load_machine
from tests.conftest import Dse

CHIP = """
name = "chip"
technology = "{file}"
[[levels]]
name = "DRAM"
access_pj = "ert"
[[levels]]
name = "Buffer"
size = 1024
access_pj = "ert"
"""
TABLE = """
ERT:
  version: 0.4
  tables:
  - name: system.DRAM[1..1]
    actions:
    - {name: read, arguments: {}, energy: 512}
    - {name: write, arguments: {}, energy: 500}
    - {name: update, arguments: {}, energy: 400}
  - name: system.chip.Buffer[0..3]
    actions:
    - {name: read, arguments: {}, energy: 6.5}
    - {name: write, arguments: {}, energy: 7}
  - name: system.chip.MAC
    actions:
    - {name: compute, arguments: {}, energy: 0.56}
    - {name: leak, arguments: {}, energy: 0}
"""


@pytest.fixture
def chip(tmp_path: Path) -> Path:
    (tmp_path / "ert.yaml").write_text(TABLE)
    path = tmp_path / "chip.toml"
    path.write_text(CHIP.format(file=tmp_path / "ert.yaml"))
    return path


def test_levels_and_macs_take_what_their_components_do(chip: Path) -> None:
    machine = load_machine(str(chip))
    assert machine.mac_pj == 0.56
    energies = [vars(level.energy) for level in machine.levels]
    assert energies == [
        {"read_pj": 512.0, "write_pj": 500.0, "update_pj": 400.0},
        {"read_pj": 6.5, "write_pj": 7.0, "update_pj": 7.0},
    ]
    assert machine.sources[0].startswith("MAC 0.56 pJ: MAC, compute (")
    assert machine.sources[1].startswith("DRAM, read 512, write 500, update 400 pJ: its component's actions")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("ERT:", "ART:", "has no 'ERT'"),
        ("chip.Buffer[0..3]", "chip.Cache", "unknown component 'Buffer'"),
        ("name: read, arguments: {}, energy: 6.5", "name: fill, energy: 1", "lacks the actions 'read'"),
        ("energy: 6.5", "energy: lots", "tables must have a name and actions with energies"),
        ("energy: 6.5", "energy: -1", "Buffer, read: energy must be finite and not negative"),
        ("name: compute", "name: work", "0 components have the action 'compute'"),
        (TABLE, "ERT: {tables: []}", "it has no tables"),
        (TABLE, "ERT: [", "ert.yaml"),
        (TABLE, "- 1", "has no 'ERT'"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_a_line(
    chip: Path, dse: Dse, old: str, new: str, line: str
) -> None:
    (chip.parent / "ert.yaml").write_text(TABLE.replace(old, new))
    given = ("--layer", "alexnet:fc8", "--accelerator", str(chip), "--cost-model", "timeloop")
    assert line in dse("certify", *given).refused()


def test_a_table_that_is_asked_for_must_be_one(chip: Path, dse: Dse) -> None:
    given = ("certify", "--layer", "alexnet:fc8", "--accelerator", str(chip), "--cost-model", "timeloop")
    (chip.parent / "ert.yaml").unlink()
    assert "ert.yaml" in dse(*given).refused()
    chip.write_text(CHIP.format(file="horowitz-45nm"))
    assert "technology names no file of Accelergy's" in dse(*given).refused()
