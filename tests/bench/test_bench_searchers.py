"""`dse bench searchers`: what a searcher's own work costs, apart from pricing and from imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.bench.searchers import FIGURES, Row, _figures, measure_search
from dse.core.problem import AnyProblem
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.searcher import GROUP
from tests.conftest import Dse
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp", "maestro")

BURNING = """
import time

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""
PLUGIN = """
from __future__ import annotations
import os
from dataclasses import dataclass
import burning

burning.burn(0.12)

class Drawing:
    def search(self, evaluate, rng):
        evaluate(evaluate.space.sample(rng, 10))
        self.work()
        evaluate(evaluate.space.sample(rng, evaluate.remaining))

@dataclass(frozen=True)
class Importing(Drawing):
    def work(self):
        import slow_library
        burning.burn(0.08)

@dataclass(frozen=True)
class Hoarding(Drawing):
    def work(self):
        hoard = bytearray(400_000_000)
        hoard[::4096] = b"x" * len(hoard[::4096])

@dataclass(frozen=True)
class Raising(Drawing):
    def work(self):
        raise RuntimeError("no\\nlicence")

@dataclass(frozen=True)
class Dying(Drawing):
    def work(self):
        os._exit(7)
"""


@pytest.fixture(autouse=True)
def _plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution of searchers that do something in the midst of a search."""
    (tmp_path / "burning.py").write_text(BURNING)
    (tmp_path / "slow_library.py").write_text("import burning\nburning.burn(0.2)\n")
    (tmp_path / "bench_plugin.py").write_text(PLUGIN)
    info = tmp_path / "bench_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-plugin\nVersion: 1.0\n")
    names = ("Importing", "Hoarding", "Raising", "Dying")
    lines = [f"{name.lower()} = bench_plugin:{name}" for name in names]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
    monkeypatch.syspath_prepend(tmp_path)


def test_a_process_of_its_own_tells_imports_from_the_searchers_work_and_has_its_own_memory() -> None:
    row = measure_search("importing", PROBLEM, 1000)
    # Imports burn 0.12 s when it is loaded and 0.2 s in the midst of the search, its work 0.08 s.
    assert row["cpu_seconds"] < row["import_seconds"]
    assert row["import_seconds"] > 0.25
    assert row["us_per_sample"] == pytest.approx(row["cpu_seconds"] * 1e6 / 1000)
    assert row["model_us_per_sample"] == pytest.approx(row["model_seconds"] * 1e6 / 1000)
    assert row["failure"] is None
    greedy = measure_search("hoarding", PROBLEM, 100)
    assert 350 < greedy["peak_mb"] - row["peak_mb"] < 450


def test_a_search_that_fails_has_a_reason_instead_of_figures(dse: Dse) -> None:
    named = ("raising", "dying", "--budget", "100", "--cost-model", "maestro", "--json")
    outcome = dse("bench", "searchers", *named)
    assert outcome.code == 1
    raising, dying = outcome.json["searchers"]
    assert raising["cost_model"] == dying["cost_model"] == "maestro"
    assert raising["failure"].startswith("RuntimeError: no licence (bench_plugin.py:")
    assert dying["failure"] == "its process ended with code 7"
    assert all(row[figure] is None for row in (raising, dying) for figure in FIGURES)


def test_the_named_searchers_are_measured_on_a_development_problem(
    dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(name: str, problem: AnyProblem, budget: int, seed: int = 0) -> Row:
        return {"searcher": name, "budget": budget, **_figures(name, problem, budget, seed), "failure": None}

    monkeypatch.setattr("dse.bench.searchers.measure_search", here)
    named = ("bench", "searchers", "walk", "random", "walk", "--budget", "500", "--json")
    rows = dse(*named).json["searchers"]
    assert [row["searcher"] for row in rows] == ["walk", "random"]
    for row in rows:
        assert (row["budget"], row["layer"], row["accelerator"]) == (500, "alexnet:conv2", "eyeriss-small")
        assert all(row[figure] >= 0 for figure in FIGURES)
        assert row["peak_mb"] > 0
        assert row["cost_model"] == "loopnest"


def test_people_get_a_table(dse: Dse, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        "random": {**dict.fromkeys(FIGURES, 1.5), "failure": None},
        "raising": {**dict.fromkeys(FIGURES), "failure": "RuntimeError: no licence"},
    }
    monkeypatch.setattr(
        "dse.bench.searchers.measure_search",
        lambda name, problem, budget, seed=0: {"searcher": name, "budget": budget, **rows[name]},
    )
    outcome = dse("bench", "searchers", "random", "raising", "--budget", "50")
    assert outcome.code == 1
    assert "50 samples of alexnet:conv2 on eyeriss-small" in outcome.out
    assert "peak MB" in outcome.out
    assert "failed: raising: RuntimeError: no licence" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("rando",), "did you mean 'random'?"),
        (("random", "--budget", "0"), "--budget must be at least 1, got 0"),
    ],
)
def test_wrong_input_is_refused(dse: Dse, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in dse("bench", "searchers", *arguments).refused()
