"""How many bits a word of each tensor has, where a layer or the hardware says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dse.support.errors import InputError, shorten, unknown_name
from dse.support.validation import whole_number

MAX_BITS = 1024


@dataclass(frozen=True)
class Widths:
    """Bits of a word of the weights, the inputs and the outputs; None where nobody says."""

    W: int | None = None
    I: int | None = None  # noqa: E741 (the tensor's name)
    O: int | None = None  # noqa: E741 (the tensor's name)

    @classmethod
    def read(cls, data: object, where: str) -> Widths:
        """The widths of a table such as `{W = 4, I = 8, O = 32}`; None says nothing. InputError if wrong."""
        if data is None:
            return NO_WIDTHS
        if isinstance(data, Widths):
            return data
        if not isinstance(data, Mapping):
            raise InputError(f"{where} must be a table such as {{W = 4, I = 8, O = 32}}, got {shorten(data)}")
        names = [field.name for field in fields(cls)]
        for name, bits in data.items():
            if name not in names:
                raise unknown_name("tensor", name, names, where)
            whole_number(bits, f"{where}.{name}", most=MAX_BITS)
        return cls(**data)

    def __bool__(self) -> bool:
        return self != NO_WIDTHS

    def over(self, other: Widths) -> Widths:
        """These, and where they say nothing, the other's."""
        return Widths(**(other.to_dict() | self.to_dict()))

    def filled(self, bits: int) -> dict[str, int]:
        """The bits of each tensor, `bits` where nobody says."""
        return {field.name: getattr(self, field.name) or bits for field in fields(self)}

    def to_dict(self) -> dict[str, Any]:
        """What is said, as plain data."""
        return {name: bits for name, bits in vars(self).items() if bits is not None}

    def __str__(self) -> str:
        return ", ".join(f"{name} {bits}" for name, bits in self.to_dict().items())


NO_WIDTHS = Widths()
