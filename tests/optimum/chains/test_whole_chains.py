"""Whole intermediates that stay on chip: the proof is what going through everything finds, and is checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.core.certificate import Certificate
from dse.core.domains import make_problem
from dse.core.edges import BESIDE, Chain, Edge, WholeNetwork
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.optimum.chains.check import check_chain
from dse.optimum.chains.result import ChainProof
from dse.optimum.chains.solve import certify_chains
from dse.support.errors import InputError
from tests import ROOT
from tests.conftest import Dse
from tests.domains.levels.timeloop.simulation import simulate
from tests.optimum.chains.small_chains import (
    CLUSTERS,
    HEADS,
    LEVELS,
    RESIDENCE,
    ROW,
    WAITING,
    Kind,
    by_hand,
    machine,
    prove,
    proven,
)

ALIVE = {
    # a is read beside c, so that it is alive to the end.
    "row": (ROW, [{"a": 16}, {"a": 16, "b": 8}, {"a": 16, "b": 8}]),
    # s and v take turns: of s there is one at a time, all of v from the first on.
    "heads": (HEADS, [{"q": 8}, {"q": 8, "s": 4, "v": 8}, {"q": 8, "s": 4, "v": 8}, {"v": 8}]),
}


PAIR = """
name = "pair"
[[layers]]
name = "one"
type = "GEMM"
M = 32
N = 16
K = 8
[[layers]]
name = "two"
type = "GEMM"
M = 32
N = 8
K = 16
reads = "one"
"""


def the_proof_is_what_everything_has(name: str, objective: str, room: int, kind: Kind) -> ChainProof:
    chain, alive = ALIVE[name]
    found = proven(chain, room, objective, kind=kind)
    assert found.status == "optimal"
    assert found.best is not None
    assert found.lower_bound == pytest.approx(by_hand(chain, room, objective, alive, kind), rel=1e-9)
    assert found.alone is not None
    assert found.best.loss <= found.alone.loss
    return found


@pytest.mark.parametrize("name", ALIVE)
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.usefixtures("quick")
def test_a_chain_costs_what_going_through_everything_finds(name: str, objective: str) -> None:
    for room in (12, 24) if objective == "energy" else (24,):
        found = the_proof_is_what_everything_has(name, objective, room, LEVELS)
    assert [check for check in check_chain(found, RESIDENCE) if not check.passed] == []


@pytest.mark.parametrize(
    ("name", "objective", "room"), [("row", "energy", 32), ("row", "edp", 40), ("heads", "latency", 28)]
)
@pytest.mark.usefixtures("quick")
def test_so_it_does_where_tiles_are_there_twice(name: str, objective: str, room: int) -> None:
    found = the_proof_is_what_everything_has(name, objective, room, CLUSTERS)
    assert found.best is not None
    assert found.best.staying
    assert [check for check in check_chain(found, CLUSTERS.residence) if not check.passed] == []


@pytest.mark.parametrize("objective", ["latency", "edp"])
@pytest.mark.usefixtures("quick")
def test_so_it_does_where_levels_wait_and_each_layer_takes_what_its_simulation_does(objective: str) -> None:
    found = the_proof_is_what_everything_has("row", objective, 40, WAITING)
    assert found.best is not None
    assert found.best.staying
    assert [check for check in check_chain(found, WAITING.residence) if not check.passed] == []
    cycles = 0
    for run in found.best.runs:
        problem = RESIDENCE.problem(found.problem, run.phase)
        assert problem is not None
        mapping: Any = run.best.mapping
        cycles += run.count * simulate(problem.space.workload, problem.accelerator, mapping)
    assert found.best.seconds == cycles * found.problem.accelerator.cycle_seconds


def test_where_levels_wait_no_tiles_are_shared_and_it_is_said(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_text(PAIR)
    chip = (ROOT / "examples/systolic.toml").read_text()
    (tmp_path / "chip.toml").write_text(chip.replace("clock_ghz", "fill_and_drain = true\nclock_ghz", 1))
    asked = ("--accelerator", str(tmp_path / "chip.toml"), "--objective", "energy", "--fresh")
    network = ("--network", str(tmp_path / "pair.toml"), "--cost-model", "timeloop")
    said = dse("certify", "--chains", *network, *asked).out
    assert "no tiles are shared: that is known of a roofline's latency alone, not of fill_and_drain" in said
    refused = dse("certify", "--chains", "--line-buffers", *network, *asked).refused()
    assert "line buffers are known of the latency of a roofline alone: leave out fill_and_drain" in refused
    with pytest.raises(InputError, match="shared tiles are known of the latency of a roofline alone"):
        make_problem(WholeNetwork("row", ROW.layers, ROW.edges), WAITING.machine(40), "edp", "chains:shared")


def test_what_has_no_room_goes_to_dram_and_the_proof_says_so() -> None:
    small, large = (proven(ROW, room, "energy") for room in (12, 48))
    assert small.best is not None
    assert large.best is not None
    assert "a" not in small.best.staying
    assert set(large.best.staying) == {"a", "b"}
    assert large.best.joules < small.best.joules


@pytest.mark.usefixtures("quick")
def test_the_check_sees_what_is_wrong_with_a_proof() -> None:
    found = proven(ROW, 24, "energy")
    assert found.best is not None
    failing = {
        "no choice of what stays is below the bound": replace(found, lower_bound=found.lower_bound * 1.001),
        "what stays has its room": replace(
            found, best=replace(found.best, staying=(*found.best.staying, "a", "b"))
        ),
        "the schedule costs what is claimed": replace(
            found, best=replace(found.best, loss=found.best.loss * 2)
        ),
    }
    for name, wrong in failing.items():
        assert name in [check.name for check in check_chain(wrong, RESIDENCE) if not check.passed]


def test_a_limit_of_time_is_of_all_proofs_and_leaves_a_bound() -> None:
    made: list[str] = []

    def make(layer: Layer) -> AnyProblem:
        return make_problem(layer, machine(24), "energy", "timeloop")

    def once(problem: AnyProblem) -> Certificate:
        made.append(problem.fingerprint)
        return prove(problem)

    found = certify_chains([ROW], make, RESIDENCE, once, over=lambda: len(made) >= 4)
    whole = proven(ROW, 24, "energy")
    assert found.best is not None
    assert whole.best is not None
    assert found.lower_bound <= whole.lower_bound <= whole.best.loss <= found.best.loss
    assert len(made) < sum(map(len, whole.known.values()))


def test_more_tensors_alive_than_states_can_be_gone_through_are_refused() -> None:
    layers = tuple(Layer.gemm(4, 4, 2 + at, name=f"l{at}") for at in range(16))
    edges = tuple(Edge(layer.name, "l15", BESIDE) for layer in layers[:-1])
    with pytest.raises(InputError, match=r"15 tensors could stay on chip while l14 is run.*at most 14"):
        proven(Chain(layers, edges), 24, "energy")


def test_a_lone_layer_is_a_chain_of_one() -> None:
    layer = ROW.layers[0]
    found = proven(Chain((layer,), ()), 24, "energy")
    assert found.best == found.alone


@pytest.mark.usefixtures("quick")
def test_dse_certify_chains_says_what_stays(dse: Dse, tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(PAIR)
    options = ("--cost-model", "timeloop", "--objective", "energy", "--json", "--fresh")
    hardware = ("--accelerator", "examples/systolic.toml")
    run = dse("certify", "--network", str(path), "--chains", *hardware, *options)
    data = run.json
    assert data["status"] == "optimal"
    assert data["stays"] == ["one"]
    assert data["gain"]["energy"] > 1
    asked = ("certify", "--network", str(path), "--chains", "--accelerator", "edge", "--objective", "energy")
    beside = dse(*asked, "--json", "--fresh", "--verify").json
    assert beside["status"] == "optimal"
    assert beside["stays"] == ["one"]
    assert beside["gain"]["energy"] > 1
    assert all(check["passed"] for check in beside["verified"])
    refused = dse(*asked, "--cost-model", "maestro").refused()
    assert "'maestro'; expected 'loopnest' or 'timeloop'" in refused
