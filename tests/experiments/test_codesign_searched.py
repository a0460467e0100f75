"""What is said of searches for the certified machine follows from the runs that are kept."""

from __future__ import annotations

import numpy as np

from experiments import read_rows
from experiments.codesign.searched import FOLDER, SEEDS, WAYS
from experiments.intervals import mean_of
from tests import ROOT

ROWS = read_rows(FOLDER / "searched.csv")


def after(way: str, samples: int) -> np.ndarray:
    return np.array([float(row[str(samples)]) for row in ROWS if row["way"] == way])


def test_every_way_has_every_seed_and_never_gets_worse() -> None:
    assert [(int(row["seed"]), row["way"]) for row in ROWS] == [
        (seed, way) for seed in range(SEEDS) for way in WAYS
    ]
    for way in WAYS:
        values = np.array([after(way, samples) for samples in (100, 500, 1000, 2000)])
        assert (np.diff(values, axis=0) <= 0).all()
        # The certified machine is the best that there is.
        assert (values >= 1 - 1e-9).all()


def test_the_page_says_what_team_in_team_comes_to() -> None:
    ratios = after("team, team inside (50)", 2000)
    said = mean_of(np.log(ratios)).exp().shown(3)
    page = " ".join((ROOT / "results" / "proofs.md").read_text(encoding="utf-8").split())
    assert f"`team` with `team` inside is at {said} times the proven EDP after 2,000 network" in page
    limits = (ROOT / "results" / "limits.md").read_text(encoding="utf-8")
    assert SEEDS == 6
    assert (int((ratios <= 1.02).sum()), "four of six runs are" in limits) == (4, True)
