"""Chains as problems in which layers may share tiles: every choice of genes, and regret to the proof."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.core.domains import make_problem
from dse.core.edges import Chain, Edge, WholeNetwork
from dse.core.layer import Layer
from dse.optimum import certify, verify
from dse.optimum.chains.searched.problem import SharedChainProblem
from dse.optimum.chains.searched.shares import Plan, choices_of
from dse.support.errors import InputError
from tests import ROOT
from tests.conftest import Dse
from tests.optimum.chains.small_chains import HEADS, machine, proven
from tests.optimum.chains.test_searched_chains import CAMPAIGN, least_by_hand, plans
from tests.optimum.chains.test_shared_tiles import ROW, SQUARES
from tests.optimum.chains.test_whole_chains import PAIR
from tests.optimum.network_problems import campaign_of, is_made_again, read_from_files

TINY = Chain((Layer.gemm(2, 3, 2, name="a"), Layer.gemm(2, 2, 3, name="b")), (Edge("a", "b"),))


def shared(chain: Chain = ROW, objective: str = "energy", room: int = 11) -> SharedChainProblem:
    return SharedChainProblem(WholeNetwork("chain", chain.layers, chain.edges), machine(room), objective)


def test_the_model_in_words_says_that_tiles_are_shared() -> None:
    words = 'chains(intermediates="shared")'
    asked: Any = make_problem(shared().layer, machine(11), "energy", "chains:shared")
    assert asked.model_spec == words
    assert asked.fingerprint == shared().fingerprint
    assert make_problem(shared().layer, machine(11), "energy", "chains:whole").model_spec == "chains"
    with pytest.raises(InputError, match="intermediates must be"):
        make_problem(shared().layer, machine(11), "energy", "chains:half")


def test_a_problem_is_made_again_from_what_a_folder_says_of_it() -> None:
    is_made_again(shared())


def test_a_design_is_its_vector_and_its_file() -> None:
    asked = shared()
    for _, one, read in read_from_files(asked):
        # Where a loop that runs once stands is in the vector, and not in the file.
        assert asked.space.decode(asked.vectors([read]))[0].to_json() == one.to_json()


@cache
def best_of_squares() -> dict[str, Any]:
    """The file of a design in which layers share tiles."""
    best = certify(shared(SQUARES, room=11), cache=False).best
    assert best is not None
    found: dict[str, Any] = best.mapping.to_dict()
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stays": ["x"]}, "unknown tensor 'x'"),
        ({"shared": [{"layers": ["a", "c"]}]}, "may not share tiles"),
        ({"shared": [{"rows": 3}]}, "tiles are not shared so"),
        ({"shared": [{"held": ["W of c"]}]}, "tiles are not shared so"),
        ({"mappings": {}}, "mappings lacks 'a'"),
        ({"mapings": {}}, "unknown key 'mapings'"),
    ],
)
def test_a_file_that_is_no_design_says_why(change: dict[str, Any], message: str) -> None:
    asked = shared(SQUARES, room=30)
    data = best_of_squares()
    groups = [data["shared"][0] | one for one in change.get("shared", [{}])]
    with pytest.raises(InputError, match=message):
        asked.read_mapping(data | change | {"shared": groups})


def test_every_tiling_of_every_group_is_a_choice_of_genes_and_no_other_is() -> None:
    asked, rng = shared(), np.random.default_rng(1)
    shares = asked.space.shares
    for step in asked.program.groups:
        staying = frozenset[int]() if step[0] == 0 else frozenset({0})
        for choice in choices_of(shares.group(step, staying)):
            alone = [(at, at) for at in range(3) if not step[0] <= at <= step[1]]
            plan = Plan(staying, tuple(sorted([*alone, step])), {step: choice})
            assert shares.plan(shares.vector(plan)) == plan
    for row in rng.integers(0, [gene.size for gene in shares.genes], size=(500, len(shares.genes))):
        plan = shares.plan(row)
        assert shares.plan(shares.vector(plan)) == plan
        for step, choice in plan.choices.items():
            assert choice in choices_of(shares.group(step, plan.staying))


def test_distinct_designs_are_counted() -> None:
    asked = shared(SQUARES)
    total = sum(
        np.prod([one.space.designs for one in asked.space.readings(plan) if one is not None])
        for plan in plans(asked).values()
    )
    assert asked.space.designs == total


def test_moves_stay_in_the_space_and_change_the_design() -> None:
    asked, rng = shared(), np.random.default_rng(2)
    points = asked.space.canonical(asked.space.sample(rng, 12))
    assert asked.space.contains(asked.space.neighbour(rng, points)).all()
    for point in points:
        for block in asked.space.blocks:
            near = block.neighbours(point)
            others = np.delete(np.arange(len(point)), block.genes)
            assert asked.space.contains(near).all()
            assert (near[:, others] == point[others]).all()
            assert (asked.space.canonical(near) != point).any(axis=1).all()


def test_the_least_over_every_vector_is_the_proof() -> None:
    found = proven(TINY, 5, "energy", most=3)
    assert found.best is not None
    assert found.best.shared
    assert least_by_hand(shared(TINY, room=5)) == pytest.approx(found.lower_bound, rel=1e-9)


@pytest.mark.usefixtures("quick")
def test_the_certificate_is_the_proof_and_holds() -> None:
    asked = shared()
    found = certify(asked, cache=False)
    assert found.best is not None
    assert found.best.mapping.plan.choices
    assert found.status == "optimal"
    assert found.best.loss == pytest.approx(proven(ROW, 11, "energy", most=3).lower_bound, rel=1e-9)
    assert found.best.loss < certify(make_whole(asked), cache=False).lower_bound
    assert all(check.passed for check in verify(asked, found))
    assert "a and b and c share: for rows in 2, for columns of a in 6" in asked.needs(found.best.mapping)
    assert asked.explain(found.best.mapping) == "feasible"
    assert "b.again" in asked.nest(found.best.mapping)


def make_whole(asked: SharedChainProblem) -> Any:
    return make_problem(asked.layer, asked.accelerator, asked.objective, "chains")


def test_what_does_not_fit_is_said() -> None:
    best = certify(shared(), cache=False).best
    assert best is not None
    tight = shared(room=9)
    assert tight.price(tight.vectors([best.mapping])).reason[0] != 0
    assert "feasible" not in tight.explain(best.mapping)


def test_heads_share_no_tiles_with_what_they_do_not_read() -> None:
    asked = shared(HEADS, room=24)
    assert asked.space.shares.links == (1,)
    certify(asked, cache=False)


def test_a_campaign_has_regret_to_the_proven_chain(tmp_path: Path, dse: Dse) -> None:
    text = CAMPAIGN.replace("ROOT", str(ROOT)).replace('"chains"', '"chains:shared"').replace("edp", "energy")
    campaign_of(dse, tmp_path, {"pairs": text, "pair": PAIR})
