"""What limits a layer: its proven optimum once more with twice of each resource."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.core.certificate import BOUNDED
from dse.optimum.default import certify
from dse.optimum.what_if import WhatIf, what_if
from tests.conftest import Dse

DEPTHWISE = """
name = "mine"
[[layers]]
name = "dw"
type = "DSCONV"
C = 96
Y = 56
X = 56
R = 5
S = 5
stride = 2
padding = 2
"""
CHIP = """
num_pes = 144
l1_size = 128
l2_size = 32768
noc_bandwidth = 24
offchip_bandwidth = {bandwidth}
noc_latency = 2
simd_lanes = 1
"""


@pytest.fixture
def asked(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "net.toml").write_text(DEPTHWISE)
    (tmp_path / "chip.toml").write_text(CHIP.format(bandwidth=4))
    (tmp_path / "wider.toml").write_text(CHIP.format(bandwidth=8))
    given = ("--layer", str(tmp_path / "net.toml:dw"), "--accelerator", str(tmp_path / "chip.toml"))
    return (*given, "--tiles", "factors")


def test_the_limit_is_the_resource_of_which_twice_brings_most(dse: Dse, asked: tuple[str, ...]) -> None:
    detail = dse("certify", *asked, "--detail").out
    assert "most on compute" in detail
    found = dse("explain", *asked, "--what-if").out
    assert "limited by offchip_bandwidth (1.9" in found
    assert "num_pes" not in found.splitlines()[-1]


def test_each_row_is_the_optimum_of_the_machine_that_it_names(
    dse: Dse, asked: tuple[str, ...], tmp_path: Path
) -> None:
    rows = dse("explain", *asked, "--what-if", "--json").json["what_if"]
    [row] = [row for row in rows if row["resource"] == "offchip_bandwidth"]
    assert row["figures"] == {"offchip_bandwidth": {"from": 4.0, "to": 8.0}}
    wider = [*asked[:3], str(tmp_path / "wider.toml"), *asked[4:]]
    alone = dse("certify", *wider, "--json").json
    assert row["loss"] == alone["best"]["loss"]
    gains = [row["gain"][0] for row in rows]
    assert gains == sorted(gains, reverse=True)
    assert {row["resource"] for row in rows} >= {
        "num_pes",
        "simd_lanes",
        "l1_size",
        "l2_size",
        "noc_bandwidth",
    }


def test_energies_are_asked_for_where_the_objective_has_energy(dse: Dse, asked: tuple[str, ...]) -> None:
    of_latency = dse("explain", *asked, "--what-if", "--json").json["what_if"]
    of_energy = dse("explain", *asked, "--what-if", "--objective", "energy", "--json").json["what_if"]
    assert not any(row["resource"].endswith("_pj") for row in of_latency)
    assert of_energy[0]["resource"] == "constants.dram_pj"
    assert not any("bandwidth" in row["resource"] for row in of_energy)


def test_a_machine_of_levels_is_asked_level_by_level(dse: Dse) -> None:
    given = ("--layer", "alexnet:fc8", "--accelerator", "eyeriss_like", "--cost-model", "timeloop")
    rows = dse("explain", *given, "--what-if", "--objective", "energy", "--json").json["what_if"]
    assert rows[0]["resource"] == "levels.DRAM energies"
    assert set(rows[0]["figures"]) == {"levels.DRAM.read_pj", "levels.DRAM.write_pj", "levels.DRAM.update_pj"}
    assert any(row["resource"] == "levels.shared_glb.size" for row in rows)


def test_a_proof_that_ends_at_its_time_gives_a_range_of_gains() -> None:
    from dse import Problem, load_accelerator
    from workloads import load_layer

    problem = Problem(load_layer("mobilenet_v2:1"), load_accelerator("edge"), "latency")
    base = certify(problem, tiles="factors", cache=False)
    early = replace(base, status=BOUNDED, lower_bound=base.lower_bound / 2)
    for one in what_if(problem, early, cache=False):
        assert one.gain is not None
        assert one.gain[1] == pytest.approx(2 * one.gain[0])


def test_a_change_that_fits_nothing_is_no_gain() -> None:
    refused = WhatIf("num_pes", ("num_pes",), (64,), (128,), None, None, "why")
    assert not refused.limits
    assert refused.to_dict()["status"] == "refused"


def test_where_mappings_are_feasible_it_is_said_who_knows_what_limits_them(
    dse: Dse, asked: tuple[str, ...]
) -> None:
    assert "nothing has to change; --what-if says what limits the best" in dse("explain", *asked).out


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (("--mapping", "nvdla", "--what-if"), "leave --mapping out"),
        (("--objective", "edp"), "--objective and --time-limit are of --what-if: add it"),
        (("--what-if", "--objective", "latency, energy"), "--what-if is of one objective"),
        (("--what-if", "--fix", "outer.tile.C=96", "--fix", "inner.tile.C=96", "--fix", "inner.tile.Y=28"),
         "without --what-if says why"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_said_in_a_line(
    dse: Dse, asked: tuple[str, ...], more: tuple[str, ...], line: str
) -> None:
    assert line in dse("explain", *asked, *more).refused()
