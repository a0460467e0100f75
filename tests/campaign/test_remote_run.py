"""A campaign on workers that do not see its folder: they may die or go away, and no sample changes."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import time
import unittest.mock
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from dse.campaign import remote
from dse.campaign.executors import LocalProcesses, executor_maker, executor_names
from dse.campaign.remote import ClusterLost, Link, Piece, RemoteExecutor, RemoteTask, WorkerLost, run_remote
from dse.campaign.worker import Outcome
from dse.search.record import from_parquet
from dse.support.errors import InputError
from dse.support.numerics.cpu import numerical_cpu
from tests.campaign.campaign_searchers import Raising
from tests.campaign.test_campaign import campaign, records, run

PLAN = campaign(("random", None), ("walk", None), budget=600)


class Dies(BaseException):
    """What happens to a worker here where its process would be killed."""


class Back(Link):
    """Hands pieces to a list; dies with the piece of a number."""

    def __init__(self, pieces: list[Piece], dies_after: int) -> None:
        self.pieces, self.left = pieces, dies_after

    def send(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.left -= 1
        if not self.left:
            raise Dies

    def wanted(self) -> bool:
        return True


class Here(RemoteExecutor):
    """Runs each task where it is submitted. The tasks of these numbers die after their second piece."""

    capacity = 1

    def __init__(self, deaths: Iterable[int] = (), lost_after: int = 10**6) -> None:
        self.deaths, self.lost_after = set(deaths), lost_after
        self.tasks: list[RemoteTask] = []
        self.pieces: list[Piece] = []

    def submit(self, task: RemoteTask, avoid: Iterable[str] = (), /) -> Future[Outcome]:
        self.tasks.append(pickle.loads(pickle.dumps(task)))
        if len(self.tasks) > self.lost_after:
            raise ClusterLost("scheduler 'here' is gone")
        future: Future[Outcome] = Future()
        dies_after = 2 if len(self.tasks) in self.deaths else 0
        try:
            future.set_result(run_remote(self.tasks[-1], Back(self.pieces, dies_after)))
        except Dies:
            future.set_exception(WorkerLost("gone"))
        return future

    def worker_of(self, future: Future[Outcome]) -> str:
        return "here"

    def arrived(self) -> Iterator[Piece]:
        while self.pieces:
            yield self.pieces.pop(0)

    def notices(self) -> Iterable[str]:
        return ()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is left to end."""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples flow back with every batch."""
    monkeypatch.setattr(remote, "PIECE_SECONDS", 0.0)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list, list]]:
    folder = tmp_path_factory.mktemp("here")
    run(folder, PLAN)
    return records(folder)


@pytest.mark.usefixtures("often")
def test_records_are_those_of_a_run_here_and_a_dying_worker_loses_what_was_not_sent(
    tmp_path: Path, here: dict[str, tuple[list, list]]
) -> None:
    executor = Here(deaths=[2, 3])
    result, shown = run(tmp_path, PLAN, make_executor=lambda workers: executor)
    assert (result.done, result.failed) == (4, 0)
    assert records(tmp_path) == here
    assert shown.count("a worker died; ") == 2
    again = [task for task in executor.tasks if task.earlier is not None]
    assert [len(from_parquet(task.earlier or b"")) for task in again] == [
        int(line.split(" goes on from ")[1].split(" ")[0]) for line in shown.splitlines() if "goes on" in line
    ]
    assert len(executor.tasks) == 6
    assert not list((tmp_path / "journals").iterdir())


@pytest.mark.usefixtures("often")
def test_a_cell_is_tried_again_twice_and_the_others_run(tmp_path: Path) -> None:
    executor = Here(deaths=[1, 2, 3])
    plan = campaign(("walk", None), ("raising", Raising()), budget=600)
    result, shown = run(tmp_path, plan, make_executor=lambda workers: executor)
    assert (result.done, result.failed) == (1, 3)
    assert "failed: its worker died 3 times" in shown
    assert shown.count("failed: RuntimeError: a plug-in's own trouble") == 2


@pytest.mark.usefixtures("often")
def test_a_cluster_that_goes_away_ends_the_run_with_what_is_done(
    tmp_path: Path, here: dict[str, tuple[list, list]]
) -> None:
    with pytest.raises(InputError, match=r"is gone: 2 of 4 cells are done, .* to go on, run"):
        run(tmp_path, PLAN, make_executor=lambda workers: Here(lost_after=2))
    assert len(records(tmp_path)) == 2
    assert run(tmp_path, PLAN)[0].done == 4
    assert records(tmp_path) == here


def test_pieces_that_come_late_or_twice_are_written_once(tmp_path: Path, often: None) -> None:
    class Stuttering(Here):
        def arrived(self) -> Iterator[Piece]:
            pieces = list(super().arrived())
            yield from (*pieces, *pieces[::-1], *pieces[1:])

    executor = Stuttering(deaths=[1])
    assert run(tmp_path, PLAN, make_executor=lambda workers: executor)[0].done == 4
    run(tmp_path / "here", PLAN)
    assert records(tmp_path) == records(tmp_path / "here")


def test_executors_are_found_by_their_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.campaign.executors.LocalProcesses", LocalProcesses)
    assert {"dask", "processes"} <= set(executor_names())
    assert isinstance(executor_maker("processes", None, {})(1), LocalProcesses)
    with pytest.raises(InputError, match="did you mean 'dask'"):
        executor_maker("dusk", None, {})
    with pytest.raises(InputError, match="is for an executor that has one"):
        executor_maker("processes", "tcp://a:1", {})(1)


def wait_for(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Stubborn:
    """A cluster made here, whose worker does not hear that it is to end; closing waits, as Dask's does."""

    def __init__(self) -> None:
        deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); time.sleep(1000)"
        self.worker = subprocess.Popen([sys.executable, "-S", "-c", deaf], stdout=subprocess.PIPE)
        assert self.worker.stdout is not None
        self.worker.stdout.read(1)
        self.workers = {0: self.worker}
        self.went_on = False

    def close(self, timeout: float) -> None:
        _, status = os.waitpid(self.worker.pid, os.WCONTINUED | os.WNOHANG)
        self.went_on = os.WIFCONTINUED(status)
        self.worker.terminate()
        self.worker.wait(60)


