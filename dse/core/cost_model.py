"""What a cost model is: two things it must have, and what else it may say that it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dse.core.figures import CostBatch
from dse.core.layer import Layer
from dse.core.model_settings import ModelSettings
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping as DataflowMapping
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.levels.layout import RowArray
from dse.domains.levels.machine import Machine
from dse.domains.levels.mapping import HierarchyMapping
from dse.support.arrays import FloatArray, IntArray
from dse.support.errors import InputError, shorten

PriceRows = Callable[[IntArray], CostBatch]
"""A cost model made ready for one layer and accelerator: a MappingBatch's rows (n, 27) in, costs out."""

PriceEach = Callable[[IntArray, IntArray], CostBatch]
"""The same for rows that each bring a machine, (n, figures) with the MACHINE_FIGURES as columns."""


@dataclass(frozen=True)
class CaseExtras:
    """What n cases say beside what every model prices: arrays with a row a case.

    `paddings` (n, 2): of the input's rows and columns, those on each side that are padding. `dilations`
    (n, 2): of the filter's rows and columns. `capacities` (n, 2): the elements of an L1 and of L2, 0 where a
    case does not say. `clocks` (n), in GHz.
    """

    paddings: IntArray
    dilations: IntArray
    capacities: IntArray
    clocks: FloatArray

    @classmethod
    def none(cls, n: int) -> CaseExtras:
        """Of cases that say nothing more: no padding, no dilation, unknown buffers, 1 GHz."""
        nothing = np.zeros((n, 2), np.int64)
        return cls(nothing, nothing + 1, nothing, np.ones(n))


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


@dataclass(frozen=True)
class LevelsDetail(Detail):
    """The same of a mapping onto a machine of levels, by the levels' names, the outermost first.

    `cycles` are those that computing and each level's transfers take by themselves: they overlap, and the
    most of them is the figure. `energy_nj` adds up as ever, with the MACs last. `words` are the `reads`,
    `fills` (from above) and `updates` (from below) of all instances together, `buffers` the words of each
    tensor that one instance holds. `tensors` says the same of each tensor at each level that keeps it, with
    `instances` at work, `tile` and `energy_nj`; `leakage_nj` is what remains of a level's energy.
    """

    tensors: dict[str, dict[str, dict[str, float]]]
    leakage_nj: dict[str, float]


@dataclass(frozen=True)
class Baseline:
    """Another implementation of a model's figures, to compare speeds with.

    `price_each` prices every one of the mappings, one at a time; `mappings` is how many of them take seconds,
    not minutes.
    """

    mappings: int
    price_each: Callable[[MappingBatch], object]


class PricesNothing(InputError):
    """A cost model that asks something outside is wrong itself: what it asks fails, whatever the mapping."""


