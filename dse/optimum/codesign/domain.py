"""Co-design as a kind of designs: campaigns name a space of hardware where others name an accelerator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from dse.core.certificate import OPTIMAL, Certificate, Counts, priced
from dse.core.clock import Clock
from dse.core.edges import WholeNetwork
from dse.core.network_problem import NetworkDomain
from dse.domains.codesign.designs import NetworkDesign, point_of
from dse.domains.codesign.reading import read_space, space_from_plain
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.machine import EQUAL
from dse.optimum.codesign.problem import CodesignModel, CodesignProblem
from dse.support.errors import InputError
from dse.support.toml import is_toml

__all__ = ["CodesignModel", "Codesigns"]


class Codesigns(NetworkDomain):
    """Machines of a space of hardware, with a mapping of each layer of a network."""

    name = "codesign"
    hardware_kind = "spaces of hardware"
    formats: ClassVar[Mapping[str, str]] = {"json": "the machine and a mapping for each layer"}
    noun = "co-design"

    def make_problem(
        self,
        layer: Any,
        hardware: Any,
        objective: str,
        cost_model: Any,
        tiles: str,
        fixed: Mapping[str, Any],
        space: Any,
        area_budget: float | None,
    ) -> CodesignProblem:
        """See Domain; a layer alone is a network of one."""
        self.refuse_options(tiles, fixed, area_budget)
        network = layer if isinstance(layer, WholeNetwork) else WholeNetwork(layer.name or "layer", (layer,))
        return CodesignProblem(network, hardware, objective)

    def load_hardware(self, name: str, cost_model: Any) -> HardwareSpace:
        """See Domain."""
        if not is_toml(name):
            raise InputError(f"cost model 'codesign' needs a space of hardware, a TOML file, got {name!r}")
        return read_space(name)

    def hardware_from_dict(self, data: Any) -> HardwareSpace:
        """See Domain."""
        return space_from_plain(data)

    def prover(self, problem: CodesignProblem) -> CodesignProver:
        """See Domain."""
        return CodesignProver(problem)


class CodesignProver:
    """Branch and bound over boxes of machines; the proofs of layers are kept, and nothing besides."""

    groups = "boxes of machines"
    floor_only = True
    """Whole networks are not kept: with the layers' proofs, they are proven again in seconds."""

    def __init__(self, problem: CodesignProblem) -> None:
        self._problem = problem

    def refuse(self) -> None:
        """See Prover."""
        from dse.optimum.codesign import refuse

        refuse(self._problem.layer.layers, self._problem.accelerator)

    def solve(self, clock: Clock, known: Certificate | None) -> Certificate:
        """See Prover."""
        from dse.optimum.codesign import codesign

        problem, left = self._problem, clock.left
        limit = None if left == math.inf else max(left, 0.01)
        found = codesign(problem.layer, problem.accelerator, problem.objective, time_limit=limit)
        if found.interrupted:
            raise KeyboardInterrupt
        best = None
        if found.best is not None:
            point = point_of(problem.accelerator, found.best["parameters"], "machine")
            at = problem.space.ready(point)
            mappings = tuple(
                one.read_mapping(entry["mapping"])
                for one, entry in zip(at.problems, found.best["layers"], strict=True)
            )
            best = priced(problem, NetworkDesign(found.best["parameters"], mappings))
        optimal = found.status == OPTIMAL and best is not None
        # Sums are added up in another order than a search's: an optimum is one to the rounding of sums.
        bound = best.loss * (1 - EQUAL) if optimal and best is not None else found.lower_bound
        counts = Counts(found.boxes, found.machines_excluded, 0, found.proofs, 0, 0, problem.space.mappings)
        return Certificate(problem.fingerprint, found.status, bound, best, counts, found.seconds)
