"""Following what numba compiles: which kernel, how many of its functions, in how many seconds."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher
from numba.core.event import Event, Listener, install_listener, register, trigger_event

from dse.support.jit import OPTIONS

COMPILE = "numba:compile"


class Compilations(Listener):  # type: ignore[misc]
    """Counts compilations; what a kernel has compiled for itself counts with it, loading from disk not."""

    def __init__(
        self,
        tell: Callable[[float], None] = lambda seconds: None,
        begin: Callable[[], None] = lambda: None,
        now: Callable[[], float] = lambda: time.perf_counter(),
    ) -> None:
        """`begin` is called as a kernel begins; `tell` gets the seconds it took, by `now`, as it ends."""
        self.kernel = ""
        self.done = self.functions = 0
        self.seconds = 0.0
        self._tell, self._begin, self._now = tell, begin, now
        self._begun: list[float] = []

    def on_start(self, event: Event) -> None:
        """A function begins to be compiled, maybe within another one."""
        self._begun.append(self._now())
        dispatcher = event.data["dispatcher"]
        if len(self._begun) == 1:
            self.kernel = "" if dispatcher is None else dispatcher.py_func.__name__
            self.functions += count_functions(dispatcher)
            self._begin()
        if dispatcher is not None:
            # Further signatures, and what numba's own functions call, are known only now.
            self.functions = max(self.functions, self.done + len(self._begun))

    def on_end(self, event: Event) -> None:
        """The function that began last is compiled."""
        begun = self._begun.pop()
        if event.data["dispatcher"] is not None:
            self.done += 1
        if not self._begun:
            taken = self._now() - begun
            self.seconds += taken
            self._tell(taken)


_computed = Compilations(now=time.process_time)
register(COMPILE, _computed)


def seconds_but_compiling() -> float:
    """CPU seconds of this process, less those that kernels took to compile since this was imported."""
    return time.process_time() - _computed.seconds


@contextmanager
def tell_of_compiling(tell: Callable[[float], None]) -> Iterator[None]:
    """Within, `tell` gets the seconds of every compilation of a kernel as it ends."""
    with install_listener(COMPILE, Compilations(tell)):
        yield


@contextmanager
def compiled_elsewhere() -> Iterator[None]:
    """Within, another process is waited for that compiles; that counts like compiling."""
    with trigger_event(COMPILE, data={"dispatcher": None}):
        yield


def count_functions(dispatcher: Any) -> int:
    """How many compiled functions one is made of, itself among them, each once for all signatures."""
    found: list[Any] = [] if dispatcher is None else [dispatcher]
    for one in found:
        scope = one.py_func.__globals__
        for name in one.py_func.__code__.co_names:
            called = scope.get(name)
            if isinstance(called, Dispatcher) and called not in found:
                found.append(called)
    return len(found)


def compiled_before(kernel: Any) -> bool:
    """Whether a kernel is on disk, or cannot be there."""
    cache = getattr(kernel, "_cache", None)
    name = getattr(getattr(cache, "_impl", None), "filename_base", None)
    if not OPTIONS["cache"] or name is None:
        return True
    return Path(cache.cache_path, f"{name}.nbi").is_file()  # type: ignore[union-attr]


def compile_beside(module: str, *arguments: str) -> Callable[[], None]:
    """Run a module in a process of its own; what is returned waits for its end, which counts as compiling.

    Whether it comes to anything does not matter: what it has not compiled is compiled here.
    """
    command = [sys.executable, "-m", module, *arguments]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return lambda: None

    def wait() -> None:
        with compiled_elsewhere():
            process.wait()

    return wait
