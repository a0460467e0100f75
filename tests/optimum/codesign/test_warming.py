"""Kernels of proofs are compiled before co-design prices its first machine."""

from __future__ import annotations

import pytest

import dse
from dse.domains.clustered.proof import prover, warming
from dse.optimum.codesign.branch import MachineBoxes
from tests.domains.codesign.spaces import chips
from tests.optimum.codesign.enumerated import LAYERS


def test_proofs_are_warmed_before_machines_are_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    run = MachineBoxes.run
    monkeypatch.setattr(prover.ClusteredProver, "warm", lambda self: events.append("warm"))
    monkeypatch.setattr(MachineBoxes, "run", lambda self: (events.append("run"), run(self))[1])
    dse.codesign(LAYERS[:1], chips(num_pes=[16], l1_size=[64], l2_size=[512]), "latency", cache=False)
    assert events == ["warm", "run"]


def test_where_prices_are_compiled_nothing_is_warmed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[tuple[str, str]] = []
    problem = warming.tiny_problem("loopnest", "any")
    monkeypatch.setattr(warming, "compile_proofs", lambda *given: warmed.append(given))
    monkeypatch.setattr(warming, "prices_are_compiled", lambda problem: True)
    prover.ClusteredProver(problem).warm()
    assert warmed == []
    monkeypatch.setattr(warming, "prices_are_compiled", lambda problem: False)
    prover.ClusteredProver(problem).warm()
    assert warmed == [("loopnest", "any")]
