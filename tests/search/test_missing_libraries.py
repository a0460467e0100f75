"""A searcher whose library is missing is refused before its first sample, with what to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dse
from dse.support import plugins
from tests.conftest import Dse
from workloads import load_layer

SEARCH = ("search", "--layer", "resnet18:3", "--accelerator", "edge", "--objective", "edp", "--budget", "5")


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Distributions that are taken for missing."""
    names: set[str] = set()
    version = plugins.version

    def found(name: str) -> str:
        if name in names:
            raise plugins.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(plugins, "version", found)
    return names


def test_the_line_names_the_library_and_the_extra_that_brings_it(dse: Dse, gone: set[str]) -> None:
    gone |= {"torch", "stable-baselines3"}
    said = dse(*SEARCH, "--searcher", "ppo").refused()
    assert "searcher 'ppo' needs stable-baselines3, torch, which are not installed" in said
    assert "pip install 'dse-arena[learners]'" in said


def test_the_extra_that_brings_least_is_named(dse: Dse, gone: set[str]) -> None:
    gone.add("torch")
    assert "pip install 'dse-arena[torch]'" in dse(*SEARCH, "--searcher", "gradient").refused()


def test_a_campaign_is_refused_before_any_of_its_cells_runs(dse: Dse, gone: set[str], tmp_path: Path) -> None:
    gone.add("torch")
    file = tmp_path / "two.toml"
    file.write_text(
        'name = "two"\nbudget = 5\nseeds = 1\nobjectives = ["edp"]\naccelerators = ["edge"]\n'
        'layers = ["resnet18:3"]\n[searchers.random]\n[searchers.ppo]\n'
    )
    said = dse("run", str(file), "--out", str(tmp_path / "out"), "--tables-only").refused()
    assert "searcher 'ppo' needs torch, which is not installed" in said
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_searchers_that_do_not_use_it_search_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "stable_baselines3", "gymnasium", "pettingzoo"):
        monkeypatch.setitem(sys.modules, name, None)
    problem = dse.Problem(load_layer("resnet18:3"), dse.load_accelerator("edge"), objective="edp")
    for name in ("team", "genetic", "gamma", "local", "marl"):
        assert len(dse.search(problem, name, budget=20).record) == 20
