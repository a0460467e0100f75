"""Spaces of hardware: their machines, what is worse than none of a box, limits, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from dse.domains.clustered.figures import environment_area
from dse.domains.codesign.reading import read_space, space_from_dict, space_from_plain
from dse.domains.levels.machine import sram_pj
from dse.models.loopnest.constants import Constants
from dse.models.timeloop.presets import make_gemmini as preset
from dse.support.errors import InputError
from tests.domains.codesign.spaces import chips, gemmini

SIZES = [1, 16, 108, 2048]


def test_dosas_machines_are_those_of_the_presets_to_the_last_bit() -> None:
    space = gemmini([2, 16, 128], SIZES, SIZES)
    assert space.machines == 48
    for point in ((0, 0, 3), (1, 2, 1), (2, 3, 0)):
        of = space.values(point)
        rows = ceil(of["scratchpad_kb"] * 1024 / of["pe"]), ceil(of["accumulator_kb"] * 1024 / 4 / of["pe"])
        wanted = preset(int(of["pe"]), *rows)
        assert space.machine(point).hardware == replace(wanted, name=space.name)


def test_a_structure_makes_roots_and_sizes_do_not() -> None:
    space = gemmini([2, 16, 128], SIZES, SIZES)
    assert [space.names[place] for place in space.structural] == ["pe"]
    assert [space.count(root) for root in space.roots()] == [16, 16, 16]


def test_a_relaxed_machine_has_the_largest_sizes_and_the_least_energies() -> None:
    space = gemmini([16], SIZES, SIZES)
    machine: Any = space.relaxed(((0, 0), (1, 2), (0, 3))).hardware
    scratchpad, accumulator = machine.levels[1], machine.levels[2]
    assert (scratchpad.capacity, accumulator.capacity) == (108 * 1024, 2048 * 1024 // 64)
    assert scratchpad.energy.read_pj == sram_pj(16 * 1024 / 16, 128)
    assert accumulator.energy.read_pj == sram_pj(16, 32)


def test_areas_are_those_of_the_cost_models_and_papers() -> None:
    box = ((0, 0), (0, 0), (0, 0))
    figures: dict[str, Any] = {"num_pes": [64], "l1_size": [100], "l2_size": [50_000]}
    own = chips(**figures)
    assert own.measured(box)["area_mm2"][0] == pytest.approx(Constants().area_of(64, 1, 100, 50_000), 1e-12)
    assert own.measured(box)["leakage_mw"][0] == pytest.approx(85 * Constants().area_of(64, 1, 100, 50_000))
    maestro = chips(**figures, area_mm2="maestro").measured(box)["area_mm2"][0]
    assert maestro == pytest.approx(float(environment_area(64, 100, 50_000)) * 1e-6, 1e-12)  # type: ignore[arg-type]
    digamma = chips(**figures, area_mm2="digamma").measured(box)["area_mm2"][0]
    assert digamma == pytest.approx((64 * 282 + 16 * 0.086 * (64 * 100 + 50_000)) * 1e-6, 1e-12)


def test_a_machine_beyond_a_limit_says_its_area() -> None:
    space = chips(num_pes=[16, 64], l1_size=[64], constraints={"area_mm2": 1.52})
    assert space.broken(((0, 0), (0, 0))) == ""
    assert space.broken(((1, 1), (0, 0))) == "area 1.69236 of 1.52 mm2"


def test_a_machine_beyond_a_limit_of_leakage_says_leakage() -> None:
    space = chips(num_pes=[16, 64], l1_size=[64], constraints={"leakage_mw": 130})
    assert space.broken(((1, 1), (0, 0))) == "leakage 143.851 of 130 mW"


def test_records_keep_the_name_that_leakage_had_and_are_read_again() -> None:
    space = chips(num_pes=[16, 64], l1_size=[64], constraints={"leakage_mw": 130})
    kept = space.to_dict()
    assert set(kept["measures"]) == {"area_mm2", "power_mw"}
    assert kept["limits"] == {"power_mw": 130}
    for plain in (kept, space.written()):
        again = space_from_plain(plain)
        assert again.limits == {"leakage_mw": 130}
        assert again.to_dict() == kept


def test_energies_by_size_follow_eyeriss() -> None:
    space = chips(l1_size=[256, 512], constants={"l1_pj": "by size"})
    model: Any = space.machine((0,)).model
    assert model.constants.l1_pj == pytest.approx(1.5)
    assert space.costly == {0}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"base": "egde"}, "did you mean 'edge'"),
        ({"bse": 1}, "unknown key 'bse'"),
        ({"hardware": {}}, "opens nothing"),
        ({"hardware": {"l1_size": []}}, "must be a list of 1 to"),
        ({"hardware": {"l1_size": [0, 4]}}, "at least 1, got 0"),
        ({"hardware": {"l1_sze": [4]}}, "did you mean 'l1_size'"),
        ({"hardware": {"l1_size": {"from": 8, "to": 4, "step": 1}}}, "to must be at least from"),
        ({"hardware": {"l1_size": {"from": 1, "to": 10**9, "step": 1}}}, "more than 4,096 values"),
        ({"hardware": {"l1_size": [4], "l2_size": "l1_size * side"}}, "unknown name 'side'"),
        ({"hardware": {"l1_size": [4], "l2_size": "l1_size / 8"}}, "must be from 1 to"),
        ({"hardware": {"l1_size": [4], "l2_size": "l1_size * 1e12"}}, "must be from 1 to"),
        ({"hardware": {"l1_size": [5], "l2_size": "l1_size / 2"}}, "must be whole, got 2.5"),
        ({"hardware": {"l1_size": "l2_size", "l2_size": "l1_size", "num_pes": [1]}}, "follows from itself"),
        ({"hardware": {"l1_size": [4], "noc_latency": "by size"}}, "nothing is known of it by size"),
        ({"hardware": {"l1_size": [4]}, "constraints": {"area": 1}}, "did you mean 'area_mm2'"),
        ({"hardware": {"l1_size": [4]}, "constraints": {"power_mw": 1}}, "power_mw is called leakage_mw now"),
        ({"hardware": {"l1_size": [4]}, "power_mw": "3 * l1_size"}, "power_mw is called leakage_mw now"),
        ({"hardware": {"l1_size": [4]}, "constraints": {"area_mm2": -1}}, "above 0, got -1"),
        ({"hardware": {"l1_size": [4]}, "cost_model": "timeloop"}, "unknown figure 'l1_size'"),
        ({"parameters": {"l1_size": [4]}}, "the name is taken"),
        (
            {"hardware": {"num_pes": {"from": 1, "to": 4000, "step": 1}, "noc_latency": [1, 2]}},
            "8,000 combinations of num_pes, noc_latency are too many",
        ),
    ],
)
def test_a_space_that_is_not_right_is_refused_in_a_line(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        space_from_dict({"base": "edge", **changed}).machine((0,))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_limit_of_what_nothing_is_said_of_is_refused() -> None:
    with pytest.raises(InputError, match="nothing says what it is under cost model 'timeloop'"):
        gemmini([16], SIZES, SIZES, constraints={"area_mm2": 1})


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"hardware space 'none\.toml' cannot be read"):
        read_space("none.toml")


def test_a_base_that_is_a_file_is_beside_the_space_wherever_it_is_read_from(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text('base = "acc.toml"\n[hardware]\nl1_size = [64, 128]\n')
    with pytest.raises(InputError) as caught:
        read_space(str(path))
    assert f"{str(path)!r}: base: there is no file 'acc.toml' in {str(tmp_path)!r}" in str(caught.value)
    copyfile("examples/accelerator.toml", tmp_path / "acc.toml")
    assert read_space(str(path)).base.num_pes == 192


def test_a_parameter_that_nothing_follows_from_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        'base = "edge"\n[parameters]\nside = [2, 4]\nlength = [1, 2]\n[hardware]\nnum_pes = "side * side"\n'
    )
    with pytest.raises(InputError, match=r"parameters\.length: nothing follows from it"):
        read_space(str(path))
