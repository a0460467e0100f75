"""What a run is charged as CPU time: the search and its prices, and nothing that a first run does once."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dse.core.layer import Layer
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import Evaluator
from dse.search.run import Cell, RunTimes, run_cell

CAMPAIGN = """
name = "first"
budget = 10
seeds = 1
cost_model = "loopnest"
layers = ["alexnet:fc8"]
accelerators = ["edge"]
objectives = ["edp"]

[searchers.random]
"""
FIRST_OF_A_WORKER = """
import sys, time
from pathlib import Path
from dse.campaign.reading import load_campaign
from dse.campaign.worker import PROGRESS, Task, run_task
from dse.search.progress import SharedProgress
from dse.cli.commands.run import find_layers

SharedProgress(Path(PROGRESS), 1)
(named,) = load_campaign("campaign.toml", find_layers).cells()
found = run_task(Task(named, Path(), 0)).summary
print(found.searcher_seconds + found.model_seconds, time.process_time())
"""


@dataclass(frozen=True)
class Compiles:
    """Compiles a kernel amid its search."""

    spent: list[float]

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        import numba

        begun = time.process_time()
        numba.njit(lambda x: np.cumsum(x)[0])(np.zeros(3))
        self.spent.append(time.process_time() - begun)
        evaluate(evaluate.space.sample(rng, evaluate.remaining))


def test_a_kernel_that_is_compiled_amid_a_run_is_not_charged_to_it() -> None:
    problem, spent, times = Problem(Layer.fc(8, 8), PRESETS["edge"], "edp", "loopnest"), [], RunTimes()
    run_cell(Cell(problem, "random", Compiles(spent), 0, 10), times=times)
    assert spent[0] > 0.1
    assert times.searcher + times.model < spent[0] / 4


def test_a_workers_first_run_is_not_charged_for_loading_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("campaign.toml").write_text(CAMPAIGN)
    (tmp_path / "cells").mkdir()
    (tmp_path / "journals").mkdir()
    run = [sys.executable, "-c", FIRST_OF_A_WORKER]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    charged, whole = map(float, said.split())
    assert charged < whole / 20
