"""Co-design by searchers: one gate that counts, joint genes and two levels, held against the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.domains import make_problem
from dse.core.problem import AnyProblem
from dse.core.reasons import Reason
from dse.domains.clustered.problem import Problem
from dse.domains.codesign.joint import Joint
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.networks import JointNetwork
from dse.search.evaluator import Progress
from dse.support.errors import InputError
from tests.cli.test_codesign_cli import NETWORK, SPACE
from tests.conftest import Dse
from tests.domains.codesign.spaces import chips, gemmini
from tests.optimum.codesign.enumerated import LAYERS

WAYS = {"joint": {}, "two levels": {"inner": "random", "inner_budget": 8}, "proofs": {"inner": "certify"}}


def machines() -> HardwareSpace:
    return chips(num_pes=[4, 6, 16], l1_size=[8, 64], l2_size=[256, 1024], constraints={"area_mm2": 0.03})


@pytest.mark.parametrize("way", WAYS)
def test_what_is_found_costs_that_and_is_no_better_than_the_proof(way: str) -> None:
    space, objective = machines(), "edp"
    best: dict[str, Any] = dse.codesign(
        LAYERS, space, objective, searcher="random", budget=80, **WAYS[way]
    ).best
    proven = dse.codesign(LAYERS, space, objective, cache=False)
    assert best["value"] >= proven.lower_bound * (1 - 1e-12)
    point = tuple(space.parameters[name].index(value) for name, value in best["parameters"].items())
    priced, joules, seconds = space.machine(point), 0.0, 0.0
    for layer, entry in zip(LAYERS, best["layers"], strict=True):
        problem = make_problem(layer, priced.hardware, "edp", priced.model)
        cost = space.domain.price(problem, [problem.read_mapping(entry["mapping"])])
        assert (int(cost.cycles[0]), cost.energy_nj[0]) == (entry["cycles"], entry["energy_nj"])
        joules += layer.repeats * float(cost.energy_nj[0]) * 1e-9
        seconds += layer.repeats * int(cost.cycles[0]) * priced.hardware.cycle_seconds
    assert best["value"] == pytest.approx(joules * seconds, rel=1e-12)
    assert best["area_mm2"] <= 0.03


def test_every_machine_with_proofs_inside_is_the_certified_optimum() -> None:
    space = machines()
    found = dse.codesign(LAYERS, space, "latency", searcher="random", budget=60, inner="certify")
    assert found.best["value"] == pytest.approx(
        dse.codesign(LAYERS, space, "latency", cache=False).lower_bound, rel=1e-12
    )
    assert (found.evaluations, found.pricings, found.proofs) == (60, 0, 60 * len(LAYERS))


@pytest.mark.parametrize("way", ["joint", "two levels"])
def test_every_pricing_of_a_layer_is_counted(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, price = [], Problem.price

    def counting(self: AnyProblem, genes: np.ndarray) -> Any:
        rows.append(len(genes))
        return price(self, genes)

    monkeypatch.setattr(Problem, "price", counting)
    # All machines are allowed here: each sample prices every layer.
    space = chips(num_pes=[4, 6], l1_size=[64, 128], l2_size=[1024, 2048])
    found = dse.codesign(LAYERS, space, "edp", searcher="random", budget=80, **WAYS[way])
    if way == "joint":
        # The winner is priced once more, to be shown.
        assert sum(rows) - len(LAYERS) == found.pricings
    else:
        # A machine that comes again is charged anew, though what is known of it is not searched for again.
        machines = len(np.unique(found.record.genes(), axis=0))
        assert sum(rows) == machines * found.inner_budget * len(LAYERS)
    assert found.pricings == 80 * len(LAYERS)
    assert (found.evaluations, len(found.record)) == (80, 80 // found.inner_budget)


def test_a_machine_beyond_a_limit_is_a_sample_with_its_reason() -> None:
    found = dse.codesign(LAYERS, machines(), "edp", searcher="random", budget=100)
    reasons = set(found.record.evaluations().reason.tolist())
    assert Reason.AREA_TOO_LARGE in reasons
    assert Reason.FEASIBLE in reasons


@pytest.mark.parametrize("space", [machines(), gemmini([1, 2], [0.0625], [0.0625, 1])])
def test_a_space_of_machines_and_mappings_is_a_space(space: HardwareSpace) -> None:
    joint, rng = Joint(space, LAYERS[:2], "edp"), np.random.default_rng(0)
    points = joint.sample(rng, 8)
    canonical = joint.canonical(points)
    assert (joint.canonical(canonical) == canonical).all()
    assert joint.contains(canonical).all()
    assert (joint.features(points) == joint.features(canonical)).all()
    assert joint.features(points).shape == (8, len(joint.feature_names))
    problem = JointNetwork(joint)
    costs, same = problem.price(points), problem.price(canonical)
    assert (costs.loss == same.loss).all()
    near = joint.neighbour(rng, points)
    assert joint.contains(near).all()
    assert (joint.canonical(near) != canonical).any(axis=1).mean() > 0.9
    for block in joint.blocks:
        around = block.neighbours(canonical[0])
        outside = [gene for gene in range(len(joint.genes)) if gene not in block.genes]
        assert (around[:, outside] == canonical[0, outside]).all()
        assert (around != canonical[0]).any(axis=1).all()


def test_an_interrupted_search_goes_on(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.samples >= 40:
            raise KeyboardInterrupt

    asked: dict[str, Any] = {"searcher": "genetic", "budget": 90, "seed": 3}
    with pytest.raises(KeyboardInterrupt):
        dse.codesign(LAYERS, machines(), out=tmp_path, observers=[stop], **asked)
    again = dse.codesign(LAYERS, machines(), out=tmp_path, **asked)
    whole = dse.codesign(LAYERS, machines(), **asked)
    assert (again.record.genes() == whole.record.genes()).all()
    assert again.to_dict() == whole.to_dict()


def test_the_command_shows_and_writes_what_was_found(tmp_path: Path, dse: Dse) -> None:
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "net.toml").write_text(NETWORK)
    given = ("--network", str(tmp_path / "net.toml"), "--hardware", str(tmp_path / "space.toml"))
    out = tmp_path / "out"
    found = dse("codesign", *given, "--searcher", "random", "--budget", "50", "--out", str(out))
    assert found.code == 0, found.err
    assert "50 network evaluations, 50 pricings of layers. Nothing is proven" in found.out
    assert json.loads((out / "codesign.json").read_text())["best"]["evaluation"] <= 50
    assert (out / "mappings" / "00-fc.json").exists()
    assert "needs a budget" in dse("codesign", *given, "--searcher", "random").refused()
    assert "name one" in dse("codesign", *given, "--budget", "9").refused()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="inner budget must be at most the budget of 5"):
        dse.codesign(LAYERS, machines(), searcher="random", budget=5, inner="random")
    with pytest.raises(InputError, match="an inner budget is of an inner searcher"):
        dse.codesign(LAYERS, machines(), searcher="random", budget=5, inner="certify", inner_budget=2)
    with pytest.raises(InputError, match="a time limit is of proofs"):
        dse.codesign(LAYERS, machines(), searcher="random", budget=5, time_limit=1.0)
