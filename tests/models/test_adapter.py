"""Cost models that are no subclass of CostModel: what they declare holds, and nothing is guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dse.core.cost_models import cost_model
from dse.core.figures import CostBatch
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.problem import Problem
from dse.support.errors import InputError
from workloads import load_layer

LAYER = load_layer("resnet18:conv1")


class Wrapper:
    """Counts the rows that reach another model, and passes on whatever else it is asked."""

    def __init__(self, model: CostModel) -> None:
        self.model, self.rows = model, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def evaluate(self, layer: Any, accelerator: Any, mappings: Any) -> CostBatch:
        self.rows += len(mappings)
        return self.model.evaluate(layer, accelerator, mappings)

    def prepared(self, layer: Any, accelerator: Any) -> Any:
        ready = self.model.prepared(layer, accelerator)

        def price(rows: Any) -> CostBatch:
            self.rows += len(rows)
            return ready(rows)

        return price


class Bare:
    """A name and evaluate, no more."""

    name = "bare"

    def evaluate(self, layer: Any, accelerator: Any, mappings: Any) -> CostBatch:
        assert not layer.strided
        return cost_model("maestro").evaluate(layer, accelerator, mappings)


@pytest.mark.parametrize("name", ["loopnest", "maestro"])
def test_a_wrapper_counts_every_row_and_changes_nothing(name: str) -> None:
    wrapper = Wrapper(cost_model(name))
    plain, wrapped = (Problem(LAYER, PRESETS["edge"], "edp", cost_model=model) for model in (name, wrapper))
    genes = plain.space.sample(np.random.default_rng(0), 100)
    assert wrapped.price(genes).loss.tolist() == plain.price(genes).loss.tolist()
    assert wrapped.fingerprint == plain.fingerprint
    assert wrapper.rows == 100


def test_an_object_with_a_name_and_evaluate_prices_lowered_layers() -> None:
    plain = Problem(LAYER, PRESETS["edge"], cost_model="maestro")
    problem = Problem(LAYER, PRESETS["edge"], cost_model=Bare())  # type: ignore[arg-type]
    genes = plain.space.sample(np.random.default_rng(1), 50)
    assert problem.price(genes).loss.tolist() == plain.price(genes).loss.tolist()
    assert problem.model_spec == "bare"
    assert not problem.model.proof_module


@pytest.mark.parametrize("nothing", [7, Bare])
def test_what_cannot_be_a_cost_model_is_refused_by_what_it_lacks(nothing: Any) -> None:
    if nothing is Bare:
        nothing = type("Nameless", (), {"evaluate": Bare.evaluate})()
    with pytest.raises(InputError, match=r"an object with a name and a method evaluate\(layer"):
        Problem(LAYER, PRESETS["edge"], cost_model=nothing)
