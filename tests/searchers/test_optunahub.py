"""Samplers of OptunaHub as peers, out of registries that are written here."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher
from dse.search.start import start_points
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.testing import broken, check_searcher
from searchers.peers.optunahub import package_of
from tests.conftest import Dse
from tests.testing.contract_cases import IN_PROCESS
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp")
ARGUMENTS = ("search", "--layer", "alexnet:conv2", "--accelerator", "eyeriss-small", "--budget", "6")
PACKAGES = {
    "guided": """
from optuna.samplers import RandomSampler, TPESampler

class Guided(TPESampler):
    def __init__(self, seed=None, startup=4):
        super().__init__(seed=seed, n_startup_trials=startup)

__all__ = ["Guided", "RandomSampler"]
""",
    "spaced": """
import numpy as np
import optunahub

class Spaced(optunahub.samplers.SimpleBaseSampler):
    def __init__(self, search_space):
        super().__init__(search_space)
        self._state, self._rng = np.random.RandomState(), np.random.default_rng()
        assert isinstance(self._state, np.random.RandomState)

    def sample_relative(self, study, trial, search_space):
        share = (self._state.random_sample() + self._rng.random()) / 2
        return {name: kind.low + share * (kind.high - kind.low) for name, kind in search_space.items()}
""",
    "stopping": """
from optuna.samplers import RandomSampler

class Stopping(RandomSampler):
    def after_trial(self, study, trial, state, values):
        study.stop()

__all__ = ["Stopping"]
""",
    "needy": "import a_library_that_is_nowhere",
    "none": "__all__ = []",
}


@pytest.fixture
def registry(tmp_path: Path) -> str:
    pytest.importorskip("optunahub")
    for name, text in PACKAGES.items():
        folder = tmp_path / "samplers" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
    return str(tmp_path)


def drawn(budget: int = 12, start: str = "templates", seed: int = 0, **settings: Any) -> IntArray:
    record = Record(13)
    evaluate = Evaluator(PROBLEM, budget, record=record)
    evaluate.evaluate_start(start_points(PROBLEM, start))
    with suppress(BudgetExhausted):
        make_searcher("optunahub", settings).search(evaluate, np.random.default_rng(seed))
    return record.genes()


@pytest.mark.parametrize(
    "settings",
    [
        {"sampler": "guided"},
        {"sampler": "samplers/guided:RandomSampler"},
        {"sampler": "guided", "genes": "floats", "options": {"startup": 2}},
        {"sampler": "spaced", "genes": "floats"},
        {"sampler": "stopping"},
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
def test_a_sampler_by_its_name_spends_the_budget_and_draws_the_same_again(
    registry: str, settings: dict[str, Any]
) -> None:
    first = drawn(registry=registry, **settings)
    assert first.shape == (12, 13)
    assert np.array_equal(first, drawn(registry=registry, **settings))
    assert not np.array_equal(first, drawn(seed=1, registry=registry, **settings))


def test_a_sampler_keeps_the_contract_of_searchers(registry: str) -> None:
    searcher = make_searcher("optunahub", {"sampler": "guided", "registry": registry})
    assert not broken(check_searcher(searcher, rules=IN_PROCESS, samples=100))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("guide", "did you mean 'guided'?"),
        ("guided:Guide", "unknown class 'Guide' in sampler 'guided:Guide'"),
        ("needy", "No module named 'a_library_that_is_nowhere'): see its requirements.txt"),
        ("none", "has no class of samplers"),
        ("../guided", "sampler must read as 'hebo', or 'hebo:HEBOSampler', got '../guided'"),
        ("guided --set options={speed=2}", "cannot be made with {'speed': 2}: TypeError"),
    ],
)
def test_a_sampler_that_cannot_be_had_is_refused_in_one_line(
    dse: Dse, registry: str, name: str, said: str
) -> None:
    given = ("--searcher", "optunahub", "--set", f"registry={registry}", "--set")
    assert said in dse(*ARGUMENTS, *given, *f"sampler={name}".split(" ")).refused()
    with pytest.raises(InputError, match=r"has no samplers/NAME/__init__\.py"):
        make_searcher("optunahub", {"sampler": "guided", "registry": f"{registry}/samplers"})


def test_a_sampler_of_the_hub_is_taken_from_its_cache_and_else_from_github(
    dse: Dse, registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = import_module("optunahub.hub")
    monkeypatch.setenv("OPTUNAHUB_CACHE_HOME", str(tmp_path / "cache"))
    kept = tmp_path / "cache" / "github.com" / "optuna" / "optunahub-registry" / "v1"
    kept.mkdir(parents=True)
    (kept / "package").symlink_to(registry)
    assert drawn(sampler="guided", ref="v1").shape == (12, 13)

    def unreachable(**_: object) -> None:
        raise ConnectionError("no network")

    def without(**_: object) -> None:
        raise FileNotFoundError("package/samplers/guided")

    for fetch, said in (
        (unreachable, "cannot be loaded (ConnectionError: no network)"),
        (without, "is unkn"),
    ):
        monkeypatch.setattr(hub, "_download_via_git", fetch)
        monkeypatch.setattr(hub, "_download_via_github_api", fetch)
        assert said in dse(*ARGUMENTS, "--searcher", "optunahub", "--set", "sampler=guided").refused()


def test_a_package_that_changes_is_another_searcher(registry: str) -> None:
    before = make_searcher("optunahub", {"sampler": "guided", "registry": registry})
    (Path(registry) / "samplers" / "guided" / "more.py").write_text("MORE = 1")
    assert make_searcher("optunahub", {"sampler": "guided", "registry": registry}) != before
    assert package_of("guided") == ("samplers/guided", "")
