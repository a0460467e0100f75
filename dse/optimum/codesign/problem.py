"""Co-design as a problem like others: for a layer it has a network, for hardware a space of machines.

So searches, campaigns and reports take it: a design is a machine with a mapping of each layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dse.core.cost_model import AnyCostModel, Detail
from dse.core.evaluation import Evaluation
from dse.core.evaluations import Criteria, Evaluations
from dse.core.explanation import Explanation
from dse.core.whole_network import WholeNetwork
from dse.domains.codesign.designs import NetworkDesign, NetworkDesigns, read_design, vector_of
from dse.domains.codesign.joint import Joint
from dse.domains.codesign.space import HardwareSpace
from dse.optimum.codesign.networks import JointNetwork, network_objective
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.hashing import digest
from dse.support.strict_json import parse


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
class CodesignProblem:
    """A network x a space of hardware x an objective: members are as in `dse.core.problem.AnyProblem`."""

    layer: Any
    """A WholeNetwork."""
    accelerator: HardwareSpace
    objective: str

    templates: ClassVar[tuple[str, ...]] = ()
    shows_detail: ClassVar[bool] = False
    naming: ClassVar[str] = ""
    opened: ClassVar[tuple[str, Mapping[str, Sequence[float]]]] = ("default", {})

    def __post_init__(self) -> None:
        if not (isinstance(self.accelerator, HardwareSpace) and isinstance(self.layer, WholeNetwork)):
            raise InputError("cost model 'codesign' needs a space of hardware, as from a TOML file")
        object.__setattr__(self, "objective", network_objective(self.objective).name)

    def __reduce__(self) -> tuple[Any, ...]:
        # Machines that are kept ready are made again in the other process.
        return CodesignProblem, (self.layer, self.accelerator, self.objective)

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
    def model_spec(self) -> str:
        """The cost model in words."""
        return self.model.spec

    @property
    def options(self) -> dict[str, Any]:
        """What shapes the space."""
        return {"tiles": "factors", "fixed": {}}

    @property
    def hardware_genes(self) -> tuple[str, ...]:
        """The parameters of the hardware."""
        return self.accelerator.names

    @property
    def identity(self) -> dict[str, Any]:
        """All that defines the problem, as plain data."""
        return {
            "layer": self.layer.to_dict(),
            "accelerator": self.accelerator.to_dict(),
            "space": self.space.identity,
            "objective": self.objective,
            "cost_model": self.model_spec,
        }

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the identity, in hex."""
        return digest(self.identity)

    def with_changes(self, **changes: Any) -> CodesignProblem:
        """The problem with another objective."""
        return replace(self, **changes)

    # Prices

    def price(self, genes: IntArray) -> Evaluations:
        """What the points cost."""
        return self.network.price(genes)

    def evaluate(self, mappings: NetworkDesign | NetworkDesigns) -> Evaluations:
        """What a design, or each of many, costs."""
        return self.price(
            mappings.genes if isinstance(mappings, NetworkDesigns) else self.vectors([mappings])
        )

    def judge(self, mapping: NetworkDesign) -> Evaluation:
        """A design judged in full."""
        priced = self.evaluate(mapping)
        feasible = not priced.reason[0]
        figures = {name: column.tolist()[0] for name, column in priced.figures().items()}
        loss = {self.objective: float(priced.loss[0]) if feasible else None}
        status = {"status": "ok" if feasible else "invalid"}
        return Evaluation(
            {**status, **figures}, feasible, None if feasible else self.explain(mapping), loss, None
        )

    def detail(self, mapping: NetworkDesign) -> Detail | None:
        """Nothing: each layer has its own."""
        return None

    # Designs

    def vectors(self, mappings: Sequence[NetworkDesign]) -> IntArray:
        """The gene vectors of designs."""
        return np.array([vector_of(self.space, one) for one in mappings])

    def on_machine_of(self, genes: Sequence[int] | IntArray) -> CodesignProblem:
        """Itself: a design has its machine."""
        return self

    def hardware_of(self, genes: Sequence[int] | IntArray) -> str:
        """The parameters of the machine of one point."""
        return self._words(self.accelerator.values(tuple(np.asarray(genes)[self.space.parts[0]].tolist())))

    def template(self, name: str) -> NetworkDesign:
        """InputError: there are none."""
        raise InputError(f"template {name!r} is of a layer; a network on a space of machines has none")

    def read_mapping(self, data: object, where: str = "mapping") -> NetworkDesign:
        """The design in parsed JSON."""
        return read_design(self.space, data, where)

    def find_mapping(self, name: str) -> NetworkDesign:
        """The design in a file."""
        return self.read_mapping(parse(Path(name).read_text(encoding="utf-8"), name), name)

    def export(self, kind: str, mapping: NetworkDesign, folder: Path) -> tuple[list[Path], list[str]]:
        """Write a design into the folder, as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "design.json"
        path.write_text(mapping.to_json(), encoding="utf-8")
        return [path], []

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

    def explanation(self, mapping: NetworkDesign | None) -> Explanation:
        """InputError: no change that helps is looked for."""
        raise InputError("dse explain is of a layer; dse codesign says whether any machine runs the network")

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

    def notations(self, mapping: NetworkDesign) -> dict[str, str]:
        """None."""
        return {}

    @staticmethod
    def _words(values: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {value:,.10g}" for name, value in values.items())
