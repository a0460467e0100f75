"""What was found in a model: its layers, by names of their own, and what became no layer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dse.core.layer import Layer
from dse.support.errors import InputError
from workloads.models.traced import Traced
from workloads.network import INDEX, LeftOut, Network

NO_SUM = ""
"""Why most operators are no layers: they do no sum of products. It needs no words."""


class NoLayerError(Exception):
    """An operator that does multiply-accumulates, but is no layer that can be mapped.

    `macs` are its multiply-accumulates, None where they are not known.
    """

    def __init__(self, reason: str, macs: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.macs = reason, macs


@dataclass
class Collected:
    """The operators of a model, as they are met in the order in which it runs them."""

    layers: list[Layer] = field(default_factory=list)
    traced: Traced = field(default_factory=Traced)
    _left_out: dict[tuple[str, str], list[int | None]] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    """The names that are taken, each with the last number that was put behind it."""

    def add(self, name: str, operator: str, layers: Sequence[Layer]) -> list[Layer]:
        """The layers of an operator, named after it, or after what it is if it has no name."""
        name = _plain(name) or operator
        # Behind a colon, a number is a layer's place.
        name = f"{operator}.{name}" if INDEX.fullmatch(name) else name
        for part, layer in enumerate(layers):
            own = layer.name or (str(part) if len(layers) > 1 else "")
            self.layers.append(replace(layer, name=self._free(f"{name}.{own}" if own else name)))
        return self.layers[len(self.layers) - len(layers) :]

    def leave_out(self, operator: str, macs: int | None, reason: str = NO_SUM) -> None:
        """An operator that is no layer."""
        self._left_out.setdefault((operator, reason), []).append(macs)

    def network(self, name: str, source: str) -> Network:
        """The network. Those left out with the most work, or with work that nobody knows, come first."""
        entries = [
            LeftOut(operator, len(macs), None if None in macs else sum(one or 0 for one in macs), reason)
            for (operator, reason), macs in self._left_out.items()
        ]
        if not self.layers:
            seen = ", ".join(
                f"{entry.operator} ({entry.reason})" if entry.reason else entry.operator
                for entry in sorted(entries, key=lambda one: not one.reason)[:5]
            )
            seen = seen or "nothing"
            raise InputError(
                f"{source}: it has no convolution and no matrix product that can be mapped; it has {seen}"
            )
        unknown_first = sorted(entries, key=lambda one: (one.macs is not None, -(one.macs or 0), -one.count))
        edges, also_read = self.traced.edges, self.traced.also_read
        return Network.of(name, source, self.layers, unknown_first, edges, also_read)

    def _free(self, name: str) -> str:
        """The name, with a number behind it if another layer has it."""
        free, number = name, self._names.get(name, 1)
        while free in self._names:
            number += 1
            free = f"{name}_{number}"
        self._names[name] = number
        self._names.setdefault(free, 1)
        return free


def _plain(name: str) -> str:
    """A name that can stand behind a colon, as in FILE.onnx:NAME."""
    return re.sub(r"[^\w./-]+", "_", name).strip("/_")
