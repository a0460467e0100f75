"""Of the mappings that are as good as the best one, the proof has that with the least of the other figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dse
from dse.core.certificate import OPTIMAL, ProofInterrupted
from dse.core.layer import Layer
from dse.core.problem import AnyProblem
from dse.domains.levels.machine import TENSORS, Bandwidth, Energy, Level, Machine
from dse.domains.levels.problem import MachineProblem
from dse.optimum import certify, ties
from dse.optimum.ties import other_objective, settle_ties, verify_ties
from tests.domains.levels.proof.test_certify_machines import MAX, random_machine
from tests.optimum.any_cases import least_pairs, random_problem
from tests.optimum.certify_cases import every_pair, real_problem
from tests.optimum.small_proofs import begin_with_few_points

OBJECTIVES = ["latency", "energy"]


def settled(problem: AnyProblem) -> dse.Certificate:
    return settle_ties(problem, certify(problem, cache=False), cache=False)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("model", ["loopnest", "maestro"])
def test_over_tiles_of_any_size_none_that_is_as_good_has_less_of_the_other_figure(
    model: str, objective: str
) -> None:
    for seed in (1, 2):
        problem = random_problem(np.random.default_rng(seed), objective, 10**5, model)
        found, front = settled(problem), least_pairs(problem)
        assert found.best is not None
        assert (found.best.cycles, found.best.energy_nj) == front[0 if objective == "latency" else -1]
        assert found.ties is not None
        assert found.ties.proof.status == OPTIMAL


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_on_machines_of_levels_neither(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_few_points(monkeypatch)
    rng = np.random.default_rng(3)
    machines = (
        MachineProblem(Layer("CONV", 4, 2, 9, 1, 3, 1, stride=(2, 1)), random_machine(rng), objective)
        for _ in range(30)
    )
    for problem in [one for one in machines if one.space.vectors <= MAX][:3]:
        cycles, energy = every_pair(problem)
        first, second = (cycles, energy) if objective == "latency" else (energy, cycles)
        found = settled(problem)
        assert found.best is not None
        own = (found.best.cycles, found.best.energy_nj)
        other = own[1] if objective == "latency" else own[0]
        assert other == second[first == first.min()].min()


def test_a_cap_of_the_users_own_holds_for_the_second_proof_too() -> None:
    problem = random_problem(np.random.default_rng(1), "latency", 10**5)
    fastest, cheapest = least_pairs(problem)[0], least_pairs(problem)[-1]
    cap = (fastest[0] + cheapest[0]) / 2 / float(problem.criteria.hertz)
    capped = problem.with_changes(objective=f"energy where latency <= {cap!r}")
    found = certify(capped, cache=False)
    assert found.best is not None
    other = other_objective(capped, found)
    assert other == f"latency where energy <= {found.best.loss!r} and latency <= {cap!r}"
    assert settle_ties(capped, found, cache=False).best is not None


@pytest.mark.parametrize("tiles", ["factors", "any"])
def test_no_second_proof_follows_where_both_figures_are_in_the_loss(tiles: str) -> None:
    problem = real_problem("mobilenet_v2:2", "edge", "edp", "loopnest").with_changes(tiles=tiles)
    found = certify(problem, cache=False)
    assert settle_ties(problem, found, cache=False) is found


def test_without_time_for_a_second_proof_the_certificate_is_that_of_the_first() -> None:
    problem = random_problem(np.random.default_rng(1), "latency", 10**5)
    found = certify(problem, cache=False)
    assert settle_ties(problem, found, found.seconds / 2, cache=False) is found


def test_the_public_call_settles_ties_and_its_check_finds_what_is_claimed_wrongly() -> None:
    problem = random_problem(np.random.default_rng(2), "latency", 10**5)
    found = dse.certify(problem, cache=False)
    assert found.ties is not None
    assert all(check.passed for check in dse.verify(problem, found))
    first, last = least_pairs(problem)[0], least_pairs(problem)[-1]
    assert first != last
    proof = replace(found.ties.proof, lower_bound=found.ties.proof.lower_bound * 1.01)
    for wrong in (
        replace(found, ties=replace(found.ties, proof=proof)),
        replace(found, ties=replace(found.ties, objective="energy")),
        replace(found, ties=replace(found.ties, proof=certify(problem, cache=False))),
    ):
        assert not all(check.passed for check in verify_ties(problem, wrong))


def test_ctrl_c_in_the_second_proof_leaves_what_the_first_one_found(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(np.random.default_rng(1), "latency", 10**5)
    found = certify(problem, cache=False)

    def stopped(asked: AnyProblem, *given: object, **options: object) -> dse.Certificate:
        raise ProofInterrupted(certify(asked, cache=False))

    monkeypatch.setattr(ties, "certify", stopped)
    with pytest.raises(ProofInterrupted) as raised:
        settle_ties(problem, found, cache=False)
    certificate = raised.value.certificate
    assert (certificate.fingerprint, certificate.lower_bound) == (found.fingerprint, found.lower_bound)
    assert certificate.ties is not None


def test_where_no_access_takes_energy_no_cap_of_it_is_asked_for() -> None:
    free = Energy.of_any(0.0)
    buffer = Level("Buffer", 64, keeps=TENSORS, energy=free, bandwidth=Bandwidth(shared=8))
    link = Level("DRAM", keeps=TENSORS, energy=free, bandwidth=Bandwidth(shared=8))
    problem = MachineProblem(Layer.gemm(4, 4, 4), Machine("free", (link, buffer), 0.0), "energy")
    found = settled(problem)
    assert (found.status, found.lower_bound, found.ties) == (OPTIMAL, 0.0, None)


def test_plain_data_say_what_was_proven_of_ties() -> None:
    problem = random_problem(np.random.default_rng(1), "energy", 10**5)
    data = dse.certify(problem, cache=False).to_dict(problem, "layer", "machine")
    assert data["ties"]["status"] == OPTIMAL
    assert data["ties"]["objective"].startswith("latency where energy <= ")
    assert data["ties"]["lower_bound"] == data["best"]["cycles"] / float(problem.criteria.hertz)
