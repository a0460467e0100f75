"""The front over machines, held against going through all machines and mappings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.cli.codesign_view import show_front
from dse.core.certificate import BOUNDED, INFEASIBLE
from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.objective import objective_named
from dse.domains.codesign.space import HardwareSpace, Point
from dse.optimum.codesign.fronts import MachineFront, codesign_front
from dse.optimum.network_front import certify_network_front
from dse.optimum.network_options import NetworkOptions
from dse.search.fronts import nondominated_rows
from dse.support.arrays import FloatArray
from dse.support.errors import InputError
from tests.cli.test_codesign_cli import NETWORK, SPACE
from tests.conftest import Dse
from tests.domains.codesign.spaces import chips, gemmini
from tests.optimum.codesign.enumerated import LAYERS, every_point, least_of_network, sums_of_network

BOTH = "latency, energy"
AREA = "0.01 * pe * pe + 0.001 * scratchpad_kb + 0.002 * accumulator_kb"


def small() -> HardwareSpace:
    return gemmini([2, 4], [0.0625, 0.125], [0.125], area_mm2=AREA)


def figures(point: dict[str, Any]) -> tuple[float, float]:
    return point["totals"]["energy"], point["totals"]["latency"]


Machines = list[tuple[float, set[tuple[float, int]]]]


@pytest.fixture(scope="module")
def machines() -> Machines:
    """Each machine's area, and what the network costs on it with all choices of mappings."""
    space = small()
    return [
        (space.described(point)["area_mm2"], sums_of_network(LAYERS, space.machine(point)))
        for point in every_point(space)
    ]


def test_the_front_with_area_is_that_of_going_through_all_machines(machines: Machines, proofs: Path) -> None:
    found = codesign_front(LAYERS, small(), "edp, area", cache=proofs)
    every = np.array([(area, least_of_network(sums, 1e-9, "edp")) for area, sums in machines])
    exact = every[nondominated_rows(every)]
    assert found.status == "optimal"
    assert len(found.points) == len(exact) > 1
    told = [(point["area_mm2"], point["value"]) for point in found.points]
    assert np.array(told) == pytest.approx(exact, rel=1e-12)


def test_the_convex_front_has_the_least_of_every_weight(proofs: Path) -> None:
    """`prove_codesign.py` has more machines and layers."""
    space = chips(num_pes=[4, 16], l1_size=[64], l2_size=[1024])
    assert_the_convex_front(LAYERS[1:], space, proofs)


def assert_the_convex_front(layers: Sequence[Layer], space: HardwareSpace, proofs: Path) -> None:
    """A front of latency and energy has the least of three weighted sums."""
    found = codesign_front(layers, space, "latency, energy", cache=proofs)
    assert (found.status, found.convex) == ("optimal", True)
    points = [figures(point) for point in found.points]
    assert len(nondominated_rows(np.array(points))) == len(points) > 2
    for weight in (0.002, 0.02, 0.2):
        objective = f"energy + {weight} * latency"
        total = objective_named(objective).total
        least = dse.codesign(layers, space, objective, cache=proofs).lower_bound
        assert min(total({"energy": e, "latency": d}) for e, d in points) == pytest.approx(least, rel=1e-9)


def test_under_any_limit_of_area_the_best_of_any_weights_is_on_the_front_of_three(
    machines: Machines, proofs: Path
) -> None:
    found = codesign_front(LAYERS, small(), "latency, energy, area", cache=proofs)
    points = [(*figures(point), point["area_mm2"]) for point in found.points]
    assert found.status == "optimal"
    assert len(nondominated_rows(np.array(points))) == len(points)
    assert len({area for *_, area in points}) > 1
    for limit in {area for area, _ in machines}:
        sums = {one for area, own in machines if area <= limit for one in own}
        for objective in ("latency", "energy", "energy + 0.01 * latency", "energy + 0.1 * latency"):
            total = objective_named(objective).total
            least = min(total({"energy": e, "latency": d}) for e, d, area in points if area <= limit)
            assert least == pytest.approx(least_of_network(sums, 1e-9, objective), rel=1e-9)


