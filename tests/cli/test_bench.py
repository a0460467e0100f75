"""`dse bench`: what it measures, on what, and what it compares with."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from dse.bench import certify as proofs
from dse.bench import cost as bench
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.models.loopnest import others as loopnest_others
from dse.models.maestro import others
from dse.models.maestro.executable import COLUMNS, VARIABLE
from tests.conftest import Dse
from workloads import load_layer


@pytest.fixture
def quick_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in {"BATCH": 600, "SINGLE_ROWS": 5, "REPEATS": 1, "OTHER_REPEATS": 1}.items():
        monkeypatch.setattr(bench, name, count)
    for module in (others, loopnest_others):
        monkeypatch.setattr(module, "REFERENCE", 3)
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.mark.usefixtures("quick_bench")
def test_bench_cost_measures_both_kinds_of_tiles_on_one_and_two_threads(dse: Dse) -> None:
    report = dse("bench", "cost", "--json").json
    measured = {(row["model"], row["tiles"], row["threads"]) for row in report["cost"]}
    assert measured == set(itertools.product(("loopnest", "maestro"), ("factors", "any"), (1, 2)))
    for row in report["cost"]:
        assert (row["layer"], row["accelerator"]) == ("resnet18:1", "edge")
        assert row["mappings_per_second"] > 0
    assert {row["name"] for row in report["baselines"]} == {"python reference"}
    assert all(row["ratio"] > 1 for row in report["baselines"])
    shown = dse("bench", "cost", "--cost-model", "maestro").out
    assert "mappings per second" in shown
    assert "loopnest" not in shown


def test_the_bench_prices_random_feasible_points() -> None:
    problem = Problem(load_layer("resnet18:1"), PRESETS["edge"], tiles="any")
    genes = bench.feasible_points(problem, 50)
    assert genes.shape == (50, 13)
    assert not problem.price(genes).reason.any()
    assert len({tuple(row) for row in genes.tolist()}) == 50


def fake_program(path: Path, code: int) -> str:
    """A program that takes MAESTRO's options, reads its mapping file and ends with `code`."""
    script = f"""#!/bin/sh
for option in "$@"; do
  case $option in --Mapping_file=*) grep -q Cluster "${{option#*=}}" || exit 9;; esac
done
echo '{",".join(COLUMNS)}' > mapping.csv
echo '{",".join("1" for _ in COLUMNS)}' >> mapping.csv
echo no such option >&2
exit {code}
"""
    path.write_text(script)
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for MAESTRO is a shell script")
@pytest.mark.usefixtures("quick_bench")
def test_bench_cost_times_a_maestro_executable_that_is_named(
    dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(others, "PROGRAM", 2)
    monkeypatch.setenv(VARIABLE, fake_program(tmp_path / "maestro", code=0))
    report = dse("bench", "cost", "--cost-model", "maestro", "--json").json
    timed = [row for row in report["baselines"] if row["name"] == "maestro program"]
    assert [row["tiles"] for row in timed] == ["factors", "any"]
    assert all(row["milliseconds"] > 0 for row in timed)
    monkeypatch.setenv(VARIABLE, fake_program(tmp_path / "broken", code=1))
    said = dse("bench", "cost", "--cost-model", "maestro").refused()
    assert "ended with code 1: no such option" in said
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent"))
    assert "is not there" in dse("bench", "cost", "--cost-model", "maestro").refused()


SAMPLED = ("bench", "certify", "alexnet", "mlp", "--accelerator", "edge", "--sample", "3")


def test_a_seed_draws_the_same_sample_of_proofs_again(dse: Dse) -> None:
    def proven(seed: str) -> list[tuple[object, ...]]:
        report = dse(*SAMPLED, "--seed", seed, "--json").json
        (every,) = report["certify_all"]
        assert (every["layers"], every["sample"], every["seed"]) == (3, 3, int(seed))
        assert sum(row["layers"] for row in report["certify"]) == 3
        about = ("network", "accelerator", "objective", "layers")
        return [tuple(row[name] for name in about) for row in report["certify"]]

    assert proven("1") == proven("1") != proven("2")


def test_proofs_show_their_share_their_gap_and_the_peak_of_memory(
    dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second passes whenever somebody looks: the CPU's clock may stand still for longer than the limit.
    monkeypatch.setattr(proofs, "NOW", itertools.count(1.0).__next__)
    ended = ("--tiles", "any", "--objective", "edp", "--time-limit", "0.000001")
    (every,) = dse(*SAMPLED, *ended, "--json").json["certify_all"]
    assert (every["optimal"], every["optimal_share"], every["time_limit"]) == (0, 0.0, 1e-6)
    assert every["seconds_of"] == "computing"
    assert every["largest_gap"] is None or every["largest_gap"] > 0
    assert every["peak_mb"] > 50
    shown = dse(*SAMPLED, *ended).out
    assert "Proofs of problems that seed 0 draws of all" in shown
    assert "seconds of computing" in shown
    assert all(f" {head} " in shown for head in ("share %", "gap %", "peak MB"))


def test_a_sample_of_more_proofs_than_there_are_is_refused(dse: Dse) -> None:
    assert dse(*SAMPLED[:-1], "1000").refused() == "--sample must be at most 45, got 1000"
    assert "--sample must be at least 1" in dse(*SAMPLED[:-1], "0").refused()
    assert "--seed must be at least 0" in dse(*SAMPLED, "--seed", "-1").refused()
