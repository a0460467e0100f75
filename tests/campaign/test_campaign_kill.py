"""A campaign that is killed, stopped or out of disk goes on to the same records, sample by sample."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.cli import main
from dse.search.record import read_parquet
from tests.conftest import Dse

CAMPAIGN = """
name = "killed"
budget = 4_000
seeds = 1
cost_model = "maestro"
objectives = ["edp"]
accelerators = ["eyeriss-small"]
layers = ["alexnet:conv2"]
[searchers.random]
batch_size = 7
[searchers.walk]
[searchers.genetic]
"""
"""`prove_campaign.py` kills oftener, more searchers, and more workers."""

Records = dict[str, tuple[list, list, list]]
"""Genes, losses and reasons of cells, by the names of their files."""


def command(folder: Path, workers: int = 2) -> list[str]:
    """What runs the campaign into `folder`."""
    campaign = folder.parent / "killed.toml"
    campaign.write_text(CAMPAIGN)
    return ["run", str(campaign), "--out", str(folder), "--workers", str(workers), "--tables-only"]


def start(folder: Path, workers: int = 2, **options: object) -> subprocess.Popen[str]:
    """`dse run` of the campaign into `folder`, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "dse", *command(folder, workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )  # type: ignore[call-overload, no-any-return]


def finish(folder: Path) -> None:
    """Run the campaign to its end, in this process."""
    assert main(command(folder)) == 0


def records(folder: Path) -> Records:
    """Every finished cell's genes, losses and reasons."""
    found = {}
    for path in sorted((folder / "cells").glob("*.parquet")):
        record, _ = read_parquet(path)
        evaluations = record.evaluations()
        found[path.name] = record.genes().tolist(), evaluations.loss.tolist(), evaluations.reason.tolist()
    return found


def drawn(folder: Path) -> int:
    """Bytes of samples on disk: they tell that a run has got somewhere."""
    paths = [*folder.glob("journals/*"), *folder.glob("cells/*.parquet")]
    return sum(path.stat().st_size for path in paths if path.exists())


def wait_for_work(process: subprocess.Popen[str], folder: Path, before: int) -> bool:
    """Wait until there are more samples on disk; False if the campaign ended first."""
    while process.poll() is None:
        if drawn(folder) > before:
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Records:
    folder = tmp_path_factory.mktemp("undisturbed") / "campaign"
    finish(folder)
    found = records(folder)
    assert len(found) == 3
    return found


def children(parent: int) -> list[int]:
    """Processes that `parent` has started."""
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def test_a_campaign_whose_main_process_is_killed_then_is_asked_to_stop_goes_on_to_the_same_samples(
    tmp_path: Path, undisturbed: Records
) -> None:
    """By kill -9 first: its worker ends too. Then by Ctrl-C, which all processes of a terminal get.

    Meanwhile somebody has stopped the worker, and is impatient.
    """
    folder = tmp_path / "campaign"
    process = start(folder, workers=1)
    assert wait_for_work(process, folder, 0)
    workers = children(process.pid)
    assert workers
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    ask_to_stop(folder, os.killpg, signal.SIGINT, workers=1)
    finish(folder)
    assert records(folder) == undisturbed


def ask_to_stop(folder: Path, send: Callable[[int, int], None], number: int, workers: int) -> None:
    """Start the campaign, and send it a signal twice in the midst of work: it ends cleanly, and says so."""
    process = start(folder, workers)
    assert wait_for_work(process, folder, drawn(folder))
    for child in children(process.pid) if number == signal.SIGINT else ():
        # Not multiprocessing's own, which outlives the campaign to clear up after it.
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(child, signal.SIGSTOP)
    send(process.pid, number)
    send(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "To go on: dse run" in errors
    assert "Traceback" not in errors


def expect_full_disk(code: int | None, errors: str) -> None:
    """The one line that says that something could not be written."""
    assert code == 2
    assert "Traceback" not in errors
    assert errors.strip().splitlines()[-1].startswith("dse: error:")
    assert "cannot be" in errors


def test_a_full_disk_is_said_in_one_line_and_loses_nothing(
    tmp_path: Path, undisturbed: Records, dse: Dse
) -> None:
    folder = tmp_path / "campaign"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    arguments = command(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, before[1]))
    try:
        outcome = dse(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    expect_full_disk(outcome.code, outcome.err)
    finish(folder)
    assert records(folder) == undisturbed
