"""A cost model that asks something outside for an answer a mapping, and knows what it has asked already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Mapping as Table
from functools import cached_property
from typing import Any

import numpy as np

from dse.core.cost_model import PricesNothing
from dse.core.figures import CostBatch, Figures
from dse.core.layer import Layer
from dse.core.model_settings import ModelSettings
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator, figure_column
from dse.domains.clustered.cost_model import CostModel, PriceRows, PriceSome, on_each_machine
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.models.outside.answers import COUNTERS, NOTES, Answer, Refusal
from dse.models.outside.memory import MAX, Memory
from dse.support.arrays import BoolArray, IntArray
from dse.support.hashing import digest

Told = dict[bytes, Answer]
"""Answers with counters, and refusals with words, by their mappings' rows."""

RULES = "rules 3"
"""Part of the version of what users write: since 2 they may say fewer cycles than MACs take, and since 3 need
not say an energy."""
ASKED, CHARGED, FREE = "asked", "charged", "free"
MISFITS = (ASKED, CHARGED, FREE)
"""What becomes of a mapping whose tiles do not fit, by our own count: it is priced all the same, as where
what prices counts buffers itself; or refused without asking, at the cost of a sample; or at none."""
PATIENCE = 3
"""Mappings for which something may be wrong in the same way before that is not the mappings' fault."""


class OutsideModel(CostModel):
    """Answers become figures. What an answer leaves out is filled in.

    MACs are the layer's, the buffers needed are as `loopnest` counts them (two tiles of each tensor), power,
    area, and an energy that is not said are 0. A mapping that `loopnest` refuses (a tile of 0, a cluster
    larger than the array) is refused for the same reason, without asking.
    """

    outside = True
    prices_strides = True
    _trusted = False
    """Whether it has answered: then what goes wrong is the mapping's fault."""
    _faults: tuple[Refusal, ...] = ()
    """What was wrong until now, of one that has not answered yet."""
    cache: str = ""
    """The file that answers are kept in; none if empty."""
    misfits: str = ASKED
    """One of MISFITS."""
    settings: ModelSettings
    """All that it is made of, here and in another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.settings,)

    def answers(
        self, layer: Layer, accelerator: Accelerator, mappings: list[Mapping]
    ) -> Iterator[tuple[int, Answer]]:
        """The answer for each mapping, with its place, in any order."""
        raise NotImplementedError

    def evaluate(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch, *, threads: int = 1
    ) -> CostBatch:
        """The costs of `mappings`; how many are priced at once is a setting, and not `threads`."""
        return self.prepared(layer, accelerator)(mappings.rows)

    def prepared(self, layer: Layer, accelerator: Accelerator) -> PriceRows:
        """See CostModel; what it has asked it remembers."""
        return on_each_machine(accelerator, lambda machine: self._asking(layer, machine))

    def _asking(self, layer: Layer, accelerator: Accelerator) -> PriceSome:
        from dse.models.loopnest import LoopNest

        ours, memory = LoopNest().prepared(layer, accelerator), self._memory(layer, accelerator)
        told = self._told[self._identity(layer, accelerator)]

        def price(rows: IntArray) -> CostBatch:
            costs = ours(rows)
            if self.misfits != ASKED:
                costs = _without_misfits(costs, accelerator)
            asked = np.flatnonzero(costs.valid)
            keys = [rows[row].tobytes() for row in asked]
            known = memory.recall(keys)
            new = {key: int(row) for key, row in zip(keys, asked, strict=True) if key not in known}
            mappings = [MappingBatch(rows)[row] for row in new.values()]
            new_keys = list(new)
            for place, answer in self.answers(layer, accelerator, mappings):
                self.watch(answer)
                known[new_keys[place]] = answer
                memory.keep(new_keys[place], answer)
            self._note(told, known)
            return _costs(costs, asked, [known[key] for key in keys])

        return price

    def counters(
        self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch
    ) -> list[dict[str, float]]:
        """See CostModel: of mappings that this process has priced, or that the cache file has."""
        said = self._said(layer, accelerator, mappings)
        return [{} if each is None or isinstance(each, Refusal) else dict(each[COUNTERS]) for each in said]

    def refusals(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> list[str]:
        """See CostModel: of mappings that this process has asked for, or that the cache file has."""
        said = self._said(layer, accelerator, mappings)
        return [each.text if isinstance(each, Refusal) else "" for each in said]

    def _said(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> list[Answer | None]:
        """What was told of n mappings, None where that is nothing."""
        told = self._told[self._identity(layer, accelerator)]
        keys = [row.tobytes() for row in mappings.rows]
        missing = [key for key in keys if key not in told]
        if self.cache and missing:
            self._note(told, self._memory(layer, accelerator).recall(missing))
        return [told.get(key) for key in keys]

    @cached_property
    def _told(self) -> defaultdict[str, Told]:
        """What is told by layer and accelerator, and by mapping. It answers no question for figures."""
        return defaultdict(dict)

    @staticmethod
    def _note(told: Told, known: Table[bytes, Answer]) -> None:
        for key, answer in known.items():
            worth = answer.text if isinstance(answer, Refusal) else COUNTERS in answer
            if worth and len(told) < MAX:
                told[key] = answer

    @property
    def frees_misfits(self) -> bool:  # type: ignore[override]
        """See CostModel."""
        return self.misfits == FREE

    def free(self, layer: Layer, accelerator: Accelerator, mappings: MappingBatch) -> BoolArray:
        """See CostModel."""
        from dse.models.loopnest import LoopNest

        machines, costs = mappings.machines, LoopNest().prepared(layer, accelerator)
        ours = costs(mappings.rows, machines)
        return ours.valid & ~_without_misfits(ours, accelerator, machines).valid

    def trust(self) -> None:
        """Take what goes wrong from now on for the mappings' fault."""
        self._trusted = True

    def watch(self, answer: Answer) -> None:
        """See an answer. InputError where the first PATIENCE of all have the same fault."""
        if self._trusted:
            return
        if not isinstance(answer, Refusal) or not answer.fault:
            self.trust()
            return
        self._faults = (*self._faults, answer)[-PATIENCE:]
        if len(self._faults) == PATIENCE and len({refusal.fault for refusal in self._faults}) == 1:
            raise PricesNothing(
                f"cost model {self.spec} has priced none of the first {PATIENCE} mappings, always for the "
                f"same reason (no sample is spent): {answer.shown}"
            )

    def refusal(self, layer: Layer, accelerator: Accelerator, mapping: Mapping) -> str:
        """What was said or seen when the mapping was asked for."""
        for _, answer in self.answers(layer, accelerator, [mapping]):
            if isinstance(answer, Refusal):
                return str(answer)
        return ""

    def _memory(self, layer: Layer, accelerator: Accelerator) -> Memory:
        identity: dict[str, Any] = {
            "model": self.identity,
            "version": self.version,
            "layer": layer.to_dict(),
            "accelerator": accelerator.figures,
        }
        return Memory(identity, self.cache)

    @staticmethod
    def _identity(layer: Layer, accelerator: Accelerator) -> str:
        return digest({"layer": layer.to_dict(), "accelerator": accelerator.figures})


