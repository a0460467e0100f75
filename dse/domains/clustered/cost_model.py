"""What a cost model of mappings of two levels is: two things it must have, and what else it can do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dse.core.cost_model import AnyCostModel, Detail
from dse.core.cost_models import cost_model
from dse.core.figures import CostBatch, CostColumns
from dse.core.layer import Layer
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.support.arrays import BoolArray, FloatArray, IntArray
from dse.support.errors import InputError, shorten
from dse.support.jit import share_out

PriceSome = Callable[[IntArray], CostBatch]
"""Prices on one machine: a MappingBatch's rows (n, 27) in, costs out."""

PriceRows = Callable[..., CostBatch]
"""A cost model made ready: rows in as above, and perhaps a machine for each, costs out (see `prepared`)."""


@dataclass(frozen=True)
class CaseExtras:
    """What n cases say beside what every model prices: arrays with a row a case.

    `paddings` (n, 2): of the input's rows and columns, those on each side that are padding. `dilations`
    (n, 2): of the filter's rows and columns. `capacities` (n, 2): the elements of an L1 and of L2, 0 where a
    case does not say. `clocks` (n), in GHz. `bits` (n, 4): of a weight, an input, an output and an element, 0
    where words have no widths.
    """

    paddings: IntArray
    dilations: IntArray
    capacities: IntArray
    clocks: FloatArray
    bits: IntArray

    @classmethod
    def none(cls, n: int) -> CaseExtras:
        """Of cases that say nothing more: no padding, no dilation, unknown buffers, 1 GHz."""
        nothing = np.zeros((n, 2), np.int64)
        return cls(nothing, nothing + 1, nothing, np.ones(n), np.zeros((n, 4), np.int64))


def cost_columns(n: int) -> CostColumns:
    """Columns for n rows, not filled yet."""
    cycles, l1_size, l2_size, macs = np.empty((4, n), np.int64)
    energy_nj, power, area = np.empty((3, n))
    valid, reason = np.empty(n, np.bool_), np.empty(n, np.uint8)
    return CostColumns(cycles, energy_nj, power, area, l1_size, l2_size, macs, valid, reason)


def price_by_kernel(
    price_share: Callable[[tuple[int, int], CostColumns], None], n: int, threads: int
) -> CostBatch:
    """The costs of n rows, which a kernel writes share by share: rows from a first to before a last one."""
    columns = cost_columns(n)
    share_out(lambda start, stop: price_share((start, stop), columns), n, threads)
    return CostBatch(*columns)


def on_each_machine(accelerator: Accelerator, ready: Callable[[Accelerator], PriceSome]) -> PriceRows:
    """What `CostModel.prepared` returns, machine by machine; `ready` makes a model ready for one."""
    alone = ready(accelerator)
    # A model that is made ready for a machine may know what it has been asked there.
    others: dict[bytes, PriceSome] = {}

    def price(rows: IntArray, machines: IntArray | None = None) -> CostBatch:
        if machines is None:
            return alone(rows)
        costs = CostBatch.zeros(len(rows))
        different, which = np.unique(machines, axis=0, return_inverse=True)
        for number, machine in enumerate(different):
            places, key = np.flatnonzero(which.reshape(-1) == number), machine.tobytes()
            if key not in others:
                others[key] = ready(accelerator.with_machine(machine))
            found = others[key](rows[places])
            for name, column in costs.columns().items():
                column[places] = getattr(found, name)
        return costs

    return price


