"""What the first proof on a machine of levels compiles, in which process."""

from __future__ import annotations

import pytest

from dse.core.clock import Clock
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.model import Timeloop
from dse.models.timeloop.proof import search, warming


def test_bounds_are_compiled_without_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded: list[int] = []
    bound = warming.LevelBoxes.bound

    def counted(boxes: warming.LevelBoxes, *given: object) -> object:
        found = bound(boxes, *given)  # type: ignore[arg-type]
        bounded.append(len(found.losses))
        return found

    def prepared(*given: object) -> None:
        raise AssertionError("prices are the other process's")

    monkeypatch.setattr(warming.LevelBoxes, "bound", counted)
    monkeypatch.setattr(Timeloop, "prepared", prepared)
    for objective in warming.OBJECTIVES:
        problem = warming.tiny_problem(warming.UnpricedProblem, objective)
        warming.prove_tiny(problem, lambda problem, clock: None)
    assert sum(bounded) > len(warming.OBJECTIVES)


def test_the_tiny_problem_has_a_mapping_to_begin_with() -> None:
    begun = search.good_mapping(warming.tiny_problem(MachineProblem, "edp"), Clock())
    assert begun is not None
    assert begun.loss > 0


def test_where_nothing_is_compiled_another_process_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    def beside(module: str, *arguments: str) -> object:
        events.append(module)
        return lambda: events.append("waited")

    def begin(problem: MachineProblem, clock: Clock) -> None:
        events.append("began")

    proven = [warming.tiny_problem(MachineProblem, one).objective for one in warming.OBJECTIVES]
    monkeypatch.setattr(warming, "compile_beside", beside)
    monkeypatch.setattr(warming, "prove_tiny", lambda problem, begin: events.append(problem.objective))
    monkeypatch.setattr(warming, "is_compiled", lambda: False)
    warming.warm.__wrapped__(begin)
    assert events == [warming.__name__, "began", "waited", *proven]
    events.clear()
    monkeypatch.setattr(warming, "is_compiled", lambda: True)
    warming.warm.__wrapped__(begin)
    assert events == proven
