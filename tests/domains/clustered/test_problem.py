"""A problem prices points and mappings, explains them, and says what it is."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from dse.core.cost_models import cost_model, cost_models
from dse.core.evaluations import Evaluations
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.search.record import COLUMNS
from dse.support.errors import InputError
from dse.support.hashing import digest
from workloads import load_layer

RESNET = load_layer("resnet18:1")
EDGE = PRESETS["edge"]


class Counting(CostModel):
    """MAESTRO, counting the rows that reach it."""

    name = "maestro"

    def __init__(self) -> None:
        self.rows = 0

    def evaluate(self, layer, accelerator, mappings, *, threads=1) -> CostBatch:
        self.rows += len(mappings)
        return cost_model("maestro").evaluate(layer, accelerator, mappings, threads=threads)


def assert_same(one: Evaluations, other: Evaluations) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("name", ["resnet18:0", "resnet18:1", "mobilenet_v2:1", "bert_base:1"])
def test_a_price_is_the_cost_of_the_decoded_mapping_on_the_lowered_layer(name: str) -> None:
    problem = Problem(load_layer(name), PRESETS["eyeriss"], "edp", "maestro")
    genes = problem.space.sample(np.random.default_rng(1), 400)
    priced = problem.price(genes)
    mappings = problem.space.decode(genes)
    costs = cost_model("maestro").evaluate(problem.layer.lowered(), PRESETS["eyeriss"], mappings)
    for figure in ("cycles", "energy_nj", "power", "area", "l1_size", "l2_size", "macs"):
        np.testing.assert_array_equal(getattr(priced, figure), getattr(costs, figure))
    assert ((priced.loss < inf) == (priced.reason == 0)).all()
    feasible = priced.reason == 0
    assert feasible.any()
    assert (priced.l1_size[feasible] <= 512).all()
    assert (priced.macs[feasible] >= problem.layer.macs).all()
    assert_same(priced, problem.evaluate(mappings))


@pytest.mark.parametrize("name", ["resnet18:0", "mobilenet_v2:1", "bert_base:1"])
def test_the_default_price_is_that_of_loopnest_on_the_layer_as_it_is(name: str) -> None:
    layer, eyeriss = load_layer(name), PRESETS["eyeriss"]
    problem = Problem(layer, eyeriss, "edp")
    assert problem.model.name == problem.identity["cost_model"] == "loopnest"
    genes = problem.space.sample(np.random.default_rng(1), 400)
    priced = problem.price(genes)
    costs = cost_model("loopnest").evaluate(layer, eyeriss, problem.space.decode(genes))
    for figure in ("cycles", "energy_nj", "power", "area", "l1_size", "l2_size", "macs"):
        np.testing.assert_array_equal(getattr(priced, figure), getattr(costs, figure))
    assert (priced.macs == layer.macs).all()
    assert_same(priced, Problem(layer, eyeriss, "edp", "loopnest").price(genes))


@pytest.mark.parametrize("model", cost_models())
def test_rows_priced_one_by_one_cost_what_they_cost_together(model: str) -> None:
    problem = Problem(RESNET, EDGE, cost_model=model)
    genes = problem.space.sample(np.random.default_rng(2), 60)
    together = problem.price(genes)
    for i in range(len(genes)):
        alone = problem.price(genes[i : i + 1])
        assert all(getattr(alone, name)[0] == getattr(together, name)[i] for name in COLUMNS)


@pytest.mark.parametrize("model", cost_models())
def test_no_rows_cost_nothing(model: str) -> None:
    problem = Problem(RESNET, EDGE, cost_model=model)
    priced = problem.price(np.empty((0, 13), np.int64))
    assert len(priced) == 0
    assert {name: getattr(priced, name).dtype for name in COLUMNS} == {
        name: np.dtype(dtype) for name, dtype in COLUMNS.items()
    }


def test_a_wrapped_model_sees_every_row() -> None:
    counting = Counting()
    problem = Problem(RESNET, EDGE, cost_model=counting)
    genes = problem.space.sample(np.random.default_rng(3), 25)
    assert_same(problem.price(genes), Problem(RESNET, EDGE, cost_model="maestro").price(genes))
    problem.evaluate(problem.space.decode(genes[:5]))
    assert counting.rows == 30


@pytest.mark.parametrize("model", cost_models())
def test_an_explanation_names_the_buffer_and_its_figures(model: str) -> None:
    problem = Problem(RESNET, EDGE, cost_model=model)
    genes = problem.space.sample(np.random.default_rng(4), 300)
    priced, mappings = problem.price(genes), problem.space.decode(genes)
    for reason, text in (
        (Reason.L1_TOO_SMALL, "L1 needs {l1_size} of 512 elements"),
        (Reason.L2_TOO_SMALL, "L2 needs {l2_size} of 131072 elements"),
        (Reason.FEASIBLE, "feasible"),
    ):
        i = int(np.flatnonzero(priced.reason == reason)[0])
        figures = {name: getattr(priced, name)[i] for name in COLUMNS}
        assert problem.explain(mappings[i]) == text.format(**figures)


def test_two_problems_with_the_same_loops_are_the_same_whatever_the_layers_are_called() -> None:
    named = replace(RESNET, name="another", repeats=7)
    lowered = RESNET.lowered()

    def prints(model: str, *layers: Layer) -> int:
        return len({Problem(layer, EDGE, "edp", model).fingerprint for layer in layers})

    assert prints("maestro", RESNET, named, lowered) == 1
    # A model that prices paddings as they are has other costs for the lowered layer.
    assert prints("loopnest", RESNET, named) == 1
    assert prints("loopnest", RESNET, lowered) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"layer": load_layer("resnet18:2")},
        {"accelerator": PRESETS["edge-small"]},
        {"objective": "energy"},
        {"cost_model": "maestro"},
        {"tiles": "any"},
        {"fixed": {"outer.parallel": "K"}},
    ],
)
def test_whatever_changes_a_problem_changes_its_fingerprint(change: dict) -> None:
    problem = Problem(RESNET, EDGE, "edp")
    assert replace(problem, **change).fingerprint != problem.fingerprint
    assert replace(problem, **change) != problem


def test_the_fingerprint_is_that_of_canonical_json() -> None:
    assert digest({"b": [1, 2.5], "a": "x"}) == digest({"a": "x", "b": [1, 2.5]})
    # echo -n '{"a":1}' | sha256sum
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    with pytest.raises(ValueError):
        digest({"a": float("nan")})


def test_a_problem_that_was_used_travels_to_another_process() -> None:
    problem = Problem(RESNET, EDGE, "edp", fixed={"outer.parallel": "K"})
    genes = problem.space.sample(np.random.default_rng(5), 10)
    before = problem.price(genes)
    copy = pickle.loads(pickle.dumps(problem))
    assert copy == problem
    assert hash(copy) == hash(problem)
    assert_same(copy.price(genes), before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objective": "ebp"}, "unknown objective 'ebp'; did you mean 'edp'"),
        ({"cost_model": "maestr"}, "unknown cost model 'maestr'; did you mean 'maestro'"),
        ({"tiles": "factor"}, "unknown tiles 'factor'; did you mean 'factors'"),
        ({"fixed": {"outer.paralel": "K"}}, "did you mean 'outer.parallel'"),
    ],
)
def test_what_is_wrong_with_a_problem_is_said_when_it_is_made(arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem(RESNET, EDGE, **arguments)


def test_genes_outside_the_space_are_not_priced() -> None:
    problem = Problem(RESNET, EDGE)
    with pytest.raises(ValueError):
        problem.price(np.full((1, 13), 99, np.int64))


def test_a_depthwise_layer_and_a_gemm_have_feasible_points() -> None:
    for layer in (Layer("DSCONV", 1, 32, 112, 112, 3, 3, padding=(1, 1)), Layer.gemm(128, 768, 768)):
        problem = Problem(layer, EDGE)
        assert (problem.price(problem.space.sample(np.random.default_rng(6), 500)).reason == 0).any()


def test_hand_written_mappings_need_not_be_in_the_space() -> None:
    problem = Problem(RESNET, EDGE)
    genes = problem.space.sample(np.random.default_rng(7), 200)
    rows = problem.space.decode(genes[problem.price(genes).reason == 0][:1]).rows
    rows[0, 13] = 3
    mappings = MappingBatch(rows)
    with pytest.raises(InputError, match="cluster"):
        problem.space.encode(mappings)
    priced = problem.evaluate(mappings)
    assert priced.reason[0] == 0
    assert 0 < priced.loss[0] < inf


def test_importing_a_problem_does_not_import_what_is_heavy() -> None:
    heavy = ("numba", "torch", "pandas", "pyarrow", "sklearn", "pydantic", "scipy")
    code = (
        "import sys, dse.domains.clustered.problem, dse.search.evaluator\n"
        "import dse.search.searcher, dse.search.run, dse.search.journal\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_mapping_of_any_tiles_fits_soon() -> None:
    problem = Problem(
        load_layer("gpt2_block:attn.context"), PRESETS["eyeriss"], "edp", "loopnest", tiles="any"
    )
    points = problem.space.sample(np.random.default_rng(0), 1000)
    # Half of all searches have one by their fifth sample.
    assert 1 - (1 - np.isfinite(problem.price(points).loss).mean()) ** 5 > 0.5
