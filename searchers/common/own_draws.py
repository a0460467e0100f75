"""A search's own random numbers, in libraries that draw from the generators which a whole process shares.

Python's `random` and `numpy.random` have one generator each. Another thread that draws from it (Dask's do)
would shift what a search draws, and a search that seeds it, what the others draw. So a library's modules are
handed stand-ins for `random` and numpy: within `Draws.used` they draw from the search's own streams, which
give what the shared generators would from the same seeds, and in any other thread as ever from those.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Draws:
    """The streams of a search, in place of Python's and numpy's."""

    python: random.Random
    numpy: np.random.RandomState
    seeds: bool = False
    """Whether generators of numpy that are made without a seed get one from here."""

    @classmethod
    def seeded(cls, python: int, numpy: int = 0, *, seeds: bool = False) -> Draws:
        """Streams that begin as the shared ones do from these seeds; numpy's are below 2**32."""
        return cls(random.Random(python), np.random.RandomState(numpy), seeds)

    def seed(self, seed: int) -> None:
        """Begin both anew."""
        self.python.seed(seed)
        self.numpy.seed(seed)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Within, routed libraries draw from here in this thread, and go on where they left off."""
        token = _used.set(self)
        try:
            yield
        finally:
            _used.reset(token)


_used: ContextVar[Draws | None] = ContextVar("_used", default=None)


def route_draws(package: str) -> None:
    """Have the modules of `package` that are loaded draw from the Draws in use, where there are any."""
    modules = [module for name, module in list(sys.modules.items()) if f"{name}.".startswith(f"{package}.")]
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, ModuleType) and (instead := _INSTEAD.get(value.__name__)) is not None:
                setattr(module, name, instead)


def inherit_draws(thread: type[threading.Thread]) -> None:
    """Have threads of this class, a library's own, draw from the Draws in use where they are made."""
    if "_made_in" in vars(thread):
        return
    run, make = thread.run, thread.__init__

    def make_here(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        self._made_in = copy_context()

    def run_there(self: Any) -> None:
        self._made_in.run(run, self)

    vars_of: Any = thread
    vars_of.__init__, vars_of.run, vars_of._made_in = make_here, run_there, None


class _Random(ModuleType):
    """Stands in for the module `random`."""

    def __getattr__(self, name: str) -> Any:
        draws = _used.get()
        return getattr(random if draws is None else draws.python, name, None) or getattr(random, name)


class _NumpyRandom(ModuleType):
    """Stands in for `numpy.random`, whose own functions are methods of the generator that all share."""

    def __getattr__(self, name: str) -> Any:
        draws = _used.get()
        if draws is not None and draws.seeds and name in _SEEDED:
            return _SEEDED[name]
        return getattr(np.random if draws is None else draws.numpy, name, None) or getattr(np.random, name)


class _IsState(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.random.RandomState)


class _SeededState(np.random.RandomState, metaclass=_IsState):
    """A RandomState that takes its seed, where it is given none, from the Draws in use."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(_seed() if seed is None else seed)


def _seeded_rng(seed: Any = None) -> np.random.Generator:
    return np.random.default_rng(_seed() if seed is None else seed)


def _seed() -> int | None:
    draws = _used.get()
    return None if draws is None else int(draws.numpy.randint(2**31))


_SEEDED: dict[str, Any] = {"RandomState": _SeededState, "default_rng": _seeded_rng}


class _Numpy(ModuleType):
    """Stands in for numpy: all of it is as it is, but for `random`."""

    def __init__(self) -> None:
        super().__init__("numpy")
        vars(self).update({name: value for name, value in vars(np).items() if name != "random"})

    @property
    def random(self) -> ModuleType:
        return _INSTEAD["numpy.random"]


_INSTEAD: dict[str, ModuleType] = {
    "random": _Random("random"),
    "numpy": _Numpy(),
    "numpy.random": _NumpyRandom("numpy.random"),
}
"""The stand-ins, by the names that they have too: routing a module twice changes nothing."""
