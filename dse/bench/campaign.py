"""What a campaign of very many cells costs beside its searches: to begin, to go on, and to report.

The cells are made up, so that nothing is searched: each ends at once with a summary of the usual size. Every
step is measured in a process of its own.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from dse.bench.searchers import in_own_process, peak_mb
from dse.campaign.config import Campaign, NamedCell, NamedProblem, Variant
from dse.campaign.executors import InProcess
from dse.campaign.progress import LineDisplay
from dse.campaign.runner import run_campaign
from dse.campaign.store import Store
from dse.campaign.summary import Summary
from dse.campaign.worker import Outcome, Task
from dse.core.problem import AnyProblem
from dse.search.searcher import default_searcher, make_searcher
from dse.support.errors import InputError

Row = dict[str, Any]
Step = Callable[[Path, Campaign], float]

SEARCHERS, OBJECTIVES, BUDGET = 5, ("latency", "edp"), 2000
STEPS, PARTS = 12, 100
"""Of a made-up run: improvements, and parts of which the mean loss is kept."""


def measure(problem: AnyProblem, cells: int) -> Iterator[Row]:
    """For each step, `seconds` and `peak_mb`: the largest memory that its process held, in MB.

    `problem` is what the cells are of, under each of OBJECTIVES; `cells` are rounded up to whole seeds.
    """
    plan = _campaign(problem, cells)
    steps: dict[str, Step] = {
        "begin, to the first cell": _begin,
        "enter all cells but one": _most,
        "go on, to the next cell": _begin,
        "enter the last and write the curves": _last,
        "report": _report,
    }
    with tempfile.TemporaryDirectory(prefix="dse-bench-") as folder:
        for name, step in steps.items():
            figures, failure = in_own_process(_step, step, Path(folder), plan)
            if failure is not None:
                raise InputError(f"a campaign of {_size(plan):,} cells cannot be measured: {failure}")
            yield {"step": name, "cells": _size(plan), "seconds": figures[0], "peak_mb": figures[1]}


def _campaign(problem: AnyProblem, cells: int) -> Campaign:
    sampler = default_searcher("sampler")
    seeds = max(1, -(-cells // (SEARCHERS * len(OBJECTIVES))))
    return Campaign(
        "bench",
        BUDGET,
        tuple(range(seeds)),
        tuple(
            NamedProblem(f"bench:{problem.layer.name}", "machine", problem.with_changes(objective=objective))
            for objective in OBJECTIVES
        ),
        tuple(
            Variant(f"{sampler}-{place}", sampler, make_searcher(sampler))
            for place in range(1, SEARCHERS + 1)
        ),
    )


def _size(plan: Campaign) -> int:
    return len(plan.seeds) * len(plan.problems) * len(plan.variants)


class _MadeUp(InProcess):
    """Ends each cell at once, up to so many of them; then the campaign is interrupted."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.first = 0.0

    def submit(self, function: Callable[[Task], Outcome], task: Task, /) -> Future[Outcome]:
        self.first = self.first or time.monotonic()
        self.most -= 1
        if self.most < 0:
            raise KeyboardInterrupt
        future: Future[Outcome] = Future()
        future.set_result(Outcome(task.named.key, _made_up(task.named)))
        return future


def _run(folder: Path, plan: Campaign, most: int) -> _MadeUp:
    executor = _MadeUp(most)
    with Store(folder, plan) as store:
        run_campaign(store, LineDisplay(io.StringIO()), workers=1, make_executor=lambda workers: executor)
    return executor


def _begin(folder: Path, plan: Campaign) -> float:
    start = time.monotonic()
    return _run(folder, plan, 0).first - start


def _most(folder: Path, plan: Campaign) -> float:
    start = time.monotonic()
    _run(folder, plan, _size(plan) - 1)
    return time.monotonic() - start


def _last(folder: Path, plan: Campaign) -> float:
    start = time.monotonic()
    _run(folder, plan, 1)
    return time.monotonic() - start


def _report(folder: Path, plan: Campaign) -> float:
    from dse.report.writing import write_report

    start = time.monotonic()
    write_report(folder)
    return time.monotonic() - start


def _made_up(named: NamedCell) -> Summary:
    """A run that gets better by chance, a little less so for each searcher."""
    cell, problem = named.cell, named.problem
    rng = np.random.default_rng([cell.seed, *named.key.encode()])
    loss = np.sort(rng.lognormal(0.1 * float(named.variant.name[-1]), 0.5, STEPS))[::-1] * 1e-9
    whole = np.sort(rng.integers(1, 10**6, STEPS))[::-1].tolist()
    index = np.sort(rng.choice(cell.budget, STEPS, replace=False)).tolist()
    steps = {"index": index, "loss": loss.tolist(), "energy_nj": loss.tolist()}
    return Summary(
        key=named.key,
        fingerprint=cell.fingerprint,
        layer=problem.layer,
        network=problem.network,
        repeats=1,
        accelerator=problem.accelerator,
        clock_ghz=1.0,
        objective=problem.objective,
        searcher=named.variant.name,
        type=named.variant.type,
        seed=cell.seed,
        budget=cell.budget,
        samples=cell.budget,
        distinct=cell.budget,
        infeasible={"l1_too_small": 10},
        elsewhere=0,
        searcher_seconds=1.0,
        model_seconds=1.0,
        genes=[0] * len(cell.problem.space.sizes),
        mean_losses=rng.random(PARTS).tolist(),
        steps=steps | dict.fromkeys(("cycles", "l1_size", "l2_size"), whole),
    )


def _step(step: Step, folder: Path, plan: Campaign) -> tuple[float, float]:
    """A step's seconds, and the peak memory of its process, in MB."""
    return step(folder, plan), peak_mb()