def _without_misfits(
    costs: CostBatch, accelerator: Accelerator, machines: IntArray | None = None
) -> CostBatch:
    """Costs in which what does not fit into the buffers is refused, and has no figures but what it needs."""
    columns = {name: column.copy() for name, column in costs.columns().items()}
    own = np.array([accelerator.machine_row], dtype=np.int64)
    machines = own if machines is None else machines
    # The first that is too small is the reason, as where the rules find it.
    for buffer, reason in (("l2_size", Reason.L2_TOO_SMALL), ("l1_size", Reason.L1_TOO_SMALL)):
        beyond = costs.valid & (columns[buffer] > figure_column(machines, buffer))
        columns["valid"][beyond], columns["reason"][beyond] = False, reason
    refused = costs.valid & ~columns["valid"]
    for name in ("cycles", "energy_nj", "power", "area", "macs"):
        columns[name][refused] = 0
    return CostBatch.of(columns)


def _costs(ours: CostBatch, asked: IntArray, answers: list[Answer]) -> CostBatch:
    """Our costs of a batch, with the answers for the rows that were asked for in their place."""
    found = {name: column.copy() for name, column in ours.columns().items()}
    for name in Figures.types():
        if name in ("power", "area"):
            found[name][:] = 0
    for row, answer in zip(asked, answers, strict=True):
        if isinstance(answer, Refusal):
            found["valid"][row], found["reason"][row] = False, answer.reason
            answer = dict.fromkeys(Figures.types(), 0)
        else:
            found["energy_nj"][row] = 0.0
        for name in answer.keys() - {*NOTES}:
            found[name][row] = answer[name]
    return CostBatch.of(found)
