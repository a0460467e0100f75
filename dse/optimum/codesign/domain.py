"""Co-design as a kind of designs: campaigns name a space of hardware where others name an accelerator.

For a layer a problem has a network, for hardware a space of machines; a design is a machine with a mapping of
each layer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dse.core.certificate import OPTIMAL, Certificate, Counts, priced_mapping
from dse.core.clock import Clock
from dse.core.cost_model import AnyCostModel
from dse.core.edges import WholeNetwork
from dse.core.evaluations import Criteria, Evaluations
from dse.core.network_problem import NetworkDomain, NetworkProblem
from dse.domains.codesign.joint import Joint, NetworkDesign, NetworkDesigns, point_of, read_design, vector_of
from dse.domains.codesign.reading import read_space, space_from_plain
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.machine import EQUAL
from dse.optimum.codesign.networks import JointNetwork, network_objective
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.toml import is_toml


class CodesignModel(AnyCostModel):
    """Sums over a network's layers, each priced by the cost model that the space of hardware names."""

    name = "codesign"
    domain = "codesign"
    version = "1"
    prices_networks = True

    def __init__(self, inner: AnyCostModel | None = None) -> None:
        if inner is not None:
            self.version = f"1, {inner.name} {inner.version}"


@dataclass(frozen=True)
class CodesignProblem(NetworkProblem):
    """A network x a space of hardware x an objective: members are as in `dse.core.problem.AnyProblem`."""

    accelerator: HardwareSpace

    designs: ClassVar[type[Any]] = NetworkDesigns

    def __post_init__(self) -> None:
        if not (isinstance(self.accelerator, HardwareSpace) and isinstance(self.layer, WholeNetwork)):
            raise InputError("cost model 'codesign' needs a space of hardware, as from a TOML file")
        object.__setattr__(self, "objective", network_objective(self.objective).name)

    @cached_property
    def space(self) -> Joint:
        return Joint(self.accelerator, self.layer.layers, self.objective)

    @cached_property
    def network(self) -> JointNetwork:
        """What prices the vectors."""
        return JointNetwork(self.space)

    @cached_property
    def model(self) -> CodesignModel:
        return CodesignModel(self.accelerator.model)

    @property
    def criteria(self) -> Criteria:
        return self.network.criteria

    @property
    def hardware_genes(self) -> tuple[str, ...]:
        return self.accelerator.names

    # Prices

    def price(self, genes: IntArray) -> Evaluations:
        return self.network.price(genes)

    # Designs

    def vectors(self, mappings: Sequence[NetworkDesign]) -> IntArray:
        return np.array([vector_of(self.space, one) for one in mappings])

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        return self._words(self.accelerator.values(tuple(np.asarray(genes)[self.space.parts[0]].tolist())))

    def read_mapping(self, data: object, where: str = "mapping") -> NetworkDesign:
        return read_design(self.space, data, where)

    # Words

    def explain(self, mapping: NetworkDesign) -> str:
        """Why the design is not feasible: the machine, or the first layer that does not fit."""
        genes = self.vectors([mapping])[0]
        at = self.space.at(genes)
        if at.words:
            return at.words
        for layer, problem, one in zip(self.layer.layers, at.problems, mapping.mappings, strict=True):
            words = problem.explain(one)
            if words != "feasible":
                return f"{layer.name or layer}: {words}"
        return "feasible"

    def nest(self, mapping: NetworkDesign) -> str:
        """The machine, and the loops of each layer."""
        at = self.space.at(self.vectors([mapping])[0])
        lines = [self._words(mapping.machine)]
        for layer, problem, one in zip(self.layer.layers, at.problems, mapping.mappings, strict=True):
            lines += [f"{layer.name or layer} x {layer.repeats}", problem.nest(one).rstrip("\n")]
        return "\n".join(lines) + "\n"

    def needs(self, mapping: NetworkDesign) -> str:
        return self._words(mapping.machine)

    def case(self, mapping: NetworkDesign) -> dict[str, Any]:
        point = tuple(self.vectors([mapping])[0][self.space.parts[0]].tolist())
        return {"mapping": mapping.to_dict(), "hardware": self.accelerator.machine(point).hardware.to_dict()}

    @staticmethod
    def _words(values: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {value:,.10g}" for name, value in values.items())


__all__ = ["CodesignModel", "Codesigns"]


class Codesigns(NetworkDomain):
    """Machines of a space of hardware, with a mapping of each layer of a network."""

    name = "codesign"
    hardware_kind = "spaces of hardware"
    formats: ClassVar[Mapping[str, str]] = {"json": "the machine and a mapping for each layer"}
    noun = "co-design"

    def problem(self, layer: Any, hardware: Any, objective: str, cost_model: Any) -> CodesignProblem:
        """See NetworkDomain; a layer alone is a network of one."""
        network = layer if isinstance(layer, WholeNetwork) else WholeNetwork(layer.name or "layer", (layer,))
        return CodesignProblem(network, hardware, objective)

    def load_hardware(self, name: str, cost_model: Any) -> HardwareSpace:
        if not is_toml(name):
            raise InputError(f"cost model 'codesign' needs a space of hardware, a TOML file, got {name!r}")
        return read_space(name)

    def hardware_from_dict(self, data: Any) -> HardwareSpace:
        return space_from_plain(data)

    def prover(self, problem: CodesignProblem) -> CodesignProver:
        return CodesignProver(problem)


class CodesignProver:
    """Branch and bound over boxes of machines; the proofs of layers are kept, and nothing besides."""

    groups = "boxes of machines"
    floor_only = True
    """Whole networks are not kept: with the layers' proofs, they are proven again in seconds."""

    def __init__(self, problem: CodesignProblem) -> None:
        self._problem = problem

    def refuse(self) -> None:
        from dse.optimum.codesign import refuse

        refuse(self._problem.layer.layers, self._problem.accelerator)

    def solve(self, clock: Clock, known: Certificate | None) -> Certificate:
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
            best = priced_mapping(problem, NetworkDesign(found.best["parameters"], mappings))
        optimal = found.status == OPTIMAL and best is not None
        # Sums are added up in another order than a search's: an optimum is one to the rounding of sums.
        bound = best.loss * (1 - EQUAL) if optimal and best is not None else found.lower_bound
        counts = Counts(found.boxes, found.machines_excluded, 0, found.proofs, 0, 0, problem.space.mappings)
        return Certificate(problem.fingerprint, found.status, bound, best, counts, found.seconds)
