"""Which layer reads what, traced through the operators of a model that are no layers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dse.core.edges import BESIDE, INPUT, ROWS, WEIGHT, Edge

WHOLE_ROWS = ("softmax", "norm", "reduce", "mean", "sum", "amax", "pool", "argmax", "var")
"""What is in the names of operators that need more than one place of what they read."""
SHAPES = ("shape", "size", "constantofshape", "sym_size")
"""Operators that read no values."""
ATTENTION = {"query": (0, INPUT), "key": (0, WEIGHT), "value": (1, WEIGHT)}
"""Of an operator that is two products, scores and context: which of them reads what."""


@dataclass
class Traced:
    """`made` says of each tensor which layer's output it is, and whether whole rows were needed since."""

    order: list[str] = field(default_factory=list)
    made: dict[Hashable, tuple[str, bool]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def passes(self, operator: str, inputs: Iterable[Hashable], outputs: Iterable[Hashable]) -> None:
        """An operator that is no layer: what it makes is what the last of its layers made, others beside."""
        name = operator.partition("::")[2].lower() or operator.lower()
        if any(name == one for one in SHAPES):
            return
        known = [self.made[one] for one in inputs if one in self.made]
        if not known:
            return
        last = max((source for source, _ in known), key=self.order.index)
        rows = any(rows for source, rows in known if source == last) or any(one in name for one in WHOLE_ROWS)
        for source, _ in known:
            if source != last:
                self._add(Edge(source, last, BESIDE))
        self.made |= dict.fromkeys(outputs, (last, rows))

    def layers(
        self, names: Sequence[str], operands: Mapping[str, Hashable], outputs: Iterable[Hashable]
    ) -> None:
        """The layers of an operator; operands are INPUT, WEIGHT and BESIDE, or those of ATTENTION."""
        self.order += names
        if len(names) == 2 and set(operands) == set(ATTENTION):
            self._add(Edge(names[0], names[1], INPUT, ROWS))
            for which, (place, operand) in ATTENTION.items():
                self._read(operands[which], names[place], operand)
        elif len(names) == 1:
            for operand, tensor in operands.items():
                self._read(tensor, names[0], operand)
        else:
            # Parts of one operator, such as gates and steps: each needs what the others made.
            for one, two in pairwise(names):
                self._add(Edge(one, two, BESIDE))
        self.made |= dict.fromkeys(outputs, (names[-1], False))

    def _read(self, tensor: Hashable, reader: str, operand: str) -> None:
        if tensor in self.made:
            source, rows = self.made[tensor]
            self._add(Edge(source, reader, operand, ROWS if rows else ""))

    def _add(self, edge: Edge) -> None:
        if edge not in self.edges:
            self.edges.append(edge)
