"""What surrounds a search in its process, and must be the same after it: random states, threads, output."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import random
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dse.search.searcher import SearchNote

# The legacy generator is what a searcher may disturb, so here it has to be looked at.
_legacy: Any = np.random.mtrand._rand


@contextlib.contextmanager
def random_states(seed: int) -> Iterator[list[str]]:
    """Seed the global random states, and put them back; the list names those that were drawn from meanwhile.

    They are Python's `random`, `numpy.random` and, once it is imported, torch's.
    """
    found = {name: get() for name, (_, get, _) in _generators().items()}
    for seed_it, _, _ in _generators().values():
        seed_it(seed)
    before = {name: pickle.dumps(get()) for name, (_, get, _) in _generators().items()}
    touched: list[str] = []
    try:
        yield touched
    finally:
        now = _generators()
        touched += [name for name, state in before.items() if pickle.dumps(now[name][1]()) != state]
        for name, state in found.items():
            now[name][2](state)


PACE_SECONDS = 0.0005
"""How often another thread draws."""


@contextlib.contextmanager
def drawing_thread(seed: int) -> Iterator[list[str]]:
    """As `random_states`, beside another thread that draws from the global states all the time.

    The list names those of which it did not get what it would have got alone: somebody drew from them or set
    them, be it for a moment.
    """
    with random_states(seed) as ended:
        others, touched, over = _streams(seed), set[str](), threading.Event()

        def draw() -> None:
            while not over.wait(PACE_SECONDS):
                touched.update(name for name, (shared, alone) in others.items() if shared() != alone())

        thread, interval = threading.Thread(target=draw), sys.getswitchinterval()
        sys.setswitchinterval(PACE_SECONDS)
        thread.start()
        names: list[str] = []
        try:
            yield names
        finally:
            over.set()
            thread.join()
            sys.setswitchinterval(interval)
            touched.update(name for name, (shared, alone) in others.items() if shared() != alone())
            names += sorted(touched)
    ended.clear()


def _streams(seed: int) -> dict[str, tuple[Callable[[], float], Callable[[], float]]]:
    """How a number is drawn from each global random state, and from a generator alone that began like it."""
    streams: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
        "random": (random.random, random.Random(seed).random),
        "numpy.random": (_legacy.random_sample, np.random.RandomState(seed).random_sample),
    }
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        alone = torch.Generator().manual_seed(seed)
        streams["torch"] = (lambda: torch.rand(()).item(), lambda: torch.rand((), generator=alone).item())
    return streams


def _generators() -> dict[str, tuple[Callable[[int], Any], Callable[[], Any], Callable[[Any], Any]]]:
    """How each global random state is seeded, read and set."""
    generators: dict[str, tuple[Callable[[int], Any], Callable[[], Any], Callable[[Any], Any]]] = {
        "random": (random.seed, random.getstate, random.setstate),
        "numpy.random": (_legacy.seed, _legacy.get_state, _legacy.set_state),
    }
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        generators["torch"] = (
            torch.manual_seed,
            lambda: torch.get_rng_state().numpy().tobytes(),
            lambda state: torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8)),
        )
    return generators


@contextlib.contextmanager
def process_settings(threads: int) -> Iterator[list[str]]:
    """Give numerical libraries `threads` threads; the list says which settings the block left changed.

    Threads of BLAS, OpenMP, torch and numba are looked at, and how numpy treats floating-point errors.
    """
    changed: list[str] = []
    with _thread_pools(len(sys.modules)).limit(limits=threads), np.errstate():
        before = _settings()
        try:
            yield changed
        finally:
            after = _settings()
            for name in before.keys() & after.keys():
                if before[name] != after[name]:
                    changed.append(f"{name} is {after[name]}, was {before[name]}")
            changed.sort()
            if "numba threads" in before:
                sys.modules["numba"].set_num_threads(before["numba threads"])


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> Any:
    """Those of the libraries that are loaded once there are so many modules; to look takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _settings() -> dict[str, Any]:
    settings: dict[str, Any] = {f"numpy.geterr()[{kind!r}]": way for kind, way in np.geterr().items()}
    for pool in _thread_pools(len(sys.modules)).info():
        settings[f"{pool['user_api']} threads ({Path(pool['filepath']).name})"] = pool["num_threads"]
    for library in ("torch", "numba"):
        if library in sys.modules:
            settings[f"{library} threads"] = sys.modules[library].get_num_threads()
    return settings


@contextlib.contextmanager
def heard() -> Iterator[list[str]]:
    """Keep output from the terminal; the list holds its lines: stdout, stderr, and warnings once each.

    What compiled libraries write is heard too, and of warnings those that Python shows by default.
    """
    lines: list[str] = []
    text = io.StringIO()
    with tempfile.TemporaryFile() as file, warnings.catch_warnings(record=True) as caught:
        _default_filters()
        try:
            with _descriptors_to(file), contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                yield lines
        finally:
            file.seek(0)
            written = text.getvalue() + file.read().decode(errors="replace")
            shown = [
                f"{item.category.__name__}: {item.message} ({Path(item.filename).name}:{item.lineno})"
                for item in caught
                if not issubclass(item.category, SearchNote)
            ]
            lines += [*filter(str.strip, written.splitlines()), *dict.fromkeys(shown)]


def _default_filters() -> None:
    warnings.resetwarnings()
    warnings.simplefilter("default")
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)


@contextlib.contextmanager
def _descriptors_to(file: BinaryIO) -> Iterator[None]:
    """Send what is written to the descriptors 1 and 2 to `file`."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        for number, _ in kept:
            os.dup2(file.fileno(), number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
