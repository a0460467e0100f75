"""Models that are no subclass of CostModel: a wrapper that counts rows, an object of another framework."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from dse.core.cost_model import Detail
from dse.core.cost_models import cost_model
from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel, PriceRows, on_each_machine
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.support.errors import InputError, shorten

DECLARED = (
    "version",
    "units",
    "prices_strides",
    "output_halo",
    "explains",
    "at_once",
    "refuses_below_floors",
)
"""What such an object may declare under the protocol's names; what it does not declare it cannot do."""


def adapted(model: object) -> CostModel:
    """The model itself, or one that prices by the object or the function; InputError if it is neither."""
    if isinstance(model, CostModel):
        return model
    if inspect.isfunction(model) and "<" not in model.__qualname__:
        priced: Any = cost_model(f"{model.__module__}:{model.__qualname__}")
        return priced
    return Adapted(model)


class Adapted(CostModel):
    """A cost model that prices through an object with a `name` and an `evaluate`, row for row."""

    def __init__(self, model: object) -> None:
        """InputError if it has not even these."""
        name, evaluate = getattr(model, "name", None), getattr(model, "evaluate", None)
        if not (isinstance(name, str) and name and callable(evaluate)):
            raise InputError(
                "cost_model must be a name, a function of a module, or an object with a name and a method "
                f"evaluate(layer, accelerator, mappings) as dse.CostModel, got {shorten(model)}"
            )
        self._model, self._evaluate = model, evaluate
        self._spec = getattr(model, "spec", name)
        # They are class variables of a model that is a subclass; here each object has its own.
        declared = {each: getattr(model, each) for each in DECLARED if hasattr(model, each)}
        vars(self).update(declared, name=name)

    @property
    def spec(self) -> str:
        """The object's own, or else its name."""
        return str(self._spec)

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """What the object makes of the mappings."""
        options = {} if threads == 1 else {"threads": threads}
        costs: CostBatch = self._evaluate(layer, accelerator, mappings, **options)
        return costs

    def prepared(self, layer: Layer, accelerator: Accelerator) -> PriceRows:
        """The object's own way to be made ready, if it has one."""
        ready = getattr(self._model, "prepared", None)
        if ready is None:
            return super().prepared(layer, accelerator)
        return on_each_machine(accelerator, partial(ready, layer))

    def detail(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Detail | None:
        """The object's explanation, if it declares one."""
        if not self.explains:
            return None
        found: Detail | None = self._model.detail(layer, accelerator, mapping)  # type: ignore[attr-defined]
        return found
