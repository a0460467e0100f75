"""The kernels read and write nothing beyond their arrays: as plain Python, where that is an IndexError."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dse.models.timeloop.proof import boxes
from tests import ROOT
from tests.optimum.small_proofs import begin_with_few_points, results

PLAIN = """
import numba

def njit(*arguments, **options):
    def plain(function):
        function.py_func = function
        return function
    return plain(arguments[0]) if arguments else plain

numba.njit = njit

from dse.models.timeloop.proof import boxes, search
from tests.optimum.small_proofs import results

search.FIRST_POINTS, search.STEPS_DOWN, boxes.ROUNDS = 8, 1, 2
print(*results(), sep="\\n")
"""


def test_small_proofs_by_plain_python_stay_in_their_arrays_and_end_as_the_compiled_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr[-600:]
    begin_with_few_points(monkeypatch, 8, 1)
    monkeypatch.setattr(boxes, "ROUNDS", 2)
    found = run.stdout.splitlines()
    assert found == list(results())
    assert sum("optimal" in line for line in found) == 10
