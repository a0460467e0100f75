"""Proven optima on machines of levels are those of going through every mapping."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.levels.checks import BUFFERINGS
from dse.domains.levels.machine import Bandwidth, Energy, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.proof import boxes
from dse.models.timeloop.proof.orders import orders_of
from dse.optimum import certify, verify
from dse.support.errors import InputError
from tests import ROOT

LAYERS = (
    Layer("CONV", 4, 2, 9, 1, 3, 1, stride=(2, 1)),
    Layer("CONV", 2, 3, 12, 1, 2, 1, stride=(3, 1)),
    Layer("CONV", 2, 2, 7, 1, 2, 1, dilation=(3, 1)),
    Layer("DSCONV", 1, 3, 10, 1, 3, 1),
    Layer("CONV", 2, 1, 5, 5, 2, 2),
    Layer("CONV", 2, 2, 3, 3, 1, 1),
    Layer.gemm(6, 4, 4),
)

MAX = 20_000
"""Vectors of a space that is gone through."""


def random_machine(rng: np.random.Generator) -> Machine:
    """Four levels, of which some are small, slow or dear, spread some dims and leave something open."""

    def rate() -> float | None:
        return None if rng.random() < 0.4 else float(rng.choice([0.5, 1.0, 3.0]))

    def inner(name: str, keeps: str, open_: str, fan_out: int) -> Level:
        return Level(
            name,
            capacity=int(rng.choice([4, 12, 40])) if rng.random() < 0.7 else None,
            fan_out=fan_out,
            keeps=tuple(keeps),
            may_keep=tuple(open_),
            spread=tuple(rng.permutation(list("KCPR"))[:2].tolist()),
            loops=tuple(rng.permutation(list("KCPR"))[:2].tolist()),
            multicast=bool(rng.random() < 0.8),
            reduction=bool(rng.random() < 0.8),
            bandwidth=Bandwidth(rate(), rate(), rate()),
            energy=Energy(*rng.uniform(0.1, 2, 3).tolist()),
            block=int(rng.choice([1, 3])),
            leak_pj=float(rng.random() / 50),
            cluster=int(rng.choice([1, 2])),
        )

    outer = Level(
        "DRAM",
        keeps=("W", "I", "O"),
        may_keep=(),
        bandwidth=Bandwidth(shared=float(rng.choice([1.0, 4.0]))),
        energy=Energy.of_any(9.0),
        fan_out=int(rng.choice([1, 2])),
        spread=("P", "R"),
    )
    kept = rng.permutation(list("WIO")).tolist()
    levels = (
        outer,
        inner("A", kept[0], kept[1] if rng.random() < 0.5 else "", int(rng.choice([2, 4]))),
        inner("B", kept[1], "", int(rng.choice([1, 3]))),
        inner("C", kept[2], "", int(rng.choice([1, 2]))),
    )
    return Machine("random", levels, 0.5, str(rng.choice(["counted", "elided"])))


def with_waits(machine: Machine, rng: np.random.Generator) -> Machine:
    """The machine with fill and drain, or not, and buffering of all kinds."""
    inner = [
        replace(level, buffering=str(rng.choice(BUFFERINGS))) if level.keeps or level.may_keep else level
        for level in machine.levels[1:]
    ]
    return replace(machine, levels=(machine.levels[0], *inner), fill_and_drain=bool(rng.random() < 0.6))


def least(problem: MachineProblem) -> float:
    """The least loss of all mappings, one by one."""
    space = problem.space
    every = np.array(list(product(*map(range, space.sizes.tolist()))))
    return float(problem.price(np.unique(space.canonical(every), axis=0)).loss.min())


def test_the_optimum_is_that_of_all_mappings_on_random_machines() -> None:
    rng, proven = np.random.default_rng(11), 0
    for number in range(30):
        layer, objective = LAYERS[number % len(LAYERS)], ("edp", "latency", "energy")[number % 3]
        problem = MachineProblem(layer, random_machine(rng), objective, "timeloop")
        if problem.space.vectors > MAX:
            continue
        found = certify(problem, cache=False)
        assert found.status == ("optimal" if found.best else "infeasible")
        assert found.lower_bound == least(problem), (number, layer, problem.accelerator)
        proven += found.best is not None
    assert proven > 6


@pytest.mark.parametrize("waits", [False, True])
def test_small_spaces_that_are_priced_whole_have_the_optimum_that_bounds_prove(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, others, seen, infeasible = np.random.default_rng(17), np.random.default_rng(5), 0, 0
    for number in range(24):
        layer = LAYERS[number % len(LAYERS)]
        objective = ("edp", "latency", "energy", "energy where latency <= 4e-8")[number % 4]
        machine = random_machine(rng)
        problem = MachineProblem(
            layer, with_waits(machine, others) if waits else machine, objective, "timeloop"
        )
        if not 0 < problem.space.mappings <= MAX:
            continue
        monkeypatch.setattr(boxes, "MAX_WHOLE", 0)
        bounded = certify(problem, cache=False)
        monkeypatch.setattr(boxes, "MAX_WHOLE", MAX)
        whole = certify(problem, cache=False)
        assert (whole.status, whole.lower_bound) == (bounded.status, bounded.lower_bound), (number, layer)
        assert (whole.best is None) == (bounded.best is None)
        assert whole.counts.open == 0
        assert whole.best is None or whole.counts.solved == whole.counts.groups
        infeasible += whole.best is None
        seen += 1
    assert seen > 8
    assert infeasible


def square_machine(rng: np.random.Generator) -> Machine:
    """One to which rows are as columns."""
    machine = random_machine(rng)
    square = [
        replace(level, spread=tuple(rng.choice(["PQ", "RS", "PQK"])), loops=tuple(rng.choice(["PQ", "RSC"])))
        for level in machine.levels[1:]
    ]
    return replace(machine, levels=(replace(machine.levels[0], spread=("P", "Q")), *square))


def test_the_optimum_is_that_of_all_mappings_where_rows_and_columns_are_gone_through_once() -> None:
    rng, seen = np.random.default_rng(5), 0
    layers = Layer("CONV", 1, 1, 4, 4, 1, 1), Layer("CONV", 2, 1, 3, 3, 2, 2), Layer("CONV", 1, 1, 5, 5, 2, 2)
    for number in range(16):
        layer, objective = layers[number % 3], ("edp", "latency")[number % 2]
        problem = MachineProblem(layer, square_machine(rng), objective, "timeloop")
        if problem.space.vectors > MAX:
            continue
        assert orders_of(problem).mirror == (1, 0, 3, 2, 4, 5, 6)
        assert certify(problem, cache=False).lower_bound == least(problem), (number, layer)
        seen += 1
    assert seen > 4


def test_rows_and_columns_are_told_apart_by_a_layer() -> None:
    machine = square_machine(np.random.default_rng(0))
    for layer in (
        Layer("CONV", 2, 1, 6, 5, 2, 2),
        Layer("CONV", 2, 1, 8, 9, 2, 3, stride=(2, 2)),
        Layer("CONV", 2, 1, 8, 5, 2, 2, stride=(2, 1)),
    ):
        assert orders_of(MachineProblem(layer, machine, "edp", "timeloop")).mirror == tuple(range(7))


def test_a_certificate_is_kept_verified_and_stopped(tmp_path: Path) -> None:
    from dse.models.timeloop.presets import load_machine

    layer = Layer("CONV", 128, 128, 28, 28, 3, 3, padding=(1, 1))
    problem = MachineProblem(layer, load_machine("gemmini"), "edp", "timeloop")
    found = certify(problem, cache=tmp_path)
    assert found.status == "optimal"
    again = certify(problem, cache=tmp_path)
    assert again.cached
    assert replace(again, cached=False, seconds=found.seconds) == found
    assert all(check.passed for check in verify(problem, found))
    stopped = certify(problem, 1e-9, cache=False)
    assert stopped.status == "bounded"
    assert 0 < stopped.lower_bound < found.lower_bound <= stopped.best.loss
    assert not all(
        check.passed for check in verify(problem, replace(found, lower_bound=found.lower_bound * 9))
    )


def test_what_is_too_much_to_prove_is_refused() -> None:
    from dse.models.timeloop.presets import load_machine

    layer = Layer("CONV", 8, 8, 8, 8, 3, 3)
    problem = MachineProblem(layer, load_machine("gemmini"), "edp", "timeloop", "factors", {"orders": "all"})
    with pytest.raises(InputError, match="choices of orders are too many to certify"):
        certify(problem, cache=False)


def test_the_example_of_five_levels_with_bypass_has_its_proof() -> None:
    from dse.core.domains import make_problem
    from workloads import load_layer

    layer, chip = load_layer(str(ROOT / "examples/network.toml:conv1")), str(ROOT / "examples/chip.toml")
    problem = make_problem(layer, chip, "edp", "timeloop")
    found = certify(problem, cache=False)
    assert found.status == "optimal"
    assert found.best.loss == pytest.approx(6.57216e-12, rel=1e-5)
    assert "keep.W" in {block.name for block in problem.space.blocks}
