"""What problems of whole networks, and the kinds of designs that have them, share: one place for each member
that does not depend on what a design is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from dse.core.cost_model import AnyCostModel, Detail, Timed
from dse.core.evaluation import Evaluation, Explanation
from dse.core.evaluations import Evaluations
from dse.core.problem import SharedMembers
from dse.support.arrays import IntArray
from dse.support.errors import InputError
from dse.support.files import read_text
from dse.support.strict_json import parse_json


@dataclass(frozen=True)
class NetworkProblem(SharedMembers, ABC):
    """A network x hardware x an objective: members are as in `dse.core.problem.AnyProblem`.

    `designs` is the class of many designs, with their `genes`.
    """

    layer: Any
    """A WholeNetwork."""
    accelerator: Any
    objective: str

    designs: ClassVar[type[Any]]
    templates: ClassVar[tuple[str, ...]] = ()
    shows_detail: ClassVar[bool] = False
    naming: ClassVar[str] = ""
    opened: ClassVar[tuple[str, Mapping[str, Sequence[float]]]] = ("default", {})

    @property
    @abstractmethod
    def space(self) -> Any:
        """What the genes are of."""

    @property
    @abstractmethod
    def model(self) -> AnyCostModel:
        """What prices the designs."""

    @abstractmethod
    def price(self, genes: IntArray) -> Evaluations:
        """What the points cost."""

    @abstractmethod
    def vectors(self, mappings: Sequence[Any]) -> IntArray:
        """The gene vectors of designs."""

    @abstractmethod
    def read_mapping(self, data: object, where: str = "mapping") -> Any:
        """The design in parsed JSON."""

    @abstractmethod
    def explain(self, mapping: Any) -> str:
        """Why the design is not feasible."""

    @property
    def options(self) -> dict[str, Any]:
        """What shapes the space."""
        return {"tiles": "factors", "fixed": {}}

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

    def evaluate(self, mappings: Any) -> Evaluations:
        """What a design, or each of many, costs."""
        return self.price(mappings.genes if isinstance(mappings, self.designs) else self.vectors([mappings]))

    def judge(self, mapping: Any) -> Evaluation:
        """A design judged in full."""
        priced = self.evaluate(mapping)
        feasible = not priced.reason[0]
        figures = {name: column.tolist()[0] for name, column in priced.figures().items()}
        loss = {self.objective: float(priced.loss[0]) if feasible else None}
        status = {"status": "ok" if feasible else "invalid"}
        reason = None if feasible else self.explain(mapping)
        return Evaluation({**status, **figures}, feasible, reason, loss, None)

    def detail(self, mapping: Any) -> Detail | None:
        """Nothing: each layer has its own."""
        return None

    def on_machine_of(self, genes: Sequence[int] | IntArray) -> Self:
        """Itself: the hardware is given, or the design's."""
        return self

    def template(self, name: str) -> Any:
        """InputError: there are none."""
        raise InputError(f"template {name!r} is of a layer; a network has none")

    def find_mapping(self, name: str) -> Any:
        """The design in a file."""
        where = f"mapping file {name!r}"
        return self.read_mapping(parse_json(read_text(name, where), where), where)

    def export(self, kind: str, mapping: Any, folder: Path) -> tuple[list[Path], list[str]]:
        """Write a design into the folder, as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "design.json"
        path.write_text(mapping.to_json(), encoding="utf-8")
        return [path], []

    def explanation(self, mapping: Any) -> Explanation:
        """InputError: no change that helps is looked for."""
        raise InputError("dse explain is of a layer; dse evaluate says what of a network does not fit")

    def notations(self, mapping: Any) -> dict[str, str]:
        """None."""
        return {}


class NetworkDomain(ABC):
    """Members of a Domain whose designs are of whole networks; `noun` is what it calls one."""

    name: str
    noun: str
    case_figures: ClassVar[Mapping[str, str]] = {"cycles": "cycles", "energy_nj": "energy"}
    hardware_figures = None
    proof_seconds = None
    proves_any_tiles = True
    bench_hardware: tuple[str, ...] = ()

    def hardware(self) -> list[dict[str, Any]]:
        """See Domain: none of its own."""
        return []

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
    ) -> Any:
        """See Domain. InputError for options of single layers."""
        if tiles != "factors" or fixed or area_budget is not None:
            raise InputError(f"{self.noun} has perfect factors, no area_budget, and nothing is fixed")
        return self.problem(layer, hardware, objective, cost_model)

    @abstractmethod
    def problem(self, layer: Any, hardware: Any, objective: str, cost_model: Any) -> Any:
        """The problem of a network."""

    def read_space(self, given: Any, hardware: Mapping[str, Any], where: str) -> Any:
        if given != "default" or hardware:
            raise InputError(f"{where}: {self.noun} has one space, 'default', and no [hardware] beside it")
        return given

    def parse_fixed(self, texts: Iterable[str], space: Any) -> dict[str, Any]:
        if list(texts):
            raise InputError(f"nothing of {self.noun} can be fixed")
        return {}

    def price_cases(self, model: str, path: str, *, detail: bool) -> list[dict[str, Any]]:
        """InputError: cases are of layers."""
        raise InputError(f"cases are of layers: cost model {self.name!r} prices networks")

    def timed(self, problem: Any, genes: IntArray) -> Timed:
        return Timed(lambda threads: problem.price(genes), lambda at: problem.price(genes[at : at + 1]), (1,))
