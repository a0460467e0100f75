"""Co-design: the best machine of a space for a network, and the proof that it is."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.core.clock import Clock
from dse.core.domains import make_problem
from dse.core.layer import Layer
from dse.core.widths import Widths
from dse.domains.codesign.space import Box, HardwareSpace
from dse.optimum import certify
from dse.optimum.codesign import together
from dse.optimum.codesign.branch import MachineBoxes, Open
from dse.optimum.codesign.networks import network_objective
from dse.optimum.codesign.proving import make_prover
from dse.optimum.codesign.result import Codesign, result_of
from dse.optimum.verification import codesign as verification
from dse.optimum.verification.codesign import verify_codesign
from dse.support.errors import InputError
from tests.domains.codesign.spaces import chips, gemmini
from tests.optimum.codesign.enumerated import LAYERS, every_point, least_of_network, sums_of_network

KB = [0.0625, 0.125, 1]


def small() -> HardwareSpace:
    return gemmini([2, 4], KB[:2], KB[1:2])


def assert_the_best(space: HardwareSpace, objectives: Sequence[str], cache: Path) -> None:
    """Co-design finds what going through all machines and mappings does."""
    sums = [sums_of_network(LAYERS, space.machine(point)) for point in every_point(space)]
    for objective in objectives:
        found = dse.codesign(LAYERS, space, objective, cache=cache)
        assert (found.status, found.gap) == ("optimal", 0)
        assert found.best is not None
        least = min(least_of_network(one, 1e-9, objective) for one in sums)
        assert found.best["value"] == pytest.approx(least, rel=1e-12)
        assert found.lower_bound == found.best["value"]


def test_so_it_is_for_words_of_mixed_widths() -> None:
    bits = (Widths(W=4, O=32), Widths(I=16))
    layers = [replace(layer, bits=one) for layer, one in zip(LAYERS[:2], bits, strict=True)]
    space = gemmini([2], KB[:2], KB[1:2])
    sums = [sums_of_network(layers, space.machine(point)) for point in every_point(space)]
    found = dse.codesign(layers, space, "edp", cache=False)
    assert found.best is not None
    assert found.best["value"] == pytest.approx(min(least_of_network(one, 1e-9, "edp") for one in sums))
    assert found.lower_bound == found.best["value"]


def test_the_best_machine_is_that_of_going_through_all_machines_and_mappings(proofs: Path) -> None:
    assert_the_best(small(), ("edp", "energy + 0.001 * latency"), proofs)


@pytest.mark.parametrize(
    "hardware",
    [
        {"num_pes": [4, 6, 16], "l1_size": [8, 32, 64], "l2_size": [256, 1024]},
        # More of one memory is less of the other: the largest of a box is no machine of it.
        {"num_pes": [4, 6], "l1_size": [8, 64, 128], "l2_size": "1060 - 8 * l1_size"},
        {"num_pes": [4, 6], "l1_size": [8, 64, 128, 256], "l2_size": "1060 - 4 * l1_size"},
    ],
    ids=["free", "traded", "traded and limited"],
)
def test_the_chip_that_is_found_keeps_the_area_and_is_the_fastest(hardware: dict[str, Any]) -> None:
    space = chips(**hardware, constraints={"area_mm2": 0.03})
    layers = (Layer.fc(16, 24, repeats=2), Layer("CONV", 8, 4, 10, 10, 3, 3))
    found = dse.codesign(layers, space, "latency", cache=False)
    best = math.inf
    for point in every_point(space):
        machine = space.machine(point)
        if space.described(point)["area_mm2"] <= 0.03:
            proofs = [certify(make_problem(one, machine.hardware, "latency"), cache=False) for one in layers]
            best = min(
                best, sum(one.repeats * proof.lower_bound for one, proof in zip(layers, proofs, strict=True))
            )
    assert found.status == "optimal"
    assert found.best is not None
    assert found.best["area_mm2"] <= 0.03
    assert found.best["value"] == pytest.approx(best, rel=1e-12)
    excluded = sum(space.described(point)["area_mm2"] > 0.03 for point in every_point(space))
    assert found.machines_excluded <= excluded < space.machines


def test_of_boxes_that_are_divided_whatever_is_proven_nothing_is_proven_but_late_in_a_limited_time() -> None:
    hardware = {"num_pes": [4, 8], "l1_size": [16, 32, 64, 128], "l2_size": [256, 512, 1024, 2048]}
    space = chips(**hardware, constants={"l1_pj": "by size", "l2_pj": "by size"})
    layers = (Layer.fc(16, 24, repeats=2), Layer("CONV", 8, 4, 10, 10, 3, 3))
    quick, early, late = (proven_at(second, layers, space) for second in (None, 400.0, 600.0))
    assert quick.best is not None
    for other in (early, late):
        assert other.best is not None
        assert quick.status == other.status == "optimal"
        assert quick.best["value"] == pytest.approx(other.best["value"], rel=1e-10)
    assert max(quick.proofs, early.proofs) < late.proofs


def test_halves_of_a_box_keep_the_bound_that_it_had_before_anything_was_proven_of_it() -> None:
    """Else what the engine rules out by that bound would be left open, below everything."""
    space = chips(num_pes=[4, 8], l1_size=[16, 32, 64, 128], l2_size=[256, 512, 1024, 2048])
    with make_prover(1, False, lambda: None) as prove:
        search = MachineBoxes(space, LAYERS[:1], network_objective("edp"), prove)
        search.run()
        (first, *_) = space.roots()
        whole = Open(first, 0, bound=1.0)
        assert [half.bound for half in search._parts(whole)] == [1.0, 1.0]


def proven_at(second: float | None, layers: tuple[Layer, ...], space: HardwareSpace) -> Codesign:
    """What is proven where it is that second of 1000, all the time; None: there is no limit."""
    moments = chain([0.0], repeat(second or 0.0))
    clock = Clock(None if second is None else 1000.0, lambda: next(moments))
    with make_prover(1, False, lambda: None) as prove:
        search = MachineBoxes(
            space, layers, network_objective("edp"), prove, hurried=second is not None, clock=clock
        )
        search.run()
    return result_of(search, "two layers")


def random_box(space: HardwareSpace, rng: np.random.Generator) -> Box:
    """A box of one structure."""
    box = []
    for place, (first, last) in enumerate(space.whole):
        low, high = sorted(rng.integers(first, last + 1, 2).tolist())
        box.append((low, low if place in space.structural else high))
    return tuple(box)


def costs_and_relaxed_costs(space: HardwareSpace, layer: Layer, rng: np.random.Generator) -> tuple[Any, Any]:
    """What random mappings cost on a machine of a random box, and on the box's relaxed machine."""
    box = random_box(space, rng)
    point = tuple(int(rng.integers(first, last + 1)) for first, last in box)
    machine, relaxed = space.machine(point), space.relaxed(box)
    problem = make_problem(layer, machine.hardware, "edp", machine.model)
    mappings = [*problem.space.decode(problem.space.sample(rng, 50))]  # type: ignore[call-overload]
    other = make_problem(layer, relaxed.hardware, "edp", relaxed.model)
    return space.domain.price(problem, mappings), space.domain.price(other, mappings)