def test_a_stopped_worker_of_our_own_dask_cluster_goes_on_to_end_and_is_killed_where_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("distributed")
    from dse.campaign import cluster

    monkeypatch.setattr(cluster, "STOP_SECONDS", 0.2)
    own = Stubborn()
    os.kill(own.worker.pid, signal.SIGSTOP)
    os.waitpid(own.worker.pid, os.WUNTRACED)
    executor = cluster.DaskExecutor.__new__(cluster.DaskExecutor)
    executor._cluster, executor._out, executor._client = own, {}, unittest.mock.Mock()
    executor.shutdown(cancel_futures=True)
    assert own.went_on
    assert own.worker.returncode == -signal.SIGKILL


def test_a_dask_cluster_runs_cells_and_hands_their_samples_back(
    tmp_path: Path, here: dict[str, tuple[list, list]], often: None
) -> None:
    distributed = pytest.importorskip("distributed")
    from dse.campaign.cluster import DaskExecutor

    came: list[Piece] = []

    class Watched(DaskExecutor):
        def arrived(self) -> Iterator[Piece]:
            for piece in super().arrived():
                came.append(piece)
                yield piece

    options = {
        "processes": False,
        "dashboard_address": "127.0.0.1:0",
        "n_workers": 1,
        "threads_per_worker": 2,
    }
    with distributed.LocalCluster(**options) as cluster:
        address = cluster.scheduler_address
        make = lambda workers: Watched(workers, address, {"numpy": np.__version__})  # noqa: E731
        result, shown = run(tmp_path, PLAN, make_executor=make)
        assert result.done == 4
        assert "1 worker now" in shown
        there = {"numpy": np.__version__, "cpu": numerical_cpu()}
        for name, ours in (("numpy", "0.1"), ("cpu", "numpy SSE3")):
            other = DaskExecutor(1, address, there)
            other._versions[name] = ours
            said = f"gets no cells, for it has {name} {there[name]}, here {ours}; "
            with pytest.raises(InputError, match=re.escape(said)):
                wait_for(lambda other=other: other.capacity > 0)  # type: ignore[misc]
            other.shutdown()
    assert records(tmp_path) == here
    assert {piece.key for piece in came} <= {named.key for named in PLAN.cells()}
    assert came


def test_a_searcher_of_a_file_is_refused_where_machines_need_not_have_the_file(tmp_path: Path) -> None:
    plan = campaign(("climb.py:Climb", Raising()))
    with pytest.raises(InputError, match=r"other machines takes installed searchers, got 'climb.py:Climb'"):
        run(tmp_path, plan, make_executor=lambda workers: Here())
