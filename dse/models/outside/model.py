"""A cost model that asks something outside for an answer a mapping, and knows what it has asked already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dse.core.cost_model import PricesNothing
from dse.core.figures import CostBatch, Figures
from dse.core.layer import Layer
from dse.core.model_settings import ModelSettings
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.cost_model import CostModel, PriceRows, PriceSome, on_each_machine
from dse.domains.clustered.mapping import Mapping, MappingBatch
from dse.models.outside.answers import Answer, Refusal
from dse.models.outside.memory import Memory
from dse.support.arrays import IntArray

RULES = "rules 2"
"""Part of the version of what users write: since 2 they may say fewer cycles than MACs take."""
PATIENCE = 3
"""Mappings for which something may be wrong in the same way before that is not the mappings' fault."""


class OutsideModel(CostModel):
    """Answers become figures. What an answer leaves out is filled in.

    MACs are the layer's, the buffers needed are as `loopnest` counts them (two tiles of each tensor), power
    and area are 0. A mapping that `loopnest` refuses (a tile of 0, a cluster larger than the array) is
    refused for the same reason, without asking.
    """

    outside = True
    prices_strides = True
    _trusted = False
    """Whether it has answered: then what goes wrong is the mapping's fault."""
    _faults: tuple[Refusal, ...] = ()
    """What was wrong until now, of one that has not answered yet."""
    cache: str = ""
    """The file that answers are kept in; none if empty."""
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

        def price(rows: IntArray) -> CostBatch:
            costs = ours(rows)
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
            return _costs(costs, asked, [known[key] for key in keys])

        return price

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
        for name, figure in answer.items():
            found[name][row] = figure
    return CostBatch.of(found)
