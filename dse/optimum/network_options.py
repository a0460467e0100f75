"""How a network's proofs are run: what they may take, the time that each has, and several processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dse.core.certificate import Certificate
from dse.support.interrupts import prepare_process

if TYPE_CHECKING:
    from dse.optimum.front import Front

Answer = TypeVar("Answer")
LEAST_TIME = 1e-6
"""Seconds of a proof whose time is over: it has its first bound all the same."""


@dataclass(frozen=True)
class NetworkOptions:
    """How much a network's proofs may take, and what comes with them."""

    time_limit: float | None = None
    """Seconds of each layer's proofs; None is no limit."""
    in_all: float | None = None
    """Seconds of all proofs together."""
    cache: bool | str | Path = True
    """Where certificates are kept: see `dse.optimum.certify`."""
    check: bool = False
    """Whether each certificate is verified."""
    gap: float = 0.0
    """The share above its bound at which the proofs of a total end."""
    workers: int = 1
    """Processes that prove layers at once."""
    lines: bool = False
    """Whether two convolutions of a chain may have a line buffer."""


DEFAULTS = NetworkOptions()


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


class SideBySide(Protocol):
    """Calls a function with each of some arguments; answers come in their order."""

    def __call__(
        self, function: Callable[..., Answer], calls: Iterable[tuple[Any, ...]], /
    ) -> Iterator[Answer]:
        """The answers. In one process, the arguments of a call are made when the one before is done."""


@contextmanager
def side_by_side(workers: int) -> Iterator[SideBySide]:
    """What calls functions in so many processes, or in this one."""
    if workers == 1:
        yield lambda function, calls: (function(*call) for call in calls)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=prepare_process) as pool:

        def call_all(function: Callable[..., Answer], calls: Iterable[tuple[Any, ...]]) -> Iterator[Answer]:
            waiting = [pool.submit(function, *call) for call in calls]
            try:
                for one in waiting:
                    yield one.result()
            finally:
                for one in waiting:
                    one.cancel()

        yield call_all
