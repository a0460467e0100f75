"""A cost model that asks something outside for an answer a mapping, and knows what it has asked already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from dse.cost.figures import CostBatch, Figures
from dse.cost.outside.answers import Answer, Refusal
from dse.cost.outside.memory import Memory
from dse.cost.protocol import CostModel, PriceRows
from dse.cost.settings import ModelSettings
from dse.spec.accelerator import Accelerator
from dse.spec.layer import Layer
from dse.spec.mapping import Mapping, MappingBatch
from dse.support.arrays import IntArray


class OutsideModel(CostModel):
    """Answers become figures. What an answer leaves out is filled in.

    MACs are the layer's, the buffers needed are as `loopnest` counts them (two tiles of each tensor), power
    and area are 0. A mapping that `loopnest` refuses (a tile of 0, a cluster larger than the array) is
    refused for the same reason, without asking.
    """

    outside = True
    prices_strides = True
    cache: str = ""
    """The file that answers are kept in; none if empty."""
    settings: ModelSettings
    """All that it is made of, here and in another process."""

    @classmethod
    def configured(cls, settings: Any) -> Self:
        """The model with settings of its `settings_type`."""
        return cls(settings)  # type: ignore[call-arg]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.settings,)

    @property
    def spec(self) -> str:
        """Its name with its settings: `command(run="./price.sh", timeout=5.0)`."""
        return self.settings.words(self.name)

    @property
    def identity(self) -> str:
        """The same without neutral settings."""
        return self.settings.words(self.name, neutral=False)

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
        """`evaluate` for one layer and accelerator, which remembers what it has asked."""
        from dse.cost.loopnest import LoopNest

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
                known[new_keys[place]] = answer
                memory.keep(new_keys[place], answer)
            return _costs(costs, asked, [known[key] for key in keys])

        return price

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
            "accelerator": accelerator.to_dict(),
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
