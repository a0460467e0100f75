"""Equal trials at few samples: all have as many, and campaigns run with what was best in the finals."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.search.searcher import make_searcher
from experiments import read_rows
from experiments.draw_small import MODELS
from experiments.tuning import few
from experiments.tuning.few import RANGES
from experiments.tuning.trials import Trials, drawn
from tests import ROOT

FOLDER = ROOT / "results" / "tuning" / "few"


@pytest.mark.parametrize("name", RANGES)
def test_trials_are_as_many_for_all_and_begin_with_the_settings_as_they_are(name: str) -> None:
    trials = drawn(name, [{}], RANGES[name])
    assert len(trials) == 20
    assert trials[0] == {}
    assert trials == drawn(name, [{}], RANGES[name])
    for settings in trials[1:]:
        assert settings.keys() == RANGES[name].keys()
        make_searcher(name, settings)


def test_what_is_best_in_the_finals_is_taken_whatever_was_best_in_the_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few, "HERE", tmp_path)
    trials = Trials(tmp_path / "local.csv", few.BUDGETS)
    trials.run("trial", {"patience": 4}, lambda: [[1.01] * 6])
    trials.run("final", {}, lambda: [[1.20] * 6])
    trials.run("final", {"patience": 8}, lambda: [[1.19] * 6])
    assert few.best("local") == {"patience": 8}


def test_a_trial_that_is_done_is_not_run_again_and_its_score_is_the_geometric_mean(tmp_path: Path) -> None:
    path = tmp_path / "local.csv"
    Trials(path, (5, 20, 50)).run("trial", {"patience": 4}, lambda: [[2.0, 1.0], [8.0, 1.0]])
    assert path.read_text().splitlines() == [
        "round,settings,score,ratio_5,ratio_20,ratio_50",
        'trial,"{""patience"": 4}",2.0000,4.0000,1.0000,',
    ]
    Trials(path, (5, 20, 50)).run("trial", {"patience": 4}, lambda: pytest.fail("run again"))


def test_the_problems_are_of_both_models_and_some_have_any_tiles() -> None:
    made = [one for place, one in enumerate(few.problems()) if place in few.PLACES]
    assert len(made) == 12
    assert sorted(one.model_spec for one in made) == ["loopnest"] * 5 + ["maestro"] * 7
    assert sum(one.tiles == "any" for one in made) == 2


@pytest.mark.parametrize("name", RANGES)
def test_every_searcher_has_had_its_trials_and_finals(name: str) -> None:
    stages = [row["round"] for row in read_rows(FOLDER / f"{name}.csv")]
    assert stages.count("trial") == len({str(settings) for settings in drawn(name, [{}], RANGES[name])}) >= 17
    assert stages.count("final") in (2, 3)


@pytest.mark.parametrize("model", MODELS)
def test_the_campaign_that_is_committed_is_of_the_trials_that_are(model: str) -> None:
    path = ROOT / "results" / "campaigns" / f"final2-tuned-{model}.toml"
    assert path.read_text(encoding="utf-8") == few.campaign(model)
