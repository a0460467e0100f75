"""What searchers cost: the CPU time of their own work beside that of pricing, and their memory.

Each is measured in a process of its own, so that none profits from what another has loaded.
"""

from __future__ import annotations

import builtins
import multiprocessing
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dse.core.problem import AnyProblem
from dse.search.run import Cell, RunTimes, make_ready, run_cell
from dse.search.searcher import make_searcher
from dse.support.errors import format_exception
from dse.support.interrupts import prepare_process

Row = dict[str, Any]

FIGURES = (
    "cpu_seconds",
    "model_seconds",
    "us_per_sample",
    "model_us_per_sample",
    "import_seconds",
    "peak_mb",
)
_STATUS = Path("/proc/self/status")


def measure_search(name: str, problem: AnyProblem, budget: int, seed: int = 0) -> Row:
    """One search by the registered searcher `name` in a fresh process: the FIGURES, all in CPU time.

    `cpu_seconds` is the searcher's work (the gate's included), `model_seconds` that of pricing, and
    `us_per_sample` and `model_us_per_sample` are the same per sample, in microseconds. `import_seconds`, in
    none of them, is what importing the searcher and its libraries takes; `peak_mb` is the largest memory
    that the process held, in MB. Where the search fails the figures are None and `failure` says why.
    """
    figures, failure = in_own_process(_figures, name, problem, budget, seed)
    return {
        "searcher": name,
        "budget": budget,
        **{figure: (figures or {}).get(figure) for figure in FIGURES},
        "failure": failure,
    }


def in_own_process(work: Callable[..., Any], *arguments: object) -> tuple[Any, str | None]:
    """What the work comes to in a fresh process, or None and why there is nothing."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(sender, work, arguments), daemon=True)
    process.start()
    sender.close()
    try:
        result, failure = receiver.recv()
    except EOFError:
        process.join()
        result, failure = None, f"its process ended with code {process.exitcode}"
    finally:
        process.terminate()
        process.join()
    return result, failure


def _tell(sender: Connection, work: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    """What the process does."""
    prepare_process()
    try:
        sender.send((work(*arguments), None))
    except Exception as error:
        sender.send((None, format_exception(error)))


def _figures(name: str, problem: AnyProblem, budget: int, seed: int) -> dict[str, float]:
    make_ready(problem)
    times = RunTimes()
    with _import_clock() as imported:
        start = time.process_time()
        searcher = make_searcher(name)
        loading = time.process_time() - start
        before = imported()
        run_cell(Cell(problem, name, searcher, seed, budget), times=times)
        late = imported() - before
    own = times.searcher - late
    return {
        "cpu_seconds": own,
        "model_seconds": times.model,
        "us_per_sample": own / budget * 1e6,
        "model_us_per_sample": times.model / budget * 1e6,
        "import_seconds": loading + late,
        "peak_mb": peak_mb(),
    }


@contextmanager
def _import_clock() -> Iterator[Callable[[], float]]:
    """Gives the CPU seconds that import statements have taken since it began.

    Searchers import their libraries late, in the midst of a search.
    """
    ordinary = builtins.__import__
    seconds, inside = 0.0, False

    def timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal seconds, inside
        if inside:
            return ordinary(*args, **kwargs)
        inside, start = True, time.process_time()
        try:
            return ordinary(*args, **kwargs)
        finally:
            inside = False
            seconds += time.process_time() - start

    builtins.__import__ = timed
    try:
        yield lambda: seconds
    finally:
        builtins.__import__ = ordinary


def peak_mb() -> float:
    """The largest memory that this process has held, in MB."""
    if _STATUS.exists():
        # Linux hands the parent's peak on to ru_maxrss of a process that it starts; this one is our own.
        found = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if found:
            return int(found[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
