"""Chains as a kind of designs: a campaign has `layers = ["mlp:chain"]`, a command `--layer mlp:chain`."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, ClassVar

from dse.core.certificate import INFEASIBLE, Certificate, Counts, priced_mapping
from dse.core.clock import Clock
from dse.core.cost_models import cost_model as core_model
from dse.core.domains import domain_of
from dse.core.network_problem import NetworkDomain
from dse.core.objective import refuse_several
from dse.optimum.chains.searched.model import INNER, ChainsModel
from dse.optimum.chains.searched.problem import ChainProblem, SharedChainProblem

__all__ = ["Chains", "ChainsModel"]

ROUNDED = 1e-12
"""By so much of itself a sum may be off that is added up in another order."""


class Chains(NetworkDomain):
    """The Domain of what stays on chip between a chain's layers, with a mapping of each."""

    name = "chains"
    hardware_kind = "machines for chains"
    formats: ClassVar[Mapping[str, str]] = {"json": "what stays and a mapping for each layer"}
    noun = "a chain"

    def problem(self, layer: Any, hardware: Any, objective: str, cost_model: Any) -> ChainProblem:
        refuse_several(objective)
        model: Any = core_model(cost_model) if isinstance(cost_model, str) else cost_model
        kind = SharedChainProblem if model.settings.intermediates == "shared" else ChainProblem
        return kind(layer, hardware, objective)

    def load_hardware(self, name: str, cost_model: Any) -> Any:
        """See Domain: the machines of the cost model that prices the layers."""
        return domain_of(INNER).load_hardware(name, INNER)

    def hardware_from_dict(self, data: Any) -> Any:
        return domain_of(INNER).hardware_from_dict(data)

    def prover(self, problem: ChainProblem) -> ChainProver:
        return ChainProver(problem)


class ChainProver:
    """A Prover: the proof of `dse certify --chains`, of one chain; layers' proofs are kept."""

    groups = "layers beside what stays"
    floor_only = True
    """With the layers' proofs, which are kept, it is proven again in seconds."""

    def __init__(self, problem: ChainProblem) -> None:
        self._problem = problem

    def refuse(self) -> None:
        self._problem.program.refuse()

    def solve(self, clock: Clock, known: Certificate | None) -> Certificate:
        from dse.core.clock import at_work
        from dse.optimum import certify
        from dse.optimum.chains.proofs import shared_out
        from dse.optimum.chains.solve import certify_chains

        problem = self._problem
        proving = shared_out(
            lambda one, seconds: certify(one, seconds, now=at_work()), clock, problem.layer.layers
        )
        found = certify_chains(
            [problem.chain],
            problem.problem_of,
            problem.residence,
            proving,
            most=problem.most,
            over=lambda: clock.over,
        )
        counts = Counts(sum(map(len, found.known.values())), 0, 0, 0, 0, 0, problem.space.mappings)
        best, bound = None, found.lower_bound
        status = INFEASIBLE if found.best is None and bound == inf else found.status
        if found.best is not None:
            best = priced_mapping(problem, problem.proven(found.best))
            assert best is not None
            bound = min(bound, best.loss * (1 - ROUNDED))
        return Certificate(problem.fingerprint, status, bound, best, counts, clock.seconds)
