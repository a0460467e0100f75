"""Lists of all mappings near a proven optimum, set beside what pricing every mapping finds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.certificate import Certificate
from dse.core.layer import Layer
from dse.core.listed import Wanted, read_share
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.domains.clustered.problem import Problem
from dse.optimum.near import with_near
from dse.optimum.verification import failed_checks
from dse.optimum.verification.near import verify_near
from dse.support.errors import InputError
from tests.models.bus_model import Bus
from tests.optimum.any_cases import every_row, random_problem, with_several_orders
from tests.third_party import offered
from workloads import load_layer

LAYER = Layer("CONV", 3, 2, 3, 2, 1, 1)
MACHINE = Accelerator(4, 12, 40, 4, 1)


def loops(problem: Problem, mapping: Mapping) -> tuple[Any, ...]:
    """The loops of a mapping as `nest` writes them, without parallel ones of a single tile.

    Those whose tiles all run at once stand apart, as they may be anywhere.
    """
    lines = problem.nest(mapping).splitlines()
    machine = next(line for line in lines if "cluster" in line and " of " in line)
    found, at_once = [machine.split(":")[0]], set()
    for line in lines:
        if not (loop := re.match(r"\s*(for|parallel) (.*?)\s{2,}(.*)", line)):
            continue
        kind, where, note = loop.groups()
        if re.search(r" on 1 (cluster|PE)\b", note):
            kind = "for"
        if note.startswith("1 tile on"):
            continue
        if kind == "for" or "rounds" in note:
            found.append(f"{kind} {where}")
        else:
            at_once.add(where)
    return tuple(found), frozenset(at_once)


def every_nest(problem: Problem, share: float) -> tuple[set[Any], list[float]]:
    """All nests within a share of the least loss, and the losses of all feasible mappings, in order."""
    rows = np.concatenate(list(every_row(problem)))
    if problem.tiles == "factors":
        sizes = np.array([problem.layer.loops[dim] for dim in "KCYX"])
        whole = (sizes % rows[:, 7:11] == 0) & (rows[:, 7:11] % rows[:, 21:25] == 0)
        rows = rows[whole.all(axis=1)]
    losses = problem.evaluate(MappingBatch(rows)).loss
    near = MappingBatch(rows[losses <= losses.min() * (1 + share)])
    return {loops(problem, near[place]) for place in range(len(near))}, np.sort(losses[np.isfinite(losses)])


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
@pytest.mark.parametrize("seed", range(2))
def test_every_nest_within_a_share_is_listed_once(objective: str, seed: int) -> None:
    rng = np.random.default_rng((seed, len(objective)))
    problem, share = random_problem(rng, objective, 10_000), float(rng.choice([0, 0.02]))
    if (found := dse.certify(problem, tiles="any", cache=False, within=share)).best is None:
        assert len(found.within or ()) == 0
        return
    assert found.within is not None
    assert found.within.complete
    listed = [loops(problem, one.mapping) for one in found.within]
    every, losses = every_nest(problem, share)
    assert len(listed) == len(set(listed))
    assert set(listed) == every
    assert found.within[0] == found.best
    few = dse.certify(problem, tiles="any", cache=False, best=5).within
    assert few is not None
    assert few[0] == found.best
    assert [one.loss for one in few][: len(listed)] == [one.loss for one in found.within][:5]
    assert few.bound <= losses[losses >= few[len(few) - 1].loss].min()


@pytest.mark.parametrize("tiles", ["any", "factors"])
@pytest.mark.parametrize("seed", range(4))
def test_of_several_orders_every_nest_within_a_share_is_listed(tiles: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = with_several_orders(rng, random_problem(rng, "edp", 2_000)).with_changes(tiles=tiles)
    if (found := dse.certify(problem, tiles=tiles, cache=False, within=0.1)).best is None:
        return
    assert found.within is not None
    assert {loops(problem, one.mapping) for one in found.within} == every_nest(problem, 0.1)[0]
    assert found.best.loss == every_nest(problem, 0)[1][0]
    assert failed_checks(dse.verify(problem, found)) == []


@pytest.mark.parametrize("tiles", ["any", "factors"])
@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
def test_under_maestro_every_nest_within_a_share_is_listed_once(objective: str, tiles: str) -> None:
    listed = 0
    for seed in range(2):
        rng = np.random.default_rng((seed, len(objective)))
        problem = random_problem(rng, objective, 3_000, "maestro")
        problem = with_several_orders(rng, problem).with_changes(tiles=tiles)
        if (found := dse.certify(problem, tiles=tiles, cache=False, within=0.3)).best is None:
            continue
        assert found.within is not None
        assert found.within.complete
        nests, (every, losses) = (
            [loops(problem, one.mapping) for one in found.within],
            every_nest(problem, 0.3),
        )
        assert len(nests) == len(set(nests))
        assert set(nests) == every
        few = dse.certify(problem, tiles=tiles, cache=False, best=5).within
        assert few is not None
        assert [one.loss for one in few][: len(nests)] == [one.loss for one in found.within][:5]
        assert few[0].loss == losses[0]
        listed += len(nests)
    assert listed > 3


@pytest.mark.parametrize("model", ["loopnest", "bus"])
def test_a_model_of_a_plug_in_lists_as_loopnest_does(model: str, tmp_path: Path) -> None:
    with offered(tmp_path, {"bus": Bus}):
        problem = Problem(
            LAYER,
            MACHINE,
            "edp",
            model,
            tiles="factors",
            fixed={"outer.order": "KCYX", "inner.order": "XYCK"},
        )
        found = dse.certify(problem, tiles="factors", cache=False, within=0.2)
        assert found.within is not None
        listed = {loops(problem, one.mapping) for one in found.within}
        assert listed == every_nest(problem, 0.2)[0]
        assert len(listed) == len(found.within) > 1
        assert failed_checks(dse.verify(problem, found)) == []


def test_under_maestro_the_list_of_a_real_layer_is_complete_and_verified() -> None:
    problem = Problem(load_layer("resnet18:3"), dse.load_accelerator("edge"), "edp", "maestro")
    found = dse.certify(problem, tiles="factors", cache=False, within=0.05)
    assert found.within is not None
    losses = [one.loss for one in found.within]
    assert found.within.complete
    assert losses == sorted(losses)
    assert losses[0] == found.best.loss < losses[-1] <= found.best.loss * 1.05
    assert failed_checks(dse.verify(problem.with_changes(tiles="factors"), found)) == []


@pytest.fixture(scope="module")
def certificate() -> tuple[Problem, Certificate]:
    problem = Problem(load_layer("resnet18:3"), dse.load_accelerator("edge"), "edp")
    return problem, dse.certify(problem, tiles="factors", cache=False, within=0.01)


def test_the_list_of_a_real_layer_is_complete_in_order_and_verified(certificate: Any) -> None:
    problem, found = certificate
    losses = [one.loss for one in found.within]
    assert found.within.complete
    assert losses == sorted(losses)
    assert losses[0] == found.best.loss < losses[-1] <= found.best.loss * 1.01
    checks = dse.verify(problem, found)
    assert failed_checks(checks) == []
    assert [check.name for check in checks][-1] == "no mapping that was drawn is missing in the list"


def test_a_list_that_lacks_mappings_or_has_others_is_not_verified(certificate: Any) -> None:
    problem, found = certificate
    listed = found.within.mappings
    assert len(listed) > 20
    wrong = {
        "missing in the list": listed[:1] + listed[20:],
        "cost what is claimed": (*listed[:-1], replace(listed[-1], cycles=1)),
        "there twice": (*listed, listed[-1]),
    }
    for words, mappings in wrong.items():
        changed = replace(found, within=replace(found.within, mappings=mappings))
        (line,) = failed_checks(verify_near(problem, changed))
        assert words in line


def test_a_list_whose_time_ran_out_says_so(certificate: Any) -> None:
    problem, found = certificate
    again = with_near(problem, found, Wanted(0.05), 1e-9).within
    assert not again.complete
    assert again[0] == found.best
    assert again.bound <= found.best.loss * 1.05


def test_what_cannot_be_listed_is_refused_before_anything_is_proven() -> None:
    layer, edge = load_layer("resnet18:3"), dse.load_accelerator("edge")
    for objective, space, message in (
        ("power", "default", "near the optimum of 'power' are not listed"),
        ("edp", "paper", "near the optimum are listed in space 'default' only"),
    ):
        with pytest.raises(InputError, match=message):
            dse.certify(Problem(layer, edge, objective, "maestro", space=space), tiles="factors", within=0.1)
    for wrong, message in (({"within": -0.1}, "within must be a share"), ({"best": 0}, "best must be")):
        with pytest.raises(InputError, match=message):
            dse.certify(Problem(layer, edge, "edp"), **wrong)


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), (" 0 ", 0.0), ("12.5%", 0.125)])
def test_a_share_is_read_as_people_write_it(text: str, share: float) -> None:
    assert read_share(text, "--within") == pytest.approx(share)


@pytest.mark.parametrize("text", ["1", "5", " 100 "])
def test_a_share_of_the_whole_or_more_needs_its_percent_sign(text: str) -> None:
    with pytest.raises(
        InputError, match=rf"--within {text.strip()} would be .*00%: did you mean {text.strip()}%\?"
    ):
        read_share(text, "--within")
    assert read_share(f"{text}%", "--within") == float(text) / 100


@pytest.mark.parametrize("text", ["five", "5%%", "-1%", "nan", "inf", ""])
def test_another_share_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--within must be a share of at least 0, as 5% or 0\.05, got"):
        read_share(text, "--within")
