"""Campaigns on a Dask cluster of worker processes on this machine, run by `make prove`: kills and all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign import test_campaign_kill
from tests.campaign.test_campaign_kill import Records, drawn, finish, records

CAMPAIGN = """
name = "killed"
budget = 120_000
seeds = 1
cost_model = "maestro"
objectives = ["edp"]
accelerators = ["eyeriss-small"]
layers = ["alexnet:conv2", "resnet18:layer2.0.conv2"]
[searchers.random]
batch_size = 2
[searchers.walk]
[searchers.genetic]
"""
CELLS = 6
OLDER = "import dse; dse.__version__ = '0.0.9'; from distributed.cli.dask_worker import main; main()"


class Cluster:
    """A scheduler and its workers, each a process, on loopback."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        told = folder / "scheduler.json"
        self.scheduler = self._start(
            "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(told),
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while not told.exists():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        self.address: str = json.loads(told.read_text())["address"]
        self.workers: list[subprocess.Popen[bytes]] = []

    def add_worker(self, *, older: bool = False) -> subprocess.Popen[bytes]:
        """Start a worker; an `older` one says that it has another version."""
        code = ("-c", OLDER) if older else ("-m", "distributed.cli.dask_worker")
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        self.workers.append(self._start(*code, self.address, *options))
        return self.workers[-1]

    def close(self) -> None:
        """Kill what is left."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        # Not in the checkout, nor in the campaign's folder: nothing there is to be seen by a worker.
        elsewhere = self._folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, *arguments], cwd=elsewhere, **quiet)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module", autouse=True)
def campaign_of_these_tests() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_campaign_kill, "CAMPAIGN", CAMPAIGN)
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Records:
    folder = tmp_path_factory.mktemp("undisturbed") / "campaign"
    finish(folder)
    found = records(folder)
    assert len(found) == CELLS
    return found


def start(folder: Path, cluster: Cluster | None) -> subprocess.Popen[str]:
    """`dse run` of the campaign on the cluster, or on one of its own, into `folder`."""
    campaign = folder.parent / "killed.toml"
    campaign.write_text(CAMPAIGN)
    command = [sys.executable, "-m", "dse", "run", str(campaign), "--out", str(folder), "--tables-only"]
    command += ["--executor", "dask", *(["--scheduler", cluster.address] if cluster else [])]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for_samples(process: subprocess.Popen[str], folder: Path, cells: int) -> None:
    """Wait until so many cells that are running have samples here."""
    deadline = time.monotonic() + 300
    while sum(path.stat().st_size > 3000 for path in folder.glob("journals/*.journal")) < cells:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=600)
    assert "Traceback" not in errors
    return process.returncode, errors


def test_a_worker_that_dies_and_one_that_is_slow_change_no_sample(
    tmp_path: Path, cluster: Cluster, undisturbed: Records
) -> None:
    folder = tmp_path / "campaign"
    killed, slow = cluster.add_worker(), cluster.add_worker()
    process = start(folder, cluster)
    wait_for_samples(process, folder, 2)
    os.kill(slow.pid, signal.SIGSTOP)
    killed.kill()
    time.sleep(5)
    os.kill(slow.pid, signal.SIGCONT)
    code, errors = ended(process)
    assert code == 0, errors
    assert records(folder) == undisturbed
    assert errors.count("a worker died; ") == 1
    assert " goes on from 0 samples" not in errors
    assert "is gone; 1 worker now" in errors
    assert not list((folder / "journals").iterdir())
    ledger = [line for line in errors.splitlines() if line.startswith("[")]
    assert len(ledger) == CELLS


def test_a_scheduler_that_goes_away_ends_the_run_which_goes_on_elsewhere(
    tmp_path: Path, cluster: Cluster, undisturbed: Records
) -> None:
    folder = tmp_path / "campaign"
    cluster.add_worker()
    process = start(folder, cluster)
    wait_for_samples(process, folder, 1)
    cluster.scheduler.kill()
    code, errors = ended(process)
    assert code == 2
    said = errors.strip().splitlines()[-1]
    assert said.startswith(f"dse: error: scheduler {cluster.address} is gone")
    assert f"of {CELLS} cells are done, the others keep their samples; to go on, run the same again" in said
    assert drawn(folder) > 3000
    finish(folder)
    assert records(folder) == undisturbed


def test_ctrl_c_stops_the_workers_too_and_keeps_the_samples(
    tmp_path: Path, cluster: Cluster, undisturbed: Records
) -> None:
    folder = tmp_path / "campaign"
    cluster.add_worker()
    process = start(folder, cluster)
    wait_for_samples(process, folder, 1)
    os.kill(process.pid, signal.SIGINT)
    code, errors = ended(process)
    assert code == 130
    assert "To go on: dse run" in errors
    assert drawn(folder) > 3000
    code, errors = ended(start(folder, cluster))
    assert code == 0, errors
    assert records(folder) == undisturbed


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The worker processes that a campaign has started."""
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    found = [int(child) for path in children for child in path.read_text().split()]
    return [child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.parametrize("seconds", [0, 0.5, 1])
def test_ctrl_c_while_a_cluster_of_its_own_starts_ends_without_a_traceback(
    tmp_path: Path, seconds: float
) -> None:
    process = start(tmp_path / "campaign", None)
    while not (workers := workers_of(process)):
        time.sleep(0.02)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    code, errors = ended(process)
    assert code == 130
    assert "To go on: dse run" in errors
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


def test_ctrl_c_ends_a_cluster_of_the_campaigns_own_though_its_workers_are_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    process = start(folder, None)
    wait_for_samples(process, folder, 1)
    workers = workers_of(process)
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGINT)  # As a terminal does, which asks every process.
    asked = time.monotonic()
    code, errors = ended(process)
    assert code == 130
    assert time.monotonic() - asked < 10
    assert "To go on: dse run" in errors
    assert drawn(folder) > 3000
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


def test_a_worker_of_another_version_gets_no_cells(
    tmp_path: Path, cluster: Cluster, undisturbed: Records
) -> None:
    folder = tmp_path / "campaign"
    cluster.add_worker(older=True)
    code, errors = ended(start(folder, cluster))
    assert code == 2
    assert "gets no cells, for it has dse-arena 0.0.9, here" in errors.strip().splitlines()[-1]
    cluster.add_worker()
    time.sleep(10)
    code, errors = ended(start(folder, cluster))
    assert code == 0, errors
    assert "gets no cells, for it has dse-arena 0.0.9, here" in errors
    assert records(folder) == undisturbed
