"""Campaigns at length, run by `make prove`: many kills, and workers that are processes and really die."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.campaign.executors import LocalProcesses
from tests.campaign import test_campaign, test_campaign_kill
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
    test_campaign_kill.CAMPAIGN.replace(
        'layers = ["alexnet:conv2"]',
        'layers = ["alexnet:conv2", "resnet18:layer2.0.conv2", "resnet50:layer1.0.conv3"]',
    )
    + "[searchers.gamma]\n[searchers.marl]\nhidden = 8\n"
)
CELLS, KILLS = 15, 20


def test_twenty_kills_at_random_moments_change_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_campaign_kill, "CAMPAIGN", CAMPAIGN)
    whole = tmp_path / "undisturbed" / "campaign"
    whole.parent.mkdir()
    test_campaign_kill.finish(whole)
    undisturbed = test_campaign_kill.records(whole)
    assert len(undisturbed) == CELLS
    test_campaign_kill.kill_and_go_on(tmp_path, KILLS, undisturbed)
