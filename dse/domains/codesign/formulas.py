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
from dse.support.errors import InputError, shorten, unknown_name

Interval = tuple[float, float]
Ends = Callable[[Mapping[str, Interval]], Interval]

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

    @cached_property
    def _ends(self) -> Ends:
        return _ends_of(self._tree)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made of the text, of which functions cannot be sent to another process."""
        return {"text": self.text, "where": self.where, "is_name": self.is_name}

    def value(self, known: Mapping[str, float]) -> float:
        """Its value where names stand for numbers."""
        return self.interval({name: (known[name], known[name]) for name in self.names})[0]

    def interval(self, known: Mapping[str, Interval]) -> Interval:
        """Bounds of its values where names stand for numbers between bounds."""
        try:
            found = self._ends(known)
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
                    raise unknown_name("function", name, FUNCTIONS, self.where)
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


def _ends_of(node: Any) -> Ends:
    """What works out the bounds of a node. A formula is asked again and again: its names are read once."""
    if isinstance(node, ast.Constant):
        number: Any = node.value
        return lambda known: (number, number)
    if isinstance(node, ast.Call):
        parts, function = [_ends_of(one) for one in node.args], FUNCTIONS[ast.unparse(node.func)][1]

        def of_call(known: Mapping[str, Interval]) -> Interval:
            ends = [part(known) for part in parts]
            return (function(*(low for low, _ in ends)), function(*(high for _, high in ends)))

        return of_call
    if isinstance(node, ast.BinOp):
        left, right, of = _ends_of(node.left), _ends_of(node.right), OPERATORS[type(node.op)]
        divides = isinstance(node.op, ast.Div)

        def of_two(known: Mapping[str, Interval]) -> Interval:
            some, others = left(known), right(known)
            if divides and others[0] <= 0 <= others[1]:
                raise ZeroDivisionError
            corners = [of(one, other) for one in some for other in others]
            return (min(corners), max(corners))

        return of_two
    name = ast.unparse(node)
    return lambda known: known[name]
