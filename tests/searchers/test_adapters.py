"""Runs as problems of other libraries: what reaches the gate, and what is said where one is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.search.evaluator import BudgetExhausted
from dse.support.errors import InputError
from searchers.adapters.common import Values
from searchers.adapters.nevergrad import function_of
from searchers.adapters.optuna import benchmark_of, objective_of, sampler_named

PROBLEM = dse.suite("short")[7]
SAMPLER = """
import optuna

class Mine(optuna.samplers.RandomSampler):
    pass

__all__ = ["Mine"]
"""


def test_points_by_name_are_points_and_values_are_finite() -> None:
    study = PROBLEM.ask_tell(budget=40)
    values = Values(study)
    points = study.ask(20)
    named = [dict(zip(values.names, point, strict=True)) for point in points.tolist()]
    assert np.isfinite(values.of(points)).all()
    assert values.of(named).tolist() == Values(PROBLEM.ask_tell(budget=40)).of(points).tolist()
    assert study.remaining == 0
    ranges, choices = values.ranges(), values.choices()
    assert set(ranges) | set(choices) == set(values.names)
    assert "outer.order" in choices
    assert ranges["outer.tile.K"] == study.bounds[1][values.names.index("outer.tile.K")]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nevergrad", None)
    with pytest.raises(InputError, match="pip install nevergrad"):
        function_of(PROBLEM.ask_tell(budget=1))


def test_a_sampler_of_a_copy_of_optunahubs_registry_is_found_by_its_name(tmp_path: Path) -> None:
    pytest.importorskip("optunahub")
    optuna = pytest.importorskip("optuna")
    folder = tmp_path / "samplers" / "mine"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(SAMPLER)
    sampler = sampler_named("samplers/mine", registry=str(tmp_path), seed=3)
    with PROBLEM.ask_tell(budget=5) as study:
        optuna.create_study(sampler=sampler).optimize(objective_of(study), n_trials=9)
    assert study.remaining == 0
    with pytest.raises(InputError, match="unknown sampler 'samplers/other' in registry"):
        sampler_named("samplers/other", registry=str(tmp_path))
    (folder / "__init__.py").write_text("__all__ = []")
    with pytest.raises(InputError, match="has no class of samplers"):
        sampler_named("samplers/mine", registry=str(tmp_path))


def test_suites_are_a_package_of_optunahubs_benchmarks() -> None:
    hub, optuna = pytest.importorskip("optunahub"), pytest.importorskip("optuna")
    benchmarks = hub.load_local_module("benchmarks/mapping_suites", registry_root="examples/suites/optunahub")
    problem = benchmarks.Problem("short", number=benchmarks.Problem.size("short") - 1, budget=20)
    study = optuna.create_study(directions=problem.directions, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(problem, n_trials=20)
    assert study.best_value >= problem.optimum == pytest.approx(np.log2(dse.suite("short")[-1].loss))
    with pytest.raises(BudgetExhausted, match="all 20 samples are spent"):
        study.optimize(problem, n_trials=1)


def test_a_run_is_an_optunahub_benchmark() -> None:
    pytest.importorskip("optunahub")
    optuna = pytest.importorskip("optuna")
    with PROBLEM.ask_tell(budget=5) as study:
        benchmark = benchmark_of(study)
        assert set(benchmark.search_space) == {gene.name for gene in study.genes}
        optuna.create_study(directions=benchmark.directions).optimize(benchmark, n_trials=5)
    assert study.remaining == 0