class CostModel:
    """Prices mappings: vectorised, pure, deterministic, never raising on a mapping.

    A subclass needs a `name` and `evaluate`, and is made without arguments, or by `configured` where some
    settings have no defaults. It declares what else it can do by setting the class variables below; nothing
    is guessed from the methods that it has.
    """

    name: ClassVar[str]
    """Under which it is registered in the entry-point group `dse.cost_models`."""
    version: str = "1"
    """Part of what a record depends on, to be changed whenever a figure changes. A class that does not set it
    itself has its package's version there too: then every release makes its records others."""
    units: ClassVar[Mapping[str, str]] = {}
    """The units of `area` and `power`, where they are known ones."""
    prices_strides: ClassVar[bool] = False
    """Whether strides, paddings and dilations are priced as they are; if not, a Problem hands over
    `layer.lowered()`."""
    output_halo: ClassVar[bool] = False
    """Whether a PE's buffer must hold an output tile with the halo of its inputs (a quirk of MAESTRO)."""
    prices_cases: ClassVar[bool] = False
    """Whether there is `price_cases`."""
    explains: ClassVar[bool] = False
    """Whether there is `detail`."""
    provable: ClassVar[bool] = False
    """Whether `dse.optimum` has bounds for it, so that an optimum can be proven."""
    settings_type: ClassVar[type[ModelSettings] | None] = None
    """What a user may set of it, constants or other: there is `configured` then."""
    outside: ClassVar[bool] = False
    """Whether it prices by a program, a function or a library from elsewhere, which may be slow or absent.

    Reports then do not price a campaign's winners again by it, and nothing asks it that was not told to.
    """
    at_once: int = 1
    """How many mappings it prices at the same time: fewer in a batch would leave some of it idle."""

    hierarchical: ClassVar[bool] = False
    """Whether it prices machines of any number of levels, by `price_lines` and `prepared_machine`, and no
    accelerator."""

    @property
    def spec(self) -> str:
        """The model in words that `cost_model` reads: its name, and its settings but the defaults."""
        return self.name

    @property
    def identity(self) -> str:
        """The spec without what no figure depends on: part of what a problem is."""
        return self.spec

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
        """`evaluate` for one layer and accelerator; a model that is faster when made ready overrides it."""

        def price(rows: IntArray) -> CostBatch:
            found = self.evaluate(layer, accelerator, MappingBatch(rows))
            if not isinstance(found, CostBatch) or len(found.cycles) != len(rows):
                raise TypeError(
                    f"evaluate of cost model {self.name!r} must return a CostBatch with a row for each of "
                    f"{len(rows)} mappings, got {shorten(found)}"
                )
            return found

        return price

    def prepared_each(self, layer: Layer, accelerator: Accelerator) -> PriceEach:
        """`prepared` for rows that each bring a machine, all of whose figures may differ.

        A row on a machine costs what it costs with that machine as the accelerator. This prices them machine
        by machine; a model that can price them together overrides it.
        """

        # A model that is made ready for a machine may know what it has been asked there.
        ready: dict[bytes, PriceRows] = {}

        def price(rows: IntArray, machines: IntArray) -> CostBatch:
            costs = CostBatch.zeros(len(rows))
            different, which = np.unique(machines, axis=0, return_inverse=True)
            for number, machine in enumerate(different):
                places, key = np.flatnonzero(which.reshape(-1) == number), machine.tobytes()
                if key not in ready:
                    ready[key] = self.prepared(layer, accelerator.with_machine(machine))
                found = ready[key](rows[places])
                for name, column in costs.columns().items():
                    column[places] = getattr(found, name)
            return costs

        return price

    def needed_area(self, layer: Layer, machines: IntArray, rows: IntArray, costs: CostBatch) -> FloatArray:
        """The area (n,) of the hardware that each mapping needs, in `units["area"]`: the objective `area`.

        `machines` (n or 1, figures) have the MACHINE_FIGURES, `rows` are a MappingBatch's and `costs` what
        they cost. A model that has no other area than its column's gives that.
        """
        return costs.area

    def detail(self, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping) -> Detail | None:
        """What the figures of one mapping are made of; None if it is not valid, or nothing is explained."""
        return None

    def buffer_needs(
        self, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping
    ) -> dict[str, dict[str, int]] | None:
        """Elements that L1 and L2 must hold, by tensor, double buffering included; None if unknown."""
        detail = self.detail(layer, accelerator, mapping)
        return detail.buffers if detail else None

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

    def price_lines(self, lines: Iterable[tuple[str, str]], *, detail: bool = False) -> list[dict[str, Any]]:
        """The results of cases in a language of the model's own, as plain data in the lines' order.

        A line comes with its place for messages; InputError at the first one that is malformed. With
        `detail`, a result says what its figures are made of.
        """
        raise NotImplementedError(f"cost model {self.name!r} prices no lines")

    @classmethod
    def machines(cls) -> Mapping[str, str]:
        """The machines of any number of levels that come along: by name, what each is in a sentence."""
        return {}

    def load_machine(self, name: str) -> Machine:
        """The machine of any number of levels that a user names, by a preset or a file."""
        raise NotImplementedError(f"cost model {self.name!r} has no machines")

    def prepared_machine(self, layer: Layer, machine: Machine) -> Callable[[RowArray], CostBatch]:
        """As `prepared`, for mappings onto a machine of any number of levels: rows of its Layout in."""
        raise NotImplementedError(f"cost model {self.name!r} prices no machines of any number of levels")

    def machine_detail(
        self, layer: Layer, machine: Machine, mapping: HierarchyMapping
    ) -> LevelsDetail | None:
        """As `detail`, of a mapping onto a machine of any number of levels."""
        return None

    @classmethod
    def configured(cls, settings: Any) -> CostModel:
        """The model with settings of its `settings_type`."""
        raise NotImplementedError(f"cost model {cls.name!r} has no settings")

    def trust(self) -> None:
        """It has priced some mappings of a search already: what fails from now on is the mappings' fault."""

    def refusal(self, layer: Layer, accelerator: Accelerator, mapping: DataflowMapping) -> str:
        """Why it refuses a mapping, in words of its own; empty where the reason says it all."""
        return ""

    def baselines(self, layer: Layer, accelerator: Accelerator) -> Mapping[str, Baseline]:
        """Other implementations of the same figures, by name, that `dse bench cost` compares with."""
        return {}