def test_the_exact_front_is_that_of_the_fronts_of_all_machines(proofs: Path) -> None:
    assert_the_exact_front(LAYERS[1:], chips(num_pes=[4, 8], l1_size=[64], l2_size=[256]), BOTH, proofs)


def assert_the_exact_front(
    layers: Sequence[Layer], space: HardwareSpace, objectives: str, proofs: Path
) -> None:
    """It is that of the fronts of all machines, and has more points than the convex one."""
    found = codesign_front(layers, space, objectives, exact=True, cache=False)
    assert (found.status, found.convex, found.epsilon) == ("optimal", False, 0.0)
    columns = 3 if "area" in objectives else 2
    every = np.concatenate([front_of_machine(layers, space, point) for point in every_point(space)])[
        :, :columns
    ]
    told = np.array([(*figures(point)[::-1], point["area_mm2"]) for point in found.points])[:, :columns]
    convex = codesign_front(layers, space, objectives, cache=proofs)
    assert len(nondominated_rows(told)) == len(told) > len(convex.points)
    for some, others in ((every, told), (told, every)):
        covered = (others[:, np.newaxis] <= some * (1 + 1e-9)).all(axis=2).any(axis=0)
        assert covered.all()


def front_of_machine(layers: Sequence[Layer], space: HardwareSpace, point: Point) -> FloatArray:
    """Latency, energy and area of the network's front on one machine, from its layers' alone."""
    priced = space.machine(point)
    problems = {
        str(place): make_problem(layer, priced.hardware, "latency, energy", priced.model)
        for place, layer in enumerate(layers)
    }
    points = certify_network_front("tiny", "chip", problems, NetworkOptions(cache=False))["points"]
    area = space.described(point)["area_mm2"]
    return np.array([(one["latency"], one["energy"], area) for one in points]).reshape(-1, 3)


def test_a_front_whose_time_is_over_says_so(tmp_path: Path) -> None:
    space = chips(num_pes=[4, 16], l1_size=[8, 64], l2_size=[256, 1024])
    found = codesign_front(LAYERS, space, "latency, energy", exact=True, time_limit=1e-6, cache=tmp_path)
    assert found.status == "bounded"


def test_the_command_shows_the_chip_at_each_point(tmp_path: Path, dse: Dse) -> None:
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "net.toml").write_text(NETWORK)
    given = ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"), "--fresh")
    found = dse("codesign", *given, "--objective", "edp,area", "--out", str(tmp_path / "out"))
    assert found.code == 0, found.err
    assert "num_pes 4" in found.out
    assert (tmp_path / "out" / "front.json").exists()
    assert (tmp_path / "out" / "front.png").read_bytes().startswith(b"\x89PNG")
    assert "--exact is of a front" in dse("codesign", *given, "--exact").refused()
    assert "'latency, energy'" in dse("codesign", *given, "--objective", "edp,latency").refused()
    assert "--verify" in dse("codesign", *given, "--objective", "edp,area", "--verify").refused()


def test_what_has_no_area_has_no_front_with_it() -> None:
    with pytest.raises(InputError, match="nothing says what area is"):
        codesign_front(LAYERS, gemmini([2], [1], [0.125, 1]), "edp, area")


@pytest.mark.parametrize(
    ("status", "said"),
    [(BOUNDED, "no point was proven in time"), (INFEASIBLE, "no machine runs it")],
)
def test_a_front_without_a_point_says_whether_there_is_none(
    status: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_front(MachineFront("tiny", ("edp", "area"), small(), status, (), False, 0.0, 3, 0.5), None)
    words = " ".join(capsys.readouterr().out.split())
    assert said in words
    assert ("the time ran out" in words) == (status == BOUNDED)
