"""Proofs of a network one after another in this process, or several at a time in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from dse.support.interrupts import prepare_process

Answer = TypeVar("Answer")


class SideBySide(Protocol):
    """Calls a function with each of some arguments; answers come in their order."""

    def __call__(
        self, function: Callable[..., Answer], calls: Iterable[tuple[Any, ...]], /
    ) -> Iterator[Answer]:
        """The answers. In one process, the arguments of a call are made when the one before is done."""
        ...


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
