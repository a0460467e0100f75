"""Where a learner's time goes: a hook that it enters and leaves at the beginning and end of each phase.

A learner is handed `phases` and says `with phases("sampling"): ...`; what becomes of that is its owner's
affair. Phases nest: what runs within another is a part of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

Phases = Callable[[str], AbstractContextManager[None]]
"""Given a phase's name, the block that it is."""

ACTIONS, UPDATE, SAMPLING, TARGET_Q, Q_LOSS, P_LOSS = (
    "action selection", "update", "sampling", "target Q", "Q loss", "P loss",
)  # fmt: skip

_NOTHING: AbstractContextManager[None] = nullcontext()


def measure_nothing(_: str) -> AbstractContextManager[None]:
    """The hook that does nothing."""
    return _NOTHING


class Stopwatch:
    """A hook that adds up the time of each phase, by a clock such as that of the wall.

    `seconds` has a phase by its path, as in ("update", "sampling"); its time includes that of its parts.
    `entered` counts the phases.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[tuple[str, ...], float] = {}
        self.entered = 0
        self.clock = clock
        self._path: tuple[str, ...] = ()

    def __call__(self, name: str) -> AbstractContextManager[None]:
        """The block that is the phase `name`, within the phase that is running."""
        return _Span(self, name)

    def _enter(self, name: str) -> None:
        self._path = (*self._path, name)
        self.entered += 1

    def _leave(self, seconds: float) -> None:
        self.seconds[self._path] = self.seconds.get(self._path, 0.0) + seconds
        self._path = self._path[:-1]


class _Span(AbstractContextManager[None]):
    __slots__ = ("_begun", "_name", "_watch")

    def __init__(self, watch: Stopwatch, name: str) -> None:
        self._watch, self._name, self._begun = watch, name, 0.0

    def __enter__(self) -> None:
        self._watch._enter(self._name)
        self._begun = self._watch.clock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch._leave(self._watch.clock() - self._begun)
