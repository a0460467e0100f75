"""A campaign that is killed, stopped or out of disk goes on to the same records, sample by sample."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dse.cli import main
from dse.search.record import read_parquet

CAMPAIGN = """
name = "killed"
budget = 8_000
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
KILLS = 1
"""Beside one of the main process alone; `prove_campaign.py` kills oftener, and more searchers."""

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


def kill_and_go_on(folder: Path, times: int, undisturbed: Records) -> None:
    """Kill a campaign after random moments of work, now and then a worker first, and go on to its end.

    A campaign that got to its end between two kills is followed by another one.
    """
    chance, at = random.Random(20), folder / "campaign"
    for killed in range(times):
        process = start(at)
        while not wait_for_work(process, at, drawn(at)):
            assert process.wait() == 0
            assert records(at) == undisturbed
            at = folder / f"campaign{killed}"
            process = start(at)
        time.sleep(chance.random() * 0.6)
        workers = children(process.pid)
        if chance.random() < 0.5 and workers:
            os.kill(chance.choice(workers), signal.SIGKILL)
            time.sleep(chance.random() * 0.5)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    finish(at)
    assert records(at) == undisturbed
    assert not list((at / "journals").iterdir())


def test_kills_at_random_moments_change_no_sample(tmp_path: Path, undisturbed: Records) -> None:
    kill_and_go_on(tmp_path, KILLS, undisturbed)


def children(parent: int) -> list[int]:
    """Processes that `parent` has started."""
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def test_killing_only_the_main_process_leaves_no_worker_behind_and_changes_no_sample(
    tmp_path: Path, undisturbed: Records
) -> None:
    folder = tmp_path / "campaign"
    process = start(folder)
    assert wait_for_work(process, folder, 0)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    finish(folder)
    assert records(folder) == undisturbed


def test_being_asked_to_stop_stops_cleanly_and_says_how_to_go_on(
    tmp_path: Path, undisturbed: Records
) -> None:
    """By Ctrl-C, which all processes of a terminal get; then, having gone on, by a scheduler's SIGTERM.

    The first time somebody has stopped the workers, and is impatient.
    """
    folder = tmp_path / "campaign"
    for send, number, workers in ((os.killpg, signal.SIGINT, 2), (os.kill, signal.SIGTERM, 1)):
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
    finish(folder)
    assert records(folder) == undisturbed


def test_a_full_disk_is_said_in_one_line_and_loses_nothing(tmp_path: Path, undisturbed: Records) -> None:
    folder = tmp_path / "campaign"

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    process = start(folder, workers=1, preexec_fn=small_disk)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "Traceback" not in errors
    assert errors.strip().splitlines()[-1].startswith("dse: error:")
    assert "cannot be" in errors
    finish(folder)
    assert records(folder) == undisturbed
