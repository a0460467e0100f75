"""Proofs of problems of two levels: by the solver that all cost models share, or by a floor."""

from __future__ import annotations

from importlib import import_module

from dse.core.certificate import Certificate
from dse.core.clock import Clock
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.proof.certifiers import certifier_of, has_floor_only, refuse


class ClusteredProver:
    """See `dse.core.proofs.Prover`; a cost model brings a `Certifier`."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @property
    def groups(self) -> str:
        """See Prover."""
        return certifier_of(self._problem).GROUP

    @property
    def floor_only(self) -> bool:
        """See Prover."""
        return has_floor_only(self._problem)

    def refuse(self) -> None:
        """See Prover."""
        refuse(self._problem)

    def solve(self, clock: Clock, known: Certificate | None) -> Certificate:
        """See Prover."""
        # Late: a check of a proof makes a prover, and loads nothing that made the proof.
        name = "floor" if self.floor_only else "solver"
        found: Certificate = import_module(f"dse.domains.clustered.proof.{name}").solve(
            self._problem, clock, known
        )
        return found
