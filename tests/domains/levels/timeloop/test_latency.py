"""Fill, drain and buffering: closed forms are a simulation, step by step; by default it is a roofline."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import dse
import workloads
from dse.domains.levels.architecture import machine_as_written, machine_from_dict
from dse.domains.levels.checks import BUFFERINGS, DOUBLE, OVERLAPPED, SINGLE
from dse.domains.levels.machine import RETURNED, UNEVEN, Bandwidth, Level, Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import with_nests
from dse.domains.levels.workload import make_convolution
from dse.models.timeloop import layout_of, prepared_prices, reference
from dse.models.timeloop.presets import load_machine
from dse.optimum import verify
from dse.support.errors import InputError
from dse.support.toml import read_toml
from tests import ROOT
from tests.domains.levels.timeloop.problems import random_rows
from tests.domains.levels.timeloop.simulation import simulate

NESTS = 80
MOST_STEPS = 300
CONV = workloads.load_layer(str(ROOT / "examples/network.toml:conv1"))
MAPPING = "L4[WIO] S2 - L3[IO] K16X - L2[W] P5X - L1[O] K4 R10 S2 - L0[W] P5 Q5"
EVEN = {"nests": "even"}


def small_machine(rng: np.random.Generator) -> Machine:
    """Two to four levels with fan-outs and rates of all kinds, and some buffering."""

    def rate() -> float | None:
        return None if rng.random() < 0.4 else float(rng.choice([0.5, 1, 2, 3, 8]))

    levels = [
        Level(
            f"L{place}",
            fan_out=int(rng.choice([1, 1, 2, 4])),
            multicast=bool(rng.random() < 0.7),
            reduction=bool(rng.random() < 0.7),
            bandwidth=Bandwidth(rate(), rate(), rate()),
            buffering=str(rng.choice(BUFFERINGS)) if place else OVERLAPPED,
        )
        for place in range(rng.integers(2, 5))
    ]
    fills, first = bool(rng.random() < 0.6), str(rng.choice(["counted", "elided", RETURNED]))
    return Machine("random", tuple(levels), 0.5, first, fill_and_drain=fills)


@pytest.mark.parametrize("nests", ["even", UNEVEN])
def test_the_closed_form_is_the_simulation_of_random_nests(nests: str) -> None:
    rng, compared, waiting = np.random.default_rng(49), 0, 0
    for _ in count():
        sizes = {dim: int(rng.choice([1, 2, 3, 4])) for dim in ("K", "C", "P", "R", "N")}
        workload = make_convolution(sizes, (int(rng.integers(1, 3)), 1))
        machine = with_nests(small_machine(rng), nests)
        layout, rows = layout_of(workload, machine), random_rows(workload, machine, 4, rng)
        priced = prepared_prices(workload, machine)(rows)
        for place in np.flatnonzero(priced.valid).tolist():
            mapping = layout.decode(rows[place])
            steps = int(np.prod([n for level in mapping.levels for _, n in level.temporal]))
            if steps > MOST_STEPS:
                continue
            costs = reference.evaluate_mapping(workload, machine, mapping)
            assert isinstance(costs, reference.Costs)
            assert priced.cycles[place] == costs.cycles
            assert priced.energy_pj[place] == costs.energy_pj
            # Without waits the roofline is rounded as published figures are: one cycle up now and then.
            off = costs.cycles - simulate(workload, machine, mapping)
            assert off == 0 if machine.waits else off in (0, 1)
            compared, waiting = compared + 1, waiting + (machine.waits and costs.cycles > steps)
        if compared >= NESTS:
            break
    assert waiting > NESTS // 3


def chip(*, fills: bool = True, **buffering: str) -> Machine:
    """The example chip with fill and drain, and some levels buffered otherwise."""
    data = read_toml(str(ROOT / "examples/chip.toml"), "chip") | {"fill_and_drain": fills}
    for level in data["levels"]:
        level["buffering"] = buffering.get(level["name"], OVERLAPPED)
    return machine_from_dict(data, "chip")


def by_hand(machine: Machine) -> int:
    """Cycles of an inner product of eight pairs through a buffer of two of each, a word a cycle from DRAM."""
    text = "L1[WIO] C4 - L0[WIO] C2"
    costs = reference.evaluate_mapping(make_convolution({"C": 8}), machine, HierarchyMapping.parse(text))
    assert isinstance(costs, reference.Costs)
    return costs.cycles


def two_levels(buffering: str, *, fills: bool) -> Machine:
    link = Bandwidth(shared=1.0)
    levels = (Level("DRAM", bandwidth=link), Level("Buffer", buffering=buffering))
    return Machine("two", levels, 1.0, fill_and_drain=fills)


def test_fills_drains_and_single_buffers_are_counted_by_hand() -> None:
    # 16 words come and one goes, eight steps compute: the link is the slowest.
    assert by_hand(two_levels(OVERLAPPED, fills=False)) == 17
    # Four of them come first and one goes last; of twelve, eight are hidden.
    assert by_hand(two_levels(OVERLAPPED, fills=True)) == 4 + 12 + 1
    # Nothing is hidden.
    assert by_hand(two_levels(SINGLE, fills=False)) == 17 + 8
    assert by_hand(two_levels(SINGLE, fills=True)) == 17 + 8


def test_a_double_buffer_holds_tiles_of_half_its_size() -> None:
    machine = chip(Buffer=DOUBLE)
    assert (machine.levels[1].capacity, machine.levels[1].room) == (131_072, 65_536)
    found = dse.certify(dse.make_problem(CONV, machine, "edp", "timeloop", fixed=EVEN), cache=False)
    assert found.status == "optimal"
    assert found.best is not None
    problem = MachineProblem(CONV, replace(machine, levels=halved(machine)), "edp")
    assert problem.price(np.array([found.best.genes])).loss[0] == found.best.loss


def halved(machine: Machine) -> tuple[Level, ...]:
    """The levels with the room that tiles have as their size."""
    return tuple(replace(level, capacity=level.room, buffering=OVERLAPPED) for level in machine.levels)


def test_proofs_of_waiting_machines_end_and_are_verified() -> None:
    for objective in ("latency", "edp"):
        problem = dse.make_problem(CONV, chip(Tile=SINGLE, Sums=DOUBLE), objective, "timeloop", fixed=EVEN)
        found = dse.certify(problem, cache=False)
        assert found.status == "optimal"
        assert all(check.passed for check in verify(problem, found))
        plain = dse.make_problem(CONV, chip(fills=False), objective, "timeloop", fixed=EVEN)
        roofline = dse.certify(plain, cache=False)
        assert found.lower_bound > roofline.lower_bound


def test_a_machine_that_says_what_is_so_anyway_is_the_same_machine() -> None:
    plain = machine_from_dict(read_toml(str(ROOT / "examples/chip.toml"), "chip"), "chip")
    assert chip(fills=False).to_dict() == plain.to_dict()
    said = chip(Buffer=DOUBLE, Tile=SINGLE)
    assert machine_as_written(said.to_dict(), "chip") == said


def test_the_breakdown_says_what_is_waited_for() -> None:
    problem = dse.make_problem(CONV, chip(), "edp", "timeloop")
    mapping = HierarchyMapping.parse(MAPPING)
    detail = problem.judge(mapping).detail
    assert detail is not None
    assert list(detail.waits) == ["Buffer", "Tile", "Sums"]
    parts, whole = detail.shares
    assert "waiting for Tile" in parts
    assert 0 <= whole - int(problem.evaluate(mapping).cycles[0]) < len(detail.waits) + 1
    assert "waits" in detail.to_dict()


def test_a_case_says_it_whether_or_not_its_tiles_divide() -> None:
    machine = chip(Tile=SINGLE)
    problem = MachineProblem(CONV, machine, "edp")
    case = problem.case(HierarchyMapping.parse(MAPPING))
    (found,) = problem.model.price_lines([("line 1", json.dumps(case))])
    assert found["cycles"] == problem.evaluate(HierarchyMapping.parse(MAPPING)).cycles[0]
    case["mapping"][0]["temporal"] = [["S", 2, 3]]
    case["mapping"][3]["temporal"] = [["K", 4], ["R", 10], ["S", 3, 1]]
    (ragged,) = problem.model.price_lines([("line 1", json.dumps(case))])
    assert ragged["status"] == "ok"
    case["hardware"]["levels"][2].pop("buffering")
    case["hardware"].pop("fill_and_drain")
    (roofline,) = problem.model.price_lines([("line 1", json.dumps(case))])
    assert ragged["cycles"] > roofline["cycles"]


def test_timeloops_files_have_double_buffers_and_no_words_for_the_rest(tmp_path: Path) -> None:
    machine = replace(chip(Buffer=DOUBLE, Tile=SINGLE), name="chip")
    problem = MachineProblem(CONV, machine, "edp")
    files, unsaid = problem.export("timeloop", HierarchyMapping.parse(MAPPING), tmp_path)
    assert unsaid == [
        'timeloop has no words for fill_and_drain and buffering = "single": its latency is a roofline'
    ]
    again = load_machine(str(files[0]))
    assert [level.room for level in again.levels] == [level.room for level in machine.levels]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"DRAM": DOUBLE},
            "machine five-levels: level DRAM is the outermost, into which no tiles come",
        ),
        ({"Tile": "doubled"}, "unknown buffering 'doubled'"),
    ],
)
def test_buffering_that_is_none_is_refused(changed: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        chip(**changed)
    assert str(caught.value).isprintable()


def test_a_fan_out_has_no_buffers_and_a_switch_is_true_or_false() -> None:
    with pytest.raises(InputError, match="level Array keeps nothing: leave out buffering"):
        Machine("m", (Level("DRAM"), Level("Array", may_keep=(), buffering=SINGLE)), 1.0)
    data = read_toml(str(ROOT / "examples/chip.toml"), "chip") | {"fill_and_drain": 1}
    with pytest.raises(InputError, match="fill_and_drain must be"):
        machine_from_dict(data, "chip")


def test_tiles_that_do_not_divide_fit_into_half_of_a_double_buffer() -> None:
    half = dse.make_problem(CONV, chip(fills=False, Sums=DOUBLE), "edp", "timeloop", tiles="any")
    small = replace(half.accelerator, levels=halved(half.accelerator))
    rng = np.random.default_rng(1)
    genes = half.space.sample(rng, 200)
    there = dse.make_problem(CONV, small, "edp", "timeloop", tiles="any").price(genes)
    here = half.price(genes)
    assert np.array_equal(here.loss, there.loss)
    assert np.isfinite(here.loss).any()