@pytest.mark.parametrize(
    "space",
    [
        gemmini([4, 16, 32], [1, 3, 8, 64], [1, 5, 16, 64]),
        chips(
            num_pes=[12, 16, 64],
            l1_size=[16, 64, 512],
            l2_size="l1_size * 64",
            noc_bandwidth=[1, 3, 16],
            offchip_bandwidth=[1, 2, 5],
            constants={"l1_pj": "by size", "l2_pj": "by size"},
        ),
    ],
    ids=["levels", "clustered"],
)
def test_no_mapping_is_better_on_a_machine_than_on_the_one_its_box_is_relaxed_to(
    space: HardwareSpace,
) -> None:
    rng = np.random.default_rng(0)
    layers = (
        Layer("CONV", 16, 12, 14, 14, 3, 3, stride=(2, 2), padding=(1, 1)),
        Layer.fc(64, 48),
        Layer("DSCONV", 1, 24, 12, 12, 3, 3),
    )
    fitted = 0
    for number in range(45):
        own, relaxed = costs_and_relaxed_costs(space, layers[number % 3], rng)
        fits = own.reason == 0
        fitted += int(fits.sum())
        assert (relaxed.reason[fits] == 0).all()
        assert (relaxed.cycles[fits] <= own.cycles[fits]).all()
        assert (relaxed.energy_nj[fits] <= own.energy_nj[fits]).all()
    assert fitted > 250


def test_a_run_that_was_stopped_goes_on_from_its_proofs(tmp_path: Path) -> None:
    space = gemmini([2, 4], KB[:1], KB[1:2])
    first = dse.codesign(LAYERS, space, "edp", cache=tmp_path, time_limit=1e-9)
    assert first.status == "bounded"
    whole = dse.codesign(LAYERS, space, "edp", cache=tmp_path)
    assert whole.status == "optimal"
    # There is a machine, and a bound, whatever the time.
    assert first.best is not None
    assert 0 < first.lower_bound <= whole.lower_bound <= first.best["value"]
    assert whole.proofs > whole.proofs_kept
    again = dse.codesign(LAYERS, space, "edp", cache=tmp_path)
    assert again.proofs == again.proofs_kept > 0
    assert again.best == whole.best


@pytest.mark.parametrize("proofs_in_time", [1, 4, 7])
def test_a_time_limit_ends_between_two_proofs_and_what_is_proven_counts(
    proofs_in_time: int, proofs: Path
) -> None:
    assert_what_is_proven_counts(small(), proofs_in_time, proofs)


