"""One design judged in full: its figures, whether it is feasible, every objective, where the cycles go.

And why designs are not feasible, with the smallest changes that would help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

from dse.core.cost_model import Detail


@dataclass(frozen=True)
class BufferUse:
    """Words that a design needs of a buffer, of those that there are; `use` is the share."""

    needed: int
    capacity: int
    use: float

    @classmethod
    def of(cls, needed: int, capacity: int) -> BufferUse:
        """So many words of those that there are."""
        return cls(needed, capacity, needed / capacity)


class Line(NamedTuple):
    """A figure of a breakdown as a table shows it: its name, its value, and what that is of."""

    name: str
    value: object
    remark: str


def buffer_line(name: str, use: BufferUse, unit: str) -> Line:
    """How full a buffer is; `unit` is what its capacity counts."""
    return Line(name, use.needed, f"of {use.capacity:,} {unit}: {use.use:.1%}")


class Breakdown(Protocol):
    """Where the buffers and the cycles of a design go: a dataclass of a domain.

    `ideal_cycles` are the layer's MACs on all that can compute, `utilisation` is ideal over actual cycles,
    and `bound` says on what most cycles go.
    """

    @property
    def ideal_cycles(self) -> int: ...

    @property
    def utilisation(self) -> float: ...

    @property
    def bound(self) -> str: ...

    @property
    def held(self) -> Mapping[str, BufferUse]:
        """The buffers by name."""

    @property
    def lines(self) -> Sequence[Line]:
        """All of it, as a table shows it."""


@dataclass(frozen=True)
class Evaluation:
    """What a design costs (`figures`, as a case's result), and what that is worth.

    `loss` is by objective, in its unit, and None where the design is not `feasible`; `reason` says why it is
    not. Without costs there is no `breakdown`, and a `detail` from models that have one only.
    """

    figures: dict[str, Any]
    feasible: bool
    reason: str | None
    loss: dict[str, float | None]
    breakdown: Breakdown | None
    detail: Detail | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: the figures, `feasible`, `reason`, `loss` and `breakdown`.

        The breakdown holds the detail's parts, where there is one: `cycles`, `energy_nj`, `words`, `buffers`,
        and where the model tells more `tensors` and `leakage_nj`.
        """
        detail = self.detail.to_dict() if self.detail else {}
        breakdown: Any = self.breakdown
        # The unit is the detail's to say, where it is not the usual one.
        own = {name: part for name, part in asdict(breakdown).items() if name != "unit"} if breakdown else {}
        parts = {**own, **detail} if breakdown else None
        return {
            **self.figures,
            "reason": self.reason,
            "feasible": self.feasible,
            "loss": self.loss,
            "breakdown": parts,
        }


@dataclass(frozen=True)
class Change:
    """What would have to be otherwise, by name: from which value to which; and a mapping feasible then."""

    values: Mapping[str, tuple[Any, Any]]
    mapping: Any

    def __str__(self) -> str:
        return " and ".join(f"{name} {old} -> {new}" for name, (old, new) in self.values.items())

    def to_dict(self) -> dict[str, Any]:
        """The change as plain data."""
        changes = {name: {"from": old, "to": new} for name, (old, new) in self.values.items()}
        return {"changes": changes, "mapping": self.mapping.to_dict()}


@dataclass(frozen=True)
class Explanation:
    """Whether it is feasible, and why not; `refused` counts reasons over the mappings that were `tried`.

    `hardware`, `genes` and `limits` are changes, the smallest first, each of which would do by itself.
    """

    feasible: bool
    reason: str
    tried: int
    refused: Mapping[str, int]
    hardware: tuple[Change, ...] = ()
    genes: tuple[Change, ...] = ()
    limits: tuple[Change, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data."""
        limits = {"limits": [change.to_dict() for change in self.limits]} if self.limits else {}
        return {
            "feasible": self.feasible,
            "reason": self.reason,
            "tried": self.tried,
            "refused": dict(self.refused),
            "hardware": [change.to_dict() for change in self.hardware],
            "genes": [change.to_dict() for change in self.genes],
            **limits,
        }
