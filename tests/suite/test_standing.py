"""The standing table of a suite: regrets of committed runs and of others', whose records are checked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.search.record import Record, read_parquet, write_parquet
from dse.suite import standing as module
from dse.suite.standing import WORST, standing_searchers
from experiments.final2 import read
from tests.conftest import Dse

SHORT = dse.suite("short")
PLACES = (6, 7, 8)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of a stranger's."""
    folder = tmp_path_factory.mktemp("runs")
    for place in PLACES:
        problem = SHORT[place]
        with problem.ask_tell(budget=20, searcher="stranger", version="3", saw="small", out=folder) as study:
            study.tell([*problem.entry.templates.values(), *study.ask(10).tolist()])
    return folder


def test_a_strangers_runs_stand_beside_the_committed_ones(dse: Dse, runs: Path) -> None:
    lines = {(one["searcher"], one["source"]): one for one in dse_json(dse, "short", str(runs))}
    mine = lines["stranger", str(runs)]
    assert (mine["problems"], mine["seeds"], mine["version"], mine["saw"]) == (3, 1, "3", "small")
    assert set(mine["regret"]) == {"5", "20"}
    found = [SHORT[place] for place in PLACES]
    templates = [min(one.problem.price(np.array([*one.entry.templates.values()])).loss) for one in found]
    ratios = [loss / one.loss for loss, one in zip(templates, found, strict=True)]
    assert mine["regret"]["5"]["mean"] <= np.expm1(np.mean(np.log(np.clip(ratios, 1, WORST)))) + 1e-9
    assert {("team", "final2"), ("random", "final2")} < set(lines)
    assert lines["team", "final2"]["problems"] == 12
    assert "stranger" in dse("suite", "standing", "short", str(runs)).out


def test_who_has_run_on_a_part_of_the_problems_stands_below_who_has_run_on_all(dse: Dse, runs: Path) -> None:
    lines = [line for line in dse_json(dse, "short", str(runs)) if line["regret"]]
    problems = [line["problems"] for line in lines]
    assert problems == sorted(problems, reverse=True)
    assert (problems[0], problems[-1], lines[-1]["searcher"]) == (12, 3, "stranger")


def dse_json(dse: Dse, *asked: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dse("suite", "standing", *asked, "--json").json["standing"]
    return found


def test_committed_regrets_are_those_of_the_study_of_final2() -> None:
    lines = {(one.searcher, one.source): one for one in standing_searchers(dse.suite("final2"))}
    for name in ("team", "random"):
        there = [line.ratios[3] for line in read() if line.searcher == name]
        mean = np.expm1(np.mean(np.log(np.minimum(there, WORST))))
        found = lines[name, "final2"]
        assert (found.problems, len(there)) == (24, 24)
        assert found.regrets[100].mean == pytest.approx(mean, rel=1e-4)
        assert found.regrets[100].low < mean < found.regrets[100].high


@pytest.mark.parametrize("name", ["short", "gemmini"])
def test_without_a_checkout_the_committed_runs_stand_as_in_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = dse.suite(name)
    assert (module.KEPT / f"{name}.json").read_text("utf-8") == module.kept_text(suite)
    there = standing_searchers(suite)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for kept, line in zip(standing_searchers(suite), there, strict=True):
        assert (kept.searcher, kept.source, kept.seconds) == (line.searcher, line.source, line.seconds)
        for budget, regret in line.regrets.items():
            assert kept.regrets[budget].mean == pytest.approx(regret.mean, abs=1e-5)
    assert standing_searchers(replace(suite, name="other")) == []


def changed(runs: Path, tmp_path: Path, change: Callable[[Record, dict[str, Any]], Record | None]) -> Path:
    """A copy of one of the runs, changed."""
    path = next(runs.rglob("cells/*.parquet"))
    record, about = read_parquet(path)
    record = change(record, about) or record
    (tmp_path / "cells").mkdir()
    write_parquet(record, tmp_path / "cells" / path.name, about)
    return tmp_path


def with_genes(record: Record, row: int, value: int) -> Record:
    genes = record.genes()
    genes[row, 0] = value
    found = Record(genes.shape[1])
    found.append(genes, record.evaluations())
    return found


def of_version(record: Record, about: dict[str, Any]) -> None:
    about["identity"]["versions"]["dse-arena"] = "0.0.9"


def of_suite(record: Record, about: dict[str, Any]) -> None:
    about["suite"]["digest"] = "0" * 64


def of_nothing(record: Record, about: dict[str, Any]) -> None:
    del about["identity"]


def of_problem(record: Record, about: dict[str, Any]) -> None:
    about["problem"] = "another"


def longer(record: Record, about: dict[str, Any]) -> Record:
    record.append(record.genes(0, 1), record.evaluations(0, 1))
    return record


def outside(record: Record, about: dict[str, Any]) -> Record:
    return with_genes(record, 4, 99)


def forged(record: Record, about: dict[str, Any]) -> Record:
    best = record.best or 0
    found = Record(record.genes().shape[1])
    evaluations = record.evaluations()
    evaluations.loss[best] /= 2
    found.append(record.genes(), evaluations)
    return found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_version, "is of another version: versions.dse-arena is '0.0.9' there"),
        (of_suite, "is of suite 'short' with digest 000000000000"),
        (of_nothing, "does not say what it is of"),
        (of_problem, "unknown problem 'another' in suite 'short'"),
        (longer, "has 21 samples, and its budget is 20"),
        (outside, "sample 4 is outside of the space"),
        (forged, "and the record says"),
    ],
)
def test_a_record_that_does_not_hold_is_refused_by_its_name(
    dse: Dse, runs: Path, tmp_path: Path, change: Callable[..., Any], said: str
) -> None:
    folder = changed(runs, tmp_path, change)
    refused = dse("suite", "standing", "short", str(folder)).refused()
    assert said in refused
    with suppress(StopIteration):
        assert said.startswith("unknown") or next(folder.rglob("*.parquet")).name in refused


def test_a_folder_without_runs_is_refused(dse: Dse, tmp_path: Path) -> None:
    assert "has no records of runs" in dse("suite", "standing", "short", str(tmp_path)).refused()
