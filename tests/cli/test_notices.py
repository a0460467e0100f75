"""Warnings of our own are one line on stderr, in the command's process and in its workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import Dse

NOTING = """import warnings
from searchers.calibrated.strategy import UselessAdviser
def price(layer, accelerator, mapping):
    warnings.warn("adviser 'mine' says little", UselessAdviser)
    return {"cycles": 10**9}
"""


def test_what_a_searcher_says_of_its_adviser_is_one_line_without_a_place_in_the_code(
    dse: Dse, tmp_path: Path
) -> None:
    (tmp_path / "noting.py").write_text(NOTING)
    where = ["--layer", "mlp:1", "--accelerator", "eyeriss-small", "--objective", "latency"]
    judge = ["--cost-model", f"{tmp_path / 'noting.py'}:price", "--budget", "3", "--json"]
    found = dse("search", *where, "--searcher", "random", *judge)
    assert found.code == 0
    (line,) = [line for line in found.err.splitlines() if "adviser" in line]
    assert line == "dse: warning: adviser 'mine' says little"
    assert ".py" not in found.err


def test_a_worker_says_notices_in_a_line_and_leaves_other_warnings_as_they_are() -> None:
    program = (
        "import warnings\n"
        "from dse.support.errors import Notice\n"
        "from dse.support.interrupts import prepare_process\n"
        "prepare_process()\n"
        "warnings.warn('of ours,\\nin two', Notice)\n"
        "warnings.warn('of others')\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours, others = found.stderr.splitlines()[:2]
    assert ours == "dse: warning: of ours, in two"
    assert "UserWarning: of others" in others
