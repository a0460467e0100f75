"""`transfer` begins with what searches of other layers on the same machine have learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.api import search
from dse.support.errors import InputError
from searchers.random import Random
from searchers.team import Team
from searchers.transfer import Transfer
from workloads import load_layer

EDGE = PRESETS["edge"]
PROBLEM = Problem(load_layer("resnet18:layer4.1.conv1"), EDGE, "edp")
OTHERS = ("resnet18:layer1.0.conv1", "resnet18:layer3.1.conv2")
SAMPLES = 60


FOLDER = "others"
"""Seen from where tests run: the path is a setting, and a search's luck depends on its settings."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What random searches of two other layers have left."""
    folder = tmp_path_factory.mktemp("taught") / FOLDER
    for name in OTHERS:
        layer = load_layer(name)
        search(replace(PROBLEM, layer=layer), Random(), budget=SAMPLES, seed=1, out=folder / str(layer.name))
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, seen as FOLDER."""
    monkeypatch.chdir(made.parent)
    return made


def losses(searcher: Team, problem: Problem = PROBLEM) -> list[float]:
    return search(problem, searcher, budget=4, seed=2).record.evaluations().loss.tolist()


def test_its_first_sample_is_among_the_best_of_a_hundred(folder: Path) -> None:
    drawn = PROBLEM.price(PROBLEM.space.sample(np.random.default_rng(0), 1000)).loss
    assert losses(Transfer(folder=FOLDER))[0] < np.quantile(drawn, 0.01)


def test_what_taught_it_counts_as_spent_elsewhere_and_is_part_of_what_it_is(folder: Path) -> None:
    searcher = Transfer(folder=FOLDER)
    assert searcher.samples_elsewhere == len(OTHERS) * SAMPLES
    assert search(PROBLEM, searcher, budget=1, seed=2).cell.identity["settings"]["digest"] == searcher.digest
    assert len(searcher.digest) == 64


def test_from_the_same_folder_it_draws_the_same_samples(folder: Path) -> None:
    searcher = Transfer(folder=FOLDER)
    assert losses(searcher) == losses(searcher)


def test_without_a_folder_it_begins_like_team() -> None:
    assert set(losses(Transfer())[:3]) == set(losses(Team())[:3])


def test_a_folder_that_has_changed_since_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "record.parquet").write_bytes(next(folder.rglob("*.parquet")).read_bytes())
    searcher = Transfer(folder=str(tmp_path))
    (tmp_path / "b.parquet").write_bytes(next(folder.rglob("*.parquet")).read_bytes())
    with pytest.raises(InputError, match="has changed since"):
        losses(searcher)


def test_searches_on_another_machine_teach_nothing(folder: Path) -> None:
    other = replace(PROBLEM, accelerator=PRESETS["eyeriss-small"])
    with pytest.raises(InputError, match="no search on this machine"):
        losses(Transfer(folder=FOLDER), other)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [(None, b"", "holds no searches"), ("record.parquet", b"PAR1 damaged PAR1", "record.parquet")],
)
def test_a_folder_without_whole_searches_is_refused(
    tmp_path: Path, name: str | None, content: bytes, message: str
) -> None:
    if name:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        Transfer(folder=str(tmp_path))