class CostModel(AnyCostModel):
    """Prices mappings of a layer onto an accelerator.

    A subclass needs a `name` and `evaluate`; see `dse.core.cost_model.AnyCostModel` for what it may declare.
    """

    domain = "clustered"
    output_halo: ClassVar[bool] = False
    """Whether a PE's buffer must hold an output tile with the halo of its inputs (a quirk of MAESTRO)."""
    rates: ClassVar[tuple[str, ...]] = ()
    """Those of `noc_bandwidth` and `offchip_bandwidth` of which more makes no mapping take more cycles, nor
    other energy: of machines that differ in these alone, proofs and co-design look at the widest."""
    refuses_below_floors: ClassVar[bool] = True
    """Whether fewer cycles than a mapping's MACs take, by the accelerator's PEs and lanes, are the model's
    fault and refuse the mapping. If not, they are taken as they are, with a `FloorWarning` at the first."""

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of n `mappings`, a CostBatch of n rows, on `threads` threads (no figure depends on them).

        `mappings.rows` is an int64 array (n, 27), `mappings.named()["inner.tile.K"]` a column of it and
        `mappings[0]` the first as a Mapping. It raises on no mapping: one that cannot be priced is a row that
        is not valid, with a reason.
        """
        raise NotImplementedError(f"cost model {self.name!r} has no evaluate")

    def prepared(self, layer: Layer, accelerator: Accelerator) -> PriceRows:
        """The model made ready for one layer: `price(rows, machines=None)`, a CostBatch of n rows.

        `rows` (n, 27) are a MappingBatch's, for the accelerator, or each for its own of the `machines` (n,
        figures), which have the MACHINE_FIGURES as columns. A model that is faster made ready, or that can
        price many machines together, overrides it.
        """

        def ready(machine: Accelerator) -> PriceSome:
            return lambda rows: self._checked(self.evaluate(layer, machine, MappingBatch(rows)), len(rows))

        return on_each_machine(accelerator, ready)

    def _checked(self, found: object, n: int) -> CostBatch:
        if not isinstance(found, CostBatch) or len(found.cycles) != n:
            raise TypeError(
                f"evaluate of cost model {self.name!r} must return a CostBatch with a row for each of "
                f"{n} mappings, got {shorten(found)}"
            )
        return found

    def needed_area(self, layer: Layer, machines: IntArray, rows: IntArray, costs: CostBatch) -> FloatArray:
        """The area (n,) of the hardware that each mapping needs, in `units["area"]`: the objective `area`.

        `machines` (n or 1, figures) have the MACHINE_FIGURES, `rows` are a MappingBatch's and `costs` what
        they cost. A model that has no other area than its column's gives that.
        """
        return costs.area

    frees_misfits = False
    """Whether some mappings are refused at no cost: those that `free` names."""

    def free(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> BoolArray:
        """Which mappings (n,) are refused at no cost: a search is charged no sample for them."""
        return np.zeros(len(mappings), np.bool_)

    def counts(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> dict[str, IntArray]:
        """What the cycles of n mappings are made of, by name, (n,) each: words moved, steps, waiting.

        Constants of a machine are fitted to them (`dse.domains.clustered.terms`); empty where nobody says.
        """
        return {}

    def counters(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch
    ) -> list[dict[str, float]]:
        """What it has counted itself of n mappings that it has priced: a table each, empty of others.

        Only what judges says such things: words moved, misses, cycles of waiting, under its own names.
        """
        return [{} for _ in range(len(mappings))]

    def refusals(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> list[str]:
        """Why it has refused n mappings that it was asked for, in words of its own: empty of others."""
        return [""] * len(mappings)

    def detail(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> Detail | None:
        """What the figures of one mapping are made of; None if it is not valid, or nothing is known.

        A model that does not explain cycles and energy may still tell what the buffers hold.
        """
        return None

    def price_cases(
        self,
        layers: IntArray,
        hardware: IntArray,
        rows: IntArray,
        extras: CaseExtras | None = None,
        *,
        threads: int = 1,
    ) -> CostBatch:
        """The costs of n cases, each with its layer and hardware, as `Cases` of a domain has them.

        A layer or a machine that cannot be is a row that is not valid.
        """
        raise NotImplementedError(f"cost model {self.name!r} prices no cases")

    def refusal(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> str:
        """Why it refuses a mapping, in words of its own; empty where the reason says it all."""
        return ""


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


def adapted_model(model: object) -> CostModel:
    """The model itself, or one that prices by the object or the function; InputError if it is neither."""
    if isinstance(model, CostModel):
        return model
    if inspect.isfunction(model):
        if "<" in model.__qualname__:
            raise InputError(
                f"cost_model {model.__qualname__} is a function made inside of another, or a lambda, which "
                "no record and no other process can name: define it at a module's top, or give an object "
                "with a name, a version and a method evaluate"
            )
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
