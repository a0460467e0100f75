"""The front over machines, held against going through all machines and mappings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse.core.objective import objective_named
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.fronts import codesign_front, figures
from dse.search.fronts import nondominated
from dse.support.errors import InputError
from tests.cli.test_codesign_cli import NETWORK, SPACE
from tests.conftest import Dse
from tests.domains.codesign.spaces import chips, gemmini
from tests.optimum.codesign.enumerated import LAYERS, every_point, least_of_network, sums_of_network

AREA = "0.01 * pe * pe + 0.001 * scratchpad_kb + 0.002 * accumulator_kb"


def small() -> HardwareSpace:
    return gemmini([2, 4], [0.0625, 0.125], [0.125], area_mm2=AREA)


def test_the_front_with_area_is_that_of_going_through_all_machines() -> None:
    space = small()
    found = codesign_front(LAYERS, space, "edp, area", cache=False)
    every = np.array(
        [
            (
                space.described(point)["area_mm2"],
                least_of_network(sums_of_network(LAYERS, space.machine(point)), 1e-9, "edp"),
            )
            for point in every_point(space)
        ]
    )
    exact = every[nondominated(every)]
    assert found.status == "optimal"
    assert len(found.points) == len(exact) > 1
    told = [(point.best["area_mm2"], point.best["value"]) for point in found.points if point.best]
    assert np.array(told) == pytest.approx(exact, rel=1e-12)


def test_the_convex_front_has_the_least_of_every_weight() -> None:
    space = chips(num_pes=[4, 16], l1_size=[8, 64], l2_size=[1024])
    found = codesign_front(LAYERS, space, "latency, energy", cache=False)
    assert (found.status, found.convex) == ("optimal", True)
    points = [figures(point) for point in found.points]
    assert len(nondominated(np.array(points))) == len(points) > 2
    for weight in (0.002, 0.02, 0.2):
        objective = f"energy + {weight} * latency"
        total = objective_named(objective).total
        least = dse.codesign(LAYERS, space, objective, cache=False).lower_bound
        assert min(total({"energy": e, "latency": d}) for e, d in points) == pytest.approx(least, rel=1e-9)


def test_under_any_limit_of_area_the_best_of_any_weights_is_on_the_front_of_three() -> None:
    space = small()
    found = codesign_front(LAYERS, space, "latency, energy, area", cache=False)
    points = [(*figures(point), point.best["area_mm2"]) for point in found.points if point.best]
    assert found.status == "optimal"
    assert len(nondominated(np.array(points))) == len(points)
    areas = {space.described(point)["area_mm2"] for point in every_point(space)}
    assert len({area for *_, area in points}) > 1
    for limit in areas:
        within = [point for point in every_point(space) if space.described(point)["area_mm2"] <= limit]
        sums = {one for point in within for one in sums_of_network(LAYERS, space.machine(point))}
        for objective in ("latency", "energy", "energy + 0.01 * latency", "energy + 0.1 * latency"):
            total = objective_named(objective).total
            least = min(total({"energy": e, "latency": d}) for e, d, area in points if area <= limit)
            assert least == pytest.approx(least_of_network(sums, 1e-9, objective), rel=1e-9)


def test_the_command_shows_the_chip_at_each_point(tmp_path: Path, dse: Dse) -> None:
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "net.toml").write_text(NETWORK)
    given = ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"), "--fresh")
    found = dse("codesign", *given, "--objective", "edp,area", "--out", str(tmp_path / "out"))
    assert found.code == 0, found.err
    assert "num_pes 4" in found.out
    assert (tmp_path / "out" / "front.json").exists()
    assert (tmp_path / "out" / "front.png").read_bytes().startswith(b"\x89PNG")
    assert "'latency, energy'" in dse("codesign", *given, "--objective", "edp,latency").refused()
    assert "--verify" in dse("codesign", *given, "--objective", "edp,area", "--verify").refused()


def test_what_has_no_area_has_no_front_with_it() -> None:
    with pytest.raises(InputError, match="nothing says what area is"):
        codesign_front(LAYERS, gemmini([2], [1], [0.125, 1]), "edp, area")
