"""Machines come from TOML files, which are read strictly, and by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.levels.machine import Level, Machine, sram_pj
from dse.models.timeloop.cases import CaseReader
from dse.models.timeloop.presets import FILES, load_machine, make_gemmini
from dse.support.errors import InputError
from tests.domains.levels.timeloop import published

FIVE_LEVELS = """
name = "chip"
mac_pj = 0.2
first_fill = "counted"
clock_ghz = 0.5
word_bits = 16

[[levels]]
name = "DRAM"
bandwidth = 8
block = 4
access_pj = 512

[[levels]]
name = "Global"
keeps = ["I", "O"]
may_keep = ["W"]
size_bytes = 131_072
block = 4
access_pj = "by size"
fan_out = 14
spread = ["Q", "K"]

[[levels]]
name = "Column"
fan_out = 12
spread = ["C"]
multicast = false
reduction = false

[[levels]]
name = "Weights"
keeps = ["W"]
size = 192
read_bandwidth = 2
write_bandwidth = 1.5
read_pj = 2.0
write_pj = 1.9
update_pj = 1.8
leak_pj = 0.001
cluster = 4

[[levels]]
name = "Sums"
keeps = ["O"]
size = 16
word_bits = 32
access_pj = "by size"
"""
HEAD = 'name = "m"\nmac_pj = 1\n'
DRAM = '[[levels]]\nname = "DRAM"\n'
BUFFER = '[[levels]]\nname = "B"\n'


def machine_in(folder: Path, text: str) -> Machine:
    path = folder / "chip.toml"
    path.write_text(text)
    return load_machine(path)


def test_a_file_describes_every_level(tmp_path: Path) -> None:
    machine = machine_in(tmp_path, FIVE_LEVELS)
    assert (machine.macs, machine.instances) == (168, (1, 1, 14, 168, 168))
    dram, buffer, column, weights, sums = machine.levels
    assert (dram.keeps, dram.may_keep, dram.capacity) == (("W", "I", "O"), (), None)
    assert (buffer.keeps, buffer.may_keep, buffer.capacity) == (("I", "O"), ("W",), 65_536)
    assert buffer.spread == ("Q", "K")
    assert buffer.energy.read_pj == sram_pj(65_536 / 4, 64)
    assert (column.keeps, column.multicast, column.reduction) == ((), False, False)
    assert vars(weights.bandwidth) == {"read": 2, "write": 1.5, "shared": None}
    assert vars(weights.energy) == {"read_pj": 2.0, "write_pj": 1.9, "update_pj": 1.8}
    assert sums.energy.update_pj == sram_pj(16, 32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"mac_pj = 1\n{DRAM}", "lacks 'name'"),
        (HEAD, "lacks 'levels'"),
        (f"{HEAD}levels = []", "levels must be one or more [[levels]] tables, got []"),
        (f"{HEAD}clok_ghz = 1\n{DRAM}", "unknown key 'clok_ghz' in machine file"),
        (f"{HEAD}first_fill = 'none'\n{DRAM}", "unknown first_fill 'none'"),
        (f"{HEAD}{DRAM}keeps = ['W']", "(DRAM): the outermost level keeps all of W, I, O, got ['W']"),
        (f"{HEAD}{DRAM}{BUFFER}keep = ['W']", "levels[1]; did you mean 'keeps'?"),
        (f"{HEAD}{DRAM}{BUFFER}keeps = ['A']", "unknown tensor 'A'"),
        (f"{HEAD}{DRAM}{BUFFER}keeps = ['W']\nmay_keep = ['W']", "W is in keeps and in may_keep"),
        (f"{HEAD}{DRAM}{DRAM}", "level 'DRAM' is there twice"),
        (f"{HEAD}{DRAM}size = 0", "levels[0].size must be at least 1, got 0"),
        (f"{HEAD}{DRAM}size = 1.5", "levels[0].size must be a whole number, got 1.5"),
        (f"{HEAD}{DRAM}size = 1\nsize_bytes = 1", "give the size in words or in bytes"),
        (f"{HEAD}{DRAM}size_bytes = 1\nword_bits = 16", "must hold a word of 16 bits, got 1"),
        (f"{HEAD}{DRAM}bandwidth = 0", "levels[0].bandwidth must be"),
        (f"{HEAD}{DRAM}bandwidth = nan", "levels[0].bandwidth must be"),
        (
            f"{HEAD}{DRAM}access_pj = 'by sze'",
            "a number, 'by size', or register, sram, dram of a technology, or 'ert', got 'by sze'",
        ),
        (f"{HEAD}{DRAM}access_pj = 'by size'", "there is no size; give size or size_bytes"),
        (f"{HEAD}{DRAM}access_pj = -1", "access_pj must not be negative, got -1"),
        (f"{HEAD}{DRAM}access_pj = 1e308", "access_pj must be at most 1e+30, got 1e+308"),
        (f"{HEAD}{DRAM}read_pj = 1e308", "read_pj must be at most 1e+30, got 1e+308"),
        (f"{HEAD}{DRAM}access_pj = 1\nread_pj = 1", "give one for all or one each"),
        (f"{HEAD}{DRAM}spread = ['Z']", "unknown dim 'Z'"),
        (f"{HEAD}{DRAM}spread = ['C', 'C']", "C is there twice"),
        (f"{HEAD}{DRAM}".replace("DRAM", r"\u001b[31m"), r"name must be printable text of 1 to 100 letters"),
        (f"{HEAD}{DRAM}".replace("DRAM", "D" * 101), "name must be printable text of 1 to 100 letters"),
        (f"{HEAD}{DRAM}fan_out = 65536\n{BUFFER}fan_out = 65536", "4294967296 MACs are more than"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        machine_in(tmp_path, text)
    assert message in str(caught.value)
    assert "chip.toml" in str(caught.value)
    assert str(caught.value).isprintable()


def test_an_unknown_machine_is_told_of_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown machine 'simba_lik'.*did you mean 'simba_like'"):
        load_machine("simba_lik")


@pytest.mark.parametrize("name", FILES)
def test_a_machine_by_name_is_that_of_the_exercise(name: str) -> None:
    entry = published.row("exercises", name)
    found = CaseReader().read(json.dumps(entry), name).machine
    assert found is not None
    machine = load_machine(name)
    assert figures(machine) == figures(found)
    renamed = {"Weights": "W", "Inputs": "I", "Outputs": "O"}
    for level, mapped in zip(machine.levels, entry["mapping"], strict=True):
        assert set(level.keeps) == {renamed[tensor] for tensor in mapped["keep"]}
        spread = {"K" if dim == "M" else dim for dim, *_ in mapped["spatial"]}
        assert spread <= set(level.spread or ())


def test_gemmini_machines_are_those_of_the_data_set() -> None:
    reader = CaseReader()
    for entry in published.rows("dosa"):
        found = reader.read(json.dumps(entry), "row").machine
        assert found is not None
        machine = load_machine(entry["hardware"]["name"])
        assert figures(machine) == figures(found)
        for level, mapped in zip(machine.levels, entry["mapping"], strict=True):
            assert list(level.keeps) == mapped["keep"]
            assert {dim for dim, *_ in mapped["spatial"]} <= set(level.spread or ())


def figures(machine: Machine) -> list[object]:
    """All that prices depend on, but what may be kept and spread where."""
    what = ("name", "capacity", "fan_out", "bandwidth", "energy", "block", "leak_pj", "cluster")
    levels = [[getattr(level, key) for key in what] for level in machine.levels]
    return [machine.name, machine.mac_pj, machine.first_fill, machine.macs, *levels]


@pytest.mark.parametrize("name", PRESETS)
def test_an_accelerator_is_a_machine_of_three_levels(name: str) -> None:
    accelerator, machine = PRESETS[name], load_machine(name)
    assert [level.capacity for level in machine.levels] == [None, accelerator.l2_size, accelerator.l1_size]
    assert machine.macs == accelerator.num_pes * accelerator.simd_lanes


def test_figures_that_no_machine_has_are_refused() -> None:
    with pytest.raises(InputError, match="level A: fan_out must be at least 1, got 0"):
        Level("A", fan_out=0)
    with pytest.raises(InputError, match="level A: leak_pj must not be negative, got -1"):
        Level("A", leak_pj=-1)
    with pytest.raises(InputError, match="machine m: no levels"):
        Machine("m", (), 1.0)
    with pytest.raises(InputError, match="side and its depths must be at least 1"):
        make_gemmini(0, 1, 1)


STORING = """
name = "m"
mac_pj = 1
[[levels]]
name = "DRAM"
access_pj = 200
[[levels]]
name = "Buffer"
size = 1024
{rest}
"""


@pytest.mark.parametrize("rest", ["access_pj = 5", "read_pj = 5\nwrite_pj = 5", 'access_pj = "by size"'])
def test_a_storage_that_says_nothing_of_what_it_keeps_keeps_all(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "chip.toml"
    path.write_text(STORING.format(rest=rest))
    assert load_machine(str(path)).levels[1].keeps == ("W", "I", "O")
    path.write_text(STORING.format(rest=f"{rest}\nkeeps = []\nmay_keep = ['W']"))
    assert load_machine(str(path)).levels[1].keeps == ()


def test_an_update_is_a_write_where_a_file_does_not_say_it(tmp_path: Path) -> None:
    path = tmp_path / "chip.toml"
    path.write_text(STORING.format(rest="read_pj = 5\nwrite_pj = 6"))
    assert load_machine(str(path)).levels[1].energy.update_pj == 6


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("read_pj = 5", "has read_pj and lacks write_pj"),
        ("write_pj = 5", "has write_pj and lacks read_pj"),
        ("update_pj = 5", "has update_pj and lacks read_pj"),
        ("", r"levels\[1\] \(Buffer\) lacks access_pj, or read_pj and write_pj"),
    ],
)
def test_a_missing_energy_is_asked_for(tmp_path: Path, rest: str, said: str) -> None:
    path = tmp_path / "chip.toml"
    path.write_text(STORING.format(rest=rest))
    with pytest.raises(InputError, match=said):
        load_machine(str(path))
