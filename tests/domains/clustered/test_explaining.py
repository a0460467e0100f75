"""Why nothing is feasible, and the smallest change that helps: as all mappings of small spaces say it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS, Accelerator
from dse.domains.clustered.explaining import Change, explain_mapping, explain_space
from dse.domains.clustered.mapping import Level, Mapping
from dse.domains.clustered.problem import Problem
from tests.conftest import Dse

LAYER = Layer("CONV", 4, 2, 6, 6, 3, 3)
ORDERS = {"outer.order": "KCYX", "inner.order": "XYCK"}
ROOMY = Accelerator(4, 10_000, 100_000, 8, 4)


def every(problem: Problem) -> np.ndarray:
    """All gene vectors of a problem's space."""
    grid = np.meshgrid(*(np.arange(size) for size in problem.space.sizes), indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1).astype(np.int64)


@pytest.fixture(scope="module")
def needs() -> np.ndarray:
    """What L1 and L2 must hold, for all mappings of LAYER that are feasible where there is room."""
    problem = Problem(LAYER, ROOMY, "edp", fixed=ORDERS)
    found = problem.price(every(problem))
    return np.stack([found.l1_size, found.l2_size], axis=1)[found.reason == 0]


def on(**sizes: int) -> Problem:
    return Problem(LAYER, replace(ROOMY, **sizes), "edp", fixed=ORDERS)


def changes(found: tuple[Change, ...]) -> list[dict[str, int]]:
    return [{name: new for name, (_, new) in change.values.items()} for change in found]


def test_the_least_buffer_alone_is_the_least_of_all_mappings(needs: np.ndarray) -> None:
    l1, l2 = needs.min(axis=0)
    lacking_l1 = explain_space(on(l1_size=int(l1) - 1))
    assert not lacking_l1.feasible
    assert changes(lacking_l1.hardware) == [{"l1_size": l1}]
    lacking_l2 = explain_space(on(l2_size=int(l2) - 1))
    assert changes(lacking_l2.hardware) == [{"l2_size": l2}]
    assert explain_space(on(l1_size=int(l1), l2_size=int(l2))).feasible


def test_where_neither_buffer_alone_would_do_both_grow_as_little_as_can_be(needs: np.ndarray) -> None:
    sizes = needs.min(axis=0) // 2
    found = explain_space(on(l1_size=int(sizes[0]), l2_size=int(sizes[1])))
    [change] = changes(found.hardware)
    growth = np.maximum(needs / sizes, 1).prod(axis=1)
    assert change["l1_size"] / sizes[0] * change["l2_size"] / sizes[1] == growth.min()
    assert on(**change).evaluate(found.hardware[0].mapping).reason[0] == 0


def test_a_fixed_gene_is_freed_as_little_as_can_be() -> None:
    fixed = {**ORDERS, "inner.tile.K": 4, "outer.tile.C": 2}
    problem = Problem(LAYER, replace(ROOMY, l1_size=65), "edp", fixed=fixed)
    found = explain_space(problem)
    assert not problem.price(every(problem)).loss.min() < np.inf
    freed = [change for change in found.genes if "inner.tile.K" in change.values]
    assert [change.values["inner.tile.K"] for change in freed] == [(4, 2)]
    for change in found.genes:
        with_it = {name: new for name, (_, new) in change.values.items()}
        again = Problem(LAYER, problem.accelerator, "edp", fixed={**fixed, **with_it})
        assert explain_space(again).feasible
        assert again.evaluate(change.mapping).reason[0] == 0


def test_a_mapping_is_told_what_it_lacks_and_which_gene_of_its_own_would_help() -> None:
    level = Level("K", ("K", "C", "Y", "X", "R", "S"), (4, 2, 4, 4, 3, 3))
    mapping = Mapping(level, 2, level)
    need = int(Problem(LAYER, ROOMY).evaluate(mapping).l1_size[0])
    small = Problem(LAYER, replace(ROOMY, l1_size=need - 1))
    found = explain_mapping(small, mapping)
    assert found.reason == f"L1 needs {need} of {need - 1} elements"
    assert changes(found.hardware) == [{"l1_size": need}]
    assert found.genes
    assert all(small.evaluate(change.mapping).reason[0] == 0 for change in found.genes)
    assert explain_mapping(Problem(LAYER, ROOMY), mapping).feasible
    large = replace(mapping, cluster_size=8)
    assert changes(explain_mapping(Problem(LAYER, ROOMY), large).hardware) == [{"num_pes": 8}]


def test_the_command_says_why_and_what_would_do(dse: Dse) -> None:
    where = ("--layer", "resnet18:3", "--accelerator", "edge-small")
    fixed = ("--fix", "outer.tile.K=128", "--fix", "outer.tile.C=128", "--fix", "outer.tile.Y=28")
    shown = dse("explain", *where, *fixed)
    assert shown.code == 0
    assert "proven: none of all 573,308,928 mappings is feasible" in shown.out
    assert "  l2_size 65536 -> 325120" in shown.out
    assert "  outer.tile.K 128 -> 16" in shown.out
    found = dse("explain", *where, "--mapping", "nvdla", "--json").json
    assert found["feasible"] is True
    assert dse("explain", *where, "--mapping", "nvdia").refused().startswith("unknown mapping 'nvdia'")
    assert PRESETS["edge-small"].l2_size == 65536
