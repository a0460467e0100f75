"""Why designs are not feasible, and the smallest changes that would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
