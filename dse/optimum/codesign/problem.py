"""Co-design as a problem like others: for a layer it has a network, for hardware a space of machines.

So searches, campaigns and reports take it: a design is a machine with a mapping of each layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dse.core.cost_model import AnyCostModel
from dse.core.edges import WholeNetwork
from dse.core.evaluations import Criteria, Evaluations
from dse.core.network_problem import NetworkProblem
from dse.domains.codesign.designs import NetworkDesign, NetworkDesigns, read_design, vector_of
from dse.domains.codesign.joint import Joint
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.networks import JointNetwork, network_objective
from dse.support.arrays import IntArray
from dse.support.errors import InputError


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
        """Machines with a mapping of each layer."""
        return Joint(self.accelerator, self.layer.layers, self.objective)

    @cached_property
    def network(self) -> JointNetwork:
        """What prices the vectors."""
        return JointNetwork(self.space)

    @cached_property
    def model(self) -> CodesignModel:
        """The sums, under the cost model of the space of hardware."""
        return CodesignModel(self.accelerator.model)

    @property
    def criteria(self) -> Criteria:
        """The network's objective."""
        return self.network.criteria

    @property
    def hardware_genes(self) -> tuple[str, ...]:
        """The parameters of the hardware."""
        return self.accelerator.names

    # Prices

    def price(self, genes: IntArray) -> Evaluations:
        """What the points cost."""
        return self.network.price(genes)

    # Designs

    def vectors(self, mappings: Sequence[NetworkDesign]) -> IntArray:
        """The gene vectors of designs."""
        return np.array([vector_of(self.space, one) for one in mappings])

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        """The parameters of the machine of one point."""
        return self._words(self.accelerator.values(tuple(np.asarray(genes)[self.space.parts[0]].tolist())))

    def read_mapping(self, data: object, where: str = "mapping") -> NetworkDesign:
        """The design in parsed JSON."""
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
        """The machine."""
        return self._words(mapping.machine)

    def case(self, mapping: NetworkDesign) -> dict[str, Any]:
        """The design, with the machine that it needs."""
        point = tuple(self.vectors([mapping])[0][self.space.parts[0]].tolist())
        return {"mapping": mapping.to_dict(), "hardware": self.accelerator.machine(point).hardware.to_dict()}

    @staticmethod
    def _words(values: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {value:,.10g}" for name, value in values.items())
