"""Energies by published figures: what follows from them, which figure made what, and wrong tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.core.domains import make_problem
from dse.core.technology import DRAM, REGISTER, SCALING, SRAM, Technology, load_technology, technology_names
from dse.models.timeloop.presets import load_machine
from dse.support.errors import InputError
from tests.conftest import Dse
from workloads import load_layer

CHIP = """
name = "chip"
technology = "horowitz-45nm"
[[levels]]
name = "DRAM"
access_pj = "dram"
block = 4
[[levels]]
name = "Buffer"
size_bytes = 65536
block = 8
access_pj = "sram"
"""
TABLE = """
source = "measured"
process_nm = 5
figures = [{what = "multiply", bits = 8, pj = 0.1}, {what = "add", bits = 16, pj = 0.02},
           {what = "sram", bits = 8, bytes = 1024, pj = 1.0}, {what = "dram", bits = 8, pj = 30}]
"""


@pytest.fixture
def chip(tmp_path: Path) -> Path:
    path = tmp_path / "chip.toml"
    path.write_text(CHIP)
    return path


def sram(table: Technology, bits: int, size: int) -> float:
    """The energy of a read."""
    return table.access(SRAM, bits, size, 0)[0].pj


def test_published_figures_are_what_they_are_at_their_own_widths_and_sizes() -> None:
    table = load_technology("horowitz-45nm")
    assert table.mac(8).pj == pytest.approx(0.2 + 0.1)
    assert table.mac(32).pj == pytest.approx(3.1 + 0.1)
    assert [sram(table, 64, size) for size in (8192, 32768, 2**20)] == pytest.approx([10, 20, 100])
    assert table.access(DRAM, 64, 0, 0)[0].pj == 1300


def test_between_figures_energies_follow_by_the_stated_rules() -> None:
    table = load_technology("horowitz-45nm")
    assert table.mac(4).pj == pytest.approx(0.2 / 4 + 0.1)
    assert sram(table, 32, 8192) == pytest.approx(5)
    assert sram(table, 64, 16384) == pytest.approx((10 * 20) ** 0.5)
    assert sram(table, 64, 2048) == pytest.approx(5)
    assert sram(table, 64, 2**22) == pytest.approx(200)
    assert load_technology("eyeriss-65nm").access(DRAM, 32, 0, 2.0)[0].pj == pytest.approx(200 * 2 * 2)


def test_a_mac_and_a_write_may_have_figures_of_their_own() -> None:
    tpu = load_technology("tpu-v4i-7nm")
    assert tpu.mac(8).pj == pytest.approx(0.084)
    assert tpu.mac(4).pj == pytest.approx(0.084 / 4)
    read, write = tpu.access(SRAM, 64, 128 * 2**20, 0)
    assert (read.pj, write.pj) == pytest.approx((64 * 1.88, 64 * 2.36))
    assert write.source == "2.36 for write to sram of 1 bit in 134,217,728 bytes"
    # What HBM2 takes at most for 64 bits, as Jouppi et al. say.
    assert tpu.access(DRAM, 64, 0, 0)[0].pj == pytest.approx(450, rel=1e-3)


def test_aladdins_mac_and_registers_are_its_parts() -> None:
    aladdin = load_technology("aladdin-40nm")
    assert aladdin.mac(16).pj == pytest.approx(12.68 / 4 + 0.21)
    assert [one.pj for one in aladdin.access(REGISTER, 16, 0, 0)] == pytest.approx([16 * 0.009] * 2)


def test_a_machine_says_of_reads_and_writes_which_figures_made_them(chip: Path) -> None:
    chip.write_text(CHIP.replace("horowitz-45nm", "tpu-v4i-7nm"))
    buffer = load_machine(chip).levels[1].energy
    assert buffer.write_pj == buffer.update_pj == pytest.approx(buffer.read_pj * 0.293 / 0.249)
    said = load_machine(chip).sources[-1]
    assert said.startswith("Buffer, a write of 64 bits")
    assert said.endswith("(tpu-v4i-7nm)")


def test_a_figure_that_a_table_has_not_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(InputError, match=r"has no figure of register, only of .*sram.*: say it in pJ"):
        load_technology("tpu-v4i-7nm").access(REGISTER, 16, 0, 0)


def test_energies_scale_between_processes_by_stillmaker_and_baas_but_for_dram() -> None:
    table = load_technology("horowitz-45nm")
    there = table.at(16, 0.8)
    at_16, at_45 = 0.2958 * 0.64 - 0.1241 * 0.8 + 0.03024, 1.018 * 0.81 - 0.3107 * 0.9 + 0.1539
    assert there.mac(8).pj == pytest.approx(0.3 * at_16 / at_45)
    assert sram(there, 64, 8192) == pytest.approx(10 * at_16 / at_45)
    assert there.access(DRAM, 64, 0, 0)[0].pj == 1300
    assert table.at(45, 0.9).mac(8).pj == pytest.approx(0.3)
    # The same at a lower voltage, and in each smaller process, takes less.
    assert table.at(16, 0.7).mac(8).pj < there.mac(8).pj
    taken = [table.at(node, 0.9).mac(8).pj for node in SCALING if node <= 130]
    assert taken == sorted(taken, reverse=True)


def test_a_machine_says_which_figure_made_an_energy(chip: Path, dse: Dse) -> None:
    machine = load_machine(chip)
    assert machine.mac_pj == pytest.approx(0.3)
    assert machine.levels[0].energy.read_pj == pytest.approx(1300 * 32 / 64)
    assert machine.levels[1].energy.read_pj == pytest.approx(20 * 5**0.2)
    assert len(machine.sources) == 3
    given = ("--layer", "alexnet:fc8", "--accelerator", str(chip), "--cost-model", "timeloop")
    shown = dse("certify", *given, "--fresh").out
    assert "energy: DRAM, an access of 32 bits 650 pJ: 1300 for dram of 64 bits (horowitz-45nm)" in shown
    assert "technology" not in str(
        make_problem(load_layer("alexnet:fc8"), str(chip), "edp", "timeloop").identity
    )


def test_a_table_of_ones_own_is_read(chip: Path) -> None:
    (chip.parent / "mine.toml").write_text(TABLE)
    chip.write_text(CHIP.replace("horowitz-45nm", str(chip.parent / "mine.toml")))
    machine = load_machine(chip)
    assert machine.mac_pj == pytest.approx(0.1 + 0.02 * 2)
    assert machine.levels[1].energy.read_pj == pytest.approx(8 * 64**0.5)
    assert "(mine)" in machine.sources[0]


def test_every_table_that_comes_along_is_listed_with_its_figures_and_source(dse: Dse) -> None:
    found = dse("list", "technologies", "--json").json["technologies"]
    assert [entry["name"] for entry in found] == technology_names()
    assert all(entry["figures"] and entry["source"] for entry in found)


def test_a_decoded_token_of_llama_is_proven_on_a_chip_with_the_sources_of_its_energies(dse: Dse) -> None:
    given = ("--network", "llama3-8b@decode=1,kv=2048", "--accelerator", "examples/phone.toml")
    found = dse(
        "certify", *given, "--cost-model", "timeloop", "--objective", "edp", "--roofline", "--gap", "0"
    ).out
    assert "energy: DRAM, an access of 64 bits 1300 pJ: 1300 for dram of 64 bits (horowitz-45nm)" in found
    assert "energy: MAC of 4 x 8 bits 0.15 pJ: by the product of the bits" in found
    assert "whole network: 59.9664 ms, 770.506 mJ, EDP 0.0462045 J s" in found
    assert "no mappings of its layers have a lower total edp than 0.0462045 J s" in found


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("horowitz-45nm", "horowitz-45"), "did you mean 'horowitz-45nm'"),
        (("horowitz-45nm", ""), "technology must be text, got ''"),
        (('technology = "horowitz-45nm"', ""), "lacks 'mac_pj'"),
        (('technology = "horowitz-45nm"', "mac_pj = 1"), "the machine names no technology"),
        (("horowitz-45nm", "eyeriss-65nm"), "in times of a MAC: give mac_pj"),
        (("size_bytes = 65536", ""), "access_pj is 'sram', but there is no size"),
        (('"sram"', '"flash"'), "or register, sram, dram of a technology"),
        (("horowitz-45nm", "none.toml"), "none.toml"),
        (('-45nm"', '-45nm"\nprocess_nm = 5\nvolts = 0.8'), "process_nm must be one of 180, 130, 90"),
        (('-45nm"', '-45nm"\nprocess_nm = 7\nvolts = 8'), "volts must be from 0.5 to 1.8, got 8"),
        (('-45nm"', '-45nm"\nvolts = 0.8'), "belong together: one of them is missing"),
        (('"horowitz-45nm"', '"eyeriss-65nm"\nmac_pj = 1\nprocess_nm = 7\nvolts = 0.8'), "could be scaled"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(chip: Path, dse: Dse, change: tuple[str, str], line: str) -> None:
    chip.write_text(CHIP.replace(*change))
    given = ("--layer", "alexnet:fc8", "--accelerator", str(chip), "--cost-model", "timeloop")
    assert line in dse("certify", *given).refused()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (('"multiply"', '"divide"'), "unknown what 'divide'"),
        (("bytes = 1024, ", ""), "bytes are of sram"),
        (("pj = 30", "pj = -1"), "pj"),
        (("pj = 0.1}", "pj = 0.1, write_pj = 1}"), "write_pj is of register, sram, dram"),
        (('source = "measured"', ""), "source"),
        (
            ("figures = [", 'figures = [\n{what = "mac", bits = 8, pj = 1},'),
            "is of no use beside a figure of mac",
        ),
        (("figures = [", "times_a_mac = true\nfigures = ["), "is of no use where times_a_mac is true"),
        (("figures = [", 'figures = [\n{what = "multiply", bits = 8, pj = 1},'), "already; keep one"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_a_line(
    chip: Path, dse: Dse, change: tuple[str, str], line: str
) -> None:
    (chip.parent / "mine.toml").write_text(TABLE.replace(*change))
    chip.write_text(CHIP.replace("horowitz-45nm", str(chip.parent / "mine.toml")))
    given = ("--layer", "alexnet:fc8", "--accelerator", str(chip), "--cost-model", "timeloop")
    assert line in dse("certify", *given).refused()
