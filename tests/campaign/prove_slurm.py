"""The lines of docs/cluster.md for SLURM, with a stand-in for it that runs jobs on this machine."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign import test_campaign_kill
from tests.campaign.test_campaign_kill import records

DOCS = Path(__file__).parents[2] / "docs" / "cluster.md"
SMALLER = {
    "cores=16, processes=16": "cores=1, processes=1",
    "64GB": "2GB",
    'walltime="08:00:00"': 'walltime="08:00:00", interface="lo"',
    "jobs=8": "jobs=2",
}
"""What is not as in the docs: two workers on loopback do for a test."""
CAMPAIGN = """
name = "killed"
budget = 2000
seeds = 2
cost_model = "maestro"
objectives = ["edp"]
accelerators = ["eyeriss-small"]
layers = ["alexnet:conv2", "resnet18:layer2.0.conv2"]
[searchers.random]
"""
# A job is its own group of processes, and its number that group's, so that scancel ends all of it.
SBATCH = """#!{python}
import os, pathlib, subprocess, sys
jobs = pathlib.Path({jobs!r})
script = jobs / f"{{os.getpid()}}.sh"
script.write_text(pathlib.Path(sys.argv[1]).read_text())
with open(f"{{script}}.log", "w") as log:
    job = subprocess.Popen(["bash", script], start_new_session=True, stdout=log, stderr=log)
print("Submitted batch job", job.pid)
"""
SCANCEL = """#!{python}
import contextlib, os, signal, sys
for job in sys.argv[1:]:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(job), signal.SIGTERM)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `sbatch` and `scancel` are the stand-ins."""
    folder, jobs = tmp_path / "bin", tmp_path / "jobs"
    folder.mkdir()
    jobs.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(text.format(python=sys.executable, jobs=str(jobs)))
        (folder / name).chmod(stat.S_IRWXU)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_the_lines_for_slurm_run_a_campaign(tmp_path: Path, environment: dict[str, str], monkeypatch) -> None:
    pytest.importorskip("dask_jobqueue")
    monkeypatch.setattr(test_campaign_kill, "CAMPAIGN", CAMPAIGN)
    test_campaign_kill.finish(tmp_path / "local")
    found = re.search(r"```python\n(.*# workers\.py\n.*?)```", DOCS.read_text(), re.DOTALL)
    assert found
    lines = found[1]
    for there, here in SMALLER.items():
        assert there in lines
        lines = lines.replace(there, here)
    (tmp_path / "workers.py").write_text(lines)
    (tmp_path / "mine.toml").write_text(CAMPAIGN)
    workers = subprocess.Popen(
        [sys.executable, "workers.py"],
        cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert workers.stdout is not None
    try:
        program, *arguments = shlex.split(workers.stdout.readline())
        assert program == "dse"
        command = [sys.executable, "-m", "dse", *arguments, "--out", "far", "--tables-only"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    finally:
        workers.communicate("\n", timeout=60)
    assert run.returncode == 0, run.stderr
    assert records(tmp_path / "far") == records(tmp_path / "local")
    jobs = [path.read_text() for path in (tmp_path / "jobs").glob("*.sh")]
    assert len(jobs) == 2
    assert all("#SBATCH --cpus-per-task=1" in job for job in jobs)
