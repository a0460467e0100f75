"""Spaces of other parts: the paper's 17 genes, and tables of one's own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dse.core.cost_models import cost_model
from dse.core.domains import load_space
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.space.mapping_space import MappingSpace
from dse.domains.clustered.space.parts import PAPER_PES, SPACES, read_parts
from dse.support.errors import InputError

LAYER = Layer("CONV", 12, 6, 9, 10, 3, 3, (1, 1), (1, 1))
EDGE = PRESETS["edge"]
PAPER = MappingSpace(LAYER, EDGE, parts=SPACES["paper"])


def test_the_papers_space_has_its_seventeen_genes() -> None:
    sizes = {gene.name: gene.size for gene in PAPER.genes}
    assert len(sizes) == 17
    assert sizes["outer.order"] == sizes["inner.order"] == 720
    assert sizes["outer.parallel"] == sizes["inner.parallel"] == 6
    assert {name.rpartition(".")[2] for name in sizes if "tile" in name} == set("KCYXRS")
    assert sizes["num_pes"] == len(PAPER_PES) == 84
    assert {1, 1024, 168, 1022} <= set(PAPER_PES)
    assert [block.name for block in PAPER.blocks][-4:] == [
        "outer.order",
        "inner.order",
        "parallel",
        "num_pes",
    ]


def test_the_default_space_says_nothing_of_its_parts() -> None:
    space = MappingSpace(LAYER, EDGE)
    assert list(space.identity) == ["layer", "accelerator", "tiles", "fixed"]
    assert not space.has_machines
    assert space.decode(space.sample(np.random.default_rng(0), 3)).machines is None


@pytest.mark.parametrize("tiles", ["factors", "any"])
@pytest.mark.parametrize(
    "parts", ["paper", {"dims": "KR", "num_pes": [8, 6], "cluster": [2, 4]}, {"num_pes": [12, 18]}]
)
def test_designs_encode_to_vectors_that_decode_to_them(parts: object, tiles: str) -> None:
    space = MappingSpace(LAYER, EDGE, tiles, parts=read_parts(parts))
    rng = np.random.default_rng(1)
    genes = np.concatenate([space.sample(rng, 200), space.neighbour(rng, space.sample(rng, 200))])
    batch = space.decode(genes)
    again = space.encode(batch)
    assert np.array_equal(space.decode(again).designs, batch.designs)
    assert np.array_equal(space.canonical(genes), again)
    assert (again <= genes).all()
    assert set(batch.named()) >= {gene.name for gene in space.genes}


def test_dims_that_are_not_cut_stay_whole_and_innermost() -> None:
    space = MappingSpace(LAYER, EDGE, parts=read_parts({"dims": "KR"}))
    mapping = space.decode(space.sample(np.random.default_rng(0), 1))[0]
    assert mapping.outer.order[2:] == ("C", "Y", "X", "S")
    assert mapping.outer["Y"] == mapping.inner["Y"] == LAYER.loops["Y"]


def test_a_cluster_fits_the_inner_tiles_along_the_inner_parallel_dim() -> None:
    batch = PAPER.decode(PAPER.sample(np.random.default_rng(2), 100))
    for index in range(len(batch)):
        mapping = batch[index]
        dim = mapping.inner.parallel
        assert mapping.cluster_size == -(-mapping.outer[dim] // mapping.inner[dim])


@pytest.mark.parametrize("model", ["maestro", "loopnest"])
def test_every_row_costs_what_it_costs_on_its_own_machine(model: str) -> None:
    problem = Problem(LAYER, EDGE, "edp", model, space="paper")
    genes = problem.space.sample(np.random.default_rng(3), 400)
    batch, priced = problem.space.decode(genes), problem.price(genes)
    plain = CostModel.prepared(cost_model(model), *_handed_over(problem))(batch.rows, batch.machines)
    for index in [*np.flatnonzero(priced.reason == 0)[:5], *range(10)]:
        there = problem.on_machine_of(genes[index])
        assert there.accelerator.num_pes == batch.machines[index][0]
        alone = there.evaluate(batch[int(index)])
        for name, column in alone.columns().items():
            assert getattr(priced, name)[index] == column[0], name
        assert plain.cycles[index] == priced.cycles[index]
    assert (priced.reason == 0).any()
    assert Reason.PARTIAL_FILTER in priced.reason


def _handed_over(problem: Problem) -> tuple[Layer, object]:
    return (
        problem.layer if problem.model.prices_strides else problem.layer.lowered(),
        problem.accelerator,
    )


def test_a_cluster_of_more_than_all_pes_is_infeasible_with_its_reason() -> None:
    problem = Problem(LAYER, EDGE, "edp", "maestro", space="paper", fixed={"num_pes": 1})
    reasons = problem.price(problem.space.sample(np.random.default_rng(0), 300)).reason
    assert Reason.CLUSTER_TOO_LARGE in reasons


def test_a_problem_of_the_papers_space_travels_and_has_an_identity_of_its_own() -> None:
    problem = Problem(LAYER, EDGE, space="paper")
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert problem.fingerprint != Problem(LAYER, EDGE).fingerprint
    assert Problem(LAYER, EDGE, space=problem.space.parts.to_dict()) == problem


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("papre", "unknown space 'papre'; did you mean 'paper'"),
        ({"dims": "KK"}, "space.dims must hold some of K C Y X R S once each"),
        ({"num_pes": []}, "space.num_pes must be a list of 1 to 4,096 sizes"),
        ({"cluster": "fitt"}, "unknown cluster 'fitt' in space; did you mean"),
        ({"pes": [2]}, "unknown key 'pes' in space"),
        (3, "space must be default or paper, or a table"),
    ],
)
def test_parts_that_make_no_space_are_refused(parts: object, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_parts(parts)


def test_parts_are_read_from_a_file(tmp_path: object) -> None:
    path = f"{tmp_path}/own.toml"
    with open(path, "w") as file:
        file.write('dims = "KCYXRS"\ncluster = "fit"\nnum_pes = [8, 4]\n')
    assert load_space(path, "loopnest").figures == {"num_pes": (4, 8)}
    assert load_space("paper", "loopnest") == SPACES["paper"]


def test_a_template_is_in_no_space_whose_clusters_it_does_not_fit() -> None:
    problem = Problem(LAYER, EDGE, cost_model="maestro", space="paper")
    batch = PAPER.decode(np.zeros((1, 17), np.int64))
    batch.rows[0, 13] = 5
    with pytest.raises(InputError, match="cluster = 5; expected 1, the inner tiles along K"):
        problem.space.encode(batch)
