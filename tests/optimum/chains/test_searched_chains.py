"""Chains as problems: what stays and a mapping of each layer under one gate, and regret to the proof."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.core.edges import WholeNetwork
from dse.optimum import certify, verify
from dse.optimum.chains.searched.model import Sums
from dse.optimum.chains.searched.problem import ChainProblem, PartRun
from dse.optimum.chains.searched.shares import Plan
from dse.support.errors import InputError
from tests import ROOT
from tests.conftest import Dse
from tests.optimum.chains.small_chains import HEADS, ROW, machine, proven
from tests.optimum.chains.test_whole_chains import PAIR
from tests.optimum.network_problems import campaign_of, is_made_again, read_from_files

CAMPAIGN = """
name = "pairs"
budget = 20
seeds = 2
cost_model = "chains"
objectives = ["edp"]
accelerators = ["ROOT/examples/systolic.toml"]
layers = ["pair.toml:chain"]
[searchers.random]
[searchers.genetic]
population_size = 5
"""


def row(objective: str = "edp", room: int = 24) -> ChainProblem:
    return ChainProblem(WholeNetwork("chain", ROW.layers, ROW.edges), machine(room), objective)


def plans(asked: ChainProblem) -> dict[bytes, Plan]:
    """Every choice of what stays and is shared, by its smallest vector."""
    shares = asked.space.shares
    values = product(*(range(gene.size) for gene in shares.genes))
    found = (shares.plan(np.array(one)) for one in values)
    return {shares.vector(plan).tobytes(): plan for plan in found}


def least_by_hand(asked: ChainProblem) -> float:
    """The least over every choice and every vector of every part, which are free of one another."""
    seen: dict[PartRun, float] = {}
    best = np.inf
    for plan in plans(asked).values():
        total = 0.0
        for run in asked.runs_of(plan):
            if run not in seen:
                seen[run] = least_of(asked, run, asked.space.readings(plan)[run.member])
            total += seen[run]
        best = min(best, total)
    return best


def least_of(asked: ChainProblem, run: PartRun, reading: Any) -> float:
    """The least that one part costs, through all vectors of its genes."""
    every = np.array(list(product(*map(range, reading.space.sizes.tolist()))))
    genes = reading.member_genes(np.unique(reading.space.canonical(every), axis=0))
    sums = Sums(len(genes), asked.criteria)
    asked._add(sums, run, np.arange(len(genes)), reading.own(genes))
    return float(sums.priced(1).loss.min())


def test_a_problem_is_made_again_from_what_a_folder_says_of_it() -> None:
    is_made_again(row())


def test_a_design_is_its_vector_and_its_file() -> None:
    asked = row()
    for _, one, read in read_from_files(asked):
        # Where a loop that runs once stands is in the vector, and not in the file.
        assert asked.space.decode(asked.vectors([read]))[0] == one


def test_moves_stay_in_the_space_and_change_the_design() -> None:
    asked, rng = row(), np.random.default_rng(2)
    points = asked.space.canonical(asked.space.sample(rng, 6))
    assert asked.space.contains(asked.space.neighbour(rng, points)).all()
    for block in asked.space.blocks:
        near = block.neighbours(points[0])
        others = np.delete(np.arange(len(points[0])), block.genes)
        assert asked.space.contains(near).all()
        assert (near[:, others] == points[0][others]).all()
        assert (asked.space.canonical(near) != points[0]).any(axis=1).all()


@pytest.mark.parametrize("objective", ["energy", "latency"])
def test_the_least_over_every_vector_is_the_proof_of_whole_tensors(objective: str) -> None:
    assert least_by_hand(row(objective)) == pytest.approx(proven(ROW, 24, objective).lower_bound, rel=1e-9)


def test_the_certificate_is_the_proof_of_whole_tensors_and_holds() -> None:
    asked = row()
    found = certify(asked, cache=False)
    assert found.best is not None
    assert found.best.loss == pytest.approx(proven(ROW, 24, "edp").lower_bound, rel=1e-9)
    assert found.status == "optimal"
    assert all(check.passed for check in verify(asked, found))


def test_heads_in_turns_take_the_room_of_one() -> None:
    asked = ChainProblem(WholeNetwork("chain", HEADS.layers, HEADS.edges), machine(24), "energy")
    found = certify(asked, cache=False)
    assert found.best is not None
    taken = [phase.taken for _, phase, _, _ in asked._runs(found.best.mapping)]
    assert max(taken) <= 24


def test_a_campaign_has_regret_to_the_proven_chain(tmp_path: Path, dse: Dse) -> None:
    campaign_of(dse, tmp_path, {"pairs": CAMPAIGN.replace("ROOT", str(ROOT)), "pair": PAIR})


def test_what_is_no_chain_is_refused() -> None:
    with pytest.raises(InputError, match="a is no chain: cost model 'chains' needs one by its name"):
        ChainProblem(ROW.layers[0], machine(24), "edp")


def test_other_cost_models_refuse_a_chain(dse: Dse, tmp_path: Path) -> None:
    (tmp_path / "pair.toml").write_text(PAIR)
    asked = ("search", "--layer", f"{tmp_path / 'pair.toml'}:chain", "--accelerator", "edge")
    assert "chain is 2 layers in a chain: cost model 'loopnest' prices one layer" in dse(*asked).refused()
