"""The time that the proofs of a network have: each of a layer, and all of them together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dse.core.certificate import Certificate

if TYPE_CHECKING:
    from dse.optimum.front import Front

LEAST_TIME = 1e-6
"""Seconds of a proof whose time is over: it has its first bound all the same."""


@dataclass
class NetworkTime:
    """At most `each` seconds for the proofs of a layer, `in_all` for all proofs; None is no limit.

    Time for all of them is shared out as proofs are begun: each has its part of what the ones before it left.
    Compiling and checking do not count.
    """

    each: float | None
    in_all: float | None
    parts: int
    """How many proofs are to come, those of the total counted as one a layer."""
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds so far, by layer."""

    def of_next(self, layer: str) -> float | None:
        """The seconds that the next proof, one of this layer, has."""
        left = math.inf if self.each is None else self.each - self.spent.get(layer, 0.0)
        if self.in_all is not None:
            left = min(left, (self.in_all - self.seconds) / max(self.parts, 1))
        return None if math.isinf(left) else max(left, LEAST_TIME)

    def note(self, layer: str, proof: Certificate | Front) -> None:
        """What a proof of the layer took, or those of its front."""
        self.spent[layer] = self.spent.get(layer, 0.0) + proof.own_seconds

    @property
    def seconds(self) -> float:
        """Seconds of all proofs."""
        return sum(self.spent.values())

    @property
    def over(self) -> bool:
        """Whether the time for all proofs is over."""
        return self.in_all is not None and self.seconds >= self.in_all
