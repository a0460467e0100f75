"""Figures that follow from others, as formulas such as `pe * ceil(scratchpad_kb * 1024 / pe)`.

A formula is worked out for one machine, or for all machines of a box at once, by interval arithmetic: of
numbers between bounds it gives bounds of the result. Both go through the same floating-point operations in
the same order, each of which is monotone in each operand, so the bounds hold to the last bit.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dse.domains.levels.machine import sram_pj
from dse.support.errors import InputError, shorten, unknown

Interval = tuple[float, float]

LONGEST, DEEPEST = 500, 50
LARGEST = 1e60
"""Beyond it, a number in a formula has left the range of what machines have."""

Number = Callable[..., float]

OPERATORS: dict[type[ast.operator], Number] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FUNCTIONS: dict[str, tuple[int, Number]] = {
    "ceil": (1, math.ceil),
    "floor": (1, math.floor),
    "sqrt": (1, math.sqrt),
    "min": (2, min),
    "max": (2, max),
    "sram_pj": (2, sram_pj),
}
"""How many arguments each takes; each is monotone, and none of them falls in an argument."""


@dataclass(frozen=True)
class Formula:
    """A formula as it was written. InputError, that begins with `where`, for what is none."""

    text: str
    where: str
    is_name: bool = False
    """Whether it is a name as it stands, whatever letters it has."""

    @cached_property
    def _tree(self) -> Any:
        if self.is_name:
            return ast.Name(self.text)
        if len(self.text) > LONGEST:
            raise InputError(f"{self.where} must be at most {LONGEST} letters long, got {len(self.text):,}")
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(
                f"{self.where} is no formula: numbers, names, + - * / and {', '.join(FUNCTIONS)}, got "
                f"{shorten(self.text)}"
            ) from None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in it, such as `pe` and `levels.Buffer.size`, in order, each once."""
        found: dict[str, None] = {}
        self._check(self._tree, found, 0)
        return tuple(found)

    def value(self, known: Mapping[str, float]) -> float:
        """Its value where names stand for numbers."""
        return self.interval({name: (known[name], known[name]) for name in self.names})[0]

    def interval(self, known: Mapping[str, Interval]) -> Interval:
        """Bounds of its values where names stand for numbers between bounds."""
        try:
            found = self._of(self._tree, known)
        except (ZeroDivisionError, ValueError, OverflowError):
            raise InputError(f"{self.where} has no value: {shorten(self.text)}") from None
        if not all(abs(end) < LARGEST for end in found):
            raise InputError(f"{self.where} leaves the range of numbers: {shorten(self.text)}")
        return found

    def _check(self, node: ast.expr, names: dict[str, None], depth: int) -> None:
        """See that a node is of a formula; its names are put into `names`."""
        if depth > DEEPEST:
            raise InputError(f"{self.where} is nested more than {DEEPEST} deep")
        match node:
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                return
            case ast.BinOp(op=op) if type(op) in OPERATORS:
                below: list[Any] = [node.left, node.right]
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                if name not in FUNCTIONS:
                    raise unknown("function", name, FUNCTIONS, self.where)
                wanted, below = FUNCTIONS[name][0], node.args
                if len(below) != wanted:
                    raise InputError(f"{self.where}: {name} takes {wanted} numbers, got {len(below)}")
            case ast.Name() | ast.Attribute():
                names.setdefault(ast.unparse(node))
                return
            case _:
                raise InputError(
                    f"{self.where} may have numbers, names, + - * / and {', '.join(FUNCTIONS)} alone, got "
                    f"{shorten(ast.unparse(node))}"
                )
        for one in below:
            self._check(one, names, depth + 1)

    def _of(self, node: Any, known: Mapping[str, Interval]) -> Interval:
        if isinstance(node, ast.Constant):
            number: Any = node.value
            return (number, number)
        if isinstance(node, ast.Call):
            ends = [self._of(one, known) for one in node.args]
            function = FUNCTIONS[ast.unparse(node.func)][1]
            return (function(*(low for low, _ in ends)), function(*(high for _, high in ends)))
        if isinstance(node, ast.BinOp):
            left, right = self._of(node.left, known), self._of(node.right, known)
            if isinstance(node.op, ast.Div) and right[0] <= 0 <= right[1]:
                raise ZeroDivisionError
            of = OPERATORS[type(node.op)]
            corners = [of(one, other) for one in left for other in right]
            return (min(corners), max(corners))
        return known[ast.unparse(node)]
