"""Campaigns at length, run by `make prove`: many kills, and workers that are processes and really die."""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.campaign.executors import LocalProcesses
from tests.campaign import test_campaign
from tests.campaign import test_campaign_kill as kill
from tests.campaign.test_campaign import (
    test_a_searcher_that_always_kills_its_process_fails_and_takes_nobody_along,
    test_an_interrupted_searcher_with_less_goes_on_from_its_journal,
)

DEATHS = (
    test_a_searcher_that_always_kills_its_process_fails_and_takes_nobody_along,
    test_an_interrupted_searcher_with_less_goes_on_from_its_journal,
)


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: death.__name__.removeprefix("test_"))
def test_a_worker_of_the_short_suite_dies_as_a_process_does(
    death: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_campaign, "Breaking", LocalProcesses)
    death(tmp_path)


CAMPAIGN = (
    kill.CAMPAIGN.replace("budget = 4_000", "budget = 8_000").replace(
        'layers = ["alexnet:conv2"]',
        'layers = ["alexnet:conv2", "resnet18:layer2.0.conv2", "resnet50:layer1.0.conv3"]',
    )
    + "[searchers.gamma]\n[searchers.marl]\nhidden = 8\n"
)
CELLS, KILLS = 15, 20


def kill_and_go_on(folder: Path, times: int, undisturbed: kill.Records) -> None:
    """Kill a campaign after random moments of work, now and then a worker first, and go on to its end.

    A campaign that got to its end between two kills is followed by another one.
    """
    chance, at = random.Random(20), folder / "campaign"
    for killed in range(times):
        process = kill.start(at)
        while not kill.wait_for_work(process, at, kill.drawn(at)):
            assert process.wait() == 0
            assert kill.records(at) == undisturbed
            at = folder / f"campaign{killed}"
            process = kill.start(at)
        time.sleep(chance.random() * 0.6)
        workers = kill.children(process.pid)
        if chance.random() < 0.5 and workers:
            os.kill(chance.choice(workers), signal.SIGKILL)
            time.sleep(chance.random() * 0.5)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kill.finish(at)
    assert kill.records(at) == undisturbed
    assert not list((at / "journals").iterdir())


def run_whole(folder: Path) -> kill.Records:
    """The records of the campaign that nobody disturbs."""
    folder.mkdir()
    kill.finish(folder / "campaign")
    return kill.records(folder / "campaign")


def test_twenty_kills_at_random_moments_change_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill, "CAMPAIGN", CAMPAIGN)
    undisturbed = run_whole(tmp_path / "undisturbed")
    assert len(undisturbed) == CELLS
    kill_and_go_on(tmp_path, KILLS, undisturbed)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> kill.Records:
    return run_whole(tmp_path_factory.mktemp("whole") / "undisturbed")


def test_workers_stop_at_ctrl_c_and_at_a_schedulers_sigterm(
    tmp_path: Path, undisturbed: kill.Records
) -> None:
    folder = tmp_path / "campaign"
    for send, number, workers in ((os.killpg, signal.SIGINT, 2), (os.kill, signal.SIGTERM, 1)):
        kill.ask_to_stop(folder, send, number, workers)
    kill.finish(folder)
    assert kill.records(folder) == undisturbed


def test_a_disk_that_is_full_for_a_worker_is_said_in_one_line(
    tmp_path: Path, undisturbed: kill.Records
) -> None:
    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    process = kill.start(tmp_path / "campaign", workers=1, preexec_fn=small_disk)
    _, errors = process.communicate(timeout=300)
    kill.expect_full_disk(process.returncode, errors)
    kill.finish(tmp_path / "campaign")
    assert kill.records(tmp_path / "campaign") == undisturbed
