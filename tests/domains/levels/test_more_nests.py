"""Which nests a proof is over where nobody says: even ones, and uneven ones where these are better."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import dse as arena
from dse.core.certificate import ProofInterrupted
from dse.core.domains import definition_of, problem_from_definition, prover_of
from dse.core.layer import Layer
from dse.domains.levels.machine import Machine
from dse.domains.levels.problem import MachineProblem
from dse.domains.levels.uneven import with_nests
from dse.models.timeloop.presets import load_machine
from dse.optimum import beside
from tests.conftest import Dse
from tests.domains.levels.test_uneven import least, two_levels

PRODUCT = Layer.gemm(6, 5, 3)
CHIP = """
name = "two"
mac_pj = 1
[[levels]]
name = "DRAM"
access_pj = 100
[[levels]]
name = "B"
size = {size}
access_pj = 1
"""
NETWORK = """
name = "small"
[[layers]]
name = "product"
type = "GEMM"
M = 6
N = 5
K = 3
"""


def on(machine: Machine, objective: str = "edp") -> MachineProblem:
    return MachineProblem(PRODUCT, machine, objective, "timeloop")


def test_where_nobody_says_which_nests_the_better_ones_are_proven_and_the_others_too() -> None:
    problem = on(two_levels(14))
    found = arena.certify(problem, cache=False)
    assert (found.nests, found.status) == ("uneven", "optimal")
    uneven = problem.with_changes(fixed={"nests": "uneven"})
    assert found.lower_bound == pytest.approx(least(uneven), rel=1e-12, abs=0)
    assert found.best
    assert uneven.evaluate(found.best.mapping).loss[0] == found.best.loss
    assert found.beside
    assert (found.beside.nests, found.beside.proof.status) == ("even", "optimal")
    assert found.beside.proof.lower_bound == pytest.approx(least(problem), rel=1e-12, abs=0)
    assert all(check.passed for check in arena.verify(problem, found))


def test_an_even_nest_that_no_uneven_one_is_better_than_stays_the_answer() -> None:
    problem = on(two_levels(512))
    found = arena.certify(problem, cache=False)
    assert (found.nests, found.status) == ("even", "optimal")
    assert found.best
    assert problem.evaluate(found.best.mapping).loss[0] == found.best.loss
    assert found.beside
    assert (found.beside.nests, found.beside.proof.status) == ("uneven", "optimal")
    assert found.beside.proof.lower_bound == pytest.approx(found.lower_bound, rel=1e-12, abs=0)


@pytest.mark.parametrize("nests", ["even", "uneven"])
def test_who_says_which_nests_gets_these_alone(nests: str) -> None:
    for problem in (
        on(two_levels(14)).with_changes(fixed={"nests": nests}),
        on(with_nests(two_levels(14), nests)),
    ):
        found = arena.certify(problem, cache=False)
        assert (found.nests, found.beside) == (nests, None)


def test_problems_that_were_written_down_keep_their_even_nests() -> None:
    again = problem_from_definition(definition_of(on(two_levels(14))), "timeloop")
    found = arena.certify(again, cache=False)
    assert (found.nests, found.beside) == ("even", None)


def test_machines_of_which_the_proofs_do_not_end_and_fixed_loops_are_not_tried() -> None:
    edge = load_machine("edge")
    assert beside.widened(on(edge)).accelerator.even is not None
    deep = replace(edge, levels=(*edge.levels, *(replace(edge.levels[2], name=name) for name in "AB")))
    for problem in (
        on(deep),
        on(load_machine("simple_weight_stationary")).with_changes(fixed={"DRAM.temporal.P": 2}),
        on(edge, "latency, energy"),
    ):
        assert beside.widened(problem) is problem


def test_uneven_nests_that_are_not_settled_in_time_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = on(load_machine("edge"))
    first = beside.certify(problem, cache=False)
    monkeypatch.setattr(beside, "SHARE", 1e-9)
    asked, found = beside.over_more_nests(problem, first, cache=False)
    assert (asked, found.status) == (problem, "optimal")
    assert found.beside
    assert found.beside.proof.status == "bounded"
    assert found.beside.proof.lower_bound <= found.lower_bound


def test_uneven_nests_are_tried_however_long_the_first_proof_took_within_the_limit() -> None:
    problem = on(two_levels(512))
    first = beside.certify(problem, cache=False)
    for slow in (replace(first, seconds=59.0), replace(first, seconds=1000.0, cached=True)):
        _, found = beside.over_more_nests(problem, slow, 60.0, cache=False)
        assert found.beside
        assert (found.beside.nests, found.beside.proof.status) == ("uneven", "optimal")
    spent = replace(first, seconds=60.0)
    assert beside.over_more_nests(problem, spent, 60.0, cache=False) == (problem, spent)


def test_what_an_optimum_is_over_is_said_where_no_second_proof_was_made() -> None:
    chip, edge = two_levels(512), load_machine("edge")
    deep = replace(edge, levels=(*edge.levels, *(replace(edge.levels[2], name=name) for name in "AB")))
    alone = "over even nests alone"
    assert prover_of(on(chip)).reach == f"{alone}: uneven nests were not tried; --nests uneven tries them"
    assert prover_of(on(with_nests(chip, "even"))).reach == f"{alone}, as asked"
    assert prover_of(on(with_nests(chip, "uneven"))).reach == "over uneven nests, and even ones with them"
    assert "not tried, as 1,296 orders of storages are many" in prover_of(on(deep)).reach
    held = on(chip).with_changes(fixed={"DRAM.temporal.P": 2})
    assert "not tried, as optima of uneven nests are proven without fixed loops" in prover_of(held).reach


def test_ctrl_c_in_the_second_proof_leaves_the_first_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = on(two_levels(14))
    first = beside.certify(problem, cache=False)

    def stopped(wide: MachineProblem, *_: object, **__: object) -> None:
        raise ProofInterrupted(replace(first, fingerprint=wide.fingerprint, status="bounded"))

    monkeypatch.setattr(beside, "certify", stopped)
    with pytest.raises(ProofInterrupted) as caught:
        beside.over_more_nests(problem, first, cache=False)
    assert caught.value.certificate == first
    assert caught.value.certificate.beside
    assert caught.value.certificate.beside.proof.status == "bounded"


def test_the_command_says_what_is_proven_of_both(tmp_path: Path, dse: Dse) -> None:
    (tmp_path / "chip.toml").write_text(CHIP.format(size=14))
    (tmp_path / "net.toml").write_text(NETWORK)
    given = ("--layer", f"{tmp_path}/net.toml:product", "--accelerator", f"{tmp_path}/chip.toml")
    asked = ("certify", *given, "--cost-model", "timeloop", "--objective", "edp", "--fresh")
    out = str(tmp_path / "out")
    said = dse(*asked, "--out", out).out.splitlines()
    assert any(line.startswith("two, uneven nests") for line in said)
    (place,) = [place for place, line in enumerate(said) if line.startswith("optimal edp")]
    assert said[place + 1].startswith("no even nest is below 8.8047e-16 J s: that is proven too")
    entry = json.loads(dse(*asked, "--json").out)
    assert (entry["nests"], entry["beside"]["nests"]) == ("uneven", "even")
    assert entry["best"]["loss"] < entry["beside"]["lower_bound"]
    # A mapping that was written is read again, by the machine's file alone.
    priced = ("evaluate", *given, "--cost-model", "timeloop", "--objective", "edp")
    again = json.loads(dse(*priced, "--mapping", f"{out}/mapping.json", "--json").out)
    assert again["loss"]["edp"] == entry["best"]["loss"]
    network = ("certify", "--network", f"{tmp_path}/net.toml", *given[2:], *asked[5:])
    several = ("--objective", "latency,energy")
    for words in (network, (*network, "--chains"), (*asked, *several), (*network, *several)):
        assert "\nover even nests alone; --nests uneven takes the others too\n" in dse(*words).out
    for extra, reach in (
        (("--nests", "even"), "over even nests alone, as asked"),
        (
            ("--format", "timeloop", "--out", out),
            "over even nests alone: uneven nests were not tried; --nests uneven tries them",
        ),
    ):
        said = dse(*asked, *extra).out.splitlines()
        assert said[said.index(reach) - 1].startswith("optimal edp")
    (tmp_path / "chip.toml").write_text(CHIP.format(size=64))
    assert "no uneven nest is better: that is proven too" in dse(*asked).out
    wrong = dse(*priced, "--mapping", f"{tmp_path}/net.toml")
    assert wrong.err.count("\n") == 1
