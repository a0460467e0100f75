"""Every searcher searches machines of any number of levels, the same from the same seed."""

from __future__ import annotations

import pytest

from dse.core.layer import Layer
from dse.domains.levels.problem import MachineProblem
from dse.models.timeloop.presets import load_machine
from dse.search.api import search
from dse.search.searcher import make_searcher, searchers
from tests.libraries import skip_without_libraries_of

LAYER = Layer("CONV", 64, 32, 14, 14, 3, 3, padding=(1, 1))


@pytest.mark.parametrize("machine", ["gemmini", "eyeriss_like"])
@pytest.mark.parametrize("name", sorted({*searchers()} - {"optunahub"}))
def test_every_searcher_spends_its_budget_and_finds_something(name: str, machine: str) -> None:
    skip_without_libraries_of(make_searcher(name))
    problem = MachineProblem(LAYER, load_machine(machine), "edp", "timeloop")
    found = search(problem, name, budget=150)
    assert len(found.record) == 150
    assert found.best is not None
    again = search(problem, name, budget=150)
    assert (again.record.genes() == found.record.genes()).all()
