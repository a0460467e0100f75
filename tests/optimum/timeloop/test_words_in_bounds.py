"""The bound's kernels read nothing beyond their arrays: as plain Python, where that is an IndexError."""

from __future__ import annotations

import os
import subprocess
import sys

from tests import ROOT

PROOF = """
from dse.optimum.timeloop import search
from dse.problem.machine_problem import MachineProblem
from dse.spec.hierarchy.machine import TENSORS, Level, Machine
from dse.spec.layer import Layer

search.FIRST_POINTS, search.STEPS_DOWN = 16, 1
levels = (
    Level("DRAM", keeps=TENSORS, fan_out=2),
    Level("Store", capacity=40, keeps=TENSORS),
    Level("PE", keeps=("W",)),
)
problem = MachineProblem(Layer.gemm(2, 4, 2), Machine("tiny", levels, 1.0), "edp", "timeloop")
print(search.solve(problem).status)
"""


def test_a_proof_whose_last_dim_is_gone_through_reads_no_chain_past_the_end() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", PROOF], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert (run.returncode, run.stdout) == (0, "optimal\n"), run.stderr[-400:]
