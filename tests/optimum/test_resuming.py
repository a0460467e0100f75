"""A proof whose time runs out, or that is interrupted, goes on where it was."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from dse.core.certificate import BOUNDED, OPTIMAL, Certificate, ProofInterrupted
from dse.core.clock import Clock
from dse.core.domains import make_problem
from dse.domains.clustered.problem import Problem
from dse.models.loopnest.bound.boxes import LoopNestBoxes
from dse.optimum import certify, verify
from dse.optimum.verification import failed_checks
from dse.proof.contract import Found
from dse.support.arrays import IntArray
from workloads import load_layer

NO_TIME = 1e-9
MAX_RUNS = 100
PROBLEMS = (
    ("loopnest", "mobilenet_v2:features.14.depthwise", "edge-small"),
    ("maestro", "mobilenet_v2:features.12.depthwise", "eyeriss-small"),
)
MACHINE = ("timeloop", "resnet18:5", "gemmini")


def problem_of(model: str, layer: str, accelerator: str, objective: str = "edp") -> Problem:
    return make_problem(load_layer(layer), accelerator, objective, model)


def runs_of(problem: Problem, folder: Path) -> list[Certificate]:
    """The certificates of runs of next to no time each, until one is of the optimum."""
    found = [certify(problem, NO_TIME, cache=folder)]
    while found[-1].status == BOUNDED and len(found) < MAX_RUNS:
        found.append(certify(problem, NO_TIME, cache=folder))
    return found


@pytest.fixture(scope="module", params=PROBLEMS, ids=lambda names: names[0])
def run_by_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Problem, list[Certificate]]:
    """A problem, and the runs of no time that prove it."""
    problem = problem_of(*request.param)
    return problem, runs_of(problem, tmp_path_factory.mktemp("runs"))


def test_many_runs_of_no_time_come_to_the_optimum_of_one(
    run_by_run: tuple[Problem, list[Certificate]],
) -> None:
    problem, runs = run_by_run
    whole = certify(problem, cache=False)
    assert len(runs) > 2
    assert (runs[-1].status, runs[-1].best.loss) == (OPTIMAL, whole.best.loss)
    bounds = [run.lower_bound for run in runs]
    losses = [run.best.loss for run in runs if run.best]
    assert bounds == sorted(bounds)
    assert losses == sorted(losses, reverse=True)
    assert bounds[-1] == losses[-1]
    assert failed_checks(verify(problem, runs[-1])) == []


def test_what_is_counted_adds_up_in_every_run(run_by_run: tuple[Problem, list[Certificate]]) -> None:
    (problem, every), runs = run_by_run, []
    for run in every:
        counts = run.counts
        parts = (counts.too_large, counts.bounded, counts.solved, counts.open)
        assert (sum(parts), min(parts) >= 0) == (counts.groups, True)
        if run.status == BOUNDED:
            assert counts.open > 0
            runs.append(run)
    assert len(runs) > 2
    assert failed_checks(verify(problem, runs[len(runs) // 2])) == []


def test_seconds_are_those_of_a_run_and_the_earlier_ones_stand_beside_them(
    run_by_run: tuple[Problem, list[Certificate]],
) -> None:
    _, (first, second, *_) = run_by_run
    assert (first.earlier_seconds, second.earlier_seconds) == (0.0, first.seconds)
    assert second.all_seconds == first.seconds + second.seconds


def test_boxes_that_are_settled_are_not_settled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[tuple[int, ...]] = []
    settle = LoopNestBoxes.settle

    def noted(self: LoopNestBoxes, boxes: IntArray, to_beat: float) -> Found:
        settled.extend(map(tuple, boxes.tolist()))
        return settle(self, boxes, to_beat)

    problem = problem_of("loopnest", "resnet18:3", "edge", "latency")
    certify(problem, NO_TIME, cache=False)
    monkeypatch.setattr(LoopNestBoxes, "settle", noted)
    assert runs_of(problem, tmp_path)[-1].status == OPTIMAL
    assert len(settled) == len(set(settled)) > 5


def test_many_short_runs_on_a_machine_of_levels_come_to_the_optimum_of_one(tmp_path: Path) -> None:
    problem = problem_of(*MACHINE)
    runs, whole = runs_of(problem, tmp_path), certify(problem, cache=False)
    assert len(runs) > 2
    assert (runs[-1].status, runs[-1].best.loss) == (OPTIMAL, whole.best.loss)
    bounds = [run.lower_bound for run in runs]
    assert bounds == sorted(bounds)
    for run in runs:
        counts = run.counts
        assert counts.groups == counts.bounded + counts.solved + counts.open
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]
    assert failed_checks(verify(problem, runs[-1])) == []


def test_nodes_that_were_damaged_are_not_gone_on_with(tmp_path: Path) -> None:
    problem = problem_of(*MACHINE)
    first = certify(problem, NO_TIME, cache=tmp_path)
    (nodes,) = tmp_path.glob("*.nodes")
    nodes.write_bytes(nodes.read_bytes()[:-1])
    again = certify(problem, NO_TIME, cache=tmp_path)
    assert (again.status, again.best.loss) == (BOUNDED, first.best.loss)
    assert again.lower_bound == first.lower_bound


@pytest.mark.parametrize("names", [*PROBLEMS, MACHINE], ids=lambda names: names[0])
def test_ctrl_c_keeps_what_is_proven_and_the_next_run_goes_on(
    names: tuple[str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    # Where interrupts are ignored, as in a background job, Ctrl-C does nothing.
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, ours))
    problem, looks, before = problem_of(*names), 0, signal.getsignal(signal.SIGINT)
    left = Clock.left.fget

    def interrupted(clock: Clock) -> float:
        nonlocal looks
        looks += 1
        if looks == 5:
            signal.raise_signal(signal.SIGINT)
        return left(clock)

    with monkeypatch.context() as patch:
        patch.setattr(Clock, "left", property(interrupted))
        with pytest.raises(ProofInterrupted) as interrupt:
            certify(problem, cache=tmp_path)
    assert signal.getsignal(signal.SIGINT) is before
    so_far = interrupt.value.certificate
    found, whole = certify(problem, cache=tmp_path), certify(problem, cache=False)
    assert found.earlier_seconds > 0
    assert (found.status, found.best.loss) == (OPTIMAL, whole.best.loss)
    assert so_far.lower_bound <= whole.best.loss
    assert so_far.best is None or so_far.best.loss >= whole.best.loss


def test_a_bound_that_was_damaged_is_not_believed(tmp_path: Path) -> None:
    problem = problem_of(*PROBLEMS[0])
    first = certify(problem, NO_TIME, cache=tmp_path)
    (path,) = tmp_path.glob("*.json")
    data = json.loads(path.read_text())
    data["certificate"]["lower_bound"] = first.best.loss
    path.write_text(json.dumps(data))
    again = certify(problem, NO_TIME, cache=tmp_path)
    assert again.lower_bound == first.lower_bound
    assert again.earlier_seconds == 0.0