def assert_what_is_proven_counts(space: HardwareSpace, proofs_in_time: int, cache: Path) -> None:
    """After so many proofs the bound is below the whole search's, and the boxes hold every machine."""
    left = chain(repeat(None, proofs_in_time), repeat(-1.0))
    with make_prover(1, False, lambda: next(left)) as prove:
        search = MachineBoxes(space, LAYERS, network_objective("edp"), prove)
        search.run()
    found = result_of(search, "three layers")
    assert (found.status, found.proofs) == ("bounded", proofs_in_time)
    assert found.lower_bound <= dse.codesign(LAYERS, search.space, "edp", cache=cache).lower_bound
    assert sum(found.space.count(one["box"]) for one in found.certificate["boxes"]) == found.space.machines


def test_ctrl_c_ends_with_the_best_so_far(tmp_path: Path) -> None:
    def interrupt(state: Any) -> None:
        raise KeyboardInterrupt

    sizes = {"l1_size": [16, 32, 64, 128], "l2_size": [256, 512, 1024, 2048]}
    space = chips(num_pes=[4, 8], **sizes, constants={"l1_pj": "by size", "l2_pj": "by size"})
    found = dse.codesign(LAYERS, space, "edp", cache=tmp_path, observe=interrupt)
    assert found.interrupted
    assert found.status == "bounded"
    assert found.best is not None
    assert sum(found.space.count(one["box"]) for one in found.certificate["boxes"]) == found.space.machines


def test_that_there_is_no_machine_is_proven() -> None:
    tight = chips(num_pes=[4, 16], l1_size=[8], constraints={"area_mm2": 0.01})
    found = dse.codesign(LAYERS, tight, "edp", cache=False)
    assert (found.status, found.best, found.proofs) == ("infeasible", None, 0)
    assert found.machines_excluded == 2
    narrow = dse.codesign(LAYERS, chips(num_pes=[4, 16], l1_size=[1, 2]), "edp", cache=False)
    assert (narrow.status, narrow.best, narrow.machines_excluded) == ("infeasible", None, 0)


def test_a_result_is_verified_and_one_that_was_changed_is_not(
    monkeypatch: pytest.MonkeyPatch, proofs: Path
) -> None:
    monkeypatch.setattr(verification, "DRAWN_NETWORKS", 3)
    monkeypatch.setattr(verification, "DRAWN_LEMMAS", 20)
    monkeypatch.setattr(verification, "DRAWN_MAPPINGS", 500)
    found = dse.codesign(LAYERS, small(), "edp", cache=proofs)
    assert all(check.passed for check in verify_codesign(found))
    assert found.best is not None

    def failing(**changes: Any) -> list[str]:
        return [check.name for check in verify_codesign(replace(found, **changes)) if not check.passed]

    better = {**found.best, "value": found.best["value"] * 0.99}
    assert "the best machine and mappings cost what is claimed" in failing(best=better)
    short = {**found.certificate, "boxes": found.certificate["boxes"][1:]}
    assert "the boxes hold every machine, each once" in failing(certificate=short)
    bold = copy.deepcopy(found.certificate)
    for lemma in bold["lemmas"]:
        lemma["least"] *= 1.5
    assert "random mappings do not beat the proofs" in failing(certificate=bold)
    raised = copy.deepcopy(found.certificate)
    next(box for box in raised["boxes"] if "lines" in box)["bound"] *= 2
    assert failing(certificate=raised) == ["bounds follow from the lemmas"]
    wide = copy.deepcopy(found.certificate)
    for lemma in wide["lemmas"]:
        lemma["limits"] = [limit / 100 for limit in lemma["limits"]]
    assert "proofs of layers hold for their boxes' machines" in failing(certificate=wide)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective": "area"}, "no product of powers, and no sum, of latency and energy"),
        ({"objective": "latency, energy"}, "2 objectives"),
        ({"network": []}, "network must be one of workloads"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"time_limit": -1}, "time_limit must be a finite number above 0"),
        ({"hardware": {"base": "edge"}}, "opens nothing"),
        ({"hardware": {"base": "edge", "cost_model": "python:a", "hardware": {"l1_size": [1]}}}, ""),
    ],
)
def test_wrong_input_is_refused_in_a_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        dse.codesign(**{"network": LAYERS, "hardware": small(), **changes})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_machine_for_several_networks_is_that_of_all_their_runs(proofs: Path) -> None:
    first, second = LAYERS[:1], LAYERS[1:]
    both = dse.codesign(together([(first, 3), (second, 1)]), small(), "edp", cache=proofs)
    layers = [replace(layer, repeats=3 * layer.repeats) for layer in first] + list(second)
    alone = dse.codesign(layers, small(), "edp", cache=proofs)
    assert both.best["value"] == alone.best["value"]
    assert both.network == "3 x network + network"
    with pytest.raises(InputError, match="runs of network"):
        together([(first, 0)])
