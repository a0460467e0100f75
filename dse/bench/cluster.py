"""How much sooner a campaign ends on several workers of a Dask cluster than on one, all on this machine."""

from __future__ import annotations

import io
import logging
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dse.campaign.cluster import DaskExecutor
from dse.campaign.config import Campaign, NamedProblem, Variant
from dse.campaign.executors import MakeExecutor
from dse.campaign.progress import LineDisplay
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.core.problem import AnyProblem
from dse.search.searcher import default_searcher, make_searcher
from dse.support.errors import InputError

CELLS, BUDGET = 40, 800
"""Of the default searcher: more cells than any number of workers that one machine has."""
WARM_BUDGET = 20


def measure(problem: AnyProblem, workers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """For each number of workers: the `seconds` of a campaign, and how many `times` as fast that is.

    Every worker has compiled its kernels before. InputError where Dask is not installed.
    """
    first = None
    for count in workers:
        seconds = _seconds(problem, count)
        first = first or seconds
        yield {"workers": count, "cells": CELLS, "seconds": seconds, "times": first / seconds}


def _seconds(problem: AnyProblem, workers: int) -> float:
    try:
        from distributed import LocalCluster
    except ImportError:
        raise InputError("dse bench cluster takes Dask; pip install 'dse-arena[cluster]'") from None
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=workers, **options) as cluster:
        address = cluster.scheduler_address

        def connect(count: int) -> DaskExecutor:
            return DaskExecutor(count, address, {})

        _run(problem, 2 * workers, WARM_BUDGET, connect)
        return _run(problem, CELLS, BUDGET, connect)


def _run(problem: AnyProblem, cells: int, budget: int, make_executor: MakeExecutor) -> float:
    """Seconds from the first cell to the end of the last."""
    name = default_searcher()
    variant = Variant(name, name, make_searcher(name))
    named = NamedProblem(problem.layer.name, "machine", problem)
    display = _Clock()
    plan = Campaign("bench", budget, tuple(range(cells)), (named,), (variant,))
    with tempfile.TemporaryDirectory(prefix="dse-bench-") as folder, Store(Path(folder), plan) as store:
        ended = run_campaign(store, display, workers=1, make_executor=make_executor)
    if ended.done < cells:
        raise InputError(f"{cells - ended.done} of {cells} cells failed: {display.shown.getvalue().strip()}")
    return display.last - display.first


class _Clock(LineDisplay):
    """Notes when the first cell began and when the last ended."""

    def __init__(self) -> None:
        self.shown = io.StringIO()
        self.first = self.last = 0.0
        super().__init__(self.shown)

    def started(self, cell: Any, worker: str = "") -> None:
        self.first = self.first or time.monotonic()
        super().started(cell, worker)

    def ended(self, cell: Any, summary: Any, failure: str | None) -> None:
        self.last = time.monotonic()
        super().ended(cell, summary, failure)
