"""Cost models: what a mapping costs in cycles, energy, power, area and buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dse.cost.figures import CostBatch, Figures
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.mapping import Mapping, MappingBatch
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, unknown

__all__ = [
    "COST_MODELS",
    "DEFAULT_COST_MODEL",
    "CaseExtras",
    "CostBatch",
    "CostModel",
    "Detail",
    "Figures",
    "cost_model",
    "detail_of",
    "model_with",
    "spec_of",
]

DEFAULT_COST_MODEL = "loopnest"
"""The model of a Problem, and of every command that prices mappings, unless told otherwise."""


@dataclass(frozen=True)
class CaseExtras:
    """What n cases say beside what MAESTRO prices: arrays with a row a case.

    `paddings` (n, 2): of the input's rows and columns, those on each side that are padding. `capacities`
    (n, 2): the elements of an L1 and of L2, 0 where a case does not say. `clocks` (n), in GHz.
    """

    paddings: IntArray
    capacities: IntArray
    clocks: FloatArray

    @classmethod
    def none(cls, n: int) -> CaseExtras:
        """Of cases that say nothing more: no padding, unknown buffers, 1 GHz."""
        return cls(np.zeros((n, 2), np.int64), np.zeros((n, 2), np.int64), np.ones(n))


@dataclass(frozen=True)
class Detail:
    """What the figures of one mapping are made of, by name.

    `cycles` and `energy_nj` (in nanojoule) add up to the figures; `words` are elements moved, by store and
    kind; `buffers` are the elements that L1 and L2 must hold, by tensor, double buffering included. `bound`
    says on what most cycles go.
    """

    cycles: dict[str, int]
    energy_nj: dict[str, float]
    words: dict[str, dict[str, int]]
    buffers: dict[str, dict[str, int]]
    bound: str


class CostModel(Protocol):
    """Prices mappings: vectorised, pure, deterministic, never raising on a mapping.

    A model may have an attribute `lowers`, False if it prices strides and paddings itself: a Problem then
    hands it the layer as it is, not `layer.lowered()`. It may have a `version`, part of what a record depends
    on, and a `spec`, which is its name with whatever of it is not the default. It may have

    - `prepared(layer, accelerator)`, which returns a function that prices a MappingBatch's rows;
    - `detail(layer, accelerator, mapping)`, which returns a Detail, or None where the mapping is not valid;
    - `price_cases(layers, hardware, rows, extras)`, which prices the arrays of `dse.problem.cases.Cases`.
    """

    name: str

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of `mappings`, row by row, on `threads` threads (the figures do not depend on them)."""
        ...


COST_MODELS = ("loopnest", "maestro")


def cost_model(spec: str) -> CostModel:
    """The cost model of that name; `loopnest(dram_pj=640)` is `loopnest` with constants of one's own."""
    name, bracket, rest = spec.partition("(")
    if spec == "maestro":
        from dse.cost.maestro import Maestro

        return Maestro()
    if name == "loopnest" and (rest.endswith(")") or not bracket):
        from dse.cost.loopnest import LoopNest
        from dse.cost.loopnest.constants import parse_constants

        return LoopNest(parse_constants(rest[:-1], f"cost model {spec!r}")) if bracket else LoopNest()
    raise unknown("cost model", spec, COST_MODELS)


def model_with(name: str, constants: str) -> CostModel:
    """The cost model of that name with the constants in a TOML file; InputError if it has none."""
    if name != "loopnest":
        cost_model(name)
        raise InputError(f"constants are for cost model 'loopnest', got {name!r}")
    from dse.cost.loopnest import LoopNest
    from dse.cost.loopnest.constants import load_constants

    return LoopNest(load_constants(constants))


def spec_of(model: CostModel) -> str:
    """The model in words: its name, and what of it was replaced; `cost_model` reads it back."""
    return str(getattr(model, "spec", model.name))


def detail_of(model: CostModel, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Detail | None:
    """What the figures of one mapping are made of; None if it is not valid or the model does not say."""
    explain: Callable[[Layer, Accelerator, Mapping], Detail | None] | None = getattr(model, "detail", None)
    return explain(layer, accelerator, mapping) if explain else None
